/* SPDX-License-Identifier: Apache-2.0 */
#include "job/unit_file.h"

#include <leman/file_writer.h>
#include <stdio.h>

#include "arrow/compose.h"
#include "base/error.h"
#include "base/math.h"
#include "format/pages.h"
#include "job/journal_parts.h"
#include "job/kept_pages.h"
#include "job/unit_blobs.h"

enum { PATH_BYTES = 96, TAIL_SPARE_BYTES = 4096, COPY_BYTES = 4 << 20 };

/* So much of a column is encoded at once. Its last page may be cut short by that. */
static const uint64_t encode_bytes = 64ull << 20;

/* With less to be copied, an ordinary file is as quick. */
static const uint64_t copy_bytes_min = 1ull << 20;

bool lmn__receipts_are_direct(const struct lmn__receipt *receipt, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (receipt[i].pages.count + receipt[i].payloads.count + receipt[i].kept.count != 0)
            return true;
    }
    return false;
}

enum lmn_status lmn__unit_file_may_copy(struct lmn_table *table,
                                        const struct lmn__fill_columns *columns, uint64_t index,
                                        const struct lmn__receipt *receipt, uint64_t count,
                                        bool *copies_out, struct lmn_error *err)
{
    uint64_t bytes = 0;

    *copies_out = false;
    for (uint32_t i = 0; i < columns->count; i++) {
        struct lmn__kept_pages kept;
        enum lmn_status st = lmn__kept_pages_init(&kept, table, columns, index, i, receipt, count,
                                                  err);

        if (st != LMN_OK)
            return st;
        bytes += lmn__kept_pages_bytes(&kept);
        lmn__kept_pages_deinit(&kept);
    }
    *copies_out = bytes >= copy_bytes_min;
    return LMN_OK;
}

bool lmn__unit_file_is_direct(const struct lmn__fill_columns *columns,
                              const struct lmn__receipt *receipt, uint64_t count)
{
    return lmn__fill_columns_have_blobs(columns) || lmn__receipts_are_direct(receipt, count);
}

/* Rows on their way into an ordinary file; a lmn__rows_fn. */
struct plain {
    struct lmn_file_writer *writer;
    struct lmn__unit_rows *rows;
};

static enum lmn_status write_rows(void *context, struct ArrowArray *array, bool borrowed,
                                  struct lmn_error *err)
{
    struct plain *plain = context;
    enum lmn_status st = lmn_file_writer_write(plain->writer, array, err);

    (void)borrowed;
    lmn__unit_rows_trim(plain->rows, LMN__HELD_BYTES_MAX);
    return st;
}

static enum lmn_status write_plain(const struct lmn__unit_file *file, const char *path,
                                   bool replace, uint64_t *bytes_out, struct lmn_error *err)
{
    const struct lmn_file_writer_options options = {
        .encode = { .version = file->columns->version },
        .threads = file->threads,
        .replace = replace,
        .unsynced = file->unsynced
    };
    struct plain plain = { .rows = file->rows };
    enum lmn_status st = lmn_file_writer_open(
        file->table->store, path, &file->columns->projection.arrow, &options, &plain.writer, err);

    if (st != LMN_OK)
        return st;
    st = lmn__unit_rows_read(file->rows, LMN__ALL_COLUMNS, 0, file->row_count, write_rows, &plain,
                             err);
    if (st == LMN_OK)
        return lmn_file_writer_finish(plain.writer, bytes_out, err);
    lmn_file_writer_abort(plain.writer);
    return st;
}

/* A pages file while it is completed. */
struct completion {
    const struct lmn__unit_file *file;
    struct lmn__store_file *pages;
    struct lmn__write_plan plan;
    struct lmn_tail *tail;
    uint32_t column;
    uint64_t row; /* of the first array in the list */
    uint64_t rows, bytes;
    struct ArrowArray *part;         /* columns; those that are borrowed have no release */
    const struct ArrowArray **array; /* pointers to them */
    uint64_t count, cap;
};

