/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the text of a feed's state without its check, which is added. What decodes is written as
 * a text that decodes to the same.
 */
#include <stdio.h>

#include "base/hash.h"
#include "feed/cursor.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The text in `buf`, with the check that belongs to it. */
static void add_check(struct lmn__buf *buf, const uint8_t *data, size_t len)
{
    lmn__buf_put(buf, data, len);
    lmn__buf_printf(buf, ",\"check\":\"%016llx\"}", (unsigned long long)lmn__hash64(data, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__cursor first, second;
    struct lmn__arena arena;
    struct lmn__buf text, again;

    lmn__arena_init(&arena, fuzz_env(), 0);
    lmn__buf_init(&text, fuzz_env(), 0);
    lmn__buf_init(&again, fuzz_env(), 0);
    add_check(&text, data, len);
    if (!text.failed && lmn__cursor_read((struct lmn__span){ text.data, text.len }, &arena, &first,
                                         NULL) == LMN_OK) {
        if (lmn__cursor_write(&first, &again, NULL) != LMN_OK)
            abort();
        if (lmn__cursor_read((struct lmn__span){ again.data, again.len }, &arena, &second, NULL) !=
                LMN_OK ||
            lmn__cursor_match(&first, &second, NULL) != LMN_OK ||
            first.segment_count != second.segment_count || first.step != second.step)
            abort();
    }
    lmn__buf_deinit(&text);
    lmn__buf_deinit(&again);
    lmn__arena_deinit(&arena);
    return 0;
}
