/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/math.h"
#include "job/journal_parts.h"

/* Room for one more of `bytes` bytes each in a list; false without memory. */
static bool reserve(struct lmn_env *env, void *list, uint64_t count, uint64_t *cap, size_t bytes)
{
    void **items = list, *grown;
    uint64_t room = lmn__max_u64(*cap * 2, 4);

    if (count < *cap)
        return true;
    grown = lmn__realloc(env, *items, room * bytes);
    if (grown == NULL)
        return false;
    *items = grown;
    *cap = room;
    return true;
}

enum lmn_status lmn__journal_unit(struct lmn__journal *journal, uint64_t fragment_id,
                                  uint64_t layout, bool make, struct lmn__journal_unit **unit_out,
                                  struct lmn_error *err)
{
    *unit_out = NULL;
    for (uint64_t i = journal->unit_count; i-- > 0;) {
        struct lmn__journal_unit *unit = &journal->unit[i];

        if (unit->fragment_id == fragment_id && unit->layout == layout) {
            *unit_out = unit;
            return LMN_OK;
        }
    }
    if (!make)
        return LMN_OK;
    if (!reserve(journal->env, &journal->unit, journal->unit_count, &journal->unit_cap,
                 sizeof *journal->unit))
        return lmn__no_memory(err, "a journal", journal->unit_count * sizeof *journal->unit);
    *unit_out = &journal->unit[journal->unit_count++];
    **unit_out = (struct lmn__journal_unit){ .fragment_id = fragment_id, .layout = layout };
    return LMN_OK;
}

/* The number of ranges that end at or before `row`. */
static uint64_t find_range(const struct lmn__journal_unit *unit, uint64_t row)
{
    uint64_t low = 0, high = unit->row_count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (unit->row[middle].first + unit->row[middle].count <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum lmn_status lmn__unit_check(const struct lmn__journal_unit *unit,
                                const struct lmn__receipt *receipt, struct lmn_error *err)
{
    for (size_t i = 0; i < receipt->first.count; i++) {
        uint64_t first = receipt->first.item[i], end = first + receipt->count.item[i];
        uint64_t at = find_range(unit, first);

        if (at < unit->row_count && unit->row[at].first < end)
            return lmn_fail(err, LMN_E_INVALID,
                            "fragment %llu: rows %llu to %llu: row %llu has a receipt already",
                            (unsigned long long)unit->fragment_id, (unsigned long long)first,
                            (unsigned long long)end - 1,
                            (unsigned long long)lmn__max_u64(first, unit->row[at].first));
    }
    return LMN_OK;
}

/* Put a range, which overlaps none, into its place; it joins its neighbours where it touches. */
static bool insert_range(struct lmn__journal *journal, struct lmn__journal_unit *unit,
                         struct lmn__row_range range)
{
    uint64_t at = find_range(unit, range.first), end = range.first + range.count;
    struct lmn__row_range *row = unit->row;
    bool joins_before = at > 0 && row[at - 1].first + row[at - 1].count == range.first;
    bool joins_behind = at < unit->row_count && row[at].first == end;

    if (joins_before && joins_behind) {
        row[at - 1].count += range.count + row[at].count;
        unit->row_count--;
        memmove(row + at, row + at + 1, (unit->row_count - at) * sizeof *row);
    } else if (joins_before) {
        row[at - 1].count += range.count;
    } else if (joins_behind) {
        row[at].first = range.first;
        row[at].count += range.count;
    } else {
        if (!reserve(journal->env, &unit->row, unit->row_count, &unit->row_cap, sizeof *row))
            return false;
        row = unit->row;
        memmove(row + at + 1, row + at, (unit->row_count - at) * sizeof *row);
        row[at] = range;
        unit->row_count++;
    }
    return true;
}

enum lmn_status lmn__unit_add(struct lmn__journal *journal, struct lmn__journal_unit *unit,
                              const struct lmn__receipt *receipt, struct lmn_error *err)
{
    const struct lmn__receipt *last;

    if (!reserve(journal->env, &unit->receipt, unit->receipt_count, &unit->receipt_cap,
                 sizeof *unit->receipt))
        return lmn__no_memory(err, "receipts", unit->receipt_count * sizeof *unit->receipt);
    for (size_t i = 0; i < receipt->first.count; i++) {
        struct lmn__row_range range = { receipt->first.item[i], receipt->count.item[i] };

        if (!insert_range(journal, unit, range)) {
            /* Rows without their receipt would be left out by others: nothing more is taken. */
            journal->broken = true;
            return lmn__no_memory(err, "rows that have receipts",
                                  unit->row_count * sizeof *unit->row);
        }
    }
    last = unit->receipt_count != 0 ? &unit->receipt[unit->receipt_count - 1] : NULL;
    unit->sorted = last == NULL || (unit->sorted && last->first.item[0] < receipt->first.item[0]);
    unit->receipt[unit->receipt_count++] = *receipt;
    return LMN_OK;
}

void lmn__unit_clear(struct lmn__journal *journal, struct lmn__journal_unit *unit)
{
    lmn__free(journal->env, unit->receipt);
    lmn__free(journal->env, unit->row);
    *unit = (struct lmn__journal_unit){ .fragment_id = unit->fragment_id, .layout = unit->layout };
}

static int compare_receipts(const void *a, const void *b)
{
    const struct lmn__receipt *x = a, *y = b;

    return x->first.item[0] < y->first.item[0] ? -1 : x->first.item[0] > y->first.item[0];
}

enum lmn_status lmn__journal_receipts(struct lmn__journal *journal, uint64_t fragment_id,
                                      uint64_t layout, const struct lmn__receipt **receipt_out,
                                      uint64_t *count_out, struct lmn_error *err)
{
    struct lmn__journal_unit *unit;
    enum lmn_status st = lmn__journal_unit(journal, fragment_id, layout, false, &unit, err);

    *receipt_out = NULL;
    *count_out = 0;
    if (st != LMN_OK || unit == NULL || unit->receipt_count == 0)
        return st;
    if (!unit->sorted)
        qsort(unit->receipt, unit->receipt_count, sizeof *unit->receipt, compare_receipts);
    unit->sorted = true;
    *receipt_out = unit->receipt;
    *count_out = unit->receipt_count;
    return LMN_OK;
}

bool lmn__journal_fragment(const struct lmn__journal *journal, uint64_t index,
                           uint64_t *fragment_id_out, uint64_t *layout_out)
{
    for (uint64_t i = 0; i < journal->unit_count; i++) {
        const struct lmn__journal_unit *unit = &journal->unit[i];

        if (unit->receipt_count == 0 || index-- != 0)
            continue;
        *fragment_id_out = unit->fragment_id;
        *layout_out = unit->layout;
        return true;
    }
    return false;
}

bool lmn__journal_published(const struct lmn__journal *journal, uint64_t index,
                            struct lmn__published *published_out)
{
    for (uint64_t i = 0; i < journal->unit_count; i++) {
        if (!journal->unit[i].has_published || index-- != 0)
            continue;
        *published_out = journal->unit[i].published;
        return true;
    }
    return false;
}