static void drop_parts(struct completion *completion)
{
    for (uint64_t i = 0; i < completion->count; i++)
        lmn__array_release(&completion->part[i]);
    completion->count = 0;
    completion->row += completion->rows;
    completion->rows = completion->bytes = 0;
}

/* Space behind everything that was ever granted. */
static enum lmn_status take_space(void *context, uint64_t bytes, uint64_t *position_out,
                                  struct lmn_error *err)
{
    const struct completion *completion = context;
    const struct lmn__unit_file *file = completion->file;

    return lmn__journal_grant(file->journal, LMN__GRANT_PAGES, file->fragment_id, file->layout,
                              bytes, position_out, err);
}

static enum lmn_status put_pages(void *context, struct lmn_pages *pages, struct lmn_error *err)
{
    struct completion *completion = context;
    const struct lmn__store_ops *ops = completion->pages->store->ops;
    uint64_t position = 0, bytes = lmn_pages_bytes(pages);
    const void *data;
    size_t len;
    enum lmn_status st = bytes != 0 ? take_space(completion, bytes, &position, err) : LMN_OK;

    if (st == LMN_OK)
        st = lmn_pages_place(pages, position, err);
    for (uint32_t i = 0; st == LMN_OK && i < lmn_pages_buffer_count(pages); i++) {
        struct lmn_page_buffer buffer = lmn_pages_buffer(pages, i);

        st = ops->write_at(completion->pages, buffer.position, buffer.data, buffer.bytes, err);
    }
    if (st == LMN_OK)
        st = lmn_pages_describe(pages, &data, &len, err);
    return st == LMN_OK ? lmn_tail_add(completion->tail, data, len, err) : st;
}

/* Encode what is gathered, and put it behind the pages that are there. */
static enum lmn_status encode_parts(struct completion *completion, struct lmn_error *err)
{
    struct lmn_pages *pages = NULL;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < completion->count; i++)
        completion->array[i] = &completion->part[i];
    if (completion->rows != 0)
        st = lmn__pages_encode_column(&completion->plan, completion->column, completion->array,
                                      completion->count, completion->row, &pages, err);
    if (st == LMN_OK && pages != NULL)
        st = put_pages(completion, pages, err);
    lmn_pages_free(pages);
    drop_parts(completion);
    lmn__unit_rows_trim(completion->file->rows, LMN__HELD_BYTES_MAX);
    return st;
}

static bool reserve_part(struct completion *completion)
{
    struct lmn_env *env = completion->file->table->env;
    uint64_t cap = completion->cap * 2 + 16;
    struct ArrowArray *part;
    const struct ArrowArray **array;

    if (completion->count < completion->cap)
        return true;
    part = lmn__realloc(env, completion->part, cap * sizeof *part);
    if (part != NULL)
        completion->part = part;
    array = lmn__realloc(env, completion->array, cap * sizeof(const struct ArrowArray *));
    if (array != NULL)
        completion->array = array;
    if (part == NULL || array == NULL)
        return false;
    completion->cap = cap;
    return true;
}

/* A lmn__rows_fn. */
static enum lmn_status add_rows(void *context, struct ArrowArray *array, bool borrowed,
                                struct lmn_error *err)
{
    struct completion *completion = context;
    struct ArrowArray *column = array->children[0];

    if (!reserve_part(completion))
        return lmn__no_memory(err, "a list of arrays", completion->cap * sizeof *array);
    column->offset += array->offset;
    column->length = array->length;
    for (uint32_t i = 0; i < completion->plan.leaf_count; i++) {
        if (completion->plan.leaf[i].top == completion->column)
            completion->bytes += lmn__write_leaf_bytes(&completion->plan.leaf[i], column, 0,
                                                       (uint64_t)column->length);
    }
    completion->rows += (uint64_t)column->length;
    if (borrowed)
        completion->part[completion->count++] = *column;
    else
        lmn__array_move(column, &completion->part[completion->count++]);
    return completion->bytes < encode_bytes ? LMN_OK : encode_parts(completion, err);
}

