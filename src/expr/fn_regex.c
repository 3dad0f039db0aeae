/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is made of the matches of a regular expression. In the text that replaces them \1 or $1 or
 * ${1} is the first group, \0 the whole match, ${name} the group of that name, $$ a dollar; groups
 * that there are not are empty.
 */
#include "expr/function.h"
#include "expr/list_rows.h"
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

/* The number of the group `name`, which may be one; -1 for one that there is not. */
static int group_of(const struct lmn__regex_program *program, struct lmn__span name)
{
    int group = 0;

    for (size_t i = 0; i < name.len && group >= 0; i++) {
        bool known = is_digit(name.data[i]) && group < LMN__REGEX_GROUPS_MAX;

        group = known ? group * 10 + (name.data[i] - '0') : -1;
    }
    for (int i = 1; group < 0 && i < LMN__REGEX_GROUPS_MAX; i++) {
        if (program->name[i].len == name.len &&
            memcmp(program->name[i].data, name.data, name.len) == 0)
            return i;
    }
    return group < LMN__REGEX_GROUPS_MAX ? group : -1;
}

/*
 * The group that stands at byte `at` of `with`, behind its sign: its number, or -1 for one that
 * there is not. Returns the bytes of sign and name, 0 where the sign stands for itself.
 */
static size_t read_group(const struct lmn__regex_program *program, struct lmn__span with, size_t at,
                         int *group_out)
{
    bool dollar = with.data[at] == '$';
    bool braces = dollar && at + 1 < with.len && with.data[at + 1] == '{';
    size_t from = at + 1 + braces, to = from;

    while (to < with.len && (dollar ? is_name(with.data[to]) : is_digit(with.data[to])))
        to++;
    if (to == from || (braces && (to == with.len || with.data[to] != '}')))
        return 0;
    *group_out = group_of(program, (struct lmn__span){ with.data + from, to - from });
    return to + braces - at;
}

static void put_replacement(struct made *made, const struct lmn__regex_program *program,
                            struct lmn__span text, struct lmn__span with, const size_t *place)
{
    for (size_t i = 0; i < with.len;) {
        size_t bytes = 0;
        int group;

        if (with.data[i] == '$' || with.data[i] == '\\')
            bytes = read_group(program, with, i, &group);
        if (bytes == 0) {
            bool doubled = with.data[i] == '$' && i + 1 < with.len && with.data[i + 1] == '$';

            put(made, with.data + i, 1);
            i += doubled ? 2 : 1;
            continue;
        }
        if (group >= 0 && place[2 * group + 1] != SIZE_MAX)
            put(made, text.data + place[2 * group], place[2 * group + 1] - place[2 * group]);
        i += bytes;
    }
}

/* Returns whether anything matches. */
static bool replace(const struct replacing *replacing, struct lmn__regex_finder *finder,
                    struct lmn__span text, struct lmn__span with, struct made *made)
{
    size_t place[LMN__REGEX_PLACES], at = 0, behind = SIZE_MAX, copied = 0;
    bool any = false;

