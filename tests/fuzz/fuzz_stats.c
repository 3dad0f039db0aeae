/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: u8 rows, then statistics, of a file with a column of each type. Hashes are put right
 * first, so that what they protect is looked at, too. The zones of a column are its rows, and
 * bounds lie in the input.
 */
#include "base/hash.h"
#include "format/stats.h"
#include "format/stats_layout.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct lmn__stats_type types[] = {
    { LMN__STATS_SIGNED, 8 }, { LMN__STATS_BYTES, 0 },    { LMN__STATS_FLOAT, 4 },
    { LMN__STATS_NONE, 0 },   { LMN__STATS_UNSIGNED, 2 }, { LMN__STATS_BOOL, 1 },
};
enum { TYPE_COUNT = sizeof types / sizeof types[0], INPUT_BYTES_MAX = 1 << 16 };

/* Make the hashes those of what is there, as far as the directory makes sense. */
static void set_hashes(uint8_t *bytes, size_t len)
{
    uint64_t count = len >= LMN__STATS_HEAD_BYTES ? lmn__load_u32(bytes + 12) : len;
    uint64_t end = LMN__STATS_HEAD_BYTES + count * LMN__STATS_ENTRY_BYTES;
    uint64_t at = end + LMN__STATS_HASH_BYTES;

    if (count > TYPE_COUNT || at > len)
        return;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *entry = bytes + LMN__STATS_HEAD_BYTES + i * LMN__STATS_ENTRY_BYTES;
        uint64_t zones = lmn__load_u64(entry + 16);

        if (zones > len - at)
            break;
        lmn__store_u64(entry + 24, lmn__hash64(bytes + at, zones));
        at += zones;
    }
    lmn__store_u64(bytes + end, lmn__hash64(bytes, end));
}

static void check_bound(struct lmn__span bound, const uint8_t *bytes, size_t len)
{
    if (bound.data != NULL && (bound.data < bytes || bound.data + bound.len > bytes + len))
        abort();
}

static void check_column(const struct lmn__stats_column *column, uint64_t rows,
                         const uint8_t *bytes, size_t len)
{
    uint64_t row = 0;

    for (uint64_t i = 0; i < column->zone_count; i++) {
        const struct lmn__stats_zone *zone = &column->zone[i];

        if (lmn__stats_find_zone(column, row) != i || zone->null_count > zone->row_count)
            abort();
        row += zone->row_count;
        check_bound(zone->min, bytes, len);
        check_bound(zone->max, bytes, len);
    }
    if (row != rows)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t bytes[INPUT_BYTES_MAX];
    struct lmn__span input = { data, len };
    uint64_t rows = take_number(&input, 1);
    const struct lmn__stats_column *column;
    struct lmn__stats *stats;

    if (input.len > sizeof bytes)
        return 0;
    if (input.len != 0)
        memcpy(bytes, input.data, input.len);
    set_hashes(bytes, input.len);
    if (lmn__stats_parse(fuzz_env(), (struct lmn__span){ bytes, input.len }, types, TYPE_COUNT,
                         rows, &stats, NULL) != LMN_OK ||
        stats == NULL)
        return 0;
    for (uint32_t i = 0; i < TYPE_COUNT; i++) {
        if (lmn__stats_column(stats, i, &column, NULL) == LMN_OK && column != NULL)
            check_column(column, rows, bytes, input.len);
    }
    lmn__stats_free(stats);
    return 0;
}
