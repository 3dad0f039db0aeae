/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists are made with a builder and live in the slate of the run: the vector is their slots. Items
 * of columns are converted in runs of their own, across the bounds of lists, by the kernel that
 * converts a value of the items' type; so lists of lists take care of themselves.
 */
#include "expr/list_value.h"

#include "expr/list_maker.h"
#include "expr/load.h"
#include "expr/result.h"

static enum lmn_status untyped_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                      const struct lmn__vector *arg, uint32_t rows,
                                      struct lmn__vector *out)
{
    (void)arg;
    (void)rows;
    (void)out;
    return lmn__frame_fail(frame, term, 0, "a list is no value here");
}

bool lmn__list_is_literal(const struct lmn__term *term)
{
    return term->kernel == untyped_kernel;
}

/* Append one row of `vector`. */
static enum lmn_status append_item(struct lmn__frame *frame, const struct lmn__type *type,
                                   const struct lmn__vector *vector, uint32_t row,
                                   struct lmn__builder *builder)
{
    enum lmn__form form = lmn__type_form(type);
    uint32_t at = lmn__vector_at(vector, row);
    const uint8_t *values = vector->values;
    uint8_t valid = !lmn__vector_is_null(vector, row), bit = 0;
    struct lmn__vector one = { .constant = true, .validity = &valid, .array = vector->array };
    struct lmn__frame single = *frame;

    one.values = values;
    if (form == LMN__FORM_BITS && valid) {
        bit = lmn__bit_get(values, at);
        one.values = &bit;
    } else if (values != NULL) {
        one.values = values + (size_t)at * lmn__form_bytes(form);
    }
    single.count = 1;
    return lmn__result_append(&single, type, &one, builder);
}

static enum lmn_status literal_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                      const struct lmn__vector *arg, uint32_t rows,
                                      struct lmn__vector *out)
{
    const struct lmn__list_maker *maker = term->data;
    struct lmn__builder builder = { 0 };
    enum lmn_status st = lmn__builder_init(&builder, frame->env, maker->layout, frame->err);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        st = lmn__list_open(frame, term, &builder, i, builder.child[0].length, term->child_count);
        for (uint32_t k = 0; st == LMN_OK && k < term->child_count; k++)
            st = append_item(frame, &maker->item, &arg[k], i, &builder.child[0]);
    }
    if (st == LMN_OK)
        st = lmn__list_finish(frame, &builder, rows, out);
    lmn__builder_deinit(&builder);
    return st;
}

/* Items on their way from lists of one type to lists of another. */
struct transfer {
    struct lmn__frame *frame;
    const struct lmn__term *term;
    const struct ArrowSchema *schema; /* of the items that come */
    const struct ArrowArray *items;
    struct lmn__builder builder;
    uint64_t *slot; /* `count` items that are not converted yet */
    uint32_t *owner;
    uint32_t count;
};

static enum lmn_status flush(struct transfer *transfer)
{
    const struct lmn__list_maker *maker = transfer->term->data;
    const struct lmn__term *convert = maker->convert;
    struct lmn__frame inner = *transfer->frame;
    struct lmn__slate_mark mark = lmn__slate_mark(inner.slate);
    struct lmn__vector from, to;
    enum lmn_status st;

    if (transfer->count == 0)
        return LMN_OK;
    inner.count = transfer->count;
    inner.active = NULL;
    inner.owner = transfer->owner;
    if (inner.list == NULL)
        inner.list = transfer->term;
    st = lmn__load_slots(&inner, transfer->schema, transfer->items, transfer->slot, NULL,
                         transfer->count, &from);
    to = from;
    if (st == LMN_OK && convert != NULL) {
        to = (struct lmn__vector){ .validity = from.validity };
        st = convert->kernel(&inner, convert, &from, transfer->count, &to);
    }
    if (st == LMN_OK)
        st = lmn__result_append(&inner, &maker->item, &to, &transfer->builder.child[0]);
    lmn__slate_wipe(inner.slate, mark);
    transfer->count = 0;
    return st;
}

