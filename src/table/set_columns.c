/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether it is worth it is found out in steps, from cheap to dear:
 *
 *   1. the table is small: no
 *   2. the columns that are set are half of a row or more, in the largest fragment: no
 *   3. search the rows: what is written for the fragments that have some, against these rows
 *
 * A file that loses columns keeps its bytes; their fields become -2 in the manifest, so that nobody
 * finds them there.
 */
#include "table/set_columns.h"

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "base/error.h"
#include "base/math.h"
#include "format/batches.h"
#include "table/fill_rows.h"
#include "table/fragment_columns.h"
#include "table/fragment_reader.h"
#include "table/fragment_writer.h"
#include "table/table_fields.h"

/* What is saved at least: below it one more file in each fragment costs more than bytes. */
static const uint64_t saved_bytes_min = 1 << 20;

/*
 * Rows that are set get another stamp than their neighbours, and stamps are runs in the manifest,
 * of 16 bytes, which every commit after this one writes again: 256 of them, say.
 */
static const double stamp_bytes = 16 * 256;

void lmn__set_columns_init(struct lmn__set_columns *set, struct lmn_table *table,
                           struct lmn__manifest *manifest, const struct lmn_write_options *options)
{
    *set = (struct lmn__set_columns){ .table = table, .manifest = manifest, .options = options };
    lmn__arena_init(&set->arena, table->env, 0);
    lmn__touched_init(&set->touched, table->env, manifest);
}

static struct lmn__pb_data_file *last_file(const struct lmn__pb_fragment *fragment)
{
    return (struct lmn__pb_data_file *)fragment->files.item + fragment->files.count - 1;
}

void lmn__set_columns_deinit(struct lmn__set_columns *set)
{
    for (uint64_t i = 0; i < set->written; i++) {
        const struct lmn__pb_fragment written = { .files = { last_file(&set->change.replaced[i]),
                                                             1 } };

        lmn__fragments_remove(set->table->store, &written, 1);
    }
    if (set->projection.layout != NULL)
        lmn__projection_deinit(&set->projection);
    lmn__touched_deinit(&set->touched);
    lmn__arena_deinit(&set->arena);
}

/* Blobs lie beside the columns of a file; they move with their rows. */
static bool has_blob(const struct lmn__node *node)
{
    bool found = node->blob != LMN__BLOB_NONE;

    for (const struct lmn__node *child = node->child; child != NULL && !found; child = child->next)
        found = has_blob(child);
    return found;
}

enum lmn_status lmn__set_columns_project(struct lmn__set_columns *set,
                                         const struct lmn__node *const *column, uint32_t count,
                                         uint32_t read_count, struct lmn_error *err)
{
    for (uint32_t i = 0; i < read_count; i++) {
        if (has_blob(column[i]))
            return lmn_fail(err, LMN_E_UNSUPPORTED, "column \"%.100s\" has blobs", column[i]->name);
    }
    set->column = column;
    set->count = count;
    return lmn__projection_init_nodes(&set->projection, set->table->env, &set->manifest->schema,
                                      column, read_count, LMN_BLOB_BYTES, err);
}

/* Bytes of an average row of a fragment. */
static enum lmn_status row_bytes(const struct lmn__set_columns *set,
                                 const struct lmn__pb_fragment *fragment,
                                 const struct lmn__projection *projection, uint64_t *bytes_out,
                                 struct lmn_error *err)
{
    struct lmn__fragment_columns *columns;
    uint64_t blobs = 0;
    enum lmn_status st = lmn__fragment_columns_open(set->table->files, set->manifest, fragment,
                                                    projection, &columns, err);

    *bytes_out = 0;
    if (st != LMN_OK)
        return st;
    st = lmn__fragment_columns_blob_bytes(columns, &blobs, err);
    *bytes_out = lmn__min_u64(blobs, UINT32_MAX) +
                 lmn__min_u64(lmn__fragment_columns_row_bytes(columns), UINT32_MAX);
    lmn__fragment_columns_close(columns);
    return st;
}

/*
 * How often rows that are set and others take turns: so many runs of stamps more, at most. Deleted
 * rows end no run.
 */
static uint64_t count_turns(const struct lmn__deletion *rows, const struct lmn__deletion *deleted)
{
    uint64_t turns = 0;
    bool inside = false;

    for (uint64_t i = 0; i < rows->row_count; i++) {
        if (lmn__deletion_has(deleted, i))
            continue;
        turns += lmn__deletion_has(rows, i) != inside;
        inside = lmn__deletion_has(rows, i);
    }
    return turns;
}

