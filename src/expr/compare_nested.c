/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists and structs have a total order: lists item by item, a list before the longer ones that it
 * begins; structs field by field, in their order. Inside of them a null equals a null and is
 * greater than every value; only a value that is null as a whole makes the result null.
 *
 * Items are loaded in runs, so lists of numbers are not looked up one by one.
 */
#include "expr/compare_nested.h"

#include "expr/compare.h"
#include "expr/list_value.h"
#include "expr/load.h"

/* A run of values on one side: slots of an array. */
struct side {
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    uint64_t first;
};

static enum lmn_status order_values(struct lmn__frame *frame, struct side a, struct side b,
                                    uint64_t count, int *order_out);

/* One list or struct of each side. */
static enum lmn_status order_nested(struct lmn__frame *frame, struct side a, struct side b,
                                    int *order_out)
{
    struct lmn__type type;
    uint64_t a_from, a_to, b_from, b_to, a_count, b_count;
    enum lmn_status st = lmn__type_from_schema(a.schema, &type, frame->err);

    *order_out = 0;
    if (st != LMN_OK)
        return st;
    for (int64_t i = 0; type.kind == LMN__KIND_STRUCT && i < a.schema->n_children; i++) {
        struct side x = { a.schema->children[i], a.array->children[i],
                          (uint64_t)a.array->offset + a.first };
        struct side y = { b.schema->children[i], b.array->children[i],
                          (uint64_t)b.array->offset + b.first };

        st = order_values(frame, x, y, 1, order_out);
        if (st != LMN_OK || *order_out != 0)
            return st;
    }
    if (type.kind == LMN__KIND_STRUCT)
        return LMN_OK;
    lmn__load_list(a.schema, a.array, a.first, &a_from, &a_to);
    lmn__load_list(b.schema, b.array, b.first, &b_from, &b_to);
    a_count = a_to - a_from;
    b_count = b_to - b_from;
    st = order_values(frame, (struct side){ a.schema->children[0], a.array->children[0], a_from },
                      (struct side){ b.schema->children[0], b.array->children[0], b_from },
                      a_count < b_count ? a_count : b_count, order_out);
    if (st == LMN_OK && *order_out == 0)
        *order_out = (a_count > b_count) - (a_count < b_count);
    return st;
}

/* Row i of two vectors of one form. */
static enum lmn_status order_row(struct lmn__frame *frame, enum lmn__form form, struct side a,
                                 const struct lmn__vector *x, struct side b,
                                 const struct lmn__vector *y, uint32_t i, int *order_out)
{
    bool x_null = lmn__vector_is_null(x, i), y_null = lmn__vector_is_null(y, i);
    size_t at = (size_t)i * lmn__form_bytes(form);

    *order_out = (int)x_null - (int)y_null;
    if (x_null || y_null || form == LMN__FORM_NULL)
        return LMN_OK;
    if (form == LMN__FORM_SLOT) {
        a = (struct side){ a.schema, x->array, ((const uint64_t *)x->values)[i] };
        b = (struct side){ b.schema, y->array, ((const uint64_t *)y->values)[i] };
        return order_nested(frame, a, b, order_out);
    }
    if (form == LMN__FORM_BITS)
        *order_out = lmn__bit_get(x->values, i) - lmn__bit_get(y->values, i);
    else
        *order_out = lmn__compare_values(form, (const uint8_t *)x->values + at,
                                         (const uint8_t *)y->values + at);
    return LMN_OK;
}

static enum lmn_status order_values(struct lmn__frame *frame, struct side a, struct side b,
                                    uint64_t count, int *order_out)
{
    struct lmn__type type;
    enum lmn_status st = lmn__type_from_schema(a.schema, &type, frame->err);

    *order_out = 0;
    while (st == LMN_OK && count > 0 && *order_out == 0) {
        uint32_t rows = count < LMN__RUN_ROWS ? (uint32_t)count : LMN__RUN_ROWS;
        struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);
        struct lmn__vector x = { 0 }, y = { 0 };

        st = lmn__load_range(frame, a.schema, a.array, a.first, rows, &x);
        if (st == LMN_OK)
            st = lmn__load_range(frame, b.schema, b.array, b.first, rows, &y);
        for (uint32_t i = 0; st == LMN_OK && i < rows && *order_out == 0; i++)
            st = order_row(frame, lmn__type_form(&type), a, &x, b, &y, i, order_out);
        lmn__slate_wipe(frame->slate, mark);
        a.first += rows;
        b.first += rows;
        count -= rows;
    }
    return st;
}

