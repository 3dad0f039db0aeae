/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leaves of the projection are looked up by field id in the fragment's files. Each file that
 * has some is a source: a reader of just those leaves, in the order of the projection. That types
 * agree is checked when the files are opened, lengths of lists when they are read.
 */
#include "table/fragment_columns.h"

#include <stdlib.h>

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "base/error.h"
#include "base/math.h"
#include "table/fragment_parts.h"

enum { NO_FILE = 0xffffffff };

/* What finding a range, and a row, costs in each column: as much as that many bytes of values. */
static const double RANGE_BYTES = 3000, ROW_BYTES = 64;

/* A leaf of the projection: where it is. */
struct leaf {
    int32_t id;
    uint32_t file;  /* of the fragment; NO_FILE: in none */
    int32_t column; /* of the file */
};

struct lmn__fragment_columns {
    struct lmn_env *env; /* counted */
    struct lmn__arena arena;
    uint32_t source_count;
    struct lmn__reader *source;
    uint32_t leaf_count; /* that the sources have */
    struct lmn__part root;
};

/* What is known while the columns are opened. */
struct opening {
    struct lmn__file_set *files;
    const struct lmn__manifest *manifest;
    const struct lmn__pb_fragment *fragment;
    const struct lmn__projection *projection;
    struct lmn__fragment_columns *columns;
    struct lmn__arena arena; /* of what is needed only now */
    struct leaf *leaf;       /* in the order of the projection */
    uint32_t leaf_count;
    uint32_t leaf_next;       /* while parts are made */
    uint32_t *source_of_file; /* NO_FILE: not used */
    uint32_t *mark;           /* a number per source */
};

static void list_leaves(const struct lmn__selected *selected, struct opening *opening)
{
    if (selected->node != NULL && selected->node->kind == LMN__NODE_LEAF) {
        int32_t id = selected->absent ? -1 : selected->node->field->id;

        opening->leaf[opening->leaf_count++] = (struct leaf){ id, NO_FILE, -1 };
        return;
    }
    for (uint32_t i = 0; i < selected->child_count; i++)
        list_leaves(selected->child[i], opening);
}

