/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifying a version: everything that its manifest names is read and compared with what the
 * manifest says of it.
 *
 *   of the manifest    fragment ids rise, and stay below the largest that was ever given; the
 *                      transaction that it holds or names decodes
 *   of a fragment      its deletion file, row ids and versions decode and fit the number of rows;
 *                      every field of the schema is found in a file, in the type that it has
 *   of a data file     size, rows, version; the bytes of every page are those that were written,
 *                      where the file has checksums; every page of every column decodes; so do
 *                      its statistics, if it has any
 *   of the table       no two live rows have one id; its tags decode, and their versions open
 *
 * What is wrong becomes a finding, and the next thing is looked at. A page that does not decode is
 * one finding: the rest of it is passed over. Only what is wrong with this process, such as a lack
 * of memory, ends the call.
 */
#include <leman/table_versions.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/math.h"
#include "format/batches.h"
#include "format/checksum.h"
#include "os/interrupt.h"
#include "table/conflict.h"
#include "table/fragment_reader.h"
#include "table/table.h"
#include "table/tags.h"

enum { FINDING_BYTES = 1024 };

/* Ids of live rows, and where they are. */
struct owned {
    uint64_t id;
    uint64_t count;
    uint64_t fragment_id;
};

struct verify {
    struct lmn_table *table;
    struct lmn_env *env;
    struct lmn__manifest *manifest;
    lmn_verify_fn found;
    void *context;
    struct lmn_verify_result result;
    struct lmn__scratch scratch;
    struct owned *owned;
    uint64_t owned_count, owned_room;
};

LMN_PRINTF(2, 3) static void find(struct verify *verify, const char *fmt, ...)
{
    char text[FINDING_BYTES];
    va_list list;

    va_start(list, fmt);
    vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    verify->result.findings++;
    if (verify->found != NULL)
        verify->found(verify->context, text);
}

/* Make a failure a finding, unless it says nothing about the table. */
static enum lmn_status judge(struct verify *verify, uint64_t fragment_id, enum lmn_status st,
                             const struct lmn_error *err)
{
    if (st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_CANCELLED)
        return st;
    /* Readers of fragments name theirs; readers of files cannot. */
    if (strncmp(err->message, "fragment ", sizeof "fragment " - 1) == 0)
        find(verify, "%s", err->message);
    else
        find(verify, "fragment %llu: %s", (unsigned long long)fragment_id, err->message);
    return LMN_OK;
}

/* Read rows [first, first + count) of a column, and forget them. */
static enum lmn_status read_rows(struct verify *verify, const struct lmn__reader *reader,
                                 uint64_t first, uint64_t count, struct lmn_error *err)
{
    uint64_t step = lmn__max_u64(LMN__BATCH_BYTES / lmn__reader_row_bytes(reader), 1);
    enum lmn_status st = LMN_OK;

    step = lmn__min_u64(step, LMN__BATCH_ROWS);
    for (uint64_t done = 0; st == LMN_OK && done < count; done += step) {
        struct lmn__row_range range = { first + done, lmn__min_u64(step, count - done) };
        struct ArrowArray array;

        st = lmn__reader_read(reader, &verify->scratch, &range, 1, &array, err);
        if (st == LMN_OK)
            array.release(&array);
    }
    return st;
}

/* Blobs that lie elsewhere are not read; their descriptors are. */
static enum lmn_status read_page(struct verify *verify, const struct lmn__node *node,
                                 const struct lmn__reader *reader, uint64_t first, uint64_t count,
                                 struct lmn_error *err)
{
    struct lmn__reader plain;
    enum lmn_status st = read_rows(verify, reader, first, count, err);

    if (st != LMN_E_UNSUPPORTED || node->blob == LMN__BLOB_NONE)
        return st;
    st = lmn__reader_init_nodes(&plain, reader->file, &node, 1, LMN_BLOB_DESCRIPTORS, err);
    if (st != LMN_OK)
        return st;
    st = read_rows(verify, &plain, first, count, err);
    lmn__reader_deinit(&plain);
    return st;
}

