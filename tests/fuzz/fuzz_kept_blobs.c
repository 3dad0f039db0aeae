/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: what is kept of a blob, 48 bytes that say where it is, and behind them the note about a
 * pages file that has moved. Whatever it says, a payload is found that is there as a whole, or
 * none.
 */
#include "base/bytes.h"
#include "input.h"
#include "job/kept_blobs.h"

enum { REFERENCE_BYTES = 48, FILE_BYTES = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
    array->release = NULL;
}

/* A lmn__grant_fn. */
static enum lmn_status grant(void *context, enum lmn__grant_file file, uint64_t bytes,
                             uint64_t *position_out, struct lmn_error *err)
{
    uint64_t *next = context;

    (void)file;
    (void)err;
    *position_out = *next;
    *next += (bytes + 63) / 64 * 64;
    return LMN_OK;
}

static void put(struct lmn_store *store, const char *path, const void *data, size_t len)
{
    struct lmn__store_file *file;

    if (store->ops->create(store, path, &file, NULL) != LMN_OK ||
        store->ops->write_at(file, 0, data, len, NULL) != LMN_OK)
        abort();
    store->ops->close(file);
}

/* A row whose blob is kept as the bytes say. */
static void keep(struct lmn__kept *kept, const uint8_t *data)
{
    const void *nothing[] = { NULL }, *buffers[] = { NULL, data };
    struct ArrowArray column = {
        .length = 1, .n_buffers = 2, .buffers = buffers, .release = release_array
    };
    struct ArrowArray *columns[] = { &column };
    struct ArrowArray row = { .length = 1,
                              .n_buffers = 1,
                              .n_children = 1,
                              .buffers = nothing,
                              .children = columns,
                              .release = release_array };

    if (lmn__kept_add(kept, 1, 2, &row, NULL) != LMN_OK || lmn__kept_look(kept, NULL) != LMN_OK)
        abort();
}

static void recall(struct lmn__kept *kept, struct lmn__page_sink *sink, uint64_t bytes)
{
    struct ArrowArray array;
    enum lmn_status st = lmn__kept_blobs_read(kept, sink, 1, 2, 64, &array, NULL);

    if (st != LMN_OK || array.release == NULL)
        return;
    if (bytes > FILE_BYTES || array.length != 1)
        abort();
    array.release(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const uint8_t bytes[FILE_BYTES];
    /* Metadata of one entry: lance-encoding:blob is true. */
    static const char blob[] = "\1\0\0\0\23\0\0\0lance-encoding:blob\4\0\0\0true";
    struct ArrowSchema child[] = { { .format = "Z", .name = "v", .flags = 2, .metadata = blob },
                                   { .format = "l", .name = "ledger", .flags = 2 } };
    struct ArrowSchema *children[] = { &child[0], &child[1] };
    struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = 2, .children = children
    };
    struct ArrowSchema kept_schema;
    uint64_t next = FILE_BYTES;
    struct lmn__page_sink_options options = {
        .dir = "fill", .schema = &schema, .file_version = "2.1", .grant = grant, .context = &next
    };
    struct lmn__kept_options kept_options = { .dir = "fill", .schema = &kept_schema };
    struct lmn__page_sink *sink;
    struct lmn__kept *kept;

    if (len < REFERENCE_BYTES)
        return 0;
    schema.release = child[0].release = child[1].release = release_schema;
    if (lmn_store_open_memory(fuzz_env(), &options.store, NULL) != LMN_OK)
        abort();
    kept_options.store = options.store;
    put(options.store, "fill/1-0000000000000002.pages", bytes, sizeof bytes);
    put(options.store, "fill/1-0000000000000002.pages.128", bytes, 64);
    put(options.store, "fill/3-0000000000000004.moved.64", data + REFERENCE_BYTES,
        len - REFERENCE_BYTES);
    put(options.store, "data/a", bytes, 128);
    options.segments = data[16] != 0;
    schema.n_children = 1;
    if (lmn__kept_schema(&schema, &kept_schema, NULL) != LMN_OK)
        abort();
    schema.n_children = 2;
    if (lmn__page_sink_open(&options, &sink, NULL) != LMN_OK ||
        lmn__kept_open(&kept_options, &kept, NULL) != LMN_OK)
        abort();
    (void)lmn__page_sink_payloads(sink, 1, 2);
    keep(kept, data);
    recall(kept, sink, lmn__load_u64(data + 40));
    lmn__kept_close(kept);
    lmn__page_sink_close(sink);
    kept_schema.release(&kept_schema);
    lmn_store_release(options.store);
    return 0;
}
