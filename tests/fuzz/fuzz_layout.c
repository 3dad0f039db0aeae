/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a PageLayout message. What is read is written and must read again. */
#include "codec/layout.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool writable(const struct lmn__encoding *encoding)
{
    if (encoding == NULL)
        return true;
    if (encoding->kind == LMN__ENC_BYTE_SPLIT)
        return false;
    for (uint32_t i = 0; i < encoding->field_count; i++) {
        if (!writable(encoding->field[i].encoding))
            return false;
    }
    return writable(encoding->child);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct lmn__page_layout *layout, *again;
    struct lmn__arena arena;
    struct lmn__buf buf;

    lmn__arena_init(&arena, fuzz_env(), 0);
    lmn__buf_init(&buf, fuzz_env(), 0);
    if (lmn__page_layout_read((struct lmn__span){ data, len }, &arena, &layout, NULL) == LMN_OK) {
        const struct lmn__page_layout *inner = layout->kind == LMN__PAGE_BLOB ? layout->inner
                                                                              : layout;

        if (inner->values != NULL)
            lmn__encoding_print(inner->values, &buf);
        lmn__buf_reset(&buf);
        if (writable(inner->values) && writable(inner->rep) && writable(inner->def) &&
            writable(inner->dictionary) &&
            lmn__page_layout_write(layout, &arena, &buf, NULL) == LMN_OK &&
            lmn__page_layout_read((struct lmn__span){ buf.data, buf.len }, &arena, &again, NULL) ==
                LMN_E_CORRUPT)
            abort();
    }
    lmn__buf_deinit(&buf);
    lmn__arena_deinit(&arena);
    return 0;
}
