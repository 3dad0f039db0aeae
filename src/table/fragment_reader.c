/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live rows are counted by a directory over the deletion bits: directory[i] is how many rows
 * before row i * DIRECTORY_ROWS are alive. It makes the n-th live row a short search.
 */
#include "table/fragment_reader.h"

#include "base/error.h"
#include "base/math.h"
#include "table/fragment_columns.h"

enum { DIRECTORY_ROWS = 4096, ADDRESS_SHIFT = 32 };

struct lmn__fragment_reader {
    struct lmn_env *env;            /* counted */
    struct lmn__manifest *manifest; /* counted: the message points into it */
    struct lmn__arena arena;
    struct lmn__pb_fragment fragment;
    struct lmn__deletion deletion;
    uint32_t *directory; /* in the arena; NULL: nothing is deleted */
    struct lmn__row_ids ids;
    struct lmn__fragment_columns *columns;
};

static enum lmn_status make_directory(struct lmn__fragment_reader *reader, struct lmn_error *err)
{
    uint64_t rows = reader->deletion.row_count, alive = 0;
    uint64_t count = lmn__div_up(rows, DIRECTORY_ROWS);

    if (reader->deletion.bits == NULL)
        return LMN_OK;
    reader->directory = lmn__arena_array(&reader->arena, count, sizeof *reader->directory);
    if (reader->directory == NULL)
        return lmn__arena_fail(&reader->arena, "a fragment's deletions", err);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t first = i * DIRECTORY_ROWS;
        uint64_t here = lmn__min_u64(DIRECTORY_ROWS, rows - first);

        reader->directory[i] = (uint32_t)alive;
        alive += here - lmn__bits_count(reader->deletion.bits, first, here);
    }
    return LMN_OK;
}

static enum lmn_status read_ids(struct lmn__fragment_reader *reader, struct lmn_error *err)
{
    struct lmn__row_ids *ids = &reader->ids;
    uint64_t rows = reader->fragment.row_count;

    if (lmn__manifest_stable_ids(reader->manifest)) {
        if (reader->fragment.row_ids.data == NULL && rows != 0)
            return lmn_fail(err, LMN_E_UNSUPPORTED, "its row ids are not in the manifest");
        return lmn__row_ids_read(reader->fragment.row_ids, rows, &reader->arena, ids, err);
    }
    ids->run = lmn__arena_array(&reader->arena, 1, sizeof *ids->run);
    if (ids->run == NULL)
        return lmn__arena_fail(&reader->arena, "row ids", err);
    ids->run[0] = (struct lmn__id_run){ 0, reader->fragment.id << ADDRESS_SHIFT, rows };
    ids->run_count = rows != 0;
    ids->row_count = rows;
    return LMN_OK;
}

static enum lmn_status open_reader(struct lmn__fragment_reader *reader, struct lmn__file_set *files,
                                   uint64_t index, const struct lmn__projection *projection,
                                   struct lmn_error *err)
{
    enum lmn_status st = lmn__manifest_fragment(reader->manifest, index, &reader->arena,
                                                &reader->fragment, err);

    if (st != LMN_OK)
        return st;
    st = lmn__file_set_deletion(files, reader->manifest, &reader->fragment, &reader->deletion, err);
    if (st == LMN_OK)
        st = make_directory(reader, err);
    if (st == LMN_OK)
        st = read_ids(reader, err);
    if (st == LMN_OK)
        st = lmn__fragment_columns_open(files, reader->manifest, &reader->fragment, projection,
                                        &reader->columns, err);
    if (st != LMN_OK)
        lmn__fail_within(err, st, "fragment %llu", (unsigned long long)reader->fragment.id);
    return st;
}

enum lmn_status lmn__fragment_reader_open(struct lmn__file_set *files,
                                          struct lmn__manifest *manifest, uint64_t index,
                                          const struct lmn__projection *projection,
                                          struct lmn__fragment_reader **reader_out,
                                          struct lmn_error *err)
{
    struct lmn__fragment_reader *reader = lmn__calloc(manifest->env, 1, sizeof *reader);
    enum lmn_status st;

    *reader_out = NULL;
    if (reader == NULL)
        return lmn__no_memory(err, "a fragment reader", sizeof *reader);
    reader->env = lmn_env_acquire(manifest->env);
    reader->manifest = lmn__manifest_acquire(manifest);
    lmn__arena_init(&reader->arena, reader->env, 0);
    st = open_reader(reader, files, index, projection, err);
    if (st == LMN_OK)
        *reader_out = reader;
    else
        lmn__fragment_reader_close(reader);
    return st;
}

void lmn__fragment_reader_close(struct lmn__fragment_reader *reader)
{
    struct lmn_env *env;

    if (reader == NULL)
        return;
    env = reader->env;
    lmn__fragment_columns_close(reader->columns);
    lmn__deletion_deinit(&reader->deletion, env);
    lmn__arena_deinit(&reader->arena);
    lmn__manifest_release(reader->manifest);
    lmn__free(env, reader);
    lmn_env_release(env);
}

enum lmn_status lmn__fragment_reader_read(const struct lmn__fragment_reader *reader,
                                          struct lmn__scratch *scratch,
                                          const struct lmn__row_range *range, uint64_t range_count,
                                          struct ArrowArray *array_out, struct lmn_error *err)
{
    return lmn__fragment_columns_read(reader->columns, scratch, range, range_count, array_out, err);
}

struct lmn_env *lmn__fragment_reader_env(const struct lmn__fragment_reader *reader)
{
    return reader->env;
}

const struct lmn__pb_fragment *lmn__fragment_reader_fragment(
    const struct lmn__fragment_reader *reader)
{
    return &reader->fragment;
}

const struct lmn__deletion *lmn__fragment_reader_deletion(const struct lmn__fragment_reader *reader)
{
    return &reader->deletion;
}

const struct lmn__row_ids *lmn__fragment_reader_ids(const struct lmn__fragment_reader *reader)
{
    return &reader->ids;
}

uint64_t lmn__fragment_reader_row_bytes(const struct lmn__fragment_reader *reader)
{
    return lmn__fragment_columns_row_bytes(reader->columns);
}

enum lmn_status lmn__fragment_reader_blob_bytes(const struct lmn__fragment_reader *reader,
                                                uint64_t *bytes_out, struct lmn_error *err)
{
    return lmn__fragment_columns_blob_bytes(reader->columns, bytes_out, err);
}

uint64_t lmn__fragment_reader_live_count(const struct lmn__fragment_reader *reader)
{
    return reader->fragment.row_count - reader->deletion.deleted;
}

uint64_t lmn__fragment_reader_live_row(const struct lmn__fragment_reader *reader, uint64_t position)
{
    const uint8_t *bits = reader->deletion.bits;
    uint64_t low = 0, high, row;

    if (bits == NULL)
        return position;
    /* The last part of the directory that begins at or before the position. */
    high = lmn__div_up(reader->deletion.row_count, DIRECTORY_ROWS);
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (reader->directory[middle] <= position)
            low = middle;
        else
            high = middle;
    }
    position -= reader->directory[low];
    row = low * DIRECTORY_ROWS;
    while (row + 64 <= reader->deletion.row_count) {
        uint64_t alive = 64 - lmn__bits_count(bits, row, 64);

        if (position < alive)
            break;
        position -= alive;
        row += 64;
    }
    while (lmn__bit_get(bits, row) || position-- != 0)
        row++;
    return row;
}