/* Rows [first, end) of the column, which are in no page yet. */
static enum lmn_status fill_gap(struct completion *completion, uint64_t first, uint64_t end,
                                struct lmn_error *err)
{
    enum lmn_status st;

    if (first >= end)
        return LMN_OK;
    completion->row = first;
    st = lmn__unit_rows_read(completion->file->rows, completion->column, first, end - first,
                             add_rows, completion, err);
    if (st == LMN_OK)
        st = encode_parts(completion, err);
    drop_parts(completion);
    return st;
}

static const struct lmn__receipt_pages *pages_of(const struct lmn__receipt *receipt,
                                                 uint32_t column)
{
    const struct lmn__receipt_pages *pages = receipt->pages.item;

    for (size_t i = 0; i < receipt->pages.count; i++) {
        if (pages[i].column == column)
            return &pages[i];
    }
    return NULL;
}

/* The column of the new file that a column of one leaf has. */
static uint32_t leaf_of(const struct completion *completion)
{
    const struct lmn__write_plan *plan = &completion->plan;
    uint32_t i = 0;

    while (i + 1 < plan->leaf_count && plan->leaf[i].top != completion->column)
        i++;
    return plan->leaf[i].node->column;
}

static enum lmn_status copy_page(struct completion *completion, const struct lmn__kept_pages *kept,
                                 const struct lmn__page_info *page, struct lmn_error *err)
{
    uint64_t position = 0, bytes = lmn__kept_page_bytes(page);
    enum lmn_status st = bytes != 0 ? take_space(completion, bytes, &position, err) : LMN_OK;

    return st == LMN_OK ? lmn__kept_page_copy(kept, page, completion->pages, position,
                                              completion->tail, leaf_of(completion), err)
                        : st;
}

/* Pages that are in their place, pages that are copied, and what lies between them, in the order of
 * their rows. */
static enum lmn_status complete_with(struct completion *completion,
                                     const struct lmn__kept_pages *kept, struct lmn_error *err)
{
    const struct lmn__unit_file *file = completion->file;
    const struct lmn__receipt *receipt = file->receipt, *last = receipt + file->receipt_count;
    uint64_t end = 0;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK) {
        const struct lmn__page_info *page = lmn__kept_pages_next(kept, end);
        const struct lmn__receipt_pages *pages = NULL;

        while (receipt < last && (pages = pages_of(receipt, completion->column)) == NULL)
            receipt++;
        if (page == NULL && pages == NULL)
            break;
        if (pages == NULL || (page != NULL && page->first_row < receipt->first.item[0])) {
            st = fill_gap(completion, end, page->first_row, err);
            if (st == LMN_OK)
                st = copy_page(completion, kept, page, err);
            end = page->first_row + page->row_count;
        } else {
            size_t range = receipt->first.count - 1;

            st = fill_gap(completion, end, receipt->first.item[0], err);
            if (st == LMN_OK)
                st = lmn_tail_add(completion->tail, pages->descriptor.data, pages->descriptor.len,
                                  err);
            end = receipt->first.item[range] + receipt->count.item[range];
            receipt++;
        }
    }
    return st == LMN_OK ? fill_gap(completion, end, file->row_count, err) : st;
}

static enum lmn_status open_pages(void *context, uint64_t position,
                                  struct lmn__store_file **file_out, uint64_t *base_out,
                                  struct lmn_error *err)
{
    struct completion *completion = context;

    (void)position;
    (void)err;
    *file_out = completion->pages;
    *base_out = 0;
    return LMN_OK;
}

/* The file stays open. */
static enum lmn_status close_pages(void *context, struct lmn__store_file *file,
                                   struct lmn_error *err)
{
    (void)context;
    (void)file;
    (void)err;
    return LMN_OK;
}

