/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: u8 number of columns, then a receipt. What decodes is encoded, and that decodes too.
 */
#include "input.h"
#include "job/receipt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len };
    uint32_t columns = (uint32_t)take_number(&input, 1);
    struct lmn__receipt receipt, again;
    struct lmn__arena arena;
    struct lmn__buf buf;

    lmn__arena_init(&arena, fuzz_env(), 0);
    lmn__buf_init(&buf, fuzz_env(), 0);
    if (lmn__receipt_decode(input, columns, &arena, &receipt, NULL) == LMN_OK) {
        lmn__receipt_encode(&receipt, &buf);
        if (buf.failed || lmn__receipt_decode((struct lmn__span){ buf.data, buf.len }, columns,
                                              &arena, &again, NULL) != LMN_OK)
            abort();
        if (again.row_count != receipt.row_count || again.layout != receipt.layout)
            abort();
    }
    lmn__buf_deinit(&buf);
    lmn__arena_deinit(&arena);
    return 0;
}
