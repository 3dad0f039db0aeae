/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of numbers as vectors: lengths, distances, sums. All are computed with doubles. A list with
 * a null in it has no result, and lists of different sizes are an error.
 */
#include <math.h>

#include "expr/function.h"
#include "expr/list_rows.h"

enum { DISTANCE, COSINE, PRODUCT, NORMALIZED };
enum { SUM, AVERAGE, MULTIPLIED };
enum { ADD, SUBTRACT, SCALE };

/* The items of one row; false: there is a null. */
static bool has_null(const struct lmn__list_items *items)
{
    for (uint32_t i = 0; i < items->count; i++) {
        if (lmn__vector_is_null(&items->value, i))
            return true;
    }
    return false;
}

/* False: there is no result. */
static bool measure(int32_t choice, const struct lmn__list_items *list, double *out)
{
    const double *a = list[0].value.values, *b = list[1].value.values;
    double product = 0, square_a = 0, square_b = 0, distance = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        product += a[i] * b[i];
        square_a += a[i] * a[i];
        square_b += b[i] * b[i];
        distance += (a[i] - b[i]) * (a[i] - b[i]);
    }
    *out = choice == DISTANCE  ? sqrt(distance)
           : choice == PRODUCT ? product
                               : 1 - product / (sqrt(square_a) * sqrt(square_b));
    return choice != COSINE || (square_a != 0 && square_b != 0);
}

static enum lmn_status unequal(struct lmn__frame *frame, const struct lmn__term *term, uint32_t row,
                               const struct lmn__list_items *list)
{
    return lmn__frame_fail(frame, term, row, "%s() takes lists of one size, not of %u and %u",
                           term->name, list[0].count, list[1].count);
}

static enum lmn_status measure_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                      const struct lmn__vector *arg, uint32_t rows,
                                      struct lmn__vector *out)
{
    double *values;
    uint8_t *validity;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_F64, rows, &values);

    if (st == LMN_OK)
        st = lmn__frame_own_validity(frame, rows, out, &validity);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);
        bool asked = frame->active == NULL || out->constant || lmn__bit_get(frame->active, i);
        struct lmn__list_items list[2];

        values[i] = 0;
        if (!asked || !lmn__bit_get(validity, i))
            continue;
        for (uint32_t k = 0; st == LMN_OK && k < 2; k++)
            st = lmn__list_items(frame, term, arg, k, i, &list[k]);
        if (st == LMN_OK && list[0].count != list[1].count)
            return unequal(frame, term, i, list);
        if (st == LMN_OK &&
            (has_null(&list[0]) || has_null(&list[1]) || !measure(term->choice, list, &values[i])))
            lmn__bit_clear(validity, i);
        lmn__slate_wipe(frame->slate, mark);
    }
    out->values = values;
    return st;
}

/* A list whose squares add up to 1; that of zeros has none. */
static enum lmn_status normalize_row(struct lmn__frame *frame, const struct lmn__term *term,
                                     const struct lmn__vector *arg, uint32_t row,
                                     struct lmn__list_made *made_out)
{
    struct lmn__list_items items;
    const double *from;
    double square = 0, *values;
    enum lmn_status st = lmn__list_items(frame, term, arg, 0, row, &items);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_F64, items.count, &values);
    if (st != LMN_OK)
        return st;
    from = items.value.values;
    made_out->is_null = has_null(&items);
    for (uint32_t i = 0; i < items.count; i++)
        square += from[i] * from[i];
    made_out->is_null = made_out->is_null || (items.count != 0 && square == 0);
    for (uint32_t i = 0; i < items.count; i++)
        values[i] = from[i] / sqrt(square);
    made_out->part[0].count = items.count;
    made_out->part[0].value.values = values;
    return LMN_OK;
}

/* Make all arguments lists of doubles. */
static enum lmn_status bind_reals(struct lmn__binder *binder, struct lmn__term **arg,
                                  uint32_t count)
{
    const struct lmn__type real = lmn__type_plain(LMN__KIND_F64);
    struct lmn__type item, type;
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = lmn__list_type_of(binder, &real, &type);

    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        st = lmn__list_bind_items(binder, &arg[i], &item);
        if (st == LMN_OK && !lmn__type_is_number(&item) && item.kind != LMN__KIND_NULL)
            return lmn__bind_fail(binder, arg[i]->place, LMN_E_INVALID,
                                  "expected a list of numbers, not of %s",
                                  lmn__type_text(&item, text));
        if (st == LMN_OK && item.kind != LMN__KIND_F64)
            st = lmn__bind_convert(binder, &arg[i], &type, LMN__CONVERT_CAST);
    }
    return st;
}