/* Bytes that are written, by setting columns and by moving rows. */
struct costs {
    double set, move;
};

/* Add what a fragment costs with the rows of `touched`; NULL: all of its rows. */
static enum lmn_status add_costs(const struct lmn__set_columns *set, uint64_t index,
                                 const struct lmn__touched *touched,
                                 const struct lmn__projection *whole,
                                 const struct lmn__projection *part, struct costs *costs,
                                 struct lmn_error *err)
{
    const struct lmn__pb_fragment *fragment;
    struct lmn__fragment_reader *reader;
    uint64_t of_part = 0, of_whole = 0;
    enum lmn_status st = lmn__fragment_reader_open(set->table->files, set->manifest, index, part,
                                                   &reader, err);

    if (st != LMN_OK)
        return st;
    fragment = lmn__fragment_reader_fragment(reader);
    of_part = lmn__min_u64(lmn__fragment_reader_row_bytes(reader), UINT32_MAX);
    st = row_bytes(set, fragment, whole, &of_whole, err);
    if (st == LMN_OK) {
        const struct lmn__deletion *deleted = lmn__fragment_reader_deletion(reader);
        uint64_t rows = touched != NULL ? touched->rows.deleted : fragment->row_count;

        costs->set += (double)of_part * (double)fragment->row_count;
        costs->move += (double)of_whole * (double)rows;
        if (touched != NULL && lmn__manifest_stable_ids(set->manifest))
            costs->set += (double)count_turns(&touched->rows, deleted) * stamp_bytes;
    }
    lmn__fragment_reader_close(reader);
    return st;
}

/*
 * The fragment with the most bytes, and whether there are enough bytes at all to save any. Files
 * whose size nobody knows may be large.
 */
static enum lmn_status find_largest(const struct lmn__set_columns *set, uint64_t *index_out,
                                    bool *large_out, struct lmn_error *err)
{
    double total = 0, most = 0;
    enum lmn_status st = LMN_OK;

    *index_out = 0;
    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(set->manifest); i++) {
        struct lmn__pb_fragment fragment = { 0 };
        const struct lmn__pb_data_file *file;
        struct lmn__arena arena;
        double bytes = 0;

        lmn__arena_init(&arena, set->table->env, 0);
        st = lmn__manifest_fragment(set->manifest, i, &arena, &fragment, err);
        file = fragment.files.item;
        for (size_t k = 0; st == LMN_OK && k < fragment.files.count; k++)
            bytes += (double)(file[k].bytes != 0 ? file[k].bytes : saved_bytes_min);
        lmn__arena_deinit(&arena);
        if (bytes > most) {
            most = bytes;
            *index_out = i;
        }
        total += bytes;
    }
    *large_out = total >= (double)saved_bytes_min;
    return st;
}

/* Steps 2 and 3 of the search; see the top of the file. */
static enum lmn_status compare(struct lmn__set_columns *set, struct lmn_table *pinned,
                               const char *where, uint64_t largest,
                               const struct lmn__projection *whole,
                               const struct lmn__projection *part, bool *fits_out,
                               struct lmn_error *err)
{
    struct costs costs = { 0 };
    enum lmn_status st = add_costs(set, largest, NULL, whole, part, &costs, err);

    if (st != LMN_OK || costs.set * 2 >= costs.move)
        return st;
    if (!set->searched)
        st = lmn__touched_find(&set->touched, pinned, where, err);
    set->searched = st == LMN_OK;
    costs = (struct costs){ 0 };
    for (uint64_t i = 0; st == LMN_OK && i < set->touched.count; i++) {
        const struct lmn__touched *touched = &set->touched.item[i];
        uint64_t index;

        st = lmn__manifest_find(set->manifest, touched->fragment_id, &set->arena, &index, err);
        if (st == LMN_OK)
            st = add_costs(set, index, touched, whole, part, &costs, err);
    }
    *fits_out = st == LMN_OK && costs.move > costs.set + (double)saved_bytes_min;
    return st;
}

