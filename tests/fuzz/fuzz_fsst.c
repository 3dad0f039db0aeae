/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a symbol table of 2312 bytes, then codes. */
#include "codec/fsst.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    size_t table = len < LMN__FSST_TABLE_BYTES ? len : LMN__FSST_TABLE_BYTES;
    size_t codes = len - table;
    struct lmn__fsst fsst;
    uint8_t *out, *end;

    if (lmn__fsst_init(&fsst, (struct lmn__span){ data, table }, NULL) != LMN_OK)
        return 0;
    out = malloc(codes * LMN__FSST_EXPANSION_MAX + 8);
    end = lmn__fsst_decode(&fsst, data + table, codes, out);
    if (end != NULL && (size_t)(end - out) > codes * LMN__FSST_EXPANSION_MAX)
        abort();
    free(out);
    return 0;
}
