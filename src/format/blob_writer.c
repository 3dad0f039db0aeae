/* SPDX-License-Identifier: Apache-2.0 */
#include "format/blob_writer.h"

#include "base/math.h"
#include "format/blob.h"
#include "format/blob_page.h"

enum {
    STAGE_BYTES_MAX = 1 << 20,   /* small payloads are written together */
    INLINE_BYTES_MAX = 64 << 10, /* in the data file; version 2.2 */
    PACKED_BYTES_MAX = 4 << 20,  /* with others in a side file */
    PACK_FILE_BYTES_MAX = 1 << 30
};

struct lmn__blob_writer {
    struct lmn_file_writer *writer;
    const struct lmn__write_leaf *leaf;
    bool v2;
    uint64_t row_start; /* of the descriptors that wait */
    uint64_t count;
    struct lmn__blob_entry *descriptor; /* LMN__BLOB_PAGE_ROWS_MAX of them */
    struct lmn__vec stage;
    struct lmn__draft pack; /* the open side file of several */
    uint32_t pack_id;
    uint64_t pack_bytes;
    struct lmn__vec uris;              /* of the descriptors that wait; one after the other */
    uint32_t last_uri, last_uri_bytes; /* rows often share it */
};

enum lmn_status lmn__blob_writer_new(struct lmn_file_writer *writer,
                                     const struct lmn__write_leaf *leaf,
                                     struct lmn__blob_writer **blob_out, struct lmn_error *err)
{
    struct lmn__blob_writer *blob = lmn__calloc(writer->env, 1, sizeof *blob);

    *blob_out = blob;
    if (blob == NULL)
        return lmn__no_memory(err, "a blob column", sizeof *blob);
    blob->writer = writer;
    blob->leaf = leaf;
    blob->v2 = leaf->node->blob == LMN__BLOB_V2;
    blob->descriptor = lmn__calloc(writer->env, LMN__BLOB_PAGE_ROWS_MAX, sizeof *blob->descriptor);
    if (blob->descriptor == NULL)
        return lmn__no_memory(err, "a blob column",
                              LMN__BLOB_PAGE_ROWS_MAX * sizeof *blob->descriptor);
    return LMN_OK;
}

void lmn__blob_writer_free(struct lmn__blob_writer *blob)
{
    struct lmn_env *env;

    if (blob == NULL)
        return;
    env = blob->writer->env;
    lmn__draft_abort(&blob->pack);
    lmn__vec_deinit(&blob->stage);
    lmn__vec_deinit(&blob->uris);
    lmn__free(env, blob->descriptor);
    lmn__free(env, blob);
}

static enum lmn_status side_path(struct lmn_file_writer *writer, uint32_t id, struct lmn__buf *path,
                                 struct lmn_error *err)
{
    enum lmn_status st;

    lmn__buf_init(path, writer->env, 0);
    st = lmn__blob_side_path(writer->path, id, path, err);
    lmn__buf_put_u8(path, 0);
    return st != LMN_OK ? st : lmn__buf_status(path, "a blob's path", err);
}

/* What cannot be removed is an orphan that nobody names. */
static void remove_side(struct lmn_file_writer *writer, uint32_t id, bool directory)
{
    struct lmn_store *store = writer->store;
    struct lmn__buf path;

    if (side_path(writer, id, &path, NULL) == LMN_OK) {
        char *name = (char *)path.data;

        if (directory)
            name[lmn__store_dir_len(name)] = '\0';
        (void)!(directory ? store->ops->remove_dir : store->ops->remove)(store, name, NULL);
    }
    lmn__buf_deinit(&path);
}

void lmn__blob_remove_sides(struct lmn_file_writer *writer)
{
    uint64_t count = writer->blob_named.len / sizeof(uint32_t);

    for (uint32_t i = 0; i < writer->column_count; i++) {
        if (writer->column[i].blob != NULL)
            lmn__draft_abort(&writer->column[i].blob->pack);
    }
    for (uint64_t i = 0; i < count; i++)
        remove_side(writer, lmn__load_u32(writer->blob_named.data + i * sizeof(uint32_t)), false);
    if (writer->blob_count != 0)
        remove_side(writer, writer->blob_count, true);
}

/* A side file of that name belongs to another data file, which would lose its blobs. */
static enum lmn_status check_absent(struct lmn_store *store, const char *path,
                                    struct lmn_error *err)
{
    struct lmn__store_file *file;
    enum lmn_status st = store->ops->open(store, path, &file, err);

    if (st == LMN_E_NOT_FOUND)
        return LMN_OK;
    if (st == LMN_OK) {
        store->ops->close(file);
        st = lmn_fail(err, LMN_E_EXISTS, "%s/%s is there already", store->name, path);
    }
    return st;
}