static int compare_ids(const void *a, const void *b)
{
    const struct leaf *x = *(struct leaf *const *)a, *y = *(struct leaf *const *)b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static struct leaf *find_leaf(struct leaf **by_id, uint32_t count, int32_t id)
{
    struct leaf key = { .id = id }, *key_at = &key, **found;

    if (count == 0)
        return NULL;
    found = bsearch(&key_at, by_id, count, sizeof *by_id, compare_ids);
    return found != NULL ? *found : NULL;
}

/* Which file has which leaf; where two have the same, the later one. */
static enum lmn_status find_leaves(struct opening *opening, struct lmn_error *err)
{
    const struct lmn__pb_data_file *file = opening->fragment->files.item;
    uint32_t room = opening->projection->schema->node_count;
    struct leaf **by_id = lmn__arena_array(&opening->arena, room, sizeof *by_id);

    opening->leaf = lmn__arena_array(&opening->arena, room, sizeof *opening->leaf);
    if (by_id == NULL || opening->leaf == NULL)
        return lmn__arena_fail(&opening->arena, "a fragment's columns", err);
    list_leaves(opening->projection->root, opening);
    for (uint32_t i = 0; i < opening->leaf_count; i++)
        by_id[i] = &opening->leaf[i];
    if (opening->leaf_count != 0)
        qsort(by_id, opening->leaf_count, sizeof *by_id, compare_ids);
    for (uint32_t f = 0; f < opening->fragment->files.count; f++) {
        for (size_t i = 0; i < file[f].fields.count; i++) {
            int32_t id = (int32_t)file[f].fields.item[i];
            struct leaf *leaf = id >= 0 ? find_leaf(by_id, opening->leaf_count, id) : NULL;

            if (leaf == NULL)
                continue;
            leaf->file = f;
            leaf->column = (int32_t)file[f].columns.item[i];
        }
    }
    return LMN_OK;
}

/* The leaf of a file that owns a column. */
static const struct lmn__node *node_of_column(const struct lmn_file *file, int32_t column)
{
    for (uint32_t i = 0; column >= 0 && i < file->schema.node_count; i++) {
        const struct lmn__node *node = &file->schema.node[i];

        if (node->column == (uint32_t)column && node->kind == LMN__NODE_LEAF)
            return node;
    }
    return NULL;
}

/* The nodes that leaves of file number `index` have there. */
static enum lmn_status list_nodes(const struct opening *opening, const struct lmn_file *file,
                                  uint32_t index, const struct lmn__node **node,
                                  uint32_t *count_out, struct lmn_error *err)
{
    *count_out = 0;
    for (uint32_t i = 0; i < opening->leaf_count; i++) {
        const struct leaf *leaf = &opening->leaf[i];

        if (leaf->file != index)
            continue;
        node[*count_out] = node_of_column(file, leaf->column);
        if (node[*count_out] == NULL)
            return lmn_fail(err, LMN_E_CORRUPT,
                            "%.200s: field %d of fragment %llu should be column %d, which the file "
                            "does not have",
                            file->object.name, leaf->id, (unsigned long long)opening->fragment->id,
                            leaf->column);
        ++*count_out;
    }
    opening->columns->leaf_count += *count_out;
    return LMN_OK;
}

static enum lmn_status make_source(struct opening *opening, struct lmn_file *file, uint32_t index,
                                   struct lmn_error *err)
{
    struct lmn__fragment_columns *columns = opening->columns;
    const struct lmn__node **node = lmn__arena_array(&opening->arena, opening->leaf_count,
                                                     sizeof *node);
    enum lmn_blob_mode blobs = opening->projection->blobs;
    uint32_t count;
    enum lmn_status st;

    if (node == NULL)
        return lmn__arena_fail(&opening->arena, "a fragment's columns", err);
    if (file->row_count != opening->fragment->row_count)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "%.200s: %llu rows in a file of fragment %llu, which "
                        "has %llu",
                        file->object.name, (unsigned long long)file->row_count,
                        (unsigned long long)opening->fragment->id,
                        (unsigned long long)opening->fragment->row_count);
    st = list_nodes(opening, file, index, node, &count, err);
    if (st == LMN_OK)
        st = lmn__reader_init_nodes(&columns->source[columns->source_count], file, node, count,
                                    blobs, err);
    if (st == LMN_E_INVALID)
        return lmn_fail(err, LMN_E_CORRUPT, "%.200s: two fields of fragment %llu in one column",
                        file->object.name, (unsigned long long)opening->fragment->id);
    columns->source_count += st == LMN_OK;
    return st;
}

/* Open the files that have a leaf. */
static enum lmn_status open_sources(struct opening *opening, struct lmn_error *err)
{
    const struct lmn__pb_data_file *data_file = opening->fragment->files.item;
    size_t file_count = opening->fragment->files.count;
    struct lmn__fragment_columns *columns = opening->columns;
    enum lmn_status st = LMN_OK;

    columns->source = lmn__arena_array(&columns->arena, file_count, sizeof *columns->source);
    opening->source_of_file = lmn__arena_array(&opening->arena, file_count, sizeof(uint32_t));
    opening->mark = lmn__arena_array(&opening->arena, file_count, sizeof(uint32_t));
    if (columns->source == NULL || opening->source_of_file == NULL || opening->mark == NULL)
        return lmn__arena_fail(&columns->arena, "a fragment's columns", err);
    for (size_t i = 0; i < file_count; i++)
        opening->source_of_file[i] = NO_FILE;
    for (uint32_t i = 0; st == LMN_OK && i < opening->leaf_count; i++) {
        uint32_t index = opening->leaf[i].file;
        struct lmn_file *file;

        if (index == NO_FILE || opening->source_of_file[index] != NO_FILE)
            continue;
        opening->source_of_file[index] = columns->source_count;
        st = lmn__file_set_open(opening->files, opening->manifest, &data_file[index], &file, err);
        if (st != LMN_OK)
            return st;
        st = make_source(opening, file, index, err);
        lmn_file_release(file);
    }
    return st;
}

