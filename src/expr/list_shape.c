/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/list_shape.h"

#include "expr/function.h"
#include "expr/list_rows.h"
#include "expr/load.h"

/* Slots of the items of all inner lists, or only their number where `slot` is NULL. */
static uint64_t inner_slots(const struct ArrowSchema *schema, const struct lmn__list_items *lists,
                            uint64_t *slot)
{
    const uint64_t *list = lists->value.values;
    uint64_t count = 0;

    for (uint32_t i = 0; i < lists->count; i++) {
        uint64_t from, to;

        if (lmn__vector_is_null(&lists->value, i))
            continue;
        lmn__load_list(schema, lists->value.array, list[i], &from, &to);
        for (uint64_t k = from; slot != NULL && k < to; k++)
            slot[count + (k - from)] = k;
        count += to - from;
    }
    return count;
}

static enum lmn_status flatten_row(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t row,
                                   struct lmn__list_made *made_out)
{
    const struct ArrowSchema *schema = term->child[0]->type.schema->children[0];
    struct lmn__list_items lists;
    uint64_t count = 0, *slot;
    enum lmn_status st = lmn__list_items(frame, term, arg, 0, row, &lists);

    if (st == LMN_OK && lists.count != 0)
        count = inner_slots(schema, &lists, NULL);
    if (st == LMN_OK)
        st = lmn__list_check(frame, term, row, count);
    if (st != LMN_OK || count == 0)
        return st;
    st = lmn__frame_take(frame, LMN__FORM_SLOT, (uint32_t)count, &slot);
    if (st != LMN_OK)
        return st;
    (void)inner_slots(schema, &lists, slot);
    made_out->part[0].count = (uint32_t)count;
    return lmn__load_slots(frame, schema->children[0], lists.value.array->children[0], slot, NULL,
                           (uint32_t)count, &made_out->part[0].value);
}

enum lmn_status lmn__list_flatten(struct lmn__binder *binder, uint32_t place,
                                  struct lmn__term **term)
{
    struct lmn__type list, item;
    struct lmn__term *made;
    enum lmn_status st = lmn__list_bind_items(binder, term, &list);

    if (st != LMN_OK || list.kind != LMN__KIND_LIST || strcmp(list.schema->format, "+m") == 0)
        return st;
    st = lmn__type_from_schema(list.schema->children[0], &item, binder->err);
    if (st == LMN_OK)
        st = lmn__list_rows_bind(binder, place, flatten_row, &item, term, 1, &made);
    if (st != LMN_OK)
        return st;
    made->name = "flatten";
    *term = made;
    return LMN_OK;
}

static enum lmn_status bind_flatten(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    (void)choice;
    (void)count;
    *term_out = arg[0];
    return lmn__list_flatten(binder, place, term_out);
}

/* Lists in lists in lists: 1 for a list of anything else. */
static int64_t depth_of(const struct ArrowSchema *schema)
{
    int64_t depth = 0;

    for (; schema->format[0] == '+' && strchr("lLw", schema->format[1]) != NULL;
         schema = schema->children[0])
        depth++;
    return depth;
}

static enum lmn_status depth_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    int64_t *values;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &values);

    (void)arg;
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++)
        values[i] = depth_of(term->child[0]->type.schema);
    out->values = values;
    return st;
}

/* The sizes of the list, of its first item, of the first item of that. An empty list has none. */
static enum lmn_status sizes_row(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t row,
                                 struct lmn__list_made *made_out)
{
    const struct ArrowSchema *schema = term->child[0]->type.schema;
    uint32_t depth = (uint32_t)depth_of(schema);
    struct lmn__list_items items;
    int64_t *sizes;
    enum lmn_status st = lmn__list_items(frame, term, arg, 0, row, &items);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_I64, depth, &sizes);
    if (st != LMN_OK)
        return st;
    made_out->is_null = items.count == 0;
    memset(sizes, 0, depth * sizeof *sizes);
    for (uint32_t i = 0; st == LMN_OK && items.count != 0 && i < depth; i++) {
        const struct lmn__vector lists = items.value;
        uint64_t from, to;

        sizes[i] = items.count;
        schema = schema->children[0];
        if (i + 1 == depth || lmn__vector_is_null(&lists, 0))
            break;
        lmn__load_list(schema, lists.array, ((const uint64_t *)lists.values)[0], &from, &to);
        items.count = (uint32_t)(to - from < UINT32_MAX ? to - from : UINT32_MAX);
        st = lmn__load_range(frame, schema->children[0], lists.array->children[0], from,
                             items.count != 0, &items.value);
    }
    made_out->part[0].count = depth;
    made_out->part[0].value.values = sizes;
    return st;
}

/* array_ndims(l) and array_dims(l) */
static enum lmn_status bind_depth(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                  struct lmn__term **arg, uint32_t count,
                                  struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    struct lmn__type item;
    enum lmn_status st = lmn__list_bind_items(binder, &arg[0], &item);

    if (st != LMN_OK)
        return st;
    return choice != 0 ? lmn__list_rows_bind(binder, place, sizes_row, &whole, arg, count, term_out)
                       : lmn__bind_call(binder, place, depth_kernel, &whole, arg, count, term_out);
}

const struct lmn__function lmn__list_shape_functions[] = {
    LMN__BOUND_FUNCTION("flatten", 1, 1, bind_flatten, 0),
    LMN__BOUND_FUNCTION("array_ndims", 1, 1, bind_depth, 0),
    LMN__BOUND_FUNCTION("array_dims", 1, 1, bind_depth, 1),
    { 0 },
};
