/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     Receipt { uint64 fragment_id = 1, layout = 2; repeated uint64 first = 3, count = 4;
 *               uint64 row_count = 5, failed_count = 6; repeated Pages pages = 7;
 *               repeated Hold holds = 8; repeated Error errors = 9; bool segments = 10;
 *               repeated Payloads payloads = 11, kept = 12; }
 *     Pages   { uint32 column = 1; uint64 position = 2, bytes = 3; bytes descriptor = 4; }
 *     Hold    { uint64 position = 1, bytes = 2, checksum = 3; repeated uint64 column = 4; }
 *     Error   { uint64 row = 1; bytes record = 2; }
 *     Payloads { uint64 position = 1, bytes = 2; }
 */
#include "job/receipt.h"

#include <leman/page.h>

#include "base/math.h"

/* Rows are addressed with 32 bits inside a fragment. */
static const uint64_t rows_max = 1ull << 32;

static const struct lmn__pb_field pages_fields[] = {
    { 1, LMN__PB_U32, 0, offsetof(struct lmn__receipt_pages, column), 0, NULL },
    { 2, LMN__PB_U64, 0, offsetof(struct lmn__receipt_pages, position), 0, NULL },
    { 3, LMN__PB_U64, 0, offsetof(struct lmn__receipt_pages, bytes), 0, NULL },
    { 4, LMN__PB_BYTES, 0, offsetof(struct lmn__receipt_pages, descriptor), 0, NULL },
};
static const struct lmn__pb_message pages_message = { "Pages", pages_fields,
                                                      4,       sizeof(struct lmn__receipt_pages),
                                                      0,       false };

static const struct lmn__pb_field hold_fields[] = {
    { 1, LMN__PB_U64, 0, offsetof(struct lmn__receipt_hold, position), 0, NULL },
    { 2, LMN__PB_U64, 0, offsetof(struct lmn__receipt_hold, bytes), 0, NULL },
    { 3, LMN__PB_U64, 0, offsetof(struct lmn__receipt_hold, checksum), 0, NULL },
    { 4, LMN__PB_U64, LMN__PB_REPEATED, offsetof(struct lmn__receipt_hold, column), 0, NULL },
};
static const struct lmn__pb_message hold_message = { "Hold", hold_fields,
                                                     4,      sizeof(struct lmn__receipt_hold),
                                                     0,      false };

static const struct lmn__pb_field error_fields[] = {
    { 1, LMN__PB_U64, 0, offsetof(struct lmn__receipt_error, row), 0, NULL },
    { 2, LMN__PB_BYTES, 0, offsetof(struct lmn__receipt_error, record), 0, NULL },
};
static const struct lmn__pb_message error_message = { "Error", error_fields,
                                                      2,       sizeof(struct lmn__receipt_error),
                                                      0,       false };

static const struct lmn__pb_field payloads_fields[] = {
    { 1, LMN__PB_U64, 0, offsetof(struct lmn__receipt_payloads, position), 0, NULL },
    { 2, LMN__PB_U64, 0, offsetof(struct lmn__receipt_payloads, bytes), 0, NULL },
};
static const struct lmn__pb_message payloads_message = {
    "Payloads", payloads_fields, 2, sizeof(struct lmn__receipt_payloads), 0, false
};

static const struct lmn__pb_field receipt_fields[] = {
    { 1, LMN__PB_U64, 0, offsetof(struct lmn__receipt, fragment_id), 0, NULL },
    { 2, LMN__PB_U64, 0, offsetof(struct lmn__receipt, layout), 0, NULL },
    { 3, LMN__PB_U64, LMN__PB_REPEATED, offsetof(struct lmn__receipt, first), 0, NULL },
    { 4, LMN__PB_U64, LMN__PB_REPEATED, offsetof(struct lmn__receipt, count), 0, NULL },
    { 5, LMN__PB_U64, 0, offsetof(struct lmn__receipt, row_count), 0, NULL },
    { 6, LMN__PB_U64, 0, offsetof(struct lmn__receipt, failed_count), 0, NULL },
    { 7, LMN__PB_MESSAGE, LMN__PB_REPEATED, offsetof(struct lmn__receipt, pages), 0,
      &pages_message },
    { 8, LMN__PB_MESSAGE, LMN__PB_REPEATED, offsetof(struct lmn__receipt, holds), 0,
      &hold_message },
    { 9, LMN__PB_MESSAGE, LMN__PB_REPEATED, offsetof(struct lmn__receipt, errors), 0,
      &error_message },
    { 10, LMN__PB_BOOL, 0, offsetof(struct lmn__receipt, segments), 0, NULL },
    { 11, LMN__PB_MESSAGE, LMN__PB_REPEATED, offsetof(struct lmn__receipt, payloads), 0,
      &payloads_message },
    { 12, LMN__PB_MESSAGE, LMN__PB_REPEATED, offsetof(struct lmn__receipt, kept), 0,
      &payloads_message },
};
const struct lmn__pb_message lmn__receipt_message = { "Receipt", receipt_fields,
                                                      12,        sizeof(struct lmn__receipt),
                                                      0,         false };

/* Ranges that rise, do not touch beyond the last row, and are as many rows as it says. */
static enum lmn_status check_ranges(const struct lmn__receipt *receipt, struct lmn_error *err)
{
    uint64_t end = 0, rows = 0;

