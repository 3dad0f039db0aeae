/* SPDX-License-Identifier: Apache-2.0 */
/* Input: u64 size of the file, then the footer. What decodes is encoded to the same. */
#include "format/footer.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len };
    uint64_t file_bytes = take_number(&input, 8);
    uint8_t bytes[LMN__FOOTER_BYTES] = { 0 }, again[LMN__FOOTER_BYTES];
    struct lmn__footer footer;

    memcpy(bytes, input.data, input.len < sizeof bytes ? input.len : sizeof bytes);
    if (file_bytes < LMN__FOOTER_BYTES ||
        lmn__footer_decode(bytes, file_bytes, &footer, NULL) != LMN_OK)
        return 0;
    lmn__footer_encode(&footer, again);
    if (memcmp(bytes, again, 32) != 0)
        abort();
    return 0;
}
