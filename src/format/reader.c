/* SPDX-License-Identifier: Apache-2.0 */
#include "format/reader.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/math.h"
#include "format/blob.h"
#include "format/leaf_reader.h"
#include "format/v20_reader.h"

enum { SAMPLE_ROWS = 16 };

/* The plans of all leaves below `selected`, reached by child[0 .. depth). */
static enum lmn_status plan_leaves(struct lmn__reader *reader, const struct lmn__selected *selected,
                                   uint32_t *child, bool *fills, uint32_t depth, uint64_t stride,
                                   struct lmn_error *err)
{
    const struct lmn__node *node = selected->node;
    struct lmn__leaf_plan *plan;

    if (node != NULL && node->kind == LMN__NODE_FIXED_LIST &&
        !lmn__mul_u64(stride, node->dimension, &stride))
        return lmn_fail(err, LMN_E_CORRUPT, "column \"%.100s\": fixed lists too large", node->name);
    if (node == NULL || node->kind != LMN__NODE_LEAF) {
        for (uint32_t i = 0; i < selected->child_count; i++) {
            enum lmn_status st;

            child[depth] = i;
            fills[depth] = true;
            /* Only the first leaf below a node fills it. */
            for (uint32_t k = 0; i > 0 && k < depth; k++)
                fills[k] = false;
            st = plan_leaves(reader, selected->child[i], child, fills, depth + 1, stride, err);
            if (st != LMN_OK)
                return st;
        }
        return LMN_OK;
    }
    plan = &reader->leaf[reader->leaf_count++];
    plan->node = node;
    plan->stride = stride;
    plan->depth = depth;
    memcpy(plan->child, child, depth * sizeof *child);
    memcpy(plan->fills, fills, depth * sizeof *fills);
    return lmn__file_column(reader->file, node->column, &plan->column, err);
}

static enum lmn_status check_length(const struct lmn__reader *reader,
                                    const struct lmn__leaf_plan *plan, struct lmn_error *err)
{
    uint64_t expected;

    if (!lmn__mul_u64(reader->file->row_count, plan->stride, &expected) ||
        plan->column->row_count != expected)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "%.200s: column %u (\"%.100s\") has %llu rows, the file %llu",
                        reader->file->object.name, plan->column->index, plan->node->name,
                        (unsigned long long)plan->column->row_count,
                        (unsigned long long)reader->file->row_count);
    return LMN_OK;
}

static enum lmn_status make_plans(struct lmn__reader *reader, struct lmn_error *err)
{
    uint32_t child[LMN__LAYER_COUNT_MAX];
    bool fills[LMN__LAYER_COUNT_MAX];
    uint64_t expected = 1;
    enum lmn_status st;

    if (reader->file->footer.minor == 0)
        return lmn__v20_open(reader, err);
    reader->leaf = lmn__arena_array(&reader->projection.arena, reader->file->schema.node_count,
                                    sizeof *reader->leaf);
    if (reader->leaf == NULL)
        return lmn__arena_fail(&reader->projection.arena, "a reader", err);
    st = plan_leaves(reader, reader->projection.root, child, fills, 0, expected, err);
    for (uint32_t i = 0; st == LMN_OK && i < reader->leaf_count; i++)
        st = check_length(reader, &reader->leaf[i], err);
    return st;
}

/* The projection is made, or has failed with `st`. */
static enum lmn_status finish_init(struct lmn__reader *reader, enum lmn_status st,
                                   struct lmn_error *err)
{
    if (st != LMN_OK) {
        lmn__fail_within(err, st, "%.200s", reader->file->object.name);
        lmn_file_release(reader->file);
        return st;
    }
    st = make_plans(reader, err);
    if (st != LMN_OK)
        lmn__reader_deinit(reader);
    return st;
}

enum lmn_status lmn__reader_init(struct lmn__reader *reader, struct lmn_file *file,
                                 const char *const *column, uint32_t column_count,
                                 enum lmn_blob_mode blobs, struct lmn_error *err)
{
    enum lmn_status st;

    *reader = (struct lmn__reader){ .file = lmn_file_acquire(file) };
    st = lmn__projection_init(&reader->projection, file->env, &file->schema, column, column_count,
                              blobs, err);
    return finish_init(reader, st, err);
}

enum lmn_status lmn__reader_init_nodes(struct lmn__reader *reader, struct lmn_file *file,
                                       const struct lmn__node *const *node, uint32_t node_count,
                                       enum lmn_blob_mode blobs, struct lmn_error *err)
{
    enum lmn_status st;

    *reader = (struct lmn__reader){ .file = lmn_file_acquire(file) };
    st = lmn__projection_init_nodes(&reader->projection, file->env, &file->schema, node, node_count,
                                    blobs, err);
    return finish_init(reader, st, err);
}

void lmn__reader_deinit(struct lmn__reader *reader)
{
    lmn__projection_deinit(&reader->projection);
    lmn_file_release(reader->file);
}

static enum lmn_status fail_in_column(const struct lmn__reader *reader,
                                      const struct lmn__leaf_plan *plan, enum lmn_status st,
                                      struct lmn_error *err)
{
    return lmn__fail_within(err, st, "%.200s: column %u (\"%.100s\")", reader->file->object.name,
                            plan->column->index, plan->node->name);
}

/* While one column is read, the store fetches what the next one needs. */
static enum lmn_status read_columns(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                                    const struct lmn__row_range *range, uint64_t range_count,
                                    struct lmn__builder *root, struct lmn_error *err)
{
    uint64_t told = 0, next_told;

