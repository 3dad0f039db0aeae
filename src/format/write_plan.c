/* SPDX-License-Identifier: Apache-2.0 */
#include "format/write_plan.h"

#include "arrow/nulls.h"
#include "arrow/schema.h"
#include "base/error.h"
#include "base/math.h"
#include "format/schema_write.h"

enum {
    PAGE_BYTES_DEFAULT = 8 << 20,
    PAGE_BYTES_MIN = 1024,
    PAGE_BYTES_MAX = 1 << 30,
    PAGE_ENTRIES_MAX = 4 << 20,     /* levels of a page take memory, too */
    DICTIONARY_ENTRIES_MAX = 32768, /* in lists: see encode_mini() */
    ZSTD_LEVEL_MAX = 22
};

/* A copy of a layout in which views are plain strings. */
static const struct lmn__layout *without_views(struct lmn__arena *arena,
                                               const struct lmn__layout *layout)
{
    struct lmn__layout *copy = lmn__arena_alloc(arena, sizeof *copy);
    const struct lmn__layout **child;

    if (copy == NULL)
        return NULL;
    *copy = *layout;
    copy->is_view = false;
    child = lmn__arena_array(arena, layout->child_count, sizeof *child);
    if (child == NULL)
        return NULL;
    for (uint32_t i = 0; i < layout->child_count; i++) {
        child[i] = without_views(arena, layout->child[i]);
        if (child[i] == NULL)
            return NULL;
    }
    copy->child = child;
    return copy;
}

/* Add the leaves below `node`; path[0 .. depth) leads to it. */
static enum lmn_status plan_leaves(struct lmn__write_plan *plan, const struct lmn__node *node,
                                   const struct lmn__layout *layout, uint32_t top,
                                   struct lmn__shred_node *path, uint32_t depth,
                                   struct lmn_error *err)
{
    struct lmn__write_leaf *leaf;
    struct lmn__shred_node *copy;
    uint32_t i = 0;

    path[depth] = (struct lmn__shred_node){ layout, 0 };
    if (node->kind != LMN__NODE_LEAF) {
        for (const struct lmn__node *child = node->child; child != NULL; child = child->next, i++) {
            enum lmn_status st;

            path[depth].child = i;
            st = plan_leaves(plan, child, layout->child[i], top, path, depth + 1, err);
            if (st != LMN_OK)
                return st;
        }
        return LMN_OK;
    }
    leaf = &plan->leaf[plan->leaf_count++];
    copy = lmn__arena_array(&plan->arena, depth + 1, sizeof *copy);
    leaf->value_layout = without_views(&plan->arena, layout);
    if (copy == NULL || leaf->value_layout == NULL)
        return lmn__arena_fail(&plan->arena, "a write plan", err);
    memcpy(copy, path, (depth + 1) * sizeof *copy);
    leaf->node = node;
    leaf->top = top;
    leaf->path = copy;
    leaf->path_count = depth + 1;
    return LMN_OK;
}

static enum lmn_status set_options(struct lmn__write_plan *plan,
                                   const struct lmn_encode_options *options, struct lmn_error *err)
{
    static const struct lmn_encode_options defaults = { 0 };

    if (options == NULL)
        options = &defaults;
    plan->encode.minor = 1;
    if (options->version != NULL && strcmp(options->version, "2.2") == 0)
        plan->encode.minor = 2;
    else if (options->version != NULL && strcmp(options->version, "2.1") != 0)
        return lmn_fail(err, LMN_E_INVALID,
                        "files are written in version \"2.1\" or \"2.2\", not \"%.20s\"",
                        options->version);
    if (options->zstd_level < 0 || options->zstd_level > ZSTD_LEVEL_MAX)
        return lmn_fail(err, LMN_E_INVALID, "zstd has the levels 1 to %d, not %d", ZSTD_LEVEL_MAX,
                        options->zstd_level);
    plan->encode.zstd_level = options->zstd_level;
    plan->page_bytes_max = options->page_bytes_max != 0 ? options->page_bytes_max
                                                        : PAGE_BYTES_DEFAULT;
    if (plan->page_bytes_max < PAGE_BYTES_MIN || plan->page_bytes_max > PAGE_BYTES_MAX)
        return lmn_fail(err, LMN_E_INVALID, "pages have %d to %d bytes, not %llu", PAGE_BYTES_MIN,
                        PAGE_BYTES_MAX, (unsigned long long)plan->page_bytes_max);
    return LMN_OK;
}

static enum lmn_status plan_columns(struct lmn__write_plan *plan, const struct ArrowSchema *schema,
                                    struct lmn_error *err)
{
    struct lmn__shred_node path[LMN__LAYER_COUNT_MAX];
    const struct lmn__layout *layout;
    const struct lmn__node *node = plan->schema.top;
    const char **name = lmn__arena_array(&plan->arena, plan->column_count, sizeof *name);
    bool *nullable = lmn__arena_alloc(&plan->arena, plan->column_count);
    enum lmn_status st = lmn__layout_from_schema(schema, &plan->arena, &layout, err);

