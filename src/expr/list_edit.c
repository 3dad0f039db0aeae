/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists with other items: replaced, removed, left out, added. A null equals a null where items are
 * looked for.
 */
#include "expr/compare.h"
#include "expr/function.h"
#include "expr/list.h"
#include "expr/list_rows.h"
#include "expr/text_rows.h"

enum { REPLACE, REPLACE_N, REPLACE_ALL, REMOVE_N, POSITIONS, COMPACT };

/* Items while they are gathered. */
struct gathered {
    enum lmn__form form;
    uint32_t count;
    uint8_t *values, *validity;
};

static enum lmn_status gather_init(struct lmn__frame *frame, enum lmn__form form, uint32_t room,
                                   struct gathered *gathered)
{
    enum lmn_status st = lmn__frame_take(frame, form, room, &gathered->values);

    gathered->form = form;
    gathered->count = 0;
    return st == LMN_OK ? lmn__frame_bits(frame, room, &gathered->validity) : st;
}

static void gather(struct gathered *gathered, const struct lmn__vector *vector, uint32_t row)
{
    uint32_t at = lmn__vector_at(vector, row), width = lmn__form_bytes(gathered->form);
    bool is_null = vector->values == NULL || lmn__vector_is_null(vector, row);
    uint8_t *to = gathered->values + (size_t)gathered->count * width;

    if (gathered->form == LMN__FORM_BITS)
        lmn__bit_put(gathered->values, gathered->count,
                     !is_null && lmn__bit_get(vector->values, at));
    else if (is_null)
        memset(to, 0, width);
    else
        memcpy(to, (const uint8_t *)vector->values + (size_t)at * width, width);
    lmn__bit_put(gathered->validity, gathered->count++, !is_null);
}

static bool equal(enum lmn__form form, const struct lmn__vector *a, uint32_t a_row,
                  const struct lmn__vector *b, uint32_t b_row)
{
    uint32_t width = lmn__form_bytes(form);
    uint32_t a_at = lmn__vector_at(a, a_row), b_at = lmn__vector_at(b, b_row);
    bool a_null = lmn__vector_is_null(a, a_row), b_null = lmn__vector_is_null(b, b_row);

    if (a_null || b_null || form == LMN__FORM_NULL)
        return a_null == b_null;
    if (form == LMN__FORM_BITS)
        return lmn__bit_get(a->values, a_at) == lmn__bit_get(b->values, b_at);
    return lmn__compare_values(form, (const uint8_t *)a->values + (size_t)a_at * width,
                               (const uint8_t *)b->values + (size_t)b_at * width) == 0;
}

/* How many items a call changes at most; its last argument says it where one does. */
static int64_t limit_of(const struct lmn__term *term, const struct lmn__vector *arg, uint32_t row)
{
    const struct lmn__vector *last = &arg[term->child_count - 1];

    if (term->choice != REPLACE_N && term->choice != REMOVE_N)
        return term->choice == REPLACE ? 1 : INT64_MAX;
    return lmn__vector_is_null(last, row) ? 0 : lmn__vector_i64(last, row);
}

/* arg[0] is the list, arg[1] what is looked for, arg[2] what comes in its place. */
static enum lmn_status edit_row(struct lmn__frame *frame, const struct lmn__term *term,
                                const struct lmn__vector *arg, uint32_t row,
                                struct lmn__list_made *made_out)
{
    const struct lmn__list_call *call = term->data;
    enum lmn__form form = lmn__type_form(&call->maker->item);
    int64_t left = limit_of(term, arg, row);
    struct lmn__list_items items;
    struct gathered gathered;
    enum lmn_status st = lmn__list_items(frame, term, arg, 0, row, &items);

