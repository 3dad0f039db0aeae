/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/list_maker.h"

#include <nanoarrow/nanoarrow.h>

#include "base/error.h"
#include "expr/result.h"

enum lmn_status lmn__list_open(struct lmn__frame *frame, const struct lmn__term *term,
                               struct lmn__builder *builder, uint32_t row, uint64_t before,
                               uint64_t count)
{
    uint32_t width = builder->layout->bits / 8;
    enum lmn_status st = lmn__builder_add_valid(builder, 1, frame->err);

    if (st != LMN_OK || builder->layout->kind != LMN__LAYOUT_LIST)
        return st;
    if (width == 4 && before + count > INT32_MAX)
        return lmn__frame_fail(frame, term, row, "32-bit offsets cannot reach %llu items",
                               (unsigned long long)(before + count));
    return lmn__vec_put(&builder->offsets, builder->env->pool, &before, width, frame->err);
}

enum lmn_status lmn__list_add_null(struct lmn__frame *frame, struct lmn__builder *builder)
{
    enum lmn_status st = lmn__builder_add_null(builder, 1, frame->err);

    return st == LMN_OK ? lmn__builder_put_empty(builder, 1, frame->err) : st;
}

enum lmn_status lmn__list_finish(struct lmn__frame *frame, struct lmn__builder *builder,
                                 uint32_t rows, struct lmn__vector *out)
{
    struct ArrowArray *array;
    uint64_t *slot;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_SLOT, rows, &slot);

    if (st == LMN_OK)
        st = lmn__slate_take_array(frame->slate, &array, frame->err);
    if (st == LMN_OK)
        st = lmn__builder_finish(builder, array, frame->err);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++)
        slot[i] = i;
    out->values = slot;
    out->array = array;
    return LMN_OK;
}

enum lmn_status lmn__list_maker_new(struct lmn__binder *binder, uint32_t place,
                                    const struct lmn__type *type,
                                    struct lmn__list_maker **maker_out)
{
    struct lmn__list_maker *maker = lmn__arena_alloc(binder->arena, sizeof *maker);
    enum lmn_status st;

    *maker_out = maker;
    if (maker == NULL)
        return lmn__bind_no_memory(binder);
    if (!lmn__type_is_plain(type))
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED,
                              "making lists with dictionaries or views inside");
    st = lmn__type_from_schema(type->schema->children[0], &maker->item, binder->err);
    return st == LMN_OK
               ? lmn__layout_from_schema(type->schema, binder->arena, &maker->layout, binder->err)
               : st;
}

enum lmn_status lmn__list_type_of(struct lmn__binder *binder, const struct lmn__type *item,
                                  struct lmn__type *type_out)
{
    struct lmn__made_schema *made = lmn__arena_alloc(binder->arena, sizeof *made);
    struct ArrowSchema child;
    enum lmn_status st;

    if (made == NULL)
        return lmn__bind_no_memory(binder);
    st = lmn__type_to_schema(item, &child, binder->err);
    if (st != LMN_OK)
        return st;
    made->next = binder->expr->made;
    binder->expr->made = made;
    ArrowSchemaInit(&made->schema);
    if (ArrowSchemaSetName(&child, "item") != NANOARROW_OK ||
        ArrowSchemaSetType(&made->schema, NANOARROW_TYPE_LIST) != NANOARROW_OK) {
        child.release(&child);
        return lmn__no_memory(binder->err, "a type", sizeof child);
    }
    if (made->schema.children[0]->release != NULL)
        made->schema.children[0]->release(made->schema.children[0]);
    ArrowSchemaMove(&child, made->schema.children[0]);
    return lmn__type_from_schema(&made->schema, type_out, binder->err);
}
