/* SPDX-License-Identifier: Apache-2.0 */
#include "job/segments.h"

#include <stdlib.h>

#include "base/math.h"

void lmn__segments_deinit(struct lmn__segments *segments)
{
    if (segments->env != NULL)
        lmn__free(segments->env, segments->item);
}

static enum lmn_status add(struct lmn__segments *segments, struct lmn__segment segment,
                           struct lmn_error *err)
{
    if (segments->count == segments->cap) {
        uint64_t cap = lmn__max_u64(segments->cap * 2, 16);
        struct lmn__segment *grown = lmn__realloc(segments->env, segments->item,
                                                  cap * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "a list of rows", cap * sizeof *grown);
        segments->item = grown;
        segments->cap = cap;
    }
    segments->item[segments->count++] = segment;
    return LMN_OK;
}

static int compare(const void *a, const void *b)
{
    const struct lmn__segment *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

static void sort(struct lmn__segments *segments)
{
    if (segments->count != 0)
        qsort(segments->item, segments->count, sizeof *segments->item, compare);
}

static enum lmn_status add_receipts(struct lmn__segments *segments,
                                    const struct lmn__receipt *receipt, uint64_t count,
                                    struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t from = 0;

        for (size_t k = 0; st == LMN_OK && k < receipt[i].first.count; k++) {
            struct lmn__segment segment = { receipt[i].first.item[k], receipt[i].count.item[k],
                                            LMN__ROWS_HELD, i, from };

            st = add(segments, segment, err);
            from += segment.count;
        }
    }
    sort(segments);
    return st;
}

/* Rows that no receipt has: live ones are kept, if the table has something to keep. */
static enum lmn_status add_gap(struct lmn__segments *segments, const struct lmn__deletion *deletion,
                               uint64_t first, uint64_t end, bool filled, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && first < end) {
        bool dead = !filled || lmn__deletion_has(deletion, first);
        uint64_t next = !filled || deletion->bits == NULL ? end : first + 1;

        while (next < end && lmn__deletion_has(deletion, next) == dead)
            next++;
        st = add(segments,
                 (struct lmn__segment){ first, next - first, dead ? LMN__ROWS_DEAD : LMN__ROWS_KEPT,
                                        0, 0 },
                 err);
        first = next;
    }
    return st;
}

/* Does a file of the fragment hold anything of the columns? */
static bool is_filled(const struct lmn__pb_fragment *fragment,
                      const struct lmn__fill_columns *columns)
{
    const struct lmn__pb_data_file *file = fragment->files.item;

    for (size_t i = 0; i < fragment->files.count; i++) {
        for (size_t k = 0; k < file[i].fields.count; k++) {
            if (lmn__fill_columns_has(columns, (int32_t)file[i].fields.item[k]))
                return true;
        }
    }
    return false;
}

enum lmn_status lmn__segments_make(struct lmn__segments *segments,
                                   const struct lmn__fragment_reader *reader,
                                   const struct lmn__fill_columns *columns,
                                   const struct lmn__receipt *receipt, uint64_t receipt_count,
                                   struct lmn_error *err)
{
    const struct lmn__pb_fragment *fragment = lmn__fragment_reader_fragment(reader);
    const struct lmn__deletion *deletion = lmn__fragment_reader_deletion(reader);
    bool filled = is_filled(fragment, columns);
    uint64_t held_count, end = 0;
    enum lmn_status st = add_receipts(segments, receipt, receipt_count, err);

    held_count = segments->count;
    for (uint64_t i = 0; st == LMN_OK && i < held_count; i++) {
        struct lmn__segment held = segments->item[i];

        st = add_gap(segments, deletion, end, held.first, filled, err);
        end = held.first + held.count;
    }
    if (st == LMN_OK && end > fragment->row_count)
        st = lmn_fail(err, LMN_E_CORRUPT, "a receipt of row %llu of a fragment of %llu rows",
                      (unsigned long long)end - 1, (unsigned long long)fragment->row_count);
    if (st == LMN_OK)
        st = add_gap(segments, deletion, end, fragment->row_count, filled, err);
    sort(segments);
    return st;
}

uint64_t lmn__segments_find(const struct lmn__segments *segments, uint64_t row)
{
    uint64_t low = 0, high = segments->count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (segments->item[middle].first + segments->item[middle].count <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