    if (lmn__vector_is_null(&arg[0], row) ||
        (term->choice == REMOVE_N && lmn__vector_is_null(&arg[1], row))) {
        made_out->is_null = true;
        return st;
    }
    if (st == LMN_OK)
        st = gather_init(frame, form, items.count, &gathered);
    for (uint32_t i = 0; st == LMN_OK && i < items.count; i++) {
        bool found = term->choice == COMPACT
                         ? lmn__vector_is_null(&items.value, i)
                         : left > 0 && equal(form, &items.value, i, &arg[1], row);

        left -= found;
        if (!found)
            gather(&gathered, &items.value, i);
        else if (term->choice <= REPLACE_ALL)
            gather(&gathered, &arg[2], row);
    }
    if (st != LMN_OK)
        return st;
    made_out->part[0].count = gathered.count;
    made_out->part[0].value = (struct lmn__vector){ .validity = gathered.validity,
                                                    .values = gathered.values,
                                                    .array = items.value.array };
    return LMN_OK;
}

static enum lmn_status positions_row(struct lmn__frame *frame, const struct lmn__term *term,
                                     const struct lmn__vector *arg, uint32_t row,
                                     struct lmn__list_made *made_out)
{
    enum lmn__form form = lmn__type_form(&term->child[1]->type);
    struct lmn__list_items items;
    uint32_t count = 0;
    int64_t *numbers;
    enum lmn_status st = lmn__list_items(frame, term, arg, 0, row, &items);

    made_out->is_null = lmn__vector_is_null(&arg[0], row);
    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_I64, items.count, &numbers);
    for (uint32_t i = 0; st == LMN_OK && i < items.count; i++) {
        if (equal(form, &items.value, i, &arg[1], row))
            numbers[count++] = (int64_t)i + 1;
    }
    made_out->part[0].count = count;
    made_out->part[0].value.values = numbers;
    return st;
}

static enum lmn_status bind_edit(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    uint32_t values = choice <= REPLACE_ALL ? 3 : choice == COMPACT ? 1 : 2;
    struct lmn__type item;
    enum lmn_status st = lmn__list_bind_items(binder, &arg[0], &item);

    if (st == LMN_OK && choice != COMPACT && lmn__type_form(&item) == LMN__FORM_SLOT)
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED, "comparing items of nested values");
    for (uint32_t i = 1; st == LMN_OK && i < count; i++)
        st = i < values ? lmn__list_bind_item(binder, &arg[i], &item)
                        : lmn__bind_number(binder, &arg[i], "a number of items");
    if (st == LMN_OK)
        st = lmn__list_rows_bind(binder, place, choice == POSITIONS ? positions_row : edit_row,
                                 choice == POSITIONS ? &whole : &item, arg, count, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->choice = choice;
    (*term_out)->own_nulls = true;
    return LMN_OK;
}

/* The first item that is not null. */
static enum lmn_status bind_any(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                struct lmn__term **arg, uint32_t count, struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    const int64_t one = 1;
    struct lmn__term *pair[2];
    enum lmn_status st = bind_edit(binder, place, COMPACT, arg, count, &pair[0]);

    if (st == LMN_OK)
        st = lmn__bind_constant(binder, place, &whole, &one, &pair[1]);
    if (st != LMN_OK)
        return st;
    pair[0]->name = "array_any_value";
    return lmn__bind_list_item(binder, place, choice, pair, 2, term_out);
}

/* The value of argument `k` in a row, `times` times. */
static enum lmn_status repeated(struct lmn__frame *frame, const struct lmn__term *term,
                                const struct lmn__vector *arg, uint32_t k, uint32_t row,
                                int64_t times, struct lmn__list_items *items_out)
{
    struct gathered gathered;
    enum lmn_status st = times > 0 ? lmn__list_check(frame, term, row, (uint64_t)times) : LMN_OK;

    if (st != LMN_OK || times <= 0)
        return st;
    st = gather_init(frame, lmn__type_form(&term->child[k]->type), 1, &gathered);
    if (st != LMN_OK)
        return st;
    gather(&gathered, &arg[k], row);
    items_out->count = (uint32_t)times;
    items_out->value = (struct lmn__vector){ .constant = true,
                                             .validity = gathered.validity,
                                             .values = gathered.values,
                                             .array = arg[k].array };
    return LMN_OK;
}

