/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/list_rows.h"

#include "expr/list_value.h"
#include "expr/load.h"
#include "expr/result.h"

enum lmn_status lmn__list_check(struct lmn__frame *frame, const struct lmn__term *term,
                                uint32_t row, uint64_t count)
{
    if (count <= LMN__LIST_ITEMS_MAX)
        return LMN_OK;
    return lmn__frame_fail(frame, term, row, "%s() makes no lists of more than %d items",
                           term->name, LMN__LIST_ITEMS_MAX);
}

enum lmn_status lmn__list_items(struct lmn__frame *frame, const struct lmn__term *term,
                                const struct lmn__vector *arg, uint32_t k, uint32_t row,
                                struct lmn__list_items *items_out)
{
    const struct ArrowSchema *schema = term->child[k]->type.schema;
    uint64_t from, to;
    enum lmn_status st;

    *items_out = (struct lmn__list_items){ 0 };
    if (lmn__vector_is_null(&arg[k], row))
        return LMN_OK;
    lmn__load_list(schema, arg[k].array,
                   ((const uint64_t *)arg[k].values)[lmn__vector_at(&arg[k], row)], &from, &to);
    st = lmn__list_check(frame, term, row, to - from);
    if (st != LMN_OK)
        return st;
    items_out->count = (uint32_t)(to - from);
    return lmn__load_range(frame, schema->children[0], arg[k].array->children[0], from,
                           items_out->count, &items_out->value);
}

/* Equal items are appended by runs, as a run of rows is. */
static enum lmn_status append_part(struct lmn__frame *frame, const struct lmn__type *item,
                                   const struct lmn__list_items *part, struct lmn__builder *builder)
{
    struct lmn__frame inner = *frame;
    uint32_t left = part->count;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && left != 0) {
        inner.count = part->value.constant && left > LMN__RUN_ROWS ? LMN__RUN_ROWS : left;
        st = lmn__result_append(&inner, item, &part->value, builder);
        left -= inner.count;
    }
    return st;
}

static enum lmn_status append_list(struct lmn__frame *frame, const struct lmn__term *term,
                                   uint32_t row, const struct lmn__list_made *made,
                                   struct lmn__builder *builder)
{
    const struct lmn__list_call *call = term->data;
    uint64_t count = (uint64_t)made->part[0].count + made->part[1].count;
    enum lmn_status st = lmn__list_check(frame, term, row, count);

    if (st == LMN_OK)
        st = lmn__list_open(frame, term, builder, row, builder->child[0].length, count);
    for (int i = 0; st == LMN_OK && i < 2; i++)
        st = append_part(frame, &call->maker->item, &made->part[i], &builder->child[0]);
    return st;
}

static enum lmn_status make_row(struct lmn__frame *frame, const struct lmn__term *term,
                                const struct lmn__vector *arg, uint32_t row, uint8_t *validity,
                                struct lmn__builder *builder)
{
    const struct lmn__list_call *call = term->data;
    struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);
    struct lmn__list_made made = { .is_null = !lmn__bit_get(validity, row) };
    enum lmn_status st = LMN_OK;

    if (!made.is_null)
        st = call->list_of_row(frame, term, arg, row, &made);
    lmn__bit_put(validity, row, !made.is_null);
    if (st == LMN_OK)
        st = made.is_null ? lmn__list_add_null(frame, builder)
                          : append_list(frame, term, row, &made, builder);
    lmn__slate_wipe(frame->slate, mark);
    return st;
}

static enum lmn_status list_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    const struct lmn__list_call *call = term->data;
    struct lmn__builder builder = { 0 };
    uint8_t *validity;
    enum lmn_status st = lmn__builder_init(&builder, frame->env, call->maker->layout, frame->err);

    if (st == LMN_OK)
        st = lmn__frame_own_validity(frame, rows, out, &validity);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        if (frame->active != NULL && !out->constant && !lmn__bit_get(frame->active, i))
            lmn__bit_clear(validity, i);
        st = make_row(frame, term, arg, i, validity, &builder);
    }
    if (st == LMN_OK)
        st = lmn__list_finish(frame, &builder, rows, out);
    lmn__builder_deinit(&builder);
    return st;
}

enum lmn_status lmn__list_rows_bind(struct lmn__binder *binder, uint32_t place,
                                    lmn__list_fn list_of_row, const struct lmn__type *item,
                                    struct lmn__term *const *arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    struct lmn__list_call *call = lmn__arena_alloc(binder->arena, sizeof *call);
    struct lmn__type type;
    enum lmn_status st;

    if (call == NULL)
        return lmn__bind_no_memory(binder);
    call->list_of_row = list_of_row;
    st = lmn__list_type_of(binder, item, &type);
    if (st == LMN_OK)
        st = lmn__list_maker_new(binder, place, &type, &call->maker);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, list_kernel, &type, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->data = call;
    return st;
}

enum lmn_status lmn__list_bind_items(struct lmn__binder *binder, struct lmn__term **term,
                                     struct lmn__type *item_out)
{
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = lmn__list_settle(binder, term);

    if (st != LMN_OK)
        return st;
    if ((*term)->type.kind != LMN__KIND_LIST || strcmp((*term)->type.schema->format, "+m") == 0)
        return lmn__bind_fail(binder, (*term)->place, LMN_E_INVALID,
                              "expected a list, not a value of type %s",
                              lmn__type_text(&(*term)->type, text));
    return lmn__type_from_schema((*term)->type.schema->children[0], item_out, binder->err);
}

enum lmn_status lmn__list_bind_item(struct lmn__binder *binder, struct lmn__term **term,
                                    const struct lmn__type *item)
{
    bool done = lmn__type_same(&(*term)->type, item);
    enum lmn_status st = LMN_OK;

    if (!done && (*term)->op == LMN__OP_CONSTANT)
        st = lmn__bind_adapt(binder, term, item, &done);
    return st == LMN_OK && !done ? lmn__bind_convert(binder, term, item, LMN__CONVERT_IMPLICIT)
                                 : st;
}