    while ((replacing->all || !any) && made->used <= LMN__TEXT_BYTES_MAX &&
           lmn__regex_find_next(finder, text, &at, &behind, place)) {
        put(made, text.data + copied, place[0] - copied);
        put_replacement(made, replacing->program, text, with, place);
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
    if (st != LMN_OK || !replace(replacing, finder, text, with, &made))
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
    (void)replace(replacing, finder, text, with, &made);
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
    enum lmn_status st;

    (void)choice;
    if (replacing == NULL)
        return lmn__bind_no_memory(binder);
    st = lmn__regex_compile(binder, place, &pair[0], arg[1], count > 3 ? arg[3] : NULL,
                            &replacing->all, &replacing->program);
    if (st == LMN_OK)
        st = lmn__bind_string(binder, &pair[1]);
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

/* The text from character number `first` on, which counts from 1. */
static struct lmn__span from_character(struct lmn__span text, int64_t first)
{
    size_t at = 0;

    for (first--; at < text.len && ((text.data[at] & 0xc0) == 0x80 || first-- > 0); at++)
        ;
    return (struct lmn__span){ text.data + at, text.len - at };
}

/* Matches of a row from character arg[1] on: how many, or where a group of one of them is. */
static enum lmn_status number_of_row(struct lmn__frame *frame, const struct lmn__term *term,
                                     const struct lmn__vector *arg, uint32_t row,
                                     struct lmn__regex_finder *finder, int64_t *number_out)
{
    struct lmn__span whole = lmn__vector_span(&arg[0], row), text;
    int64_t first = lmn__vector_i64(&arg[1], row), number = lmn__vector_i64(&arg[2], row);
    int64_t group = lmn__vector_i64(&arg[3], row), count = 0;
    size_t place[LMN__REGEX_PLACES], at = 0, behind = SIZE_MAX;

    *number_out = 0;
    if (first < 1 || number < 1 || group < 0)
        return lmn__frame_fail(frame, term, row, "%s() counts characters and matches from 1",
                               term->name);
    text = from_character(whole, first);
    while (lmn__regex_find_next(finder, text, &at, &behind, place)) {
        count++;
        if (term->choice == COUNT || count != number)
            continue;
        if (group < LMN__REGEX_GROUPS_MAX && place[2 * group] != SIZE_MAX)
            *number_out = characters(whole, (size_t)(text.data - whole.data) + place[2 * group]) +
                          1;
        return LMN_OK;
    }
    if (term->choice == COUNT)
        *number_out = count;
    return LMN_OK;
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
        bool asked = frame->active == NULL || out->constant || lmn__bit_get(frame->active, i);

        numbers[i] = 0;
        if (asked && (out->validity == NULL || lmn__bit_get(out->validity, i)))
            st = number_of_row(frame, term, arg, i, finder, &numbers[i]);
    }
    out->values = numbers;
    return st;
}

/* regexp_count(s, p [, first [, flags]]), regexp_instr(s, p [, first [, n [, flags [, group]]]]) */
static enum lmn_status bind_number(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    const uint32_t flags = choice == COUNT ? 3 : 4, from[4] = { 0, 2, choice == COUNT ? 9 : 3, 5 };
    const struct lmn__regex_program *program;
    struct lmn__term *part[4] = { arg[0] };
    enum lmn_status st = lmn__regex_compile(binder, place, &part[0], arg[1],
                                            count > flags ? arg[flags] : NULL, NULL, &program);

    for (uint32_t i = 1; st == LMN_OK && i < 4; i++) {
        const int64_t usual = i == 3 ? 0 : 1;

        part[i] = from[i] < count ? arg[from[i]] : NULL;
        st = part[i] != NULL ? lmn__bind_number(binder, &part[i], "a number of regexp_instr()")
                             : lmn__bind_constant(binder, place, &whole, &usual, &part[i]);
    }
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, number_kernel, &whole, part, 4, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->choice = choice;
    (*term_out)->data = (void *)(uintptr_t)program;
    return LMN_OK;
}

/* The groups of the first match that took part in it; without groups the match. */
static enum lmn_status match_row(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t row,
                                 struct lmn__list_made *made_out)
{
    const struct lmn__list_call *call = term->data;
    const struct lmn__regex_program *program = call->data;
    struct lmn__span text = lmn__vector_span(arg, row), *found;
    size_t place[LMN__REGEX_PLACES];
    struct lmn__regex_finder *finder;
    uint32_t count = 0;
    enum lmn_status st = lmn__regex_finder_new(frame, program, &finder);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_SPAN, LMN__REGEX_GROUPS_MAX, &found);
    if (st != LMN_OK)
        return st;
    made_out->is_null = !lmn__regex_find(finder, text, 0, place);
    for (uint32_t i = program->group_count != 0; !made_out->is_null && i <= program->group_count;
         i++) {
        if (place[2 * i + 1] != SIZE_MAX)
            found[count++] = (struct lmn__span){ text.data + place[2 * i],
                                                 place[2 * i + 1] - place[2 * i] };
    }
    made_out->part[0].count = count;
    made_out->part[0].value.values = found;
    return LMN_OK;
}

/* regexp_match(s, pattern [, flags]) as a value; as a condition it is regexp_like(). */
static enum lmn_status bind_match(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                  struct lmn__term **arg, uint32_t count,
                                  struct lmn__term **term_out)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    const struct lmn__regex_program *program;
    enum lmn_status st = lmn__regex_compile(binder, place, &arg[0], arg[1],
                                            count > 2 ? arg[2] : NULL, NULL, &program);

    (void)choice;
    if (st == LMN_OK && program->group_count >= LMN__REGEX_GROUPS_MAX)
        return lmn__bind_fail(binder, arg[1]->place, LMN_E_UNSUPPORTED,
                              "regexp_match() gives no more than %d groups",
                              LMN__REGEX_GROUPS_MAX - 1);
    if (st == LMN_OK)
        st = lmn__list_rows_bind(binder, place, match_row, &string, arg, 1, term_out);
    if (st == LMN_OK)
        ((struct lmn__list_call *)(*term_out)->data)->data = program;
    return st;
}

const struct lmn__function lmn__regex_functions[] = {
    LMN__BOUND_FUNCTION("regexp_like", 2, 3, lmn__bind_regex, 0),
    LMN__BOUND_FUNCTION("regexp_match", 2, 3, bind_match, 0),
    LMN__BOUND_FUNCTION("regexp_replace", 3, 4, bind_replace, 0),
    LMN__BOUND_FUNCTION("regexp_count", 2, 4, bind_number, COUNT),
    LMN__BOUND_FUNCTION("regexp_instr", 2, 6, bind_number, PLACE),
    { 0 },
};