/* Read a column page by page. */
static enum lmn_status read_column(struct verify *verify, uint64_t fragment_id,
                                   struct lmn_file *file, const struct lmn__node *node,
                                   struct lmn_error *err)
{
    struct lmn__reader reader;
    const struct lmn__leaf_plan *leaf;
    enum lmn_status st = lmn__reader_init_nodes(&reader, file, &node, 1, LMN_BLOB_BYTES, err);

    if (st != LMN_OK)
        return judge(verify, fragment_id, st, err);
    leaf = reader.leaf;
    for (uint32_t i = 0; st == LMN_OK && reader.leaf_count != 0 && i < leaf->column->page_count;
         i++) {
        const struct lmn__page_info *page = &leaf->column->page[i];
        uint64_t first = page->first_row / leaf->stride;
        uint64_t end = lmn__div_up(page->first_row + page->row_count, leaf->stride);

        st = lmn__interrupt_check(err);
        if (st == LMN_OK)
            st = read_page(verify, node, &reader, first, end - first, err);
        st = judge(verify, fragment_id, st, err);
    }
    lmn__reader_deinit(&reader);
    return st;
}

/* What is read as one: a leaf, or the node above it that cannot be read in parts. */
static const struct lmn__node *unit_of(const struct lmn__node *node)
{
    const struct lmn__node *unit = node;

    for (const struct lmn__node *up = node; up != NULL; up = up->parent) {
        if (up->packed || up->blob != LMN__BLOB_NONE ||
            lmn__span_equal(up->field->logical_type, "map"))
            unit = up;
    }
    return unit;
}

static enum lmn_status read_columns(struct verify *verify, uint64_t fragment_id,
                                    struct lmn_file *file, struct lmn_error *err)
{
    const struct lmn__node *last = NULL;
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < file->schema.node_count; i++) {
        const struct lmn__node *node = &file->schema.node[i], *unit;

        if (node->child_count != 0)
            continue;
        unit = unit_of(node);
        if (unit != last)
            st = read_column(verify, fragment_id, file, unit, err);
        last = unit;
    }
    return st;
}

/*
 * Count pages and compare their bytes with their checksums, where the file has any. Columns whose
 * description does not decode show when they are read.
 */
static enum lmn_status check_pages(struct verify *verify, uint64_t fragment_id,
                                   struct lmn_file *file, struct lmn_error *err)
{
    struct lmn__checksums checksums;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, verify->env, 0);
    st = judge(verify, fragment_id, lmn__checksums_read(file, &arena, &checksums, err), err);
    if (st == LMN_OK)
        st = judge(verify, fragment_id, lmn__checksums_check_ends(&checksums, file, err), err);
    for (uint32_t i = 0; st == LMN_OK && i < file->footer.column_count; i++) {
        const struct lmn__column *column;
        enum lmn_status read = lmn__file_column(file, i, &column, err);

        if (read == LMN_E_NO_MEMORY)
            st = read;
        if (read != LMN_OK)
            continue;
        verify->result.pages += column->page_count;
        for (uint32_t k = 0; st == LMN_OK && checksums.there && k < column->page_count; k++)
            st = judge(verify, fragment_id, lmn__checksums_check(&checksums, file, i, k, err), err);
    }
    lmn__arena_deinit(&arena);
    return st;
}

/* Statistics that are damaged fail reads with a condition; a damaged directory is one finding. */
static enum lmn_status check_stats(struct verify *verify, uint64_t fragment_id,
                                   struct lmn_file *file, struct lmn_error *err)
{
    const struct lmn__stats_column *column;
    uint64_t zones, bytes;
    enum lmn_status st = lmn__file_stats_size(file, 0, &zones, &bytes, err);

    if (st != LMN_OK)
        return judge(verify, fragment_id, st, err);
    for (uint32_t i = 0; st == LMN_OK && i < file->footer.column_count; i++)
        st = judge(verify, fragment_id, lmn__file_stats(file, i, &column, err), err);
    return st;
}

