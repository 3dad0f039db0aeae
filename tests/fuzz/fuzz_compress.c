/* SPDX-License-Identifier: Apache-2.0 */
/* Input: u8 scheme, then a compressed buffer. */
#include "codec/compress.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len };
    enum lmn__scheme scheme = take_number(&input, 1) & 1 ? LMN__SCHEME_LZ4 : LMN__SCHEME_ZSTD;
    struct lmn__scratch scratch;
    struct lmn__vec out = { 0 };

    lmn__scratch_init(&scratch, fuzz_env());
    (void)!lmn__decompress(&scratch, scheme, input, &out, NULL);
    lmn__vec_deinit(&out);
    lmn__scratch_deinit(&scratch);
    return 0;
}
