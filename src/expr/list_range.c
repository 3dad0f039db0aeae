/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of numbers, dates or timestamps at equal distances: range() ends before its end,
 * generate_series() with it. All are counted in int64 until they are put into the list.
 */
#include "expr/function.h"
#include "expr/list_rows.h"
#include "expr/mover.h"
#include "expr/text_rows.h"

enum { RANGE, SERIES };

/* The values of one row. */
struct walk {
    const struct lmn__mover *mover; /* NULL: numbers */
    const struct lmn__interval *by; /* of a mover */
    int64_t value, end, step;
    int way;        /* 1 forwards, -1 backwards, 0 nowhere */
    bool inclusive; /* the end is a value, too */
};

static bool inside(const struct walk *walk)
{
    return walk->way > 0 ? walk->value < walk->end || (walk->inclusive && walk->value == walk->end)
                         : walk->value > walk->end || (walk->inclusive && walk->value == walk->end);
}

/* Go on to the next value; false: it does not fit, or is none. */
static bool advance(struct walk *walk)
{
    int64_t before = walk->value;

    if (walk->mover == NULL)
        return !__builtin_add_overflow(walk->value, walk->step, &walk->value);
    return lmn__mover_move(walk->mover, walk->value, walk->by, &walk->value) &&
           (walk->way > 0 ? walk->value > before : walk->value < before);
}

static struct walk walk_of(const struct lmn__term *term, const struct lmn__vector *arg,
                           uint32_t row)
{
    const struct lmn__list_call *call = term->data;
    const struct lmn__interval none = { 0 };
    struct walk walk = { .mover = call->data,
                         .value = lmn__vector_i64(&arg[0], row),
                         .end = lmn__vector_i64(&arg[1], row),
                         .inclusive = term->choice == SERIES };

    if (walk.mover != NULL) {
        walk.by = (const struct lmn__interval *)arg[2].values + lmn__vector_at(&arg[2], row);
        walk.way = lmn__interval_compare(walk.by, &none);
    } else {
        walk.step = lmn__vector_i64(&arg[2], row);
        walk.way = (walk.step > 0) - (walk.step < 0);
    }
    return walk;
}

static enum lmn_status range_row(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t row,
                                 struct lmn__list_made *made_out)
{
    const struct lmn__list_call *call = term->data;
    enum lmn__form form = lmn__type_form(&call->maker->item);
    const struct walk start = walk_of(term, arg, row);
    struct walk walk = start;
    uint64_t count = 0;
    void *values;
    enum lmn_status st;

    if (walk.way == 0)
        return lmn__frame_fail(frame, term, row, "%s() takes no step of 0", term->name);
    while (count <= LMN__LIST_ITEMS_MAX && inside(&walk)) {
        count++;
        if (!advance(&walk))
            break;
    }
    st = lmn__list_check(frame, term, row, count);
    if (st == LMN_OK)
        st = lmn__frame_take(frame, form, (uint32_t)count, &values);
    if (st != LMN_OK)
        return st;
    walk = start;
    for (uint64_t i = 0; i < count; i++, (void)advance(&walk)) {
        if (form == LMN__FORM_I32)
            ((int32_t *)values)[i] = (int32_t)walk.value;
        else
            ((int64_t *)values)[i] = walk.value;
    }
    made_out->part[0].count = (uint32_t)count;
    made_out->part[0].value.values = values;
    return LMN_OK;
}

/* What the items are, and how they move: dates stay dates by whole days. */
static enum lmn_status bind_mover(struct lmn__binder *binder, uint32_t place,
                                  struct lmn__term **part, struct lmn__type *item,
                                  struct lmn__mover **mover_out)
{
    const struct lmn__type interval = lmn__type_plain(LMN__KIND_INTERVAL);
    struct lmn__mover *mover = lmn__arena_alloc(binder->arena, sizeof *mover);
    const struct lmn__interval *by;
    enum lmn_status st = lmn__bind_convert(binder, &part[2], &interval, LMN__CONVERT_CAST);

    *mover_out = mover;
    if (mover == NULL || st != LMN_OK)
        return st != LMN_OK ? st : lmn__bind_no_memory(binder);
    by = part[2]->constant.values;
    *item = part[0]->type;
    if (item->kind == LMN__KIND_DATE64 ||
        (item->kind == LMN__KIND_DATE32 &&
         (part[2]->op != LMN__OP_CONSTANT || lmn__term_is_null(part[2]) || by->nanos != 0)))
        *item = (struct lmn__type){ .kind = LMN__KIND_TIMESTAMP, .unit = LMN__UNIT_US };
    mover->rate = item->kind == LMN__KIND_DATE32 ? 0 : lmn__unit_rate(item->unit);
    mover->sign = 1;
    if (item->zone != NULL)
        st = lmn__bind_zone(binder, place, item->zone, &mover->zone);
    for (int i = 0; st == LMN_OK && i < 2; i++)
        st = lmn__bind_convert(binder, &part[i], item, LMN__CONVERT_CAST);
    return st;
}

static enum lmn_status bind_range(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                  struct lmn__term **arg, uint32_t count,
                                  struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    const int64_t zero = 0, one = 1;
    struct lmn__term *part[3] = { arg[0], arg[count > 1], count > 2 ? arg[2] : NULL };
    struct lmn__type item = whole;
    struct lmn__mover *mover = NULL;
    enum lmn_status st = LMN_OK;

    if (count == 1)
        st = lmn__bind_constant(binder, place, &whole, &zero, &part[0]);
    if (st == LMN_OK && count < 3)
        st = lmn__bind_constant(binder, place, &whole, &one, &part[2]);
    if (st == LMN_OK && count == 3 && lmn__type_is_time(&arg[0]->type))
        st = bind_mover(binder, place, part, &item, &mover);
    for (int i = 0; st == LMN_OK && i < 3; i++) {
        if (mover == NULL)
            st = lmn__bind_number(binder, &part[i], "a bound or step of a range of numbers");
        else if (i < 2)
            st = lmn__bind_convert(binder, &part[i], &whole, LMN__CONVERT_CAST);
    }
    if (st == LMN_OK)
        st = lmn__list_rows_bind(binder, place, range_row, &item, part, 3, term_out);
    if (st != LMN_OK)
        return st;
    ((struct lmn__list_call *)(*term_out)->data)->data = mover;
    (*term_out)->choice = choice;
    return LMN_OK;
}

const struct lmn__function lmn__list_range_functions[] = {
    LMN__BOUND_FUNCTION("range", 1, 3, bind_range, RANGE),
    LMN__BOUND_FUNCTION("generate_series", 1, 3, bind_range, SERIES),
    { 0 },
};