/* The sources that the children use, each once, in the order in which they come. */
static enum lmn_status join_uses(struct opening *opening, struct lmn__part *part,
                                 struct lmn_error *err)
{
    enum { UNSEEN = 0xffffffff };
    uint32_t room = 0;

    for (uint32_t i = 0; i < part->child_count; i++) {
        for (uint32_t k = 0; k < part->child[i].use_count; k++, room++)
            opening->mark[part->child[i].use[k].source] = UNSEEN;
    }
    part->use = lmn__arena_array(&opening->columns->arena, room, sizeof *part->use);
    if (part->use == NULL)
        return lmn__arena_fail(&opening->columns->arena, "a fragment's columns", err);
    for (uint32_t i = 0; i < part->child_count; i++) {
        for (uint32_t k = 0; k < part->child[i].use_count; k++) {
            struct lmn__part_use *use = &part->child[i].use[k];

            if (opening->mark[use->source] == UNSEEN) {
                opening->mark[use->source] = part->use_count;
                part->use[part->use_count++].source = use->source;
            }
            use->via = opening->mark[use->source];
            /* Until the part is whole, `place` of its own use counts the children so far. */
            use->place = part->use[use->via].place++;
        }
    }
    return LMN_OK;
}

/* What a node is made of, once its children are known. */
static enum lmn_status join_children(struct opening *opening, struct lmn__part *part,
                                     struct lmn_error *err)
{
    bool merged = false;
    enum lmn_status st = join_uses(opening, part, err);

    for (uint32_t i = 0; i < part->child_count; i++)
        merged = merged || part->child[i].kind != LMN__PART_FILE;
    if (part->use_count == 0 && part->child_count != 0)
        part->kind = LMN__PART_NONE;
    else if (merged || part->use_count != 1)
        part->kind = LMN__PART_MERGED;
    return st;
}

static enum lmn_status make_part(struct opening *opening, const struct lmn__selected *selected,
                                 const struct lmn__layout *layout, struct lmn__part *part,
                                 struct lmn_error *err)
{
    struct lmn__arena *arena = &opening->columns->arena;
    bool is_leaf = selected->node != NULL && selected->node->kind == LMN__NODE_LEAF;

    *part = (struct lmn__part){ .kind = LMN__PART_FILE, .layout = layout };
    if (is_leaf) {
        const struct leaf *leaf = &opening->leaf[opening->leaf_next++];

        part->use = lmn__arena_array(arena, 1, sizeof *part->use);
        if (part->use == NULL)
            return lmn__arena_fail(arena, "a fragment's columns", err);
        if (leaf->file == NO_FILE) {
            part->kind = LMN__PART_NONE;
            return LMN_OK;
        }
        part->use[0].source = opening->source_of_file[leaf->file];
        part->use_count = 1;
        return LMN_OK;
    }
    part->child_count = selected->child_count;
    part->child = lmn__arena_array(arena, selected->child_count, sizeof *part->child);
    if (part->child == NULL)
        return lmn__arena_fail(arena, "a fragment's columns", err);
    for (uint32_t i = 0; i < selected->child_count; i++) {
        enum lmn_status st = make_part(opening, selected->child[i], layout->child[i],
                                       &part->child[i], err);

        if (st != LMN_OK)
            return st;
    }
    return join_children(opening, part, err);
}

static enum lmn_status check_types(const struct opening *opening, struct lmn_error *err)
{
    const struct lmn__fragment_columns *columns = opening->columns;

    for (uint32_t i = 0; i < columns->source_count; i++) {
        const struct lmn__reader *source = &columns->source[i];

        if (!lmn__part_fits(&columns->root, i, source->projection.layout))
            return lmn_fail(err, LMN_E_CORRUPT,
                            "%.200s: its columns are not of the types that version %llu of the "
                            "table gives fragment %llu",
                            source->file->object.name,
                            (unsigned long long)opening->manifest->pb.version,
                            (unsigned long long)opening->fragment->id);
    }
    return LMN_OK;
}

