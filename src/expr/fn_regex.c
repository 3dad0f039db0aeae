/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is made of the matches of a regular expression. In the text that replaces them \1 or $1 or
 * ${1} is the first group, \0 the whole match, $$ a dollar; groups that there are not are empty.
 */
#include "expr/function.h"
#include "expr/regex.h"
#include "expr/regex_find.h"
#include "expr/text_rows.h"

enum { COUNT, PLACE };

struct replacing {
    const struct lmn__regex_program *program;
    bool all;
};

/* A text that is only counted while `data` is NULL. */
struct made {
    uint8_t *data;
    uint64_t used;
};

static void put(struct made *made, const uint8_t *data, size_t len)
{
    if (made->data != NULL && len != 0)
        memcpy(made->data + made->used, data, len);
    made->used += len;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(uint8_t c)
{
    return is_digit(c) || (uint8_t)((c | 0x20) - 'a') < 26 || c == '_';
}

/*
 * The group that stands at byte `at` of `with`, behind its sign: its number, or -1 for one that
 * there is not. Returns the bytes of sign and name, 0 where the sign stands for itself.
 */
static size_t read_group(struct lmn__span with, size_t at, int *group_out)
{
    bool dollar = with.data[at] == '$';
    bool braces = dollar && at + 1 < with.len && with.data[at + 1] == '{';
    size_t from = at + 1 + braces, to = from;

    *group_out = 0;
    while (to < with.len && (dollar ? is_name(with.data[to]) : is_digit(with.data[to])))
        to++;
    if (to == from || (braces && (to == with.len || with.data[to] != '}')))
        return 0;
    for (size_t i = from; i < to && *group_out >= 0; i++) {
        bool known = is_digit(with.data[i]) && *group_out < LMN__REGEX_GROUPS_MAX;

        *group_out = known ? *group_out * 10 + (with.data[i] - '0') : -1;
    }
    return to + braces - at;
}

static void put_replacement(struct made *made, struct lmn__span text, struct lmn__span with,
                            const size_t *place)
{
    for (size_t i = 0; i < with.len;) {
        size_t bytes = 0;
        int group;

        if (with.data[i] == '$' || with.data[i] == '\\')
            bytes = read_group(with, i, &group);
        if (bytes == 0) {
            bool doubled = with.data[i] == '$' && i + 1 < with.len && with.data[i + 1] == '$';

            put(made, with.data + i, 1);
            i += doubled ? 2 : 1;
            continue;
        }
        if (group >= 0 && group < LMN__REGEX_GROUPS_MAX && place[2 * group + 1] != SIZE_MAX)
            put(made, text.data + place[2 * group], place[2 * group + 1] - place[2 * group]);
        i += bytes;
    }
}

/* Returns whether anything matches. */
static bool replace(struct lmn__regex_finder *finder, struct lmn__span text, struct lmn__span with,
                    bool all, struct made *made)
{
    size_t place[LMN__REGEX_PLACES], at = 0, behind = SIZE_MAX, copied = 0;
    bool any = false;

    while ((all || !any) && made->used <= LMN__TEXT_BYTES_MAX &&
           lmn__regex_find_next(finder, text, &at, &behind, place)) {
        put(made, text.data + copied, place[0] - copied);
        put_replacement(made, text, with, place);
        copied = place[1];
        any = true;
    }
    put(made, text.data + copied, text.len - copied);
    return any;
}

static enum lmn_status replace_row(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t row,
                                   struct lmn__span *span_out)
{
    const struct replacing *replacing = term->data;
    struct lmn__span text = lmn__vector_span(&arg[0], row), with = lmn__vector_span(&arg[1], row);
    struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);
    struct lmn__regex_finder *finder;
    struct made made = { 0 };
    enum lmn_status st = lmn__regex_finder_new(frame, replacing->program, &finder);

    *span_out = text;
    if (st != LMN_OK || !replace(finder, text, with, replacing->all, &made))
        return st;
    /* What a search needs comes behind the text, which stays. */
    lmn__slate_wipe(frame->slate, mark);
    st = lmn__text_take(frame, term, row, made.used, &made.data);
    mark = lmn__slate_mark(frame->slate);
    if (st == LMN_OK)
        st = lmn__regex_finder_new(frame, replacing->program, &finder);
    if (st != LMN_OK)
        return st;
    made.used = 0;
    (void)replace(finder, text, with, replacing->all, &made);
    lmn__slate_wipe(frame->slate, mark);
    *span_out = (struct lmn__span){ made.data, made.used };
    return LMN_OK;
}

static enum lmn_status bind_replace(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    struct replacing *replacing = lmn__arena_alloc(binder->arena, sizeof *replacing);
    struct lmn__term *pair[2] = { arg[0], arg[2] };
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st;

    (void)choice;
    if (replacing == NULL)
        return lmn__bind_no_memory(binder);
    if (arg[2]->type.kind != LMN__KIND_STRING && arg[2]->type.kind != LMN__KIND_NULL)
        return lmn__bind_fail(binder, arg[2]->place, LMN_E_INVALID,
                              "expected a string, not a value of type %s",
                              lmn__type_text(&arg[2]->type, text));
    st = lmn__regex_compile(binder, place, &pair[0], arg[1], count > 3 ? arg[3] : NULL,
                            &replacing->all, &replacing->program);
    if (st == LMN_OK)
        st = lmn__bind_convert(binder, &pair[1], &string, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, lmn__text_kernel, &string, pair, 2, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->text_of_row = replace_row;
    (*term_out)->data = replacing;
    return LMN_OK;
}

static int64_t characters(struct lmn__span text, size_t to)
{
    int64_t count = 0;

    for (size_t i = 0; i < to; i++)
        count += (text.data[i] & 0xc0) != 0x80;
    return count;
}

static enum lmn_status number_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                     const struct lmn__vector *arg, uint32_t rows,
                                     struct lmn__vector *out)
{
    struct lmn__regex_finder *finder;
    int64_t *numbers;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &numbers);

    if (st == LMN_OK)
        st = lmn__regex_finder_new(frame, term->data, &finder);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct lmn__span text = lmn__vector_span(arg, i);
        size_t place[LMN__REGEX_PLACES], at = 0, behind = SIZE_MAX;

        numbers[i] = 0;
        if (out->validity != NULL && !lmn__bit_get(out->validity, i))
            continue;
        if (term->choice == PLACE) {
            if (lmn__regex_find(finder, text, 0, place))
                numbers[i] = characters(text, place[0]) + 1;
            continue;
        }
        while (lmn__regex_find_next(finder, text, &at, &behind, place))
            numbers[i]++;
    }
    out->values = numbers;
    return st;
}

static enum lmn_status bind_number(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    const struct lmn__regex_program *program;
    enum lmn_status st = lmn__regex_compile(binder, place, &arg[0], arg[1], NULL, NULL, &program);

    (void)count;
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, number_kernel, &whole, arg, 1, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->choice = choice;
    (*term_out)->data = (void *)(uintptr_t)program;
    return LMN_OK;
}

const struct lmn__function lmn__regex_functions[] = {
    LMN__BOUND_FUNCTION("regexp_like", 2, 3, lmn__bind_regex, 0),
    LMN__BOUND_FUNCTION("regexp_match", 2, 3, lmn__bind_regex, 0),
    LMN__BOUND_FUNCTION("regexp_replace", 3, 4, bind_replace, 0),
    LMN__BOUND_FUNCTION("regexp_count", 2, 2, bind_number, COUNT),
    LMN__BOUND_FUNCTION("regexp_instr", 2, 2, bind_number, PLACE),
    { 0 },
};