/* The list of one row. */
static enum lmn_status transfer_list(struct transfer *transfer, uint32_t row, uint64_t from,
                                     uint64_t to)
{
    struct lmn__frame *frame = transfer->frame;
    uint64_t before = transfer->builder.child[0].length + transfer->count;
    enum lmn_status st = lmn__list_open(frame, transfer->term, &transfer->builder, row, before,
                                        to - from);

    for (; st == LMN_OK && from < to; from++) {
        transfer->slot[transfer->count] = from;
        transfer->owner[transfer->count++] = frame->owner != NULL ? frame->owner[row] : row;
        if (transfer->count == LMN__RUN_ROWS)
            st = flush(transfer);
    }
    return st;
}

/* Every row: null ones and those that nobody asks for are null. */
static enum lmn_status transfer_rows(struct transfer *transfer, const struct lmn__vector *arg,
                                     uint32_t rows, struct lmn__vector *out)
{
    struct lmn__frame *frame = transfer->frame;
    const struct lmn__term *term = transfer->term;
    const struct lmn__layout *layout = transfer->builder.layout;
    const uint64_t *slot = arg->values;
    uint8_t *validity;
    enum lmn_status st = lmn__frame_own_validity(frame, rows, out, &validity);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        bool asked = frame->active == NULL || out->constant || lmn__bit_get(frame->active, i);
        uint64_t from = 0, to = 0;

        if (asked && lmn__bit_get(validity, i)) {
            lmn__load_list(term->child[0]->type.schema, arg->array, slot[i], &from, &to);
            if (layout->kind != LMN__LAYOUT_FIXED_LIST || to - from == layout->dimension) {
                st = transfer_list(transfer, i, from, to);
                continue;
            }
            if (!term->lenient)
                return lmn__frame_fail(frame, term, i,
                                       "a list of %llu items is no value of lists of %u items",
                                       (unsigned long long)(to - from), layout->dimension);
        }
        lmn__bit_clear(validity, i);
        st = flush(transfer);
        if (st == LMN_OK)
            st = lmn__list_add_null(frame, &transfer->builder);
    }
    return st == LMN_OK ? flush(transfer) : st;
}

static enum lmn_status convert_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                      const struct lmn__vector *arg, uint32_t rows,
                                      struct lmn__vector *out)
{
    const struct lmn__list_maker *maker = term->data;
    struct transfer transfer = { .frame = frame,
                                 .term = term,
                                 .schema = term->child[0]->type.schema->children[0],
                                 .items = arg->array != NULL ? arg->array->children[0] : NULL };
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_SLOT, LMN__RUN_ROWS, &transfer.slot);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U32, LMN__RUN_ROWS, &transfer.owner);
    if (st == LMN_OK)
        st = lmn__builder_init(&transfer.builder, frame->env, maker->layout, frame->err);
    if (st == LMN_OK)
        st = transfer_rows(&transfer, arg, rows, out);
    if (st == LMN_OK)
        st = lmn__list_finish(frame, &transfer.builder, rows, out);
    lmn__builder_deinit(&transfer.builder);
    return st;
}

enum lmn_status lmn__list_written(struct lmn__binder *binder, uint32_t place,
                                  struct lmn__term *const *item, uint32_t count,
                                  struct lmn__term **term_out)
{
    const struct lmn__type type = lmn__type_plain(LMN__KIND_LIST);

    return lmn__bind_call(binder, place, untyped_kernel, &type, item, count, term_out);
}

enum lmn_status lmn__list_literal(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                  struct lmn__term **term_out)
{
    struct lmn__term **item = lmn__arena_array(binder->arena, syntax->child_count, sizeof *item);
    enum lmn_status st = LMN_OK;

    if (item == NULL)
        return lmn__bind_no_memory(binder);
    for (uint32_t i = 0; st == LMN_OK && i < syntax->child_count; i++)
        st = lmn__bind_syntax(binder, syntax->child[i], &item[i]);
    return st == LMN_OK
               ? lmn__list_written(binder, syntax->place, item, syntax->child_count, term_out)
               : st;
}

