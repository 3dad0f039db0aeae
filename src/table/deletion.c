/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A deletion file holds the offsets of deleted rows in their fragment. A change of the deletions of
 * a fragment is a file of all of them under another name, so a file never changes:
 *
 *     _deletions/<fragment>-<version that was read>-<random number>.bin     a Roaring bitmap
 *                                                                  .arrow   uint32 values, unsorted
 */
#include "table/deletion.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrow/ipc_read.h"
#include "arrow/producer.h"
#include "arrow/view.h"
#include "base/error.h"
#include "base/math.h"
#include "base/roaring.h"
#include "os/random.h"
#include "store/draft.h"
#include "store/object.h"

enum { TYPE_ARROW, TYPE_BITMAP };
enum { PATH_CHARS = 96 }; /* three 64-bit numbers and what is around them */

/* Offsets are of 32 bits, here and in row addresses. */
static const uint64_t rows_max = UINT64_C(1) << 32;

void lmn__deletion_deinit(struct lmn__deletion *deletion, struct lmn_env *env)
{
    lmn__free(env, deletion->bits);
    *deletion = (struct lmn__deletion){ 0 };
}

enum lmn_status lmn__deletion_reserve(struct lmn__deletion *deletion, struct lmn_env *env,
                                      uint64_t row_count, struct lmn_error *err)
{
    if (deletion->bits != NULL)
        return LMN_OK;
    if (row_count > rows_max)
        return lmn_fail(err, LMN_E_CORRUPT, "a fragment of %" PRIu64 " rows, more than %" PRIu64,
                        row_count, rows_max);
    deletion->bits = lmn__calloc(env, lmn__bits_bytes(row_count), 1);
    if (deletion->bits == NULL)
        return lmn__no_memory(err, "the deleted rows of a fragment", lmn__bits_bytes(row_count));
    deletion->row_count = row_count;
    return LMN_OK;
}

bool lmn__deletion_add(struct lmn__deletion *deletion, uint64_t row)
{
    if (lmn__bit_get(deletion->bits, row))
        return false;
    lmn__bit_set(deletion->bits, row);
    deletion->deleted++;
    return true;
}

bool lmn__deletion_unite(struct lmn__deletion *deletion, const struct lmn__deletion *other)
{
    uint64_t bytes = lmn__bits_bytes(lmn__min_u64(deletion->row_count, other->row_count));
    bool both = false;

    for (uint64_t i = 0; i < bytes && other->bits != NULL; i++) {
        uint8_t fresh = other->bits[i] & (uint8_t)~deletion->bits[i];

        if (other->bits[i] == 0)
            continue;
        both = both || fresh != other->bits[i];
        deletion->bits[i] |= fresh;
        deletion->deleted += lmn__bits_count(&fresh, 0, 8);
    }
    return both;
}

void lmn__deletion_path(uint64_t fragment_id, const struct lmn__pb_deletion_file *file, char *path,
                        size_t path_bytes)
{
    snprintf(path, path_bytes, "_deletions/%" PRIu64 "-%" PRIu64 "-%" PRIu64 ".%s", fragment_id,
             file->read_version, file->id, file->type == TYPE_ARROW ? "arrow" : "bin");
}

/* Delete the rows that a batch of one uint32 column names; a row may be there twice. */
static enum lmn_status add_batch(const struct ArrowArray *batch, struct lmn__deletion *deletion,
                                 struct lmn_error *err)
{
    const struct ArrowArray *column = batch->children[0];

    for (int64_t i = 0; i < batch->length; i++) {
        uint64_t slot = (uint64_t)(batch->offset + i);
        uint32_t row;

        if (lmn__view_is_null(column, slot))
            return lmn_fail(err, LMN_E_CORRUPT, "deleted row number %" PRId64 " is null", i);
        row = ((const uint32_t *)column->buffers[1])[(uint64_t)column->offset + slot];
        if (row >= deletion->row_count)
            return lmn_fail(err, LMN_E_CORRUPT, "row %" PRIu32 " is deleted of %" PRIu64, row,
                            deletion->row_count);
        lmn__deletion_add(deletion, row);
    }
    return LMN_OK;
}

static enum lmn_status check_type(struct ArrowArrayStream *stream, struct lmn_error *err)
{
    struct ArrowSchema schema;
    enum lmn_status st = lmn__stream_schema(stream, &schema, err);

    if (st != LMN_OK)
        return st;
    if (schema.n_children != 1 || strcmp(schema.children[0]->format, "I") != 0 ||
        schema.children[0]->dictionary != NULL)
        st = lmn_fail(err, LMN_E_CORRUPT, "not one column of 32-bit numbers");
    schema.release(&schema);
    return st;
}