static enum lmn_status repeat_row(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t row,
                                  struct lmn__list_made *made_out)
{
    made_out->is_null = lmn__vector_is_null(&arg[1], row);
    if (made_out->is_null)
        return LMN_OK;
    return repeated(frame, term, arg, 0, row, lmn__vector_i64(&arg[1], row), &made_out->part[0]);
}

/* array_repeat(x, n) */
static enum lmn_status bind_repeat(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    struct lmn__type none;
    enum lmn_status st = lmn__bind_number(binder, &arg[1], "a number of items");

    (void)choice;
    if (st == LMN_OK && arg[0]->type.kind == LMN__KIND_LIST)
        st = lmn__list_bind_items(binder, &arg[0], &none);
    if (st == LMN_OK)
        st = lmn__list_rows_bind(binder, place, repeat_row, &arg[0]->type, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->own_nulls = true;
    return st;
}

/* Longer lists are cut, shorter ones filled up. No size is none. */
static enum lmn_status resize_row(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t row,
                                  struct lmn__list_made *made_out)
{
    int64_t size = lmn__vector_is_null(&arg[1], row) ? 0 : lmn__vector_i64(&arg[1], row);
    struct lmn__list_items *items = &made_out->part[0];
    enum lmn_status st;

    made_out->is_null = lmn__vector_is_null(&arg[0], row);
    if (made_out->is_null)
        return LMN_OK;
    if (size < 0)
        return lmn__frame_fail(frame, term, row, "a list has no size of %lld", (long long)size);
    st = lmn__list_items(frame, term, arg, 0, row, items);
    if (st != LMN_OK)
        return st;
    if (items->count > size)
        items->count = (uint32_t)size;
    return repeated(frame, term, arg, 2, row, size - items->count, &made_out->part[1]);
}

/* array_resize(l, size [, item]) */
static enum lmn_status bind_resize(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    struct lmn__term *part[3] = { arg[0], arg[1], count > 2 ? arg[2] : NULL };
    struct lmn__type item;
    enum lmn_status st = lmn__list_bind_items(binder, &part[0], &item);

    (void)choice;
    if (st == LMN_OK)
        st = lmn__bind_number(binder, &part[1], "the size of a list");
    if (st == LMN_OK)
        st = count > 2 ? lmn__list_bind_item(binder, &part[2], &item)
                       : lmn__bind_constant(binder, place, &item, NULL, &part[2]);
    if (st == LMN_OK)
        st = lmn__list_rows_bind(binder, place, resize_row, &item, part, 3, term_out);
    if (st == LMN_OK)
        (*term_out)->own_nulls = true;
    return st;
}

const struct lmn__function lmn__list_edit_functions[] = {
    LMN__BOUND_FUNCTION("array_replace", 3, 3, bind_edit, REPLACE),
    LMN__BOUND_FUNCTION("array_replace_n", 4, 4, bind_edit, REPLACE_N),
    LMN__BOUND_FUNCTION("array_replace_all", 3, 3, bind_edit, REPLACE_ALL),
    LMN__BOUND_FUNCTION("array_remove_n", 3, 3, bind_edit, REMOVE_N),
    LMN__BOUND_FUNCTION("array_positions", 2, 2, bind_edit, POSITIONS),
    LMN__BOUND_FUNCTION("array_compact", 1, 1, bind_edit, COMPACT),
    LMN__BOUND_FUNCTION("array_any_value", 1, 1, bind_any, 0),
    LMN__BOUND_FUNCTION("array_repeat", 2, 2, bind_repeat, 0),
    LMN__BOUND_FUNCTION("array_resize", 2, 3, bind_resize, 0),
    { 0 },
};