    if (receipt->first.count == 0 || receipt->first.count != receipt->count.count)
        return lmn_fail(err, LMN_E_CORRUPT, "%zu first rows and %zu counts of rows",
                        receipt->first.count, receipt->count.count);
    for (size_t i = 0; i < receipt->first.count; i++) {
        uint64_t first = receipt->first.item[i], count = receipt->count.item[i];

        if (first < end || count == 0 || !lmn__range_fits(first, count, rows_max))
            return lmn_fail(err, LMN_E_CORRUPT,
                            "range %zu is %llu rows from row %llu, behind one that ends at %llu", i,
                            (unsigned long long)count, (unsigned long long)first,
                            (unsigned long long)end);
        end = first + count;
        rows += count;
    }
    if (rows != receipt->row_count || receipt->failed_count > rows)
        return lmn_fail(err, LMN_E_CORRUPT, "%llu rows, %llu of them failed, in ranges of %llu",
                        (unsigned long long)receipt->row_count,
                        (unsigned long long)receipt->failed_count, (unsigned long long)rows);
    return LMN_OK;
}

static enum lmn_status check_place(uint64_t position, uint64_t bytes, struct lmn_error *err)
{
    if (position % LMN_PAGE_ALIGN == 0 && bytes != 0 && lmn__range_fits(position, bytes, INT64_MAX))
        return LMN_OK;
    return lmn_fail(err, LMN_E_CORRUPT, "%llu bytes at position %llu", (unsigned long long)bytes,
                    (unsigned long long)position);
}

static enum lmn_status mark_column(bool *seen, uint32_t column_count, uint64_t column,
                                   struct lmn_error *err)
{
    if (column >= column_count || seen[column])
        return lmn_fail(err, LMN_E_CORRUPT, "column %llu of %u is there %s",
                        (unsigned long long)column, column_count,
                        column < column_count ? "twice" : "all the same");
    seen[column] = true;
    return LMN_OK;
}

static enum lmn_status check_columns(const struct lmn__receipt *receipt, uint32_t column_count,
                                     struct lmn__arena *arena, struct lmn_error *err)
{
    const struct lmn__receipt_pages *pages = receipt->pages.item;
    const struct lmn__receipt_hold *hold = receipt->holds.item;
    bool *seen = lmn__arena_array(arena, column_count, sizeof *seen);
    enum lmn_status st = LMN_OK;

    if (seen == NULL)
        return lmn__arena_fail(arena, "a receipt", err);
    for (size_t i = 0; st == LMN_OK && i < receipt->pages.count; i++) {
        st = check_place(pages[i].position, pages[i].bytes, err);
        if (st == LMN_OK && pages[i].descriptor.len == 0)
            st = lmn_fail(err, LMN_E_CORRUPT, "pages of column %u are not described",
                          pages[i].column);
        if (st == LMN_OK)
            st = mark_column(seen, column_count, pages[i].column, err);
    }
    if (st == LMN_OK && receipt->holds.count > 1)
        st = lmn_fail(err, LMN_E_CORRUPT, "%zu holds", receipt->holds.count);
    if (st == LMN_OK && receipt->holds.count == 1) {
        st = check_place(hold->position, hold->bytes, err);
        for (size_t i = 0; st == LMN_OK && i < hold->column.count; i++)
            st = mark_column(seen, column_count, hold->column.item[i], err);
    }
    for (uint32_t i = 0; st == LMN_OK && i < column_count; i++) {
        if (!seen[i])
            st = lmn_fail(err, LMN_E_CORRUPT, "column %u of %u is missing", i, column_count);
    }
    return st;
}

static enum lmn_status check_payloads(const struct lmn__pb_list *list, struct lmn_error *err)
{
    const struct lmn__receipt_payloads *payloads = list->item;
    enum lmn_status st = LMN_OK;

    for (size_t i = 0; st == LMN_OK && i < list->count; i++)
        st = check_place(payloads[i].position, payloads[i].bytes, err);
    return st;
}

static enum lmn_status check_errors(const struct lmn__receipt *receipt, struct lmn_error *err)
{
    const struct lmn__receipt_error *error = receipt->errors.item;
    size_t at = 0;

    for (size_t i = 0; i < receipt->errors.count; i++) {
        uint64_t row = error[i].row;

        while (at < receipt->first.count &&
               receipt->first.item[at] + receipt->count.item[at] <= row)
            at++;
        if (at == receipt->first.count || row < receipt->first.item[at] ||
            (i != 0 && row <= error[i - 1].row))
            return lmn_fail(err, LMN_E_CORRUPT, "error %zu is of row %llu", i,
                            (unsigned long long)row);
    }
    return LMN_OK;
}

enum lmn_status lmn__receipt_decode(struct lmn__span bytes, uint32_t column_count,
                                    struct lmn__arena *arena, struct lmn__receipt *receipt_out,
                                    struct lmn_error *err)
{
    enum lmn_status st;

    *receipt_out = (struct lmn__receipt){ 0 };
    st = lmn__pb_decode(&lmn__receipt_message, bytes, arena, receipt_out, err);
    if (st == LMN_OK)
        st = check_ranges(receipt_out, err);
    if (st == LMN_OK)
        st = check_columns(receipt_out, column_count, arena, err);
    if (st == LMN_OK)
        st = check_payloads(&receipt_out->payloads, err);
    if (st == LMN_OK)
        st = check_payloads(&receipt_out->kept, err);
    if (st == LMN_OK)
        st = check_errors(receipt_out, err);
    return st;
}

void lmn__receipt_encode(const struct lmn__receipt *receipt, struct lmn__buf *buf)
{
    lmn__pb_encode(&lmn__receipt_message, receipt, buf);
}
