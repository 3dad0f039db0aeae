/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading one batch: the live rows of a range of a fragment.
 *
 * The fragment is opened by the first thread that needs it, without the lock; others that need it
 * wait on `opened`. It is closed with the last batch of it.
 */
#include "arrow/compose.h"
#include "base/math.h"
#include "table/scan.h"

void lmn__scan_opened_close(struct lmn__scan_opened *opened)
{
    lmn__scan_prune_free(opened->prune);
    lmn__fragment_columns_close(opened->rest);
    lmn__fragment_reader_close(opened->reader);
    *opened = (struct lmn__scan_opened){ 0 };
}

/* Open what is missing of a piece; `opening` keeps others away. */
static enum lmn_status open_missing(const struct lmn__scan *scan, uint64_t fragment, bool with_rest,
                                    struct lmn__scan_opened *opened, struct lmn_error *err)
{
    const struct lmn__scan_filter *filter = scan->filter;
    const struct lmn__snapshot *snapshot = scan->snapshot;
    bool is_first = opened->reader == NULL;
    enum lmn_status st = LMN_OK;

    if (is_first)
        st = lmn__fragment_reader_open(snapshot->files, snapshot->manifest, fragment,
                                       filter != NULL ? &filter->columns : &scan->output,
                                       &opened->reader, err);
    if (st == LMN_OK && is_first && filter != NULL)
        st = lmn__scan_prune_new(snapshot->files, snapshot->manifest,
                                 lmn__fragment_reader_fragment(opened->reader), filter,
                                 &opened->prune, err);
    if (st == LMN_OK && with_rest && filter != NULL && opened->rest == NULL)
        st = lmn__fragment_columns_open(snapshot->files, snapshot->manifest,
                                        lmn__fragment_reader_fragment(opened->reader),
                                        &filter->rest, &opened->rest, err);
    return st;
}

enum lmn_status lmn__scan_open_piece(struct lmn__scan *scan, struct lmn__scan_piece *piece,
                                     bool with_rest, struct lmn__scan_opened *opened_out,
                                     struct lmn_error *err)
{
    struct lmn__scan_opened *opened = &piece->locked.opened;
    bool want_rest = with_rest && scan->filter != NULL;
    enum lmn_status st = LMN_OK;

    lmn__mutex_lock(&scan->mutex);
    while (piece->locked.opening)
        lmn__cond_wait(&scan->opened, &scan->mutex);
    *opened_out = *opened;
    if (opened->reader == NULL || (want_rest && opened->rest == NULL)) {
        piece->locked.opening = true;
        lmn__mutex_unlock(&scan->mutex);
        st = open_missing(scan, piece->fragment, want_rest, opened_out, err);
        lmn__mutex_lock(&scan->mutex);
        piece->locked.opening = false;
        *opened = *opened_out;
        lmn__cond_wake_all(&scan->opened);
    }
    lmn__mutex_unlock(&scan->mutex);
    return st;
}

/* One batch of the piece is done. */
static void finish_batch(struct lmn__scan *scan, struct lmn__scan_piece *piece)
{
    struct lmn__scan_opened opened = { 0 };

    lmn__mutex_lock(&scan->mutex);
    if (--piece->locked.batches_left == 0) {
        opened = piece->locked.opened;
        piece->locked.opened = (struct lmn__scan_opened){ 0 };
    }
    lmn__mutex_unlock(&scan->mutex);
    lmn__scan_opened_close(&opened);
}

static struct lmn__scan_piece *find_piece(const struct lmn__scan *scan, uint64_t batch)
{
    uint64_t low = 0, high = scan->piece_count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (scan->piece[middle].batch_first <= batch)
            low = middle;
        else
            high = middle;
    }
    return &scan->piece[low];
}

static enum lmn_status read_rows(const struct lmn__scan *scan,
                                 const struct lmn__fragment_reader *reader,
                                 struct lmn__scratch *scratch, const struct lmn__row_list *rows,
                                 struct ArrowArray *array_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__fragment_reader_read(reader, scratch, rows->range, rows->count,
                                                   array_out, err);

    if (st == LMN_OK)
        st = lmn__row_columns_add(reader, NULL, scan->row_columns, rows->range, rows->count,
                                  array_out, err);
    if (st != LMN_OK)
        lmn__array_release(array_out);
    return st;
}

enum lmn_status lmn__scan_read(void *context, struct lmn__scratch *scratch, uint64_t index,
                               struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn__scan *scan = context;
    struct lmn__scan_piece *piece = find_piece(scan, index);
    uint64_t first = (index - piece->batch_first) * piece->batch_rows;
    uint64_t count = lmn__min_u64(piece->batch_rows, piece->row_count - first);
    struct lmn__scan_opened opened;
    struct lmn__row_list rows;
    bool all = false;
    enum lmn_status st = lmn__scan_open_piece(scan, piece, false, &opened, err);

    *array_out = (struct ArrowArray){ 0 };
    lmn__row_list_init(&rows, scan->snapshot->env);
    if (st == LMN_OK)
        st = lmn__scan_prune_rows(opened.prune, lmn__fragment_reader_deletion(opened.reader),
                                  piece->row_start + first, count, &rows, &all, err);
    if (st == LMN_OK && rows.row_count != 0)
        st = scan->filter != NULL ? lmn__scan_read_chosen(scan, piece, opened.reader, scratch,
                                                          &rows, all, array_out, err)
                                  : read_rows(scan, opened.reader, scratch, &rows, array_out, err);
    lmn__row_list_deinit(&rows);
    finish_batch(scan, piece);
    return st;
}
