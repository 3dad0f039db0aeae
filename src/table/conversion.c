/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs and lists keep their slots, and those of their children that do not change. What changes
 * is evaluated as the expression "value" with the wider type for its target; where there is nothing
 * but nulls, those of the wider type are made, which may be one that expressions do not have.
 */
#include "table/conversion.h"

#include <nanoarrow/nanoarrow.h>
#include <stdlib.h>

#include "arrow/compose.h"
#include "base/error.h"
#include "table/wider.h"

/* Bind the conversion of values to a struct of one column "value". */
static enum lmn_status bind_value(struct lmn__conversion *conversion,
                                  const struct ArrowSchema *from, const struct ArrowSchema *to,
                                  struct lmn_error *err)
{
    struct ArrowSchema rows;
    enum lmn_status st = lmn__expr_parse(conversion->env, "value", &conversion->expr, err);

    if (st != LMN_OK)
        return st;
    ArrowSchemaInit(&rows);
    if (ArrowSchemaSetFormat(&rows, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(&rows, 1) != NANOARROW_OK ||
        ArrowSchemaDeepCopy(from, rows.children[0]) != NANOARROW_OK ||
        ArrowSchemaSetName(rows.children[0], "value") != NANOARROW_OK)
        st = lmn__no_memory(err, "a schema", 0);
    if (st == LMN_OK)
        st = lmn__expr_bind(conversion->expr, &rows, NULL, to, err);
    rows.release(&rows);
    return st;
}

enum lmn_status lmn__conversion_init(struct lmn__conversion *conversion, struct lmn_env *env,
                                     const struct ArrowSchema *from, const struct ArrowSchema *to,
                                     struct lmn__arena *arena, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *conversion = (struct lmn__conversion){ .env = env,
                                            .is_struct = strcmp(from->format, "+s") == 0 };
    if (lmn__type_is_same(from, to))
        return LMN_OK;
    if (lmn__type_is_null(from))
        return lmn__layout_from_schema(to, arena, &conversion->nulls, err);
    if (from->n_children == 0)
        return bind_value(conversion, from, to, err);
    if (strncmp(from->format, "+w:", 3) == 0)
        conversion->dimension = strtoll(from->format + 3, NULL, 10);
    conversion->child = lmn__arena_array(arena, (size_t)from->n_children,
                                         sizeof *conversion->child);
    if (conversion->child == NULL)
        return lmn__arena_fail(arena, "a conversion", err);
    conversion->child_count = (uint32_t)from->n_children;
    for (uint32_t i = 0; st == LMN_OK && i < conversion->child_count; i++)
        st = lmn__conversion_init(&conversion->child[i], env, from->children[i], to->children[i],
                                  arena, err);
    return st;
}

void lmn__conversion_deinit(struct lmn__conversion *conversion)
{
    for (uint32_t i = 0; i < conversion->child_count; i++)
        lmn__conversion_deinit(&conversion->child[i]);
    lmn__expr_free(conversion->expr);
    *conversion = (struct lmn__conversion){ 0 };
}

static enum lmn_status convert_values(const struct lmn__conversion *conversion,
                                      const struct ArrowArray *array, uint64_t count,
                                      struct ArrowArray *array_out, struct lmn_error *err)
{
    const void *no_buffer[1] = { NULL };
    struct ArrowArray slots = *array, *child = &slots;
    const struct ArrowArray rows = { .length = (int64_t)count,
                                     .n_buffers = 1,
                                     .n_children = 1,
                                     .buffers = no_buffer,
                                     .children = &child };

    slots.length = (int64_t)count;
    return lmn__expr_eval(conversion->expr, &rows, array_out, err);
}

/* Slots of a child that slots [0, count) of its parent may need. */
static uint64_t slots_below(const struct lmn__conversion *conversion,
                            const struct ArrowArray *array, uint64_t count)
{
    uint64_t end = (uint64_t)array->offset + count;

    if (conversion->is_struct)
        return end;
    return conversion->dimension != 0 ? end * (uint64_t)conversion->dimension
                                      : (uint64_t)array->children[0]->length;
}

enum lmn_status lmn__conversion_apply(const struct lmn__conversion *conversion,
                                      struct ArrowArray *array, uint64_t count,
                                      struct ArrowArray *array_out, struct lmn_error *err)
{
    uint64_t below;
    enum lmn_status st;

    if (conversion->nulls != NULL)
        return lmn__array_nulls(conversion->env, conversion->nulls, count, array_out, err);
    if (conversion->expr != NULL)
        return convert_values(conversion, array, count, array_out, err);
    if (conversion->child == NULL) {
        lmn__array_move(array, array_out);
        return LMN_OK;
    }
    array->length = (int64_t)count;
    below = slots_below(conversion, array, count);
    st = lmn__array_compose(conversion->env, count, conversion->child_count, array_out, err);
    for (uint32_t i = 0; st == LMN_OK && i < conversion->child_count; i++)
        st = lmn__conversion_apply(&conversion->child[i], array->children[i], below,
                                   array_out->children[i], err);
    if (st == LMN_OK)
        lmn__array_compose_onto(array_out, array);
    return st;
}