/* Does the manifest say of a file what the file is? */
static void compare_file(struct verify *verify, const struct lmn__pb_fragment *fragment,
                         const struct lmn__pb_data_file *pb, const struct lmn_file *file)
{
    unsigned long long id = fragment->id;
    char version[16];

    if (file->row_count != fragment->row_count)
        find(verify, "fragment %llu: %s: %llu rows; the fragment has %llu", id, file->path,
             (unsigned long long)file->row_count, (unsigned long long)fragment->row_count);
    if (pb->fields.count != pb->columns.count)
        find(verify, "fragment %llu: %s: the manifest lists %zu fields and %zu columns of it", id,
             file->path, pb->fields.count, pb->columns.count);
    for (size_t i = 0; i < pb->columns.count; i++) {
        int32_t column = (int32_t)pb->columns.item[i];

        if (column >= 0 && (uint32_t)column >= file->footer.column_count)
            find(verify, "fragment %llu: %s: field %d is column %d of %u", id, file->path,
                 i < pb->fields.count ? (int)pb->fields.item[i] : -1, (int)column,
                 file->footer.column_count);
    }
    snprintf(version, sizeof version, "%u.%u", pb->major, pb->minor);
    if (strcmp(version, lmn_file_version(file)) != 0 && !(pb->major == 0 && pb->minor == 3))
        find(verify, "fragment %llu: %s: version %s; the manifest says %s", id, file->path,
             lmn_file_version(file), version);
}

static enum lmn_status verify_file(struct verify *verify, const struct lmn__pb_fragment *fragment,
                                   const struct lmn__pb_data_file *pb, struct lmn_error *err)
{
    struct lmn_file *file;
    enum lmn_status st = lmn__file_set_open(verify->table->files, verify->manifest, pb, &file, err);

    verify->result.files++;
    if (st != LMN_OK)
        return judge(verify, fragment->id, st, err);
    verify->result.bytes += lmn_file_bytes(file);
    compare_file(verify, fragment, pb, file);
    st = check_pages(verify, fragment->id, file, err);
    if (st == LMN_OK && file->footer.column_count != 0)
        st = check_stats(verify, fragment->id, file, err);
    if (st == LMN_OK)
        st = read_columns(verify, fragment->id, file, err);
    lmn_file_release(file);
    return st;
}

static enum lmn_status own(struct verify *verify, struct owned next, struct lmn_error *err)
{
    if (verify->owned_count == verify->owned_room) {
        uint64_t room = verify->owned_room != 0 ? verify->owned_room * 2 : 64;
        struct owned *grown = lmn__realloc(verify->env, verify->owned, room * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "row ids", room * sizeof *grown);
        verify->owned = grown;
        verify->owned_room = room;
    }
    verify->owned[verify->owned_count++] = next;
    return LMN_OK;
}

/* Remember the ids of the live rows of a fragment. */
static enum lmn_status own_rows(struct verify *verify, const struct lmn__fragment_reader *reader,
                                struct lmn_error *err)
{
    const struct lmn__row_ids *ids = lmn__fragment_reader_ids(reader);
    const struct lmn__deletion *deletion = lmn__fragment_reader_deletion(reader);
    uint64_t fragment_id = lmn__fragment_reader_fragment(reader)->id;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < ids->run_count; i++) {
        struct owned next = { ids->run[i].id, 0, fragment_id };

        for (uint64_t k = 0; st == LMN_OK && k <= ids->run[i].count; k++) {
            if (k < ids->run[i].count && !lmn__deletion_has(deletion, ids->run[i].row + k)) {
                next.count++;
                continue;
            }
            if (next.count != 0)
                st = own(verify, next, err);
            next = (struct owned){ ids->run[i].id + k + 1, 0, fragment_id };
        }
    }
    return st;
}

static int compare_owned(const void *a, const void *b)
{
    uint64_t x = ((const struct owned *)a)->id, y = ((const struct owned *)b)->id;

    return x < y ? -1 : x > y;
}

