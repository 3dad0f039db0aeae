/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/vec.h"

#include <string.h>

#include "base/math.h"

enum { BYTES_MIN = 1024 };

enum lmn_status lmn__vec_reserve(struct lmn__vec *vec, struct lmn__pool *pool, size_t more,
                                 struct lmn_error *err)
{
    struct lmn__block *block;
    uint64_t need, cap;
    enum lmn_status st;

    if (!lmn__add_u64(vec->len, more, &need) || !lmn__add_u64(need, LMN__VEC_SLACK, &need))
        return lmn__no_memory(err, "a column", UINT64_MAX);
    if (vec->block != NULL && need <= vec->block->cap)
        return LMN_OK;
    cap = lmn__max_u64(need, BYTES_MIN);
    if (vec->block != NULL)
        cap = lmn__max_u64(cap, vec->len * 2);
    st = lmn__block_new(pool, cap, &block, err);
    if (st != LMN_OK && cap > need)
        st = lmn__block_new(pool, need, &block, err);
    if (st != LMN_OK)
        return st;
    if (vec->len != 0)
        memcpy(block->data, vec->data, vec->len);
    lmn__block_release(vec->block);
    vec->block = block;
    vec->data = block->data;
    return LMN_OK;
}

enum lmn_status lmn__vec_extend(struct lmn__vec *vec, struct lmn__pool *pool, size_t more,
                                uint8_t **at_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__vec_reserve(vec, pool, more, err);

    *at_out = NULL;
    if (st != LMN_OK)
        return st;
    *at_out = vec->data + vec->len;
    vec->len += more;
    return LMN_OK;
}

enum lmn_status lmn__vec_put(struct lmn__vec *vec, struct lmn__pool *pool, const void *data,
                             size_t len, struct lmn_error *err)
{
    uint8_t *at;
    enum lmn_status st = lmn__vec_extend(vec, pool, len, &at, err);

    if (st == LMN_OK && len != 0)
        memcpy(at, data, len);
    return st;
}

void lmn__vec_deinit(struct lmn__vec *vec)
{
    lmn__block_release(vec->block);
    *vec = (struct lmn__vec){ 0 };
}