enum lmn_status lmn__set_columns_choose(struct lmn__set_columns *set, struct lmn_table *pinned,
                                        const char *where, bool *fits_out, struct lmn_error *err)
{
    struct lmn_env *env = set->table->env;
    const struct lmn__schema *schema = &set->manifest->schema;
    struct lmn__projection whole, part;
    uint64_t largest;
    bool large;
    enum lmn_status st = find_largest(set, &largest, &large, err);

    *fits_out = false;
    if (st != LMN_OK || !large)
        return st;
    st = lmn__projection_init(&whole, env, schema, NULL, 0, LMN_BLOB_EITHER, err);
    if (st != LMN_OK)
        return st;
    st = lmn__projection_init_nodes(&part, env, schema, set->column, set->count, LMN_BLOB_EITHER,
                                    err);
    if (st == LMN_OK) {
        st = compare(set, pinned, where, largest, &whole, &part, fits_out, err);
        lmn__projection_deinit(&part);
    }
    lmn__projection_deinit(&whole);
    return st;
}

/* The rows of a fragment that are set, while they pass. */
struct setting {
    const struct lmn__set_columns *set;
    const struct lmn__deletion *chosen;
    uint64_t row; /* the next that comes */
};

/* The columns as they become: `values` where part is 1, and what they were in the other rows. */
static enum lmn_status blend(const struct lmn__set_columns *set, const struct ArrowArray *rows,
                             const struct ArrowArray *values, const uint32_t *part,
                             const uint64_t *index, struct ArrowArray *columns_out,
                             struct lmn_error *err)
{
    uint64_t count = (uint64_t)rows->length;
    enum lmn_status st = lmn__array_compose(set->table->env, count, set->count, columns_out, err);

    for (uint32_t i = 0; st == LMN_OK && i < set->count; i++) {
        const struct ArrowArray *from[2] = { rows->children[i], values->children[i] };

        st = lmn__arrays_gather(set->table->env, set->projection.layout->child[i], from, 2, part,
                                index, count, columns_out->children[i], err);
    }
    return st;
}

/* A lmn__fill_fn, of one thread; all rows of a fragment come, in order. */
static enum lmn_status set_rows(void *context, struct ArrowArray *rows,
                                struct ArrowArray *columns_out, struct lmn_error *err)
{
    struct setting *setting = context;
    const struct lmn__set_columns *set = setting->set;
    struct lmn_env *env = set->table->env;
    uint64_t count = (uint64_t)rows->length, first = (uint64_t)rows->offset, chosen_count = 0;
    uint32_t *part = lmn__calloc(env, count, sizeof *part);
    uint64_t *index = lmn__calloc(env, count, sizeof *index);
    uint64_t *chosen = lmn__calloc(env, count, sizeof *chosen);
    struct ArrowArray values = { 0 };
    enum lmn_status st = LMN_OK;

    if (part == NULL || index == NULL || chosen == NULL)
        st = lmn__no_memory(err, "a list of rows", count * sizeof *index);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        part[i] = lmn__deletion_has(setting->chosen, setting->row + i);
        index[i] = part[i] ? chosen_count : first + i;
        if (part[i])
            chosen[chosen_count++] = i;
    }
    if (st == LMN_OK && chosen_count != 0)
        st = set->fn(set->context, rows, chosen, chosen_count, &values, err);
    if (st == LMN_OK && chosen_count == count)
        lmn__array_move(&values, columns_out);
    else if (st == LMN_OK)
        st = blend(set, rows, chosen_count != 0 ? &values : rows, part, index, columns_out, err);
    setting->row += count;
    lmn__array_release(&values);
    lmn__free(env, part);
    lmn__free(env, index);
    lmn__free(env, chosen);
    return st;
}

/* A lmn__fill_fitting_fn: values may be larger than those that are read. */
static uint64_t fitting_rows(void *context, uint64_t first, uint64_t count)
{
    const struct setting *setting = context;
    uint64_t value_bytes = setting->set->value_bytes, bytes = 0, i = 0;

    while (i < count && bytes < LMN__BATCH_BYTES) {
        if (lmn__deletion_has(setting->chosen, first + i++))
            bytes += value_bytes;
    }
    return i;
}

/* The files that a fragment has left, without the fields that are set, and the one with them. */
static enum lmn_status replace_files(struct lmn__set_columns *set,
                                     const struct lmn__pb_list *set_fields,
                                     const struct lmn__pb_data_file *written,
                                     struct lmn__pb_fragment *fragment, struct lmn_error *err)
{
    const struct lmn__pb_data_file *before = fragment->files.item;
    struct lmn__pb_data_file *file = lmn__arena_array(&set->arena, fragment->files.count + 1,
                                                      sizeof *file);
    size_t count = 0;