/* Start a side file under the next id. */
static enum lmn_status side_open(struct lmn__blob_writer *blob, struct lmn__draft *draft,
                                 uint32_t *id_out, struct lmn_error *err)
{
    struct lmn_file_writer *writer = blob->writer;
    struct lmn__buf path;
    enum lmn_status st = side_path(writer, writer->blob_count + 1, &path, err);

    if (st == LMN_OK)
        st = check_absent(writer->store, (const char *)path.data, err);
    if (st == LMN_OK)
        st = lmn__draft_open(writer->store, (const char *)path.data, draft, err);
    lmn__buf_deinit(&path);
    writer->blob_count += st == LMN_OK;
    *id_out = writer->blob_count;
    return st;
}

/* Give a side file its name. */
static enum lmn_status side_publish(struct lmn__blob_writer *blob, struct lmn__draft *draft,
                                    uint32_t id, struct lmn_error *err)
{
    struct lmn_file_writer *writer = blob->writer;
    enum lmn_status st = lmn__vec_put(&writer->blob_named, writer->env->pool, &id, sizeof id, err);

    if (st != LMN_OK)
        return st;
    st = lmn__draft_publish(draft, LMN__PUBLISH_IF_ABSENT, !writer->options.unsynced, err);
    if (st == LMN_E_EXISTS)
        writer->blob_named.len -= sizeof id;
    return st;
}

/* Write the staged payloads and give their descriptors the true positions. */
static enum lmn_status flush_stage(struct lmn__blob_writer *blob, struct lmn_error *err)
{
    uint64_t position;
    enum lmn_status st;

    if (blob->stage.len == 0)
        return LMN_OK;
    position = lmn__writer_reserve(blob->writer, blob->stage.len);
    for (uint64_t i = blob->count; i > 0; i--) {
        struct lmn__blob_entry *d = &blob->descriptor[i - 1];

        if (d->staged)
            d->position += position;
        d->staged = false;
    }
    st = lmn__draft_write_at(&blob->writer->draft, position, blob->stage.data, blob->stage.len,
                             err);
    blob->stage.len = 0;
    return st;
}

/* A payload in the data file. */
static enum lmn_status put_inline(struct lmn__blob_writer *blob, struct lmn__span bytes,
                                  struct lmn__blob_entry *d, struct lmn_error *err)
{
    static const uint8_t padding[LMN__BUFFER_ALIGN];
    struct lmn__pool *pool = blob->writer->env->pool;
    enum lmn_status st;

    if (bytes.len >= STAGE_BYTES_MAX) {
        d->position = lmn__writer_reserve(blob->writer, bytes.len);
        return lmn__draft_write_at(&blob->writer->draft, d->position, bytes.data, bytes.len, err);
    }
    d->position = blob->stage.len;
    d->staged = true;
    st = lmn__vec_put(&blob->stage, pool, bytes.data, bytes.len, err);
    if (st == LMN_OK)
        st = lmn__vec_put(&blob->stage, pool, padding, -blob->stage.len & (LMN__BUFFER_ALIGN - 1),
                          err);
    return st;
}

/* A payload with others in a side file. */
static enum lmn_status put_packed(struct lmn__blob_writer *blob, struct lmn__span bytes,
                                  struct lmn__blob_entry *d, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (blob->pack.store != NULL && blob->pack_bytes + bytes.len > PACK_FILE_BYTES_MAX)
        st = side_publish(blob, &blob->pack, blob->pack_id, err);
    if (st == LMN_OK && blob->pack.store == NULL) {
        blob->pack_bytes = 0;
        st = side_open(blob, &blob->pack, &blob->pack_id, err);
    }
    if (st == LMN_OK)
        st = lmn__draft_write_at(&blob->pack, blob->pack_bytes, bytes.data, bytes.len, err);
    d->kind = LMN__BLOB_PACKED;
    d->id = blob->pack_id;
    d->position = blob->pack_bytes;
    blob->pack_bytes += bytes.len;
    return st;
}

/* A payload in a side file of its own. */
static enum lmn_status put_dedicated(struct lmn__blob_writer *blob, struct lmn__span bytes,
                                     struct lmn__blob_entry *d, struct lmn_error *err)
{
    struct lmn__draft draft = { 0 };
    enum lmn_status st = side_open(blob, &draft, &d->id, err);

    d->kind = LMN__BLOB_DEDICATED;
    if (st == LMN_OK)
        st = lmn__draft_write_at(&draft, 0, bytes.data, bytes.len, err);
    if (st == LMN_OK)
        st = side_publish(blob, &draft, d->id, err);
    if (st != LMN_OK)
        lmn__draft_abort(&draft);
    return st;
}

static enum lmn_status put_payload(struct lmn__blob_writer *blob, struct lmn__span bytes,
                                   struct lmn_error *err)
{
    struct lmn__blob_entry *d = &blob->descriptor[blob->count++];

    *d = (struct lmn__blob_entry){ .bytes = bytes.len };
    if (bytes.len == 0)
        return LMN_OK;
    if (!blob->v2 || bytes.len <= INLINE_BYTES_MAX)
        return put_inline(blob, bytes, d, err);
    return bytes.len <= PACKED_BYTES_MAX ? put_packed(blob, bytes, d, err)
                                         : put_dedicated(blob, bytes, d, err);
}

