/* SPDX-License-Identifier: Apache-2.0 */
/* Strings cut into lists, and lists put together to strings. */
#include "expr/casing.h"
#include "expr/function.h"
#include "expr/like.h"
#include "expr/list_rows.h"
#include "expr/list_shape.h"
#include "expr/text_rows.h"

/* The parts of a text between separators; without any separator its characters. */
struct cutter {
    struct lmn__span rest, between;
    bool by_character;
    bool ended;
};

static bool next_part(struct cutter *cutter, struct lmn__span *part_out)
{
    struct lmn__span rest = cutter->rest;
    const uint8_t *at = NULL;
    uint32_t bytes;

    if (cutter->ended || (cutter->by_character && rest.len == 0))
        return false;
    if (cutter->by_character) {
        (void)lmn__utf8_decode(rest, &bytes);
        *part_out = (struct lmn__span){ rest.data, bytes };
        cutter->rest = (struct lmn__span){ rest.data + bytes, rest.len - bytes };
        return true;
    }
    if (cutter->between.len != 0 && cutter->between.len <= rest.len)
        at = lmn__find_bytes(rest, cutter->between);
    cutter->ended = at == NULL;
    *part_out = (struct lmn__span){ rest.data, at != NULL ? (size_t)(at - rest.data) : rest.len };
    if (at != NULL) {
        size_t taken = part_out->len + cutter->between.len;

        cutter->rest = (struct lmn__span){ rest.data + taken, rest.len - taken };
    }
    return true;
}

static bool same_text(struct lmn__span a, struct lmn__span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* arg[0] is cut at arg[1]; parts that are arg[2] become null. An empty string has no parts. */
static enum lmn_status cut_row(struct lmn__frame *frame, const struct lmn__term *term,
                               const struct lmn__vector *arg, uint32_t row,
                               struct lmn__list_made *made_out)
{
    bool has_null = term->child_count > 2 && !lmn__vector_is_null(&arg[2], row);
    struct cutter cutter = { .rest = lmn__vector_span(&arg[0], row),
                             .by_character = lmn__vector_is_null(&arg[1], row) },
                  start;
    struct lmn__span part, *parts;
    uint64_t count = 0, made = 0;
    uint8_t *validity;
    enum lmn_status st;

    made_out->is_null = lmn__vector_is_null(&arg[0], row);
    if (made_out->is_null || cutter.rest.len == 0)
        return LMN_OK;
    if (!cutter.by_character)
        cutter.between = lmn__vector_span(&arg[1], row);
    start = cutter;
    while (next_part(&cutter, &part))
        count++;
    st = lmn__list_check(frame, term, row, count);
    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_SPAN, (uint32_t)count, &parts);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, (uint32_t)count, &validity);
    if (st != LMN_OK)
        return st;
    for (; next_part(&start, &part); made++) {
        parts[made] = part;
        lmn__bit_put(validity, made, !has_null || !same_text(part, lmn__vector_span(&arg[2], row)));
    }
    made_out->part[0].count = (uint32_t)count;
    made_out->part[0].value = (struct lmn__vector){ .validity = validity, .values = parts };
    return LMN_OK;
}

/* string_to_array(s, between [, null]) */
static enum lmn_status bind_cut(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                struct lmn__term **arg, uint32_t count, struct lmn__term **term_out)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    enum lmn_status st = LMN_OK;

    (void)choice;
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = lmn__bind_string(binder, &arg[i]);
    if (st == LMN_OK)
        st = lmn__list_rows_bind(binder, place, cut_row, &string, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->own_nulls = true;
    return st;
}

/* The text of an item. Floats without a fraction have no point here. */
static struct lmn__span item_text(const struct lmn__term *term, const struct lmn__vector *items,
                                  uint32_t i)
{
    struct lmn__span text = lmn__vector_span(items, i);

    if (term->choice != 0 && text.len > 2 && memcmp(text.data + text.len - 2, ".0", 2) == 0)
        text.len -= 2;
    return text;
}

/* The items of arg[0], strings, with arg[1] between them; nulls are arg[2], or left out. */
static enum lmn_status join_row(struct lmn__frame *frame, const struct lmn__term *term,
                                const struct lmn__vector *arg, uint32_t row,
                                struct lmn__span *span_out)
{
    bool has_null = term->child_count > 2 && !lmn__vector_is_null(&arg[2], row);
    struct lmn__span between = lmn__vector_span(&arg[1], row);
    struct lmn__list_items items;
    uint64_t used = 0;
    uint8_t *made = NULL;
    enum lmn_status st = lmn__list_items(frame, term, arg, 0, row, &items);

    /* First it is only counted. */
    for (int pass = 0; st == LMN_OK && pass < 2; pass++) {
        bool first = true;

        used = 0;
        for (uint32_t i = 0; i < items.count; i++) {
            bool is_null = lmn__vector_is_null(&items.value, i);
            struct lmn__span piece[2] = { between, is_null && has_null
                                                       ? lmn__vector_span(&arg[2], row)
                                                       : item_text(term, &items.value, i) };

            if (is_null && !has_null)
                continue;
            for (int k = first; k < 2; used += piece[k++].len) {
                if (made != NULL && piece[k].len != 0)
                    memcpy(made + used, piece[k].data, piece[k].len);
            }
            first = false;
        }
        if (pass == 0)
            st = lmn__text_take(frame, term, row, used, &made);
    }
    *span_out = (struct lmn__span){ made, used };
    return st;
}

static enum lmn_status join_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    uint8_t *validity;
    enum lmn_status st = lmn__frame_own_validity(frame, rows, out, &validity);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++)
        lmn__bit_put(validity, i,
                     !lmn__vector_is_null(&arg[0], i) && !lmn__vector_is_null(&arg[1], i));
    return st == LMN_OK ? lmn__text_kernel(frame, term, arg, rows, out) : st;
}

/* array_to_string(l, between [, null]); lists of lists are taken as one. */
static enum lmn_status bind_join(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    struct lmn__type item, type;
    enum lmn_status st = lmn__list_bind_items(binder, &arg[0], &item);

    (void)choice;
    while (st == LMN_OK && item.kind == LMN__KIND_LIST) {
        st = lmn__list_flatten(binder, place, &arg[0]);
        if (st == LMN_OK)
            st = lmn__list_bind_items(binder, &arg[0], &item);
    }
    for (uint32_t i = 1; st == LMN_OK && i < count; i++)
        st = lmn__bind_string(binder, &arg[i]);
    if (st == LMN_OK)
        st = lmn__list_type_of(binder, &string, &type);
    if (st == LMN_OK && item.kind != LMN__KIND_STRING)
        st = lmn__bind_convert(binder, &arg[0], &type, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, join_kernel, &string, arg, count, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->text_of_row = join_row;
    (*term_out)->choice = lmn__type_is_float(&item);
    (*term_out)->own_nulls = true;
    return LMN_OK;
}

const struct lmn__function lmn__list_text_functions[] = {
    LMN__BOUND_FUNCTION("string_to_array", 2, 3, bind_cut, 0),
    LMN__BOUND_FUNCTION("string_to_list", 2, 3, bind_cut, 0),
    LMN__BOUND_FUNCTION("array_to_string", 2, 3, bind_join, 0),
    LMN__BOUND_FUNCTION("array_join", 2, 3, bind_join, 0),
    { 0 },
};
