/* SPDX-License-Identifier: Apache-2.0 */
/* Input: an ArrayEncoding message of a 2.0 page. */
#include "format/array_encoding.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct lmn__array_encoding *encoding;
    struct lmn__arena arena;
    struct lmn__buf buf;

    lmn__arena_init(&arena, fuzz_env(), 0);
    lmn__buf_init(&buf, fuzz_env(), 1 << 20);
    if (lmn__array_encoding_read((struct lmn__span){ data, len }, &arena, &encoding, NULL) ==
        LMN_OK)
        lmn__array_encoding_print(encoding, &buf);
    lmn__buf_deinit(&buf);
    lmn__arena_deinit(&arena);
    return 0;
}