static bool holds(enum lmn__compare compare, int order)
{
    switch (compare) {
    case LMN__COMPARE_EQ:
        return order == 0;
    case LMN__COMPARE_NE:
        return order != 0;
    case LMN__COMPARE_LT:
        return order < 0;
    case LMN__COMPARE_LE:
        return order <= 0;
    case LMN__COMPARE_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

static enum lmn_status compare_row(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t i, int *order_out)
{
    struct side side[2];

    for (int k = 0; k < 2; k++)
        side[k] = (struct side){ term->child[k]->type.schema, arg[k].array,
                                 ((const uint64_t *)arg[k].values)[lmn__vector_at(&arg[k], i)] };
    return order_nested(frame, side[0], side[1], order_out);
}

enum lmn_status lmn__compare_nested(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    out->values = bits;
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        int order = 0;

        if (!lmn__vector_is_null(&arg[0], i) && !lmn__vector_is_null(&arg[1], i))
            st = compare_row(frame, term, arg, i, &order);
        lmn__bit_put(bits, i, holds(term->compare, order));
    }
    return st;
}

enum lmn_status lmn__compare_nested_distinct(struct lmn__frame *frame, const struct lmn__term *term,
                                             const struct lmn__vector *arg, uint32_t rows,
                                             struct lmn__vector *out)
{
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    out->values = bits;
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        bool a_null = lmn__vector_is_null(&arg[0], i), b_null = lmn__vector_is_null(&arg[1], i);
        int order = a_null != b_null;

        if (!a_null && !b_null)
            st = compare_row(frame, term, arg, i, &order);
        lmn__bit_put(bits, i, (order != 0) != term->negated);
    }
    return st;
}

/* Are all items of a list as written constants that a type of lists holds as they are? */
static enum lmn_status fits(struct lmn__binder *binder, const struct lmn__term *list,
                            const struct lmn__type *type, bool *fits_out)
{
    struct lmn__type item;
    enum lmn_status st = lmn__type_from_schema(type->schema->children[0], &item, binder->err);

    *fits_out = true;
    for (uint32_t i = 0; st == LMN_OK && *fits_out && i < list->child_count; i++) {
        struct lmn__term *child = list->child[i];

        if (lmn__term_is_null(child))
            continue;
        *fits_out = false;
        if (child->op == LMN__OP_CONSTANT)
            st = lmn__bind_adapt(binder, &child, &item, fits_out);
    }
    return st;
}

/* A list as written takes the type of the list that it meets where that loses nothing, else one of
 * its own. */
static enum lmn_status settle(struct lmn__binder *binder, struct lmn__term **term,
                              const struct lmn__term *other)
{
    bool fit = false;
    enum lmn_status st = LMN_OK;

    if (!lmn__list_is_literal(*term))
        return LMN_OK;
    if (other->type.kind == LMN__KIND_LIST && other->type.schema != NULL)
        st = fits(binder, *term, &other->type, &fit);
    if (st != LMN_OK)
        return st;
    return fit ? lmn__list_convert(binder, term, &other->type, LMN__CONVERT_CAST)
               : lmn__list_settle(binder, term);
}

/* The type of a list's items, where they are integers or floats. */
static bool number_items(struct lmn__binder *binder, const struct lmn__term *term,
                         struct lmn__type *item_out)
{
    return term->type.kind == LMN__KIND_LIST &&
           lmn__type_from_schema(term->type.schema->children[0], item_out, binder->err) == LMN_OK &&
           (lmn__type_is_integer(item_out) || lmn__type_is_float(item_out));
}

/* Lists of numbers: those with fewer bits, or without fractions, become lists like the others. */
static enum lmn_status convert_narrower(struct lmn__binder *binder, struct lmn__term **pair)
{
    struct lmn__type a, b;
    int wider;

    if (!number_items(binder, pair[0], &a) || !number_items(binder, pair[1], &b) ||
        (lmn__type_is_integer(&a) && lmn__type_is_integer(&b) &&
         lmn__type_is_unsigned(&a) != lmn__type_is_unsigned(&b)))
        return LMN_OK;
    wider = b.kind > a.kind || (b.kind == a.kind && pair[0]->type.schema->format[1] == 'w');
    if (pair[wider]->type.schema->format[1] == 'w')
        return LMN_OK; /* lists of any length do not fit */
    return lmn__bind_convert(binder, &pair[1 - wider], &pair[wider]->type, LMN__CONVERT_CAST);
}

enum lmn_status lmn__bind_nested(struct lmn__binder *binder, struct lmn__term **pair)
{
    enum lmn_status st = settle(binder, &pair[0], pair[1]);

    if (st == LMN_OK)
        st = settle(binder, &pair[1], pair[0]);
    if (st != LMN_OK || lmn__type_same(&pair[0]->type, &pair[1]->type))
        return st;
    return convert_narrower(binder, pair);
}