/* Is every id there once, and below the next one to be given? */
static void check_ids(struct verify *verify)
{
    struct owned *owned = verify->owned;
    uint64_t next_id = verify->manifest->pb.next_row_id, widest = 0;

    if (verify->owned_count == 0 || !lmn__manifest_stable_ids(verify->manifest))
        return;
    qsort(owned, verify->owned_count, sizeof *owned, compare_owned);
    for (uint64_t i = 0; i < verify->owned_count; i++) {
        const struct owned *before = &owned[widest];

        if (i != 0 && owned[i].id < before->id + before->count)
            find(verify, "row id %llu stands in fragment %llu and in fragment %llu",
                 (unsigned long long)owned[i].id, (unsigned long long)before->fragment_id,
                 (unsigned long long)owned[i].fragment_id);
        if (i == 0 || owned[i].id + owned[i].count > before->id + before->count)
            widest = i;
    }
    if (owned[widest].id + owned[widest].count > next_id)
        find(verify, "fragment %llu has row id %llu; the next one to be given is %llu",
             (unsigned long long)owned[widest].fragment_id,
             (unsigned long long)(owned[widest].id + owned[widest].count - 1),
             (unsigned long long)next_id);
}

static enum lmn_status check_stamps(struct verify *verify, const struct lmn__pb_fragment *fragment,
                                    struct lmn__arena *arena, struct lmn_error *err)
{
    struct lmn__row_versions versions;
    enum lmn_status st = LMN_OK;

    if (fragment->created_at.data != NULL)
        st = judge(verify, fragment->id,
                   lmn__row_versions_read(fragment->created_at, fragment->row_count, arena,
                                          &versions, err),
                   err);
    if (st == LMN_OK && fragment->updated_at.data != NULL)
        st = judge(verify, fragment->id,
                   lmn__row_versions_read(fragment->updated_at, fragment->row_count, arena,
                                          &versions, err),
                   err);
    return st;
}

/* Deletions and ids; then the fields of the schema in the files. */
static enum lmn_status verify_rows(struct verify *verify, const struct lmn__pb_fragment *fragment,
                                   uint64_t index, struct lmn_error *err)
{
    const struct lmn__schema *schema = &verify->manifest->schema;
    struct lmn__fragment_reader *reader;
    struct lmn__projection projection;
    enum lmn_status st = lmn__projection_init_nodes(&projection, verify->env, schema, NULL, 0,
                                                    false, err);

    if (st != LMN_OK)
        return st;
    st = lmn__fragment_reader_open(verify->table->files, verify->manifest, index, &projection,
                                   &reader, err);
    if (st == LMN_OK)
        st = own_rows(verify, reader, err);
    else
        st = judge(verify, fragment->id, st, err);
    lmn__fragment_reader_close(reader);
    lmn__projection_deinit(&projection);
    return st;
}

static enum lmn_status verify_fields(struct verify *verify, const struct lmn__pb_fragment *fragment,
                                     uint64_t index, struct lmn_error *err)
{
    struct lmn__fragment_reader *reader;
    struct lmn__projection projection;
    enum lmn_status st = lmn__projection_init(&projection, verify->env, &verify->manifest->schema,
                                              NULL, 0, false, err);

    if (st != LMN_OK)
        return judge(verify, fragment->id, st, err);
    st = lmn__fragment_reader_open(verify->table->files, verify->manifest, index, &projection,
                                   &reader, err);
    lmn__fragment_reader_close(reader);
    lmn__projection_deinit(&projection);
    return judge(verify, fragment->id, st, err);
}

static enum lmn_status verify_fragment(struct verify *verify, uint64_t index,
                                       const struct lmn__pb_fragment *fragment,
                                       struct lmn__arena *arena, struct lmn_error *err)
{
    const struct lmn__pb_data_file *file = fragment->files.item;
    uint64_t before = verify->result.findings;
    enum lmn_status st = verify_rows(verify, fragment, index, err);

