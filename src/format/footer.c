/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the end of the file:
 *
 *     -40 u64 column metadata 0    -32 u64 column table    -24 u64 global table
 *     -16 u32 global buffers       -12 u32 columns
 *      -8 u16 major                 -6 u16 minor            -4 "LANC"
 *
 * Version 2.0 calls itself 0.3 here; 0.0 to 0.2 are files of the first format.
 */
#include "format/footer.h"

#include "base/math.h"

enum { TABLE_ENTRY_BYTES = 16 };

static const char magic[4] = { 'L', 'A', 'N', 'C' };

static enum lmn_status check_version(uint32_t major, uint32_t minor, struct lmn__footer *footer,
                                     struct lmn_error *err)
{
    if ((major == 0 && minor == 3) || (major == 2 && minor <= 2)) {
        footer->minor = major == 0 ? 0 : minor;
        return LMN_OK;
    }
    if (major == 0 && minor < 3)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "a Lance file of version 1 (%u.%u), which is not read here: rewrite it "
                        "with a release of pylance that reads it",
                        major, minor);
    return lmn_fail(err, LMN_E_UNSUPPORTED,
                    "a Lance file of version %u.%u; 2.0, 2.1 and 2.2 are read", major, minor);
}

/* Does a table of `count` entries at `position` end before `end`? */
static bool table_fits(uint64_t position, uint32_t count, uint64_t end)
{
    return lmn__range_fits(position, (uint64_t)count * TABLE_ENTRY_BYTES, end);
}

enum lmn_status lmn__footer_decode(const uint8_t *bytes, uint64_t file_bytes,
                                   struct lmn__footer *footer_out, struct lmn_error *err)
{
    struct lmn__footer footer = { 0 };
    uint64_t end = file_bytes - LMN__FOOTER_BYTES;
    enum lmn_status st;

    *footer_out = footer;
    if (memcmp(bytes + 36, magic, sizeof magic) != 0)
        return lmn_fail(err, LMN_E_CORRUPT, "no Lance file: it does not end in \"LANC\"");
    st = check_version(lmn__load_u16(bytes + 32), lmn__load_u16(bytes + 34), &footer, err);
    if (st != LMN_OK)
        return st;
    footer.column_metadata = lmn__load_u64(bytes);
    footer.column_table = lmn__load_u64(bytes + 8);
    footer.global_table = lmn__load_u64(bytes + 16);
    footer.global_count = lmn__load_u32(bytes + 24);
    footer.column_count = lmn__load_u32(bytes + 28);
    if (!table_fits(footer.column_table, footer.column_count, end) ||
        !table_fits(footer.global_table, footer.global_count, end) || footer.global_count == 0)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "the footer's tables (%u columns at %llu, %u global buffers at %llu) do "
                        "not lie in a file of %llu bytes",
                        footer.column_count, (unsigned long long)footer.column_table,
                        footer.global_count, (unsigned long long)footer.global_table,
                        (unsigned long long)file_bytes);
    *footer_out = footer;
    return LMN_OK;
}

void lmn__footer_encode(const struct lmn__footer *footer, uint8_t *bytes_out)
{
    lmn__store_u64(bytes_out, footer->column_metadata);
    lmn__store_u64(bytes_out + 8, footer->column_table);
    lmn__store_u64(bytes_out + 16, footer->global_table);
    lmn__store_u32(bytes_out + 24, footer->global_count);
    lmn__store_u32(bytes_out + 28, footer->column_count);
    lmn__store_u16(bytes_out + 32, 2);
    lmn__store_u16(bytes_out + 34, (uint16_t)footer->minor);
    memcpy(bytes_out + 36, magic, sizeof magic);
}