enum lmn_status lmn__fragment_columns_open(struct lmn__file_set *files,
                                           const struct lmn__manifest *manifest,
                                           const struct lmn__pb_fragment *fragment,
                                           const struct lmn__projection *projection,
                                           struct lmn__fragment_columns **columns_out,
                                           struct lmn_error *err)
{
    struct lmn_env *env = manifest->env;
    struct opening opening = { files, manifest, fragment, projection, .columns = NULL };
    enum lmn_status st;

    *columns_out = NULL;
    if (fragment->overlays.count != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "fragment %llu has overlay files",
                        (unsigned long long)fragment->id);
    opening.columns = lmn__calloc(env, 1, sizeof *opening.columns);
    if (opening.columns == NULL)
        return lmn__no_memory(err, "a fragment's columns", sizeof *opening.columns);
    opening.columns->env = lmn_env_acquire(env);
    lmn__arena_init(&opening.columns->arena, env, 0);
    lmn__arena_init(&opening.arena, env, 0);
    st = find_leaves(&opening, err);
    if (st == LMN_OK)
        st = open_sources(&opening, err);
    if (st == LMN_OK)
        st = make_part(&opening, projection->root, projection->layout, &opening.columns->root, err);
    /* Rows are there even if none of their columns is. */
    if (opening.columns->root.kind == LMN__PART_NONE)
        opening.columns->root.kind = LMN__PART_MERGED;
    if (st == LMN_OK)
        st = check_types(&opening, err);
    lmn__arena_deinit(&opening.arena);
    if (st == LMN_OK)
        *columns_out = opening.columns;
    else
        lmn__fragment_columns_close(opening.columns);
    return st;
}

void lmn__fragment_columns_close(struct lmn__fragment_columns *columns)
{
    struct lmn_env *env;

    if (columns == NULL)
        return;
    env = columns->env;
    for (uint32_t i = 0; i < columns->source_count; i++)
        lmn__reader_deinit(&columns->source[i]);
    lmn__arena_deinit(&columns->arena);
    lmn__free(env, columns);
    lmn_env_release(env);
}

static enum lmn_status read_sources(const struct lmn__fragment_columns *columns,
                                    struct lmn__scratch *scratch,
                                    const struct lmn__row_range *range, uint64_t range_count,
                                    struct ArrowArray *array, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < columns->source_count; i++)
        st = lmn__reader_read(&columns->source[i], scratch, range, range_count, &array[i], err);
    return st;
}

/* Where the rows that are read lie. */
static struct lmn_env *place_of(const struct lmn__fragment_columns *columns,
                                const struct lmn__scratch *scratch)
{
    return scratch->place != NULL ? scratch->place : columns->env;
}

static enum lmn_status read_ranges(const struct lmn__fragment_columns *columns,
                                   struct lmn__scratch *scratch, const struct lmn__row_range *range,
                                   uint64_t range_count, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    struct lmn_env *env = columns->env;
    uint32_t count = columns->source_count;
    struct ArrowArray *array, **from;
    uint64_t rows = 0;
    enum lmn_status st;

    *array_out = (struct ArrowArray){ 0 };
    if (columns->root.kind == LMN__PART_FILE)
        return lmn__reader_read(&columns->source[0], scratch, range, range_count, array_out, err);
    array = lmn__calloc(env, count, sizeof *array);
    from = lmn__calloc(env, count, sizeof *from);
    if (array == NULL || from == NULL) {
        st = lmn__no_memory(err, "an array", count * sizeof *array);
        goto done;
    }
    for (uint64_t i = 0; i < range_count; i++)
        rows += range[i].count;
    st = read_sources(columns, scratch, range, range_count, array, err);
    for (uint32_t i = 0; i < columns->root.use_count; i++)
        from[i] = &array[columns->root.use[i].source];
    if (st == LMN_OK)
        st = lmn__part_assemble(place_of(columns, scratch), &columns->root, from, rows, array_out,
                                err);
    for (uint32_t i = 0; i < count; i++)
        lmn__array_release(&array[i]);
done:
    lmn__free(env, array);
    lmn__free(env, from);
    return st;
}