    if (reader->file->footer.minor == 0)
        return lmn__v20_read(reader, scratch, range, range_count, root, err);
    for (uint32_t i = 0; i < reader->leaf_count; i++) {
        const struct lmn__leaf_plan *plan = &reader->leaf[i];
        enum lmn_status st = LMN_OK;

        if (i == 0)
            st = lmn__leaf_look_ahead(reader, plan, scratch, range, range_count, &told, err);
        if (st != LMN_OK)
            return fail_in_column(reader, plan, st, err);
        next_told = 0;
        if (i + 1 < reader->leaf_count)
            st = lmn__leaf_look_ahead(reader, plan + 1, scratch, range, range_count, &next_told,
                                      err);
        if (st != LMN_OK)
            return fail_in_column(reader, plan + 1, st, err);
        st = lmn__leaf_read(reader, plan, scratch, range, range_count, told, root, err);
        if (st != LMN_OK)
            return fail_in_column(reader, plan, st, err);
        told = next_told;
    }
    return LMN_OK;
}

enum lmn_status lmn__reader_read(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                                 const struct lmn__row_range *range, uint64_t range_count,
                                 struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn_env *env = scratch->place != NULL ? scratch->place : reader->file->env;
    struct lmn__builder root;
    uint64_t rows = 0;
    enum lmn_status st = lmn__builder_init(&root, env, reader->projection.layout, err);

    *array_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < range_count; i++)
        rows += range[i].count;
    st = lmn__builder_add_valid(&root, rows, err);
    if (st == LMN_OK)
        st = read_columns(reader, scratch, range, range_count, &root, err);
    if (st == LMN_OK) {
        st = lmn__builder_check(&root, rows, err);
        if (st != LMN_OK)
            lmn__fail_within(err, st, "%.200s", reader->file->object.name);
    }
    if (st == LMN_OK)
        st = lmn__builder_finish(&root, array_out, err);
    lmn__builder_deinit(&root);
    return st;
}

uint64_t lmn__reader_row_bytes(const struct lmn__reader *reader)
{
    uint64_t rows = lmn__max_u64(reader->file->row_count, 1), bytes = 0;

    if (reader->file->footer.minor == 0)
        return lmn__max_u64(reader->v20_bytes / rows, 1);
    for (uint32_t i = 0; i < reader->leaf_count; i++)
        bytes += reader->leaf[i].column->bytes / rows;
    return lmn__max_u64(bytes, 1);
}

/* The sizes that descriptors tell, added up. With `either`, blobs elsewhere are not read. */
static uint64_t add_sizes(const struct ArrowArray *blob, bool either)
{
    bool v1 = blob->n_children == 2;
    const uint64_t *bytes = blob->children[v1 ? 1 : 2]->buffers[1];
    const uint8_t *kind = v1 ? NULL : blob->children[0]->buffers[1], *valid = blob->buffers[0];
    uint64_t sum = 0;

    for (int64_t i = 0; i < blob->length; i++) {
        if ((valid == NULL || lmn__bit_get(valid, (uint64_t)i)) &&
            !(either && !v1 && kind[i] == LMN__BLOB_EXTERNAL))
            sum += lmn__min_u64(bytes[i], UINT64_MAX / SAMPLE_ROWS / 2);
    }
    return sum;
}

/* The same for some rows of one column, which lie all over the file. */
static enum lmn_status sample_blobs(const struct lmn__reader *reader, const struct lmn__node *node,
                                    uint64_t *mean_out, struct lmn_error *err)
{
    uint64_t rows = reader->file->row_count, count = lmn__min_u64(rows, SAMPLE_ROWS);
    struct lmn__row_range range[SAMPLE_ROWS];
    const struct ArrowArray *blob;
    struct lmn__scratch scratch;
    struct lmn__reader descriptors;
    struct ArrowArray array;
    enum lmn_status st = lmn__reader_init_nodes(&descriptors, reader->file, &node, 1,
                                                LMN_BLOB_DESCRIPTORS, err);

    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < count; i++)
        range[i] = (struct lmn__row_range){ rows / count * i, 1 };
    lmn__scratch_init(&scratch, reader->file->env);
    st = lmn__reader_read(&descriptors, &scratch, range, count, &array, err);
    if (st == LMN_OK) {
        for (blob = &array; blob->n_children == 1;)
            blob = blob->children[0];
        *mean_out = add_sizes(blob, reader->projection.blobs == LMN_BLOB_EITHER) / count;
        array.release(&array);
    }
    lmn__scratch_deinit(&scratch);
    lmn__reader_deinit(&descriptors);
    return st;
}

enum lmn_status lmn__reader_blob_bytes(const struct lmn__reader *reader, uint64_t *bytes_out,
                                       struct lmn_error *err)
{
    *bytes_out = 0;
    if (reader->projection.blobs == LMN_BLOB_DESCRIPTORS || reader->file->row_count == 0)
        return LMN_OK;
    for (uint32_t i = 0; i < reader->leaf_count; i++) {
        uint64_t mean = 0;
        enum lmn_status st = LMN_OK;

        if (reader->leaf[i].node->blob != LMN__BLOB_NONE)
            st = sample_blobs(reader, reader->leaf[i].node, &mean, err);
        /* Damage is told when it is read. */
        if (st != LMN_OK && st != LMN_E_CORRUPT)
            return st;
        *bytes_out = lmn__min_u64(*bytes_out, UINT64_MAX / 2) + mean;
    }
    return LMN_OK;
}