    plan->leaf = lmn__arena_array(&plan->arena, plan->schema.column_count, sizeof *plan->leaf);
    if (st == LMN_OK && (nullable == NULL || name == NULL || plan->leaf == NULL))
        st = lmn__arena_fail(&plan->arena, "a write plan", err);
    for (uint32_t i = 0; st == LMN_OK && i < plan->column_count; i++, node = node->next) {
        nullable[i] = node->field->nullable;
        name[i] = node->name;
        st = plan_leaves(plan, node, layout->child[i], i, path, 0, err);
    }
    plan->column_nullable = nullable;
    plan->column_name = name;
    plan->layout = layout;
    return st;
}

enum lmn_status lmn__write_plan_init(struct lmn__write_plan *plan, struct lmn_env *env,
                                     const struct ArrowSchema *schema,
                                     const struct lmn_encode_options *options,
                                     struct lmn_error *err)
{
    enum lmn_status st;

    *plan = (struct lmn__write_plan){ .env = env };
    lmn__arena_init(&plan->arena, env, 0);
    st = set_options(plan, options, err);
    if (st == LMN_OK)
        st = lmn__schema_from_arrow(schema, plan->encode.minor, &plan->arena, &plan->pb, err);
    if (st == LMN_OK)
        st = lmn__schema_read(&plan->pb, plan->encode.minor, &plan->arena, &plan->schema, err);
    if (st == LMN_OK)
        st = lmn__arrow_schema_copy(schema, &plan->schema_given, err);
    plan->column_count = (uint32_t)schema->n_children;
    if (st == LMN_OK)
        st = plan_columns(plan, schema, err);
    if (st != LMN_OK)
        lmn__write_plan_deinit(plan);
    return st;
}

void lmn__write_plan_deinit(struct lmn__write_plan *plan)
{
    if (plan->schema_given.release != NULL)
        plan->schema_given.release(&plan->schema_given);
    lmn__arena_deinit(&plan->arena);
}

static bool same_layout(const struct lmn__layout *a, const struct lmn__layout *b)
{
    if (a->kind != b->kind || a->bits != b->bits || a->dimension != b->dimension ||
        a->is_view != b->is_view || a->child_count != b->child_count)
        return false;
    for (uint32_t i = 0; i < a->child_count; i++) {
        if (!same_layout(a->child[i], b->child[i]))
            return false;
    }
    return true;
}

static bool same_span(struct lmn__span a, struct lmn__span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Columns and fields of structs go by their names; what the items of lists are called is free. */
static bool has_name(const struct lmn__pb_schema_field *field, size_t i)
{
    static const struct lmn__span in_struct = { (const uint8_t *)"struct", 6 };
    size_t parent = i;

    while (parent > 0 && (parent == i || field[parent].id != field[i].parent_id))
        parent--;
    return field[i].parent_id < 0 || same_span(field[parent].logical_type, in_struct);
}

/* Compare the fields as a file has them, then the layouts, in which views differ from strings. */
static enum lmn_status compare_schema(const struct lmn__write_plan *plan,
                                      const struct lmn__pb_schema *pb,
                                      const struct lmn__layout *layout, struct lmn_error *err)
{
    const struct lmn__pb_schema_field *ours = plan->pb.fields.item, *theirs = pb->fields.item;

    if (pb->fields.count != plan->pb.fields.count)
        return lmn_fail(err, LMN_E_INVALID, "rows of %zu fields in a file of %zu",
                        (size_t)pb->fields.count, (size_t)plan->pb.fields.count);
    for (size_t i = 0; i < pb->fields.count; i++) {
        if ((has_name(ours, i) && !same_span(ours[i].name, theirs[i].name)) ||
            !same_span(ours[i].logical_type, theirs[i].logical_type) ||
            ours[i].parent_id != theirs[i].parent_id)
            return lmn_fail(
                err, LMN_E_INVALID,
                "rows have a field \"%.*s\" of type %.*s where the file has "
                "\"%.*s\" of type %.*s",
                (int)lmn__min_u64(theirs[i].name.len, 80), (const char *)theirs[i].name.data,
                (int)lmn__min_u64(theirs[i].logical_type.len, 40),
                (const char *)theirs[i].logical_type.data, (int)lmn__min_u64(ours[i].name.len, 80),
                (const char *)ours[i].name.data, (int)lmn__min_u64(ours[i].logical_type.len, 40),
                (const char *)ours[i].logical_type.data);
    }
    if (!same_layout(plan->layout, layout))
        return lmn_fail(err, LMN_E_INVALID,
                        "rows have views or dictionaries where the file was opened without, or "
                        "the other way round");
    return LMN_OK;
}

enum lmn_status lmn__write_plan_check_schema(const struct lmn__write_plan *plan,
                                             const struct ArrowSchema *schema,
                                             struct lmn_error *err)
{
    const struct lmn__layout *layout;
    struct lmn__pb_schema pb;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, plan->env, 0);
    st = lmn__schema_from_arrow(schema, plan->encode.minor, &arena, &pb, err);
    if (st == LMN_OK)
        st = lmn__layout_from_schema(schema, &arena, &layout, err);
    if (st == LMN_OK)
        st = compare_schema(plan, &pb, layout, err);
    lmn__arena_deinit(&arena);
    return st;
}

