/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/scratch.h"

#include <zstd.h>

void lmn__scratch_init(struct lmn__scratch *scratch, struct lmn_env *env)
{
    *scratch = (struct lmn__scratch){ .env = env };
}

void lmn__scratch_deinit(struct lmn__scratch *scratch)
{
    lmn__vec_deinit(&scratch->fetched);
    lmn__vec_deinit(&scratch->rep);
    lmn__vec_deinit(&scratch->def);
    lmn__vec_deinit(&scratch->plain);
    lmn__vec_deinit(&scratch->index);
    lmn__vec_deinit(&scratch->values);
    ZSTD_freeDCtx(scratch->zstd_reader);
    ZSTD_freeCCtx(scratch->zstd_writer);
    scratch->zstd_reader = scratch->zstd_writer = NULL;
}

enum lmn_status lmn__scratch_need(struct lmn__scratch *scratch, struct lmn__vec *vec,
                                  uint64_t bytes, struct lmn_error *err)
{
    uint8_t *at;

    vec->len = 0;
    return lmn__vec_extend(vec, scratch->env->pool, bytes, &at, err);
}