static enum lmn_status complete_blobs(struct completion *completion, uint32_t column,
                                      struct lmn_error *err)
{
    static const struct lmn__payload_ops ops = { take_space, open_pages, close_pages, NULL };
    const struct lmn__unit_file *file = completion->file;
    const struct lmn__unit_blobs blobs = { .store = file->table->store,
                                           .rows = file->rows,
                                           .plan = &completion->plan,
                                           .column = column,
                                           .row_count = file->row_count,
                                           .ops = &ops,
                                           .put = put_pages,
                                           .context = completion };

    return lmn__unit_blobs_write(&blobs, err);
}

static enum lmn_status complete_column(struct completion *completion, uint32_t column,
                                       struct lmn_error *err)
{
    const struct lmn__unit_file *file = completion->file;
    struct lmn__kept_pages kept = { 0 };
    enum lmn_status st = LMN_OK;

    if (lmn__fill_columns_is_blob(file->columns, column))
        return complete_blobs(completion, column, err);
    completion->column = column;
    if (file->copies)
        st = lmn__kept_pages_init(&kept, file->table, file->columns, file->index, column,
                                  file->receipt, file->receipt_count, err);
    if (st == LMN_OK)
        st = complete_with(completion, &kept, err);
    lmn__kept_pages_deinit(&kept);
    return st;
}

static enum lmn_status put_tail(struct completion *completion, uint64_t *bytes_out,
                                struct lmn_error *err)
{
    const struct lmn__store_ops *ops = completion->pages->store->ops;
    const void *data;
    size_t len;
    uint64_t position;
    enum lmn_status st = lmn_tail_finish(completion->tail, lmn__pages_tail_end(completion->tail),
                                         &data, &len, err);

    if (st == LMN_OK)
        st = take_space(completion, len + TAIL_SPARE_BYTES, &position, err);
    if (st == LMN_OK)
        st = lmn_tail_finish(completion->tail, position, &data, &len, err);
    if (st == LMN_OK)
        st = ops->write_at(completion->pages, position, data, len, err);
    if (st == LMN_OK && !completion->file->unsynced)
        st = ops->sync(completion->pages, err);
    if (st == LMN_OK)
        *bytes_out = position + len;
    return st;
}

static enum lmn_status complete(struct completion *completion, uint64_t *bytes_out,
                                struct lmn_error *err)
{
    const struct lmn__fill_columns *columns = completion->file->columns;
    const struct lmn_encode_options encode = { .version = columns->version };
    const struct ArrowSchema *schema = &columns->projection.arrow;
    struct lmn_env *env = completion->file->table->env;
    enum lmn_status st = lmn__write_plan_init(&completion->plan, env, schema, &encode, err);

    if (st != LMN_OK)
        return st;
    st = lmn_tail_new(env, schema, &encode, &completion->tail, err);
    for (uint32_t i = 0; st == LMN_OK && i < columns->count; i++)
        st = complete_column(completion, i, err);
    if (st == LMN_OK)
        st = put_tail(completion, bytes_out, err);
    drop_parts(completion);
    lmn__free(env, completion->part);
    lmn__free(env, completion->array);
    lmn_tail_free(completion->tail);
    lmn__write_plan_deinit(&completion->plan);
    return st;
}

/* Copy a segment to its place in the pages file. */
static enum lmn_status copy_segment(const struct completion *completion, uint64_t position,
                                    uint64_t count, uint8_t *bytes, struct lmn_error *err)
{
    const struct lmn__unit_file *file = completion->file;
    struct lmn_store *store = file->table->store;
    struct lmn__store_file *segment;
    char path[LMN__FILL_PATH_BYTES];
    enum lmn_status st;

    lmn__segment_path(lmn__journal_dir(file->journal), LMN__GRANT_PAGES, file->fragment_id,
                      file->layout, position, path);
    st = store->ops->open(store, path, &segment, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t at = 0; st == LMN_OK && at < count; at += COPY_BYTES) {
        size_t len = lmn__min_u64(COPY_BYTES, count - at);

        st = store->ops->read_at(segment, at, bytes, len, err);
        if (st == LMN_OK)
            st = store->ops->write_at(completion->pages, position + at, bytes, len, err);
    }
    store->ops->close(segment);
    return st;
}

