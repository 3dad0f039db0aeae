/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/layout.h"

#include <nanoarrow/nanoarrow.h>

#include "base/math.h"

enum { DEPTH_MAX = 64 };

static enum lmn_status layout_make(const struct ArrowSchema *schema, struct lmn__arena *arena,
                                   uint32_t depth, const struct lmn__layout **layout_out,
                                   struct lmn_error *err);

static enum lmn_status children_make(const struct ArrowSchema *schema, struct lmn__arena *arena,
                                     uint32_t depth, struct lmn__layout *layout,
                                     struct lmn_error *err)
{
    const struct lmn__layout **child = lmn__arena_array(arena, (size_t)schema->n_children,
                                                        sizeof *child);

    if (child == NULL)
        return lmn__arena_fail(arena, "a type", err);
    layout->child = child;
    layout->child_count = (uint32_t)schema->n_children;
    for (int64_t i = 0; i < schema->n_children; i++) {
        enum lmn_status st = layout_make(schema->children[i], arena, depth + 1, &child[i], err);

        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}

/* How many values the index type can tell apart. */
static uint32_t index_range(const struct ArrowSchemaView *view)
{
    switch (view->storage_type) {
    case NANOARROW_TYPE_INT8:
        return 1u << 7;
    case NANOARROW_TYPE_UINT8:
        return 1u << 8;
    case NANOARROW_TYPE_INT16:
        return 1u << 15;
    case NANOARROW_TYPE_UINT16:
        return 1u << 16;
    default:
        return INT32_MAX;
    }
}

static enum lmn_status dictionary_make(const struct ArrowSchema *schema,
                                       const struct ArrowSchemaView *view, struct lmn__arena *arena,
                                       uint32_t depth, struct lmn__layout *layout,
                                       struct lmn_error *err)
{
    const struct lmn__layout **child = lmn__arena_array(arena, 1, sizeof *child);

    if (child == NULL)
        return lmn__arena_fail(arena, "a type", err);
    layout->kind = LMN__LAYOUT_DICTIONARY;
    layout->dimension = index_range(view);
    layout->child = child;
    layout->child_count = 1;
    return layout_make(schema->dictionary, arena, depth + 1, &child[0], err);
}

/* Kind and bits of the storage type; children come after. */
static bool storage_layout(const struct ArrowSchemaView *view, struct lmn__layout *layout)
{
    layout->kind = LMN__LAYOUT_FIXED;
    switch (view->storage_type) {
    case NANOARROW_TYPE_NA:
        layout->kind = LMN__LAYOUT_NULL;
        return true;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_LARGE_BINARY:
        layout->kind = LMN__LAYOUT_VARIABLE;
        layout->bits = (uint32_t)view->layout.element_size_bits[1];
        return true;
    case NANOARROW_TYPE_STRING_VIEW:
    case NANOARROW_TYPE_BINARY_VIEW:
        layout->kind = LMN__LAYOUT_VARIABLE;
        layout->bits = 32;
        layout->is_view = true;
        return true;
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
    case NANOARROW_TYPE_MAP:
        layout->kind = LMN__LAYOUT_LIST;
        layout->bits = (uint32_t)view->layout.element_size_bits[1];
        return true;
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        layout->kind = LMN__LAYOUT_FIXED_LIST;
        layout->dimension = (uint32_t)view->fixed_size;
        return true;
    case NANOARROW_TYPE_STRUCT:
        layout->kind = LMN__LAYOUT_STRUCT;
        return true;
    case NANOARROW_TYPE_BOOL:
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_UINT8:
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_UINT16:
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_UINT32:
    case NANOARROW_TYPE_INT64:
    case NANOARROW_TYPE_UINT64:
    case NANOARROW_TYPE_HALF_FLOAT:
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        layout->bits = (uint32_t)view->layout.element_size_bits[1];
        return true;
    default:
        return false;
    }
}

static enum lmn_status layout_make(const struct ArrowSchema *schema, struct lmn__arena *arena,
                                   uint32_t depth, const struct lmn__layout **layout_out,
                                   struct lmn_error *err)
{
    struct lmn__layout *layout;
    struct ArrowSchemaView view;
    struct ArrowError reason;
    const char *name = schema->name != NULL ? schema->name : "";

    *layout_out = NULL;
    if (depth > DEPTH_MAX)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "field \"%s\": types nest deeper than %d", name,
                        DEPTH_MAX);
    layout = lmn__arena_alloc(arena, sizeof *layout);
    if (layout == NULL)
        return lmn__arena_fail(arena, "a type", err);
    *layout_out = layout;
    /* Arrow has fixed-size binaries of no bytes, nanoarrow has not. */
    if (strcmp(schema->format, "w:0") == 0) {
        layout->kind = LMN__LAYOUT_FIXED;
        return LMN_OK;
    }
    if (ArrowSchemaViewInit(&view, schema, &reason) != NANOARROW_OK)
        return lmn_fail(err, LMN_E_INVALID, "field \"%s\" has a bad Arrow type: %s", name,
                        reason.message);
    if (!storage_layout(&view, layout))
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "field \"%s\": Lance has no place for the Arrow type %s (\"%s\")", name,
                        ArrowTypeString(view.type), schema->format);
    if (schema->dictionary != NULL)
        return dictionary_make(schema, &view, arena, depth, layout, err);
    return children_make(schema, arena, depth, layout, err);
}

enum lmn_status lmn__layout_from_schema(const struct ArrowSchema *schema, struct lmn__arena *arena,
                                        const struct lmn__layout **layout_out,
                                        struct lmn_error *err)
{
    return layout_make(schema, arena, 0, layout_out, err);
}

uint64_t lmn__layout_value_bytes(const struct lmn__layout *layout)
{
    uint64_t items = 1;

    while (layout->kind == LMN__LAYOUT_FIXED_LIST) {
        if (!lmn__mul_u64(items, layout->dimension, &items))
            return 0;
        layout = layout->child[0];
    }
    if (layout->kind != LMN__LAYOUT_FIXED || layout->bits % 8 != 0 ||
        !lmn__mul_u64(items, layout->bits / 8, &items))
        return 0;
    return items;
}
