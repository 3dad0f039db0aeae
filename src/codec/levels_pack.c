/* SPDX-License-Identifier: Apache-2.0 */
#include "base/math.h"
#include "codec/bitpack.h"
#include "codec/encode.h"

enum lmn_status lmn__levels_pack(const uint16_t *level, uint64_t count, uint32_t width,
                                 struct lmn__pool *pool, struct lmn__vec *out,
                                 struct lmn_error *err)
{
    uint16_t group[LMN__PACK_COUNT];
    size_t group_bytes = lmn__packed_bytes(width);
    uint64_t tail = count % LMN__PACK_COUNT;
    uint8_t *at;
    enum lmn_status st;

    for (; count >= LMN__PACK_COUNT; count -= LMN__PACK_COUNT, level += LMN__PACK_COUNT) {
        st = lmn__vec_extend(out, pool, group_bytes, &at, err);
        if (st != LMN_OK)
            return st;
        lmn__bits_pack((const uint8_t *)level, width, 16, at);
    }
    /* A short tail is smaller as plain words; readers tell by its size. */
    if (tail * sizeof *level <= group_bytes)
        return lmn__vec_put(out, pool, level, tail * sizeof *level, err);
    memset(group, 0, sizeof group);
    memcpy(group, level, tail * sizeof *level);
    st = lmn__vec_extend(out, pool, group_bytes, &at, err);
    if (st == LMN_OK)
        lmn__bits_pack((const uint8_t *)group, width, 16, at);
    return st;
}