static enum lmn_status bind_vectors(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    const struct lmn__type real = lmn__type_plain(LMN__KIND_F64);
    enum lmn_status st = bind_reals(binder, arg, count);

    if (st != LMN_OK)
        return st;
    if (choice == NORMALIZED)
        return lmn__list_rows_bind(binder, place, normalize_row, &real, arg, count, term_out);
    st = lmn__bind_call(binder, place, measure_kernel, &real, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->choice = choice;
    return st;
}

/* The items of one list, nulls left out; null where there are none. */
static enum lmn_status total_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    double *values;
    uint8_t *validity;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_F64, rows, &values);

    if (st == LMN_OK)
        st = lmn__frame_own_validity(frame, rows, out, &validity);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);
        double value = term->choice == MULTIPLIED ? 1 : 0;
        struct lmn__list_items list;
        uint32_t count = 0;

        st = lmn__list_items(frame, term, arg, 0, i, &list);
        for (uint32_t k = 0; st == LMN_OK && k < list.count; k++) {
            double item = ((const double *)list.value.values)[k];

            if (lmn__vector_is_null(&list.value, k))
                continue;
            value = term->choice == MULTIPLIED ? value * item : value + item;
            count++;
        }
        values[i] = term->choice == AVERAGE && count != 0 ? value / count : value;
        if (count == 0)
            lmn__bit_clear(validity, i);
        lmn__slate_wipe(frame->slate, mark);
    }
    out->values = values;
    return st;
}

static enum lmn_status bind_total(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                  struct lmn__term **arg, uint32_t count,
                                  struct lmn__term **term_out)
{
    const struct lmn__type real = lmn__type_plain(LMN__KIND_F64);
    enum lmn_status st = bind_reals(binder, arg, count);

    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, total_kernel, &real, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->choice = choice;
    return st;
}

/* Item by item: the sum or difference of two lists, or a list times a number. */
static enum lmn_status combine_row(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t row,
                                   struct lmn__list_made *made_out)
{
    struct lmn__list_items list[2] = { 0 };
    double *values, factor = 0;
    uint8_t *validity;
    enum lmn_status st = lmn__list_items(frame, term, arg, 0, row, &list[0]);

    if (term->choice == SCALE)
        factor = ((const double *)arg[1].values)[lmn__vector_at(&arg[1], row)];
    else if (st == LMN_OK)
        st = lmn__list_items(frame, term, arg, 1, row, &list[1]);
    if (st == LMN_OK && term->choice != SCALE && list[0].count != list[1].count)
        return unequal(frame, term, row, list);
    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_F64, list->count, &values);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, list->count, &validity);
    for (uint32_t i = 0; st == LMN_OK && i < list->count; i++) {
        double a = ((const double *)list[0].value.values)[i];
        double b = term->choice == SCALE ? factor : ((const double *)list[1].value.values)[i];

        values[i] = term->choice == ADD ? a + b : term->choice == SUBTRACT ? a - b : a * b;
        lmn__bit_put(validity, i,
                     !lmn__vector_is_null(&list[0].value, i) &&
                         (term->choice == SCALE || !lmn__vector_is_null(&list[1].value, i)));
    }
    made_out->part[0].count = list->count;
    made_out->part[0].value = (struct lmn__vector){ .validity = validity, .values = values };
    return st;
}

static enum lmn_status bind_combine(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    const struct lmn__type real = lmn__type_plain(LMN__KIND_F64);
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = bind_reals(binder, arg, choice == SCALE ? 1 : 2);

    if (st == LMN_OK && choice == SCALE) {
        if (!lmn__type_is_number(&arg[1]->type) && arg[1]->type.kind != LMN__KIND_NULL)
            return lmn__bind_fail(binder, arg[1]->place, LMN_E_INVALID,
                                  "expected a number, not a value of type %s",
                                  lmn__type_text(&arg[1]->type, text));
        st = lmn__bind_convert(binder, &arg[1], &real, LMN__CONVERT_CAST);
    }
    if (st == LMN_OK)
        st = lmn__list_rows_bind(binder, place, combine_row, &real, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->choice = choice;
    return st;
}

const struct lmn__function lmn__list_vector_functions[] = {
    LMN__BOUND_FUNCTION("array_sum", 1, 1, bind_total, SUM),
    LMN__BOUND_FUNCTION("array_avg", 1, 1, bind_total, AVERAGE),
    LMN__BOUND_FUNCTION("array_product", 1, 1, bind_total, MULTIPLIED),
    LMN__BOUND_FUNCTION("array_add", 2, 2, bind_combine, ADD),
    LMN__BOUND_FUNCTION("array_subtract", 2, 2, bind_combine, SUBTRACT),
    LMN__BOUND_FUNCTION("array_scale", 2, 2, bind_combine, SCALE),
    LMN__BOUND_FUNCTION("array_distance", 2, 2, bind_vectors, DISTANCE),
    LMN__BOUND_FUNCTION("cosine_distance", 2, 2, bind_vectors, COSINE),
    LMN__BOUND_FUNCTION("inner_product", 2, 2, bind_vectors, PRODUCT),
    LMN__BOUND_FUNCTION("dot_product", 2, 2, bind_vectors, PRODUCT),
    LMN__BOUND_FUNCTION("array_normalize", 1, 1, bind_vectors, NORMALIZED),
    { 0 },
};