static enum lmn_status copy_segments(const struct completion *completion, struct lmn_error *err)
{
    const struct lmn__unit_file *file = completion->file;
    uint8_t *bytes = lmn__alloc(file->table->env, COPY_BYTES);
    enum lmn_status st = bytes != NULL ? LMN_OK : lmn__no_memory(err, "a copy", COPY_BYTES);

    for (uint64_t i = 0; i < file->receipt_count; i++) {
        const struct lmn__receipt *receipt = &file->receipt[i];
        const struct lmn__receipt_pages *pages = receipt->pages.item;
        const struct lmn__receipt_payloads *payloads = receipt->payloads.item;
        const struct lmn__receipt_payloads *kept = receipt->kept.item;

        if (!receipt->segments)
            continue;
        for (size_t k = 0; st == LMN_OK && k < receipt->pages.count; k++)
            st = copy_segment(completion, pages[k].position, pages[k].bytes, bytes, err);
        for (size_t k = 0; st == LMN_OK && k < receipt->payloads.count; k++)
            st = copy_segment(completion, payloads[k].position, payloads[k].bytes, bytes, err);
        for (size_t k = 0; st == LMN_OK && k < receipt->kept.count; k++)
            st = copy_segment(completion, kept[k].position, kept[k].bytes, bytes, err);
    }
    lmn__free(file->table->env, bytes);
    return st;
}

/* Complete the pages file where it is. */
static enum lmn_status write_direct(const struct lmn__unit_file *file, char *path_out,
                                    uint64_t *bytes_out, struct lmn_error *err)
{
    struct lmn_store *store = file->table->store;
    struct completion completion = { .file = file };
    uint64_t position;
    enum lmn_status st = LMN_OK;

    lmn__fill_path(lmn__journal_dir(file->journal), LMN__GRANT_PAGES, file->fragment_id,
                   file->layout, path_out);
    /* Where nothing was granted there is no file yet; the first grant makes it. */
    if (!lmn__receipts_are_direct(file->receipt, file->receipt_count))
        st = take_space(&completion, LMN_PAGE_ALIGN, &position, err);
    if (st == LMN_OK)
        st = store->ops->open_update(store, path_out, &completion.pages, err);
    if (st != LMN_OK)
        return st;
    st = copy_segments(&completion, err);
    if (st == LMN_OK)
        st = complete(&completion, bytes_out, err);
    store->ops->close(completion.pages);
    return st;
}

enum lmn_status lmn__unit_file_carry(const struct lmn__unit_file *file, char *path_out,
                                     struct lmn_error *err)
{
    uint64_t bytes;

    if (lmn__unit_file_is_direct(file->columns, file->receipt, file->receipt_count))
        return write_direct(file, path_out, &bytes, err);
    snprintf(path_out, LMN__FILL_PATH_BYTES, "%s/carried", lmn__journal_dir(file->journal));
    return write_plain(file, path_out, true, &bytes, err);
}

enum lmn_status lmn__unit_file_write(const struct lmn__unit_file *file, uint64_t *bytes_out,
                                     struct lmn_error *err)
{
    struct lmn_store *store = file->table->store;
    char path[PATH_BYTES], pages[LMN__FILL_PATH_BYTES];
    enum lmn_status st;

    *bytes_out = 0;
    snprintf(path, sizeof path, "data/%s", file->name);
    if (!file->copies &&
        !lmn__unit_file_is_direct(file->columns, file->receipt, file->receipt_count)) {
        st = write_plain(file, path, false, bytes_out, err);
    } else {
        st = write_direct(file, pages, bytes_out, err);
        if (st == LMN_OK)
            st = store->ops->rename(store, pages, path, err);
    }
    return st != LMN_OK
               ? lmn__fail_within(err, st, "fragment %llu", (unsigned long long)file->fragment_id)
               : st;
}