static enum lmn_status decode_arrow(struct lmn_env *env, struct lmn__span bytes,
                                    struct lmn__deletion *deletion, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = lmn__ipc_read_buffer(env, "deleted rows", bytes, &stream, err);

    if (st != LMN_OK)
        return st;
    st = check_type(&stream, err);
    while (st == LMN_OK) {
        st = lmn__stream_next(&stream, &batch, err);
        if (st != LMN_OK || batch.release == NULL)
            break;
        st = add_batch(&batch, deletion, err);
        batch.release(&batch);
    }
    stream.release(&stream);
    return st;
}

static enum lmn_status decode(struct lmn_env *env, const struct lmn__pb_deletion_file *file,
                              struct lmn__span bytes, struct lmn__deletion *deletion,
                              struct lmn_error *err)
{
    enum lmn_status st;

    if (file->type == TYPE_ARROW)
        st = decode_arrow(env, bytes, deletion, err);
    else
        st = lmn__roaring_to_bits(bytes, deletion->bits, deletion->row_count, &deletion->deleted,
                                  err);
    if (st != LMN_OK)
        return st;
    /* Early writers leave the count out. */
    if (file->row_count != 0 && deletion->deleted != file->row_count)
        return lmn_fail(err, LMN_E_CORRUPT, "%" PRIu64 " deleted rows, the manifest says %" PRIu64,
                        deletion->deleted, file->row_count);
    return LMN_OK;
}

/* Read and decode the file; on failure what was decoded stays in *deletion. */
static enum lmn_status read_file(struct lmn_store *store, const char *path,
                                 const struct lmn__pb_fragment *fragment,
                                 struct lmn__deletion *deletion, struct lmn_error *err)
{
    struct lmn__block *block = NULL;
    struct lmn__object object;
    enum lmn_status st = lmn__object_open(store, path, &object, err);

    if (st != LMN_OK)
        return st;
    st = lmn__object_read_block(&object, 0, object.bytes, &block, err);
    if (st == LMN_OK) {
        st = lmn__deletion_reserve(deletion, store->env, fragment->row_count, err);
        if (st == LMN_OK)
            st = decode(store->env, fragment->deletion,
                        (struct lmn__span){ block->data, object.bytes }, deletion, err);
        if (st != LMN_OK)
            st = lmn__fail_within(err, st, "%s", object.name);
    }
    lmn__block_release(block);
    lmn__object_close(&object);
    return st;
}

enum lmn_status lmn__deletion_read(struct lmn_store *store, const struct lmn__pb_fragment *fragment,
                                   struct lmn__deletion *deletion_out, struct lmn_error *err)
{
    struct lmn__deletion deletion = { 0 };
    char path[PATH_CHARS];
    enum lmn_status st;

    *deletion_out = deletion;
    if (fragment->deletion == NULL)
        return LMN_OK;
    if (fragment->deletion->type > TYPE_BITMAP)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "fragment %" PRIu64 " has a deletion file of unknown type %u", fragment->id,
                        fragment->deletion->type);
    lmn__deletion_path(fragment->id, fragment->deletion, path, sizeof path);
    st = read_file(store, path, fragment, &deletion, err);
    if (st != LMN_OK) {
        lmn__deletion_deinit(&deletion, store->env);
        return st;
    }
    *deletion_out = deletion;
    return LMN_OK;
}

enum lmn_status lmn__deletion_write(struct lmn_store *store, uint64_t fragment_id,
                                    uint64_t read_version, const struct lmn__deletion *deletion,
                                    struct lmn__pb_deletion_file *file_out, struct lmn_error *err)
{
    struct lmn__pb_deletion_file file = { .type = TYPE_BITMAP,
                                          .read_version = read_version,
                                          .row_count = deletion->deleted };
    struct lmn__buf buf;
    char path[PATH_CHARS];
    enum lmn_status st;

    *file_out = (struct lmn__pb_deletion_file){ 0 };
    lmn__buf_init(&buf, store->env, 0);
    lmn__roaring_from_bits(deletion->bits, deletion->bits != NULL ? deletion->row_count : 0, &buf);
    st = lmn__buf_status(&buf, "a deletion file", err);
    if (st == LMN_OK)
        st = lmn__random_bytes(&file.id, sizeof file.id, err);
    if (st != LMN_OK)
        goto done;
    lmn__deletion_path(fragment_id, &file, path, sizeof path);
    st = lmn__store_put(store, path, LMN__PUBLISH_IF_ABSENT, buf.data, buf.len, err);
    if (st == LMN_OK)
        *file_out = file;
done:
    lmn__buf_deinit(&buf);
    return st;
}
