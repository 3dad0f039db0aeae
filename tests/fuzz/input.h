/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - what fuzz targets share: an environment with small limits, and taking an input apart.
 *
 * An input is a row of numbers and pieces; what is missing at its end reads as zero or empty.
 */
#ifndef LMN_FUZZ_INPUT_H
#define LMN_FUZZ_INPUT_H

#include <stdlib.h>

#include "base/bytes.h"
#include "base/env.h"

/* 64 MiB of data, 16 MiB of metadata: what an input may make the library allocate at most. */
static inline struct lmn_env *fuzz_env(void)
{
    static const struct lmn_env_options options = { .data_bytes_max = 64 << 20,
                                                    .metadata_bytes_max = 16 << 20,
                                                    .threads = 1 };
    static struct lmn_env *env;

    if (env == NULL && lmn_env_new(&options, &env, NULL) != LMN_OK)
        abort();
    return env;
}

static inline uint64_t take_number(struct lmn__span *input, size_t bytes)
{
    uint64_t value = 0;
    size_t take = bytes < input->len ? bytes : input->len;

    if (take != 0)
        memcpy(&value, input->data, take);
    input->data += take;
    input->len -= take;
    return value;
}

/* A piece with its length, in 32 bits, before it. */
static inline struct lmn__span take_piece(struct lmn__span *input)
{
    uint64_t len = take_number(input, 4);
    struct lmn__span piece = { input->data, len < input->len ? len : input->len };

    input->data += piece.len;
    input->len -= piece.len;
    return piece;
}

#endif