static bool is_rising(const struct lmn__row_range *range, uint64_t range_count)
{
    for (uint64_t i = 1; i < range_count; i++) {
        if (range[i].first < range[i - 1].first + range[i - 1].count)
            return false;
    }
    return true;
}

static bool reads_blobs(const struct lmn__fragment_columns *columns)
{
    for (uint32_t i = 0; i < columns->source_count; i++) {
        if (lmn__projection_reads_blobs(&columns->source[i].projection))
            return true;
    }
    return false;
}

/*
 * Is it cheaper to read all rows from the first to the last, and to copy out those that are wanted?
 * Not with blobs: each is a read of its own, and may be one that fails.
 */
static bool is_dense(const struct lmn__fragment_columns *columns,
                     const struct lmn__row_range *range, uint64_t range_count, uint64_t rows)
{
    const struct lmn__row_range *last = &range[range_count - 1];
    double span = (double)(last->first + last->count - range[0].first);
    double row_bytes = (double)lmn__fragment_columns_row_bytes(columns) +
                       (double)columns->leaf_count * (double)ROW_BYTES;

    return (span - (double)rows / 2) * row_bytes <
               (double)range_count * columns->leaf_count * (double)RANGE_BYTES &&
           is_rising(range, range_count) && !reads_blobs(columns);
}

static enum lmn_status read_dense(const struct lmn__fragment_columns *columns,
                                  struct lmn__scratch *scratch, const struct lmn__row_range *range,
                                  uint64_t range_count, uint64_t rows, struct ArrowArray *array_out,
                                  struct lmn_error *err)
{
    const struct lmn__row_range *last = &range[range_count - 1];
    struct lmn__row_range whole = { range[0].first, last->first + last->count - range[0].first };
    struct lmn_env *place = scratch->place;
    uint64_t *index = lmn__calloc(columns->env, rows, sizeof *index), at = 0;
    struct ArrowArray array = { 0 };
    enum lmn_status st;

    if (index == NULL)
        return lmn__no_memory(err, "rows to read", rows * sizeof *index);
    for (uint64_t i = 0; i < range_count; i++) {
        for (uint64_t k = 0; k < range[i].count; k++)
            index[at++] = range[i].first - whole.first + k;
    }
    scratch->place = NULL; /* only what is copied out is handed out */
    st = read_ranges(columns, scratch, &whole, 1, &array, err);
    scratch->place = place;
    if (st == LMN_OK)
        st = lmn__array_gather(place_of(columns, scratch), columns->root.layout, &array, index,
                               rows, array_out, err);
    lmn__array_release(&array);
    lmn__free(columns->env, index);
    return st;
}

enum lmn_status lmn__fragment_columns_read(const struct lmn__fragment_columns *columns,
                                           struct lmn__scratch *scratch,
                                           const struct lmn__row_range *range, uint64_t range_count,
                                           struct ArrowArray *array_out, struct lmn_error *err)
{
    uint64_t rows = 0;

    *array_out = (struct ArrowArray){ 0 };
    for (uint64_t i = 0; i < range_count; i++)
        rows += range[i].count;
    if (range_count > 1 && is_dense(columns, range, range_count, rows))
        return read_dense(columns, scratch, range, range_count, rows, array_out, err);
    return read_ranges(columns, scratch, range, range_count, array_out, err);
}

uint64_t lmn__fragment_columns_row_bytes(const struct lmn__fragment_columns *columns)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < columns->source_count; i++)
        bytes += lmn__reader_row_bytes(&columns->source[i]);
    return lmn__max_u64(bytes, 1);
}

enum lmn_status lmn__fragment_columns_blob_bytes(const struct lmn__fragment_columns *columns,
                                                 uint64_t *bytes_out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *bytes_out = 0;
    for (uint32_t i = 0; st == LMN_OK && i < columns->source_count; i++) {
        uint64_t bytes;

        st = lmn__reader_blob_bytes(&columns->source[i], &bytes, err);
        *bytes_out = lmn__min_u64(*bytes_out, UINT64_MAX / 2) + lmn__min_u64(bytes, UINT64_MAX / 2);
    }
    return st;
}