    if (fragment->deletion != NULL)
        verify->result.files++;
    if (st == LMN_OK)
        st = check_stamps(verify, fragment, arena, err);
    for (size_t i = 0; st == LMN_OK && i < fragment->files.count; i++)
        st = verify_file(verify, fragment, &file[i], err);
    /* A file that cannot be opened has been found already. */
    if (st == LMN_OK && verify->result.findings == before)
        st = verify_fields(verify, fragment, index, err);
    return st;
}

static enum lmn_status verify_fragments(struct verify *verify, struct lmn_error *err)
{
    const struct lmn__manifest *manifest = verify->manifest;
    uint64_t last = 0;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(manifest); i++) {
        struct lmn__pb_fragment fragment = { 0 };
        struct lmn__arena arena;

        lmn__arena_init(&arena, verify->env, 0);
        st = lmn__manifest_fragment(manifest, i, &arena, &fragment, err);
        if (st != LMN_OK) {
            st = judge(verify, i, st, err);
            lmn__arena_deinit(&arena);
            continue;
        }
        if (i != 0 && fragment.id <= last)
            find(verify, "fragment %llu stands behind fragment %llu",
                 (unsigned long long)fragment.id, (unsigned long long)last);
        if (manifest->pb.has_fragment_id_max && fragment.id > manifest->pb.fragment_id_max)
            find(verify, "fragment %llu; the largest id that was given is %u",
                 (unsigned long long)fragment.id, manifest->pb.fragment_id_max);
        last = fragment.id;
        st = verify_fragment(verify, i, &fragment, &arena, err);
        lmn__arena_deinit(&arena);
    }
    return st;
}

/* Writers that commit at the same time compare their change with the transaction. */
static enum lmn_status check_transaction(struct verify *verify, struct lmn_error *err)
{
    const struct lmn__manifest *manifest = verify->manifest;
    struct lmn__pb_transaction transaction;
    struct lmn__arena arena;
    enum lmn_status st;

    if (manifest->transaction.data == NULL && manifest->pb.transaction_file.len == 0)
        return LMN_OK;
    lmn__arena_init(&arena, verify->env, 0);
    st = lmn__transaction_read(verify->table->store, manifest, &arena, &transaction, err);
    lmn__arena_deinit(&arena);
    if (st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_CANCELLED)
        return st;
    find(verify, "the transaction: %s", err->message);
    return LMN_OK;
}

static void find_tag(void *context, const char *name, const char *reason)
{
    find(context, "tag \"%.100s\": %s", name, reason);
}

static enum lmn_status check_tags(struct verify *verify, struct lmn_error *err)
{
    enum lmn_status st = lmn__tags_check(verify->table, find_tag, verify, err);

    if (st == LMN_OK || st == LMN_E_NO_MEMORY)
        return st;
    find(verify, "the tags: %s", err->message);
    return LMN_OK;
}

enum lmn_status lmn_table_verify(struct lmn_table *table, lmn_verify_fn found, void *context,
                                 struct lmn_verify_result *result_out, struct lmn_error *err)
{
    struct verify verify = { .table = table,
                             .env = table->env,
                             .manifest = lmn__table_manifest(table),
                             .found = found,
                             .context = context };
    struct lmn_error own_err = { 0 };
    enum lmn_status st;

    /* Findings are made of messages, so there has to be one. */
    if (err == NULL)
        err = &own_err;
    lmn__scratch_init(&verify.scratch, table->env);
    st = verify_fragments(&verify, err);
    if (st == LMN_OK)
        st = check_transaction(&verify, err);
    if (st == LMN_OK)
        st = check_tags(&verify, err);
    if (st == LMN_OK)
        check_ids(&verify);
    verify.result.files++;
    verify.result.bytes += verify.manifest->bytes;
    lmn__scratch_deinit(&verify.scratch);
    lmn__free(table->env, verify.owned);
    lmn__manifest_release(verify.manifest);
    if (result_out != NULL)
        *result_out = verify.result;
    return st;
}
