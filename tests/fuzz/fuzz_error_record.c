/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a line of a file of error records. */
#include "input.h"
#include "table/error_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len != 0 ? len : 1); /* so that a read behind its end is seen */
    struct lmn__error_record record;
    struct lmn__buf buf;
    enum lmn_status st;

    if (len != 0)
        memcpy(copy, data, len);
    st = lmn__error_record_parse((struct lmn__span){ copy, len }, &record, NULL);
    if (st != LMN_OK && st != LMN_E_CORRUPT)
        abort();
    lmn__buf_init(&buf, fuzz_env(), 0);
    for (int i = 0; st == LMN_OK && i < LMN__ERROR_TEXTS; i++) {
        struct lmn__span text = record.text[i];

        if (text.data != NULL && (text.data < copy || text.data + text.len > copy + len))
            abort();
        lmn__error_record_put(&record, (enum lmn__error_text)i, &buf);
    }
    if (st == LMN_OK && lmn__error_record_is_newer(&record, &record))
        abort();
    if (buf.failed || buf.len > len)
        abort();
    lmn__buf_deinit(&buf);
    free(copy);
    return 0;
}