static uint64_t count_nulls(const struct ArrowArray *array)
{
    const uint8_t *validity = lmn__view_validity(array);

    if (validity == NULL)
        return 0;
    return (uint64_t)array->length -
           lmn__bits_count(validity, (uint64_t)array->offset, (uint64_t)array->length);
}

enum lmn_status lmn__write_plan_check(const struct lmn__write_plan *plan,
                                      const struct ArrowArray *batch, struct lmn_error *err)
{
    char path[LMN__NULL_PATH_BYTES];
    enum lmn_status st = lmn__view_check_columns(&plan->schema_given, batch, err);

    if (st != LMN_OK)
        return st;
    if (count_nulls(batch) != 0)
        return lmn_fail(err, LMN_E_INVALID, "a batch with rows that are null as a whole");
    for (uint32_t i = 0; i < plan->column_count; i++) {
        const struct ArrowArray *column = batch->children[i];

        if (!plan->column_nullable[i] && count_nulls(column) != 0)
            return lmn_fail(err, LMN_E_INVALID,
                            "column \"%.100s\" is declared to have no nulls, and has %llu",
                            plan->column_name[i], (unsigned long long)count_nulls(column));
        if (lmn__nulls_find(plan->schema_given.children[i], column, LMN__NULLS_FORBIDDEN,
                            (uint64_t)batch->offset, (uint64_t)batch->length, path))
            return lmn_fail(err, LMN_E_INVALID,
                            "field \"%.120s\" is declared to have no nulls, and has some", path);
    }
    return LMN_OK;
}

uint64_t lmn__write_leaf_bytes(const struct lmn__write_leaf *leaf, const struct ArrowArray *column,
                               uint64_t first, uint64_t count)
{
    for (uint32_t i = 0; i + 1 < leaf->path_count; i++) {
        const struct lmn__layout *layout = leaf->path[i].layout;
        uint64_t end = first + count;

        if (layout->kind == LMN__LAYOUT_LIST) {
            first = lmn__view_offset(column, layout->bits / 8, first);
            end = lmn__view_offset(column, layout->bits / 8, end);
        } else {
            first += (uint64_t)column->offset;
            end += (uint64_t)column->offset;
        }
        if (layout->kind == LMN__LAYOUT_FIXED_LIST) {
            first *= layout->dimension;
            end *= layout->dimension;
        }
        count = end - first;
        column = column->children[leaf->path[i].child];
    }
    return lmn__view_range_bytes(leaf->path[leaf->path_count - 1].layout, column, first, count);
}

uint64_t lmn__write_leaf_fit(const struct lmn__write_plan *plan, const struct lmn__write_leaf *leaf,
                             const struct lmn__shred *shred, const struct ArrowArray *column,
                             uint64_t first, uint64_t count)
{
    uint64_t room = plan->page_bytes_max > shred->bytes ? plan->page_bytes_max - shred->bytes : 0;
    uint64_t fits = 1, fails;

    count = lmn__min_u64(count, PAGE_ENTRIES_MAX);
    if (leaf->value_layout->kind == LMN__LAYOUT_DICTIONARY && shred->has_rep)
        count = lmn__min_u64(count, 1024);
    if (lmn__write_leaf_bytes(leaf, column, first, count) <= room)
        return count;
    fails = count;
    while (fails - fits > 1) {
        uint64_t middle = fits + (fails - fits) / 2;

        if (lmn__write_leaf_bytes(leaf, column, first, middle) <= room)
            fits = middle;
        else
            fails = middle;
    }
    return fits;
}

bool lmn__write_leaf_full(const struct lmn__write_plan *plan, const struct lmn__shred *shred)
{
    uint64_t entries_max = shred->has_rep && shred->values.layout->kind == LMN__LAYOUT_DICTIONARY
                               ? DICTIONARY_ENTRIES_MAX
                               : PAGE_ENTRIES_MAX;

    return shred->bytes >= plan->page_bytes_max || shred->entry_count >= entries_max;
}
