/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that wait for their file are read through one of their own: their bytes are copied into
 * memory, moved to the first row and the first position, and get a tail.
 */
#include <leman/file.h>
#include <leman/store.h>

#include "arrow/compose.h"
#include "base/math.h"
#include "format/pages.h"
#include "job/peek.h"
#include "store/draft.h"

static const char path[] = "pages";

/* The bytes of the pages, and room behind them up to where a tail may start. */
static enum lmn_status copy_bytes(struct lmn__store_file *file, uint64_t base,
                                  const struct lmn__receipt_pages *pages, struct lmn__buf *bytes,
                                  struct lmn_error *err)
{
    uint64_t start = pages->position - base, end, aligned;
    enum lmn_status st;

    if (pages->position < base || !lmn__add_u64(start, pages->bytes, &end) || end > file->bytes)
        return lmn_fail(err, LMN_E_CORRUPT, "pages at %llu, of %llu bytes, lie behind their file",
                        (unsigned long long)pages->position, (unsigned long long)pages->bytes);
    if (!lmn__buf_reserve(bytes, pages->bytes))
        return lmn__no_memory(err, "pages", pages->bytes);
    st = file->store->ops->read_at(file, start, bytes->data, pages->bytes, err);
    if (st != LMN_OK)
        return st;
    bytes->len = pages->bytes;
    aligned = lmn__align_up(pages->bytes, LMN_PAGE_ALIGN);
    lmn__buf_put_zeros(bytes, aligned - pages->bytes);
    return lmn__buf_status(bytes, "pages", err);
}

/* The schema of a file with one column owns nothing. */
static void release_nothing(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static enum lmn_status add_tail(struct lmn_env *env, const struct lmn__receipt_pages *pages,
                                const struct ArrowSchema *schema, const char *version,
                                struct lmn__buf *bytes, struct lmn_error *err)
{
    struct ArrowSchema *child = (struct ArrowSchema *)(uintptr_t)schema;
    const struct ArrowSchema all = {
        .format = "+s", .name = "", .n_children = 1, .children = &child, .release = release_nothing
    };
    const struct lmn_encode_options encode = { .version = version };
    struct lmn_tail *tail = NULL;
    struct lmn__buf moved;
    const void *data;
    size_t len;
    enum lmn_status st;

    lmn__buf_init(&moved, env, 0);
    st = lmn__pages_move_first(env, pages->descriptor, pages->position, &moved, err);
    if (st == LMN_OK)
        st = lmn_tail_new(env, &all, &encode, &tail, err);
    if (st == LMN_OK)
        st = lmn_tail_add(tail, moved.data, moved.len, err);
    if (st == LMN_OK)
        st = lmn_tail_finish(tail, bytes->len, &data, &len, err);
    if (st == LMN_OK) {
        lmn__buf_put(bytes, data, len);
        st = lmn__buf_status(bytes, "pages", err);
    }
    lmn_tail_free(tail);
    lmn__buf_deinit(&moved);
    return st;
}

static enum lmn_status read_rows(struct lmn_store *store, uint64_t row_count,
                                 struct ArrowArray *array_out, struct lmn_error *err)
{
    const struct lmn__row_range range = { 0, row_count };
    struct lmn__scratch scratch;
    struct lmn__reader reader;
    struct lmn_file *file;
    enum lmn_status st = lmn_file_open(store, path, NULL, &file, err);

    if (st != LMN_OK)
        return st;
    st = lmn__reader_init(&reader, file, NULL, 0, LMN_BLOB_BYTES, err);
    if (st == LMN_OK) {
        lmn__scratch_init(&scratch, store->env);
        st = lmn__reader_read(&reader, &scratch, &range, 1, array_out, err);
        lmn__scratch_deinit(&scratch);
        lmn__reader_deinit(&reader);
    }
    lmn_file_release(file);
    return st;
}

enum lmn_status lmn__peek_pages(struct lmn__store_file *file, uint64_t base,
                                const struct lmn__receipt_pages *pages,
                                const struct ArrowSchema *schema, const char *version,
                                uint64_t row_count, struct ArrowArray *array_out,
                                struct lmn_error *err)
{
    struct lmn_env *env = file->store->env;
    struct lmn_store *memory = NULL;
    struct lmn__buf bytes;
    enum lmn_status st;

    *array_out = (struct ArrowArray){ 0 };
    lmn__buf_init(&bytes, env, 0);
    st = copy_bytes(file, base, pages, &bytes, err);
    if (st == LMN_OK)
        st = add_tail(env, pages, schema, version, &bytes, err);
    if (st == LMN_OK)
        st = lmn_store_open_memory(env, &memory, err);
    if (st == LMN_OK)
        st = lmn__store_put(memory, path, LMN__PUBLISH_REPLACE, bytes.data, bytes.len, err);
    lmn__buf_deinit(&bytes);
    if (st == LMN_OK)
        st = read_rows(memory, row_count, array_out, err);
    lmn_store_release(memory);
    return st;
}
