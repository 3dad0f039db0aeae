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

/* The bytes of `codes` that are 255 have their top bit set in the result; no byte before them has.
 */
static inline uint64_t find_escapes(uint64_t codes)
{
    return (~codes - 0x0101010101010101u) & codes & 0x8080808080808080u;
}

/*
 * Eight codes without an escape. Lengths are added up apart from the stores, so that no store has
 * to wait for the one before.
 */
static inline uint8_t *put_eight(const struct lmn__fsst *fsst, uint64_t codes, uint8_t *out)
{
    size_t place[9];

    place[0] = 0;
    for (int i = 0; i < 8; i++)
        place[i + 1] = place[i] + fsst->len[codes >> (8 * i) & 0xff];
    for (int i = 0; i < 8; i++)
        lmn__store_u64(out + place[i], fsst->symbol[codes >> (8 * i) & 0xff]);
    return out + place[8];
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
        const uint8_t *stop = end;

        if (end - codes >= 8) {
            uint64_t word = lmn__load_u64(codes), escapes = find_escapes(word);

            if (escapes == 0) {
                out = put_eight(fsst, word, out);
                codes += 8;
                continue;
            }
            stop = codes + __builtin_ctzll(escapes) / 8;
        }
        for (; codes < stop && *codes != ESCAPE; codes++) {
            lmn__store_u64(out, fsst->symbol[*codes]);
            out += fsst->len[*codes];
        }
        if (codes == end)
            break;
        if (end - codes < 2)
            return NULL;
        *out++ = codes[1];
        codes += 2;
    }
    return out;
}
