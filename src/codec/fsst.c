/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbol table, 2312 bytes: a header word with the magic number in its upper half, the switch
 * in bit 24 and the number of symbols in bits 0..7; then the symbols, 8 bytes each; then their
 * lengths, one byte each; the rest is padding. Code 255 escapes: the next byte stands for itself.
 */
#include "codec/fsst.h"

enum { MAGIC = 0x46535354, ESCAPE = 255 };

enum lmn_status lmn__fsst_init(struct lmn__fsst *fsst, struct lmn__span table,
                               struct lmn_error *err)
{
    uint64_t header;
    uint32_t count;

    if (table.len != LMN__FSST_TABLE_BYTES)
        return lmn_fail(err, LMN_E_CORRUPT, "an FSST symbol table of %zu bytes instead of %d",
                        table.len, LMN__FSST_TABLE_BYTES);
    header = lmn__load_u64(table.data);
    if (header >> 32 != MAGIC)
        return lmn_fail(err, LMN_E_CORRUPT, "an FSST symbol table with the magic number 0x%llx",
                        (unsigned long long)(header >> 32));
    *fsst = (struct lmn__fsst){ .plain = (header >> 24 & 1) == 0 };
    count = header & 0xff;
    for (uint32_t i = 0; i < count; i++) {
        fsst->symbol[i] = lmn__load_u64(table.data + 8 + i * 8);
        fsst->len[i] = table.data[8 + count * 8 + i];
        if (fsst->len[i] < 1 || fsst->len[i] > 8)
            return lmn_fail(err, LMN_E_CORRUPT, "FSST symbol %u has the length %u", i,
                            fsst->len[i]);
    }
    return LMN_OK;
}

/* Is one of the four bytes 255? */
static inline bool has_escape(uint32_t codes)
{
    return ((~codes - 0x01010101u) & codes & 0x80808080u) != 0;
}

uint8_t *lmn__fsst_decode(const struct lmn__fsst *fsst, const uint8_t *codes, size_t len,
                          uint8_t *out)
{
    const uint8_t *end = codes + len;

    if (fsst->plain) {
        memcpy(out, codes, len);
        return out + len;
    }
    while (codes < end) {
        while (end - codes >= 4 && !has_escape(lmn__load_u32(codes))) {
            for (int i = 0; i < 4; i++) {
                lmn__store_u64(out, fsst->symbol[codes[i]]);
                out += fsst->len[codes[i]];
            }
            codes += 4;
        }
        if (codes == end)
            break;
        if (*codes != ESCAPE) {
            lmn__store_u64(out, fsst->symbol[*codes]);
            out += fsst->len[*codes++];
        } else if (end - codes >= 2) {
            *out++ = codes[1];
            codes += 2;
        } else {
            return NULL;
        }
    }
    return out;
}