    if (file == NULL)
        return lmn__arena_fail(&set->arena, "a fragment", err);
    for (size_t i = 0; i < fragment->files.count; i++) {
        bool live = false;

        file[count] = before[i];
        for (size_t k = 0; k < before[i].fields.count; k++) {
            uint64_t *field = &file[count].fields.item[k];

            if (lmn__fields_have(set_fields, (int32_t)*field))
                *field = (uint64_t)INT64_C(-2);
            live = live || (int32_t)*field >= 0;
        }
        count += live;
    }
    file[count++] = *written;
    fragment->files = (struct lmn__pb_list){ file, count };
    return LMN_OK;
}

/* Write the file of one fragment with rows that are set. */
static enum lmn_status write_fragment(struct lmn__set_columns *set, const struct lmn__fill *fill,
                                      const struct lmn__layout *layout, uint64_t i,
                                      struct lmn_error *err)
{
    const struct lmn__touched *touched = &set->touched.item[i];
    struct lmn__pb_fragment *fragment = &set->change.replaced[i];
    struct setting setting = { set, &touched->rows, 0 };
    struct lmn__fill of_fragment = *fill;
    struct lmn__pb_data_file written = { 0 };
    uint64_t index;
    enum lmn_status st = lmn__manifest_find(set->manifest, touched->fragment_id, &set->arena,
                                            &index, err);

    of_fragment.context = &setting;
    if (st == LMN_OK)
        st = lmn__manifest_fragment(set->manifest, index, &set->arena, fragment, err);
    if (st == LMN_OK)
        st = lmn__fill_fragment(&of_fragment, index, layout, 0, &set->arena, &written, err);
    if (st != LMN_OK)
        return st;
    st = replace_files(set, fill->fields, &written, fragment, err);
    if (st == LMN_OK) {
        set->written++;
    } else {
        const struct lmn__pb_fragment lost = { .files = { &written, 1 } };

        lmn__fragments_remove(set->table->store, &lost, 1);
    }
    return st;
}

static enum lmn_status list_modified(struct lmn__set_columns *set,
                                     const struct lmn__pb_list *fields, struct lmn_error *err)
{
    const struct lmn__pb_schema_field *field = fields->item;
    uint64_t *id = lmn__arena_array(&set->arena, fields->count, sizeof *id);

    if (id == NULL)
        return lmn__arena_fail(&set->arena, "a list of fields", err);
    for (size_t i = 0; i < fields->count; i++)
        id[i] = (uint64_t)field[i].id;
    set->change.fields_modified = (struct lmn__pb_u64s){ id, fields->count };
    return LMN_OK;
}

enum lmn_status lmn__set_columns_commit(struct lmn__set_columns *set, bool *again_out,
                                        struct lmn_error *err)
{
    struct ArrowSchema schema = set->projection.arrow;
    struct lmn__pb_list fields;
    const struct lmn__layout *layout;
    struct lmn__fill fill = { .table = set->table,
                              .manifest = set->manifest,
                              .projection = &set->projection,
                              .schema = &schema,
                              .fields = &fields,
                              .fn = set_rows,
                              .fitting = fitting_rows,
                              .with_deleted = true };
    uint64_t count = set->touched.count;
    enum lmn_status st;

    *again_out = false;
    schema.n_children = set->count;
    set->change = (struct lmn__change){ .kind = LMN__CHANGE_SET,
                                        .read_version = set->manifest->pb.version,
                                        .known = set->manifest,
                                        .touched = set->touched.item,
                                        .touched_count = count,
                                        .replaced_count = count,
                                        .added = set->added,
                                        .added_count = set->added_count,
                                        .keyed = set->added_count != 0,
                                        .message = set->options->message,
                                        .unsynced = set->options->unsynced };
    set->change.replaced = lmn__arena_array(&set->arena, count, sizeof *set->change.replaced);
    if (set->change.replaced == NULL)
        return lmn__arena_fail(&set->arena, "fragments", err);
    st = lmn__layout_from_schema(&schema, &set->arena, &layout, err);
    if (st == LMN_OK)
        st = lmn__fields_of_columns(set->column, set->count, &set->arena, &fields, err);
    if (st == LMN_OK)
        st = list_modified(set, &fields, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++)
        st = write_fragment(set, &fill, layout, i, err);
    if (st == LMN_OK)
        st = lmn__change_commit(set->table, &set->change, again_out, err);
    if (st == LMN_OK || set->change.may_stand)
        set->written = 0;
    return st;
}