enum { URI_BYTES_MAX = 16 << 10, URIS_BYTES_MAX = 64 << 20 };

/* Turn the descriptors that wait into a page. */
static enum lmn_status put_page(struct lmn__blob_writer *blob, struct lmn_error *err)
{
    struct lmn_file_writer *writer = blob->writer;
    struct lmn__encoded_page page = { 0 };
    struct lmn__blob_entries entries;
    enum lmn_status st = flush_stage(blob, err);

    if (st != LMN_OK || blob->count == 0)
        return st;
    entries = (struct lmn__blob_entries){ blob->descriptor, blob->count, blob->uris.data };
    st = lmn__blob_page_encode(writer->env, blob->v2, &entries, &writer->plan.encode,
                               &writer->scratch, &page, err);
    if (st == LMN_OK)
        st = lmn__writer_put_page(writer, blob->leaf->node->column, blob->row_start, &page, err);
    lmn__encoded_page_deinit(&page);
    blob->row_start += blob->count;
    blob->count = blob->uris.len = 0;
    blob->last_uri_bytes = 0;
    return st;
}

/* A payload that stays where it is. */
static enum lmn_status put_reference(struct lmn__blob_writer *blob, struct lmn__span uri,
                                     uint64_t position, uint64_t bytes, struct lmn_error *err)
{
    struct lmn__blob_entry *d = &blob->descriptor[blob->count];
    enum lmn_status st = LMN_OK;

    if (uri.len == 0 || uri.len > URI_BYTES_MAX)
        return lmn_fail(err, LMN_E_INVALID, "a reference with a uri of %zu bytes", uri.len);
    if (uri.len != blob->last_uri_bytes ||
        memcmp(blob->uris.data + blob->last_uri, uri.data, uri.len) != 0) {
        blob->last_uri = (uint32_t)blob->uris.len;
        blob->last_uri_bytes = 0;
        st = lmn__vec_put(&blob->uris, blob->writer->env->pool, uri.data, uri.len, err);
        if (st != LMN_OK)
            return st;
        blob->last_uri_bytes = (uint32_t)uri.len;
    }
    *d = (struct lmn__blob_entry){ .kind = LMN__BLOB_EXTERNAL,
                                   .position = position,
                                   .bytes = bytes,
                                   .uri = blob->last_uri,
                                   .uri_bytes = blob->last_uri_bytes };
    blob->count++;
    return LMN_OK;
}

/* One slot of a struct of data, uri, position and size. */
static enum lmn_status put_either(struct lmn__blob_writer *blob, const struct ArrowArray *column,
                                  uint64_t i, struct lmn_error *err)
{
    const struct lmn__layout *layout = blob->leaf->path[0].layout;
    struct ArrowArray *const *child = column->children;
    uint64_t at = i + (uint64_t)column->offset;
    uint64_t number[2] = { 0, 0 };

    if (!lmn__view_is_null(child[0], at))
        return put_payload(blob, lmn__view_bytes(layout->child[0], child[0], at), err);
    for (int k = 0; k < 2; k++) {
        const uint8_t *values = child[2 + k]->buffers[1];

        if (lmn__view_is_null(child[1], at) || lmn__view_is_null(child[2 + k], at))
            return lmn_fail(err, LMN_E_INVALID, "a blob without data needs uri, position and size");
        number[k] = lmn__load_u64(values + (at + (uint64_t)child[2 + k]->offset) * 8);
    }
    return put_reference(blob, lmn__view_bytes(layout->child[1], child[1], at), number[0],
                         number[1], err);
}

enum lmn_status lmn__blob_writer_write(struct lmn__blob_writer *blob,
                                       const struct ArrowArray *column, uint64_t first,
                                       uint64_t count, struct lmn_error *err)
{
    bool either = blob->leaf->path[0].layout->kind == LMN__LAYOUT_STRUCT;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = first; st == LMN_OK && i < first + count; i++) {
        if (blob->count == LMN__BLOB_PAGE_ROWS_MAX || blob->uris.len >= URIS_BYTES_MAX)
            st = put_page(blob, err);
        else if (blob->stage.len >= STAGE_BYTES_MAX)
            st = flush_stage(blob, err);
        if (st != LMN_OK)
            return st;
        if (lmn__view_is_null(column, i))
            blob->descriptor[blob->count++] = (struct lmn__blob_entry){ .null = true };
        else if (either)
            st = put_either(blob, column, i, err);
        else
            st = put_payload(blob, lmn__view_bytes(blob->leaf->path[0].layout, column, i), err);
    }
    return st;
}

enum lmn_status lmn__blob_writer_finish(struct lmn__blob_writer *blob, struct lmn_error *err)
{
    enum lmn_status st = put_page(blob, err);

    if (st == LMN_OK && blob->pack.store != NULL)
        st = side_publish(blob, &blob->pack, blob->pack_id, err);
    return st;
}