/* A list as written becomes one of `type`. */
static enum lmn_status type_literal(struct lmn__binder *binder, struct lmn__term **term,
                                    const struct lmn__type *type, enum lmn__conversion how)
{
    const struct lmn__term *literal = *term;
    uint32_t count = literal->child_count;
    struct lmn__term **item = lmn__arena_array(binder->arena, count, sizeof *item);
    struct lmn__list_maker *maker;
    enum lmn_status st = lmn__list_maker_new(binder, literal->place, type, &maker);

    if (st != LMN_OK || item == NULL)
        return st != LMN_OK ? st : lmn__bind_no_memory(binder);
    if (maker->layout->kind == LMN__LAYOUT_FIXED_LIST && maker->layout->dimension != count)
        return lmn__bind_fail(binder, literal->place, LMN_E_INVALID,
                              "a list of %u items is no value of lists of %u items", count,
                              maker->layout->dimension);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        bool done = false;

        item[i] = literal->child[i];
        if (item[i]->op == LMN__OP_CONSTANT && lmn__type_is_number(&item[i]->type))
            st = lmn__bind_adapt(binder, &item[i], &maker->item, &done);
        if (st == LMN_OK && !done)
            st = lmn__bind_convert(binder, &item[i], &maker->item, how);
    }
    if (st == LMN_OK)
        st = lmn__bind_call(binder, literal->place, literal_kernel, type, item, count, term);
    if (st != LMN_OK)
        return st;
    (*term)->own_nulls = true;
    (*term)->data = maker;
    return LMN_OK;
}

enum lmn_status lmn__list_settle(struct lmn__binder *binder, struct lmn__term **term)
{
    struct lmn__type item = lmn__type_plain(LMN__KIND_NULL), type;
    enum lmn_status st = LMN_OK;

    if (!lmn__list_is_literal(*term))
        return LMN_OK;
    for (uint32_t i = 0; st == LMN_OK && i < (*term)->child_count; i++)
        st = lmn__list_settle(binder, &(*term)->child[i]);
    if (st == LMN_OK)
        st = lmn__bind_unify(binder, (*term)->place, "make a list of", (*term)->child,
                             (*term)->child_count);
    if (st != LMN_OK)
        return st;
    if ((*term)->child_count != 0)
        item = (*term)->child[0]->type;
    st = lmn__list_type_of(binder, &item, &type);
    return st == LMN_OK ? type_literal(binder, term, &type, LMN__CONVERT_CAST) : st;
}

bool lmn__list_converts(const struct lmn__type *from, const struct lmn__type *to)
{
    return from->kind == LMN__KIND_LIST && to->kind == LMN__KIND_LIST && to->schema != NULL &&
           strcmp(to->schema->format, "+m") != 0 &&
           (from->schema == NULL || strcmp(from->schema->format, "+m") != 0);
}

enum lmn_status lmn__list_convert(struct lmn__binder *binder, struct lmn__term **term,
                                  const struct lmn__type *type, enum lmn__conversion how)
{
    uint32_t place = (*term)->place;
    struct lmn__term *item, *given, *made;
    struct lmn__list_maker *maker;
    enum lmn_status st;

    if (lmn__list_is_literal(*term))
        return type_literal(binder, term, type, how);
    st = lmn__list_maker_new(binder, place, type, &maker);
    /* It stands for the items: it is never evaluated, only what converts it. */
    if (st == LMN_OK)
        st = lmn__bind_term(binder, LMN__OP_COLUMN, place, NULL, 0, &given);
    if (st == LMN_OK)
        st = lmn__type_from_schema((*term)->type.schema->children[0], &given->type, binder->err);
    if (st != LMN_OK)
        return st;
    item = given;
    st = lmn__bind_convert(binder, &item, &maker->item, how);
    maker->convert = item != given ? item : NULL;
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, convert_kernel, type, term, 1, &made);
    if (st != LMN_OK)
        return st;
    made->data = maker;
    made->lenient = how == LMN__CONVERT_TRY;
    *term = made;
    return LMN_OK;
}
