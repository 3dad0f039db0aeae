/* SPDX-License-Identifier: Apache-2.0 */
/* Input: the text of a small JSON object, as a tag's file is. */
#include "base/json.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const key[] = { "version", "branch", "manifestSize", "" };
    uint8_t *copy = malloc(len + 1); /* the input may be none, which is no place */
    struct lmn__span text = { copy, len }, value;
    enum lmn_status first = LMN_OK;
    uint64_t number;
    char name[32];

    if (len != 0)
        memcpy(copy, data, len);
    copy = realloc(copy, len != 0 ? len : 1);
    text.data = copy;
    for (size_t i = 0; i < sizeof key / sizeof key[0]; i++) {
        enum lmn_status st = lmn__json_member(text, key[i], &value, NULL);

        if (i == 0)
            first = st;
        if (st != first || (st != LMN_OK && st != LMN_E_CORRUPT))
            abort();
        if (st != LMN_OK || value.data == NULL)
            continue;
        if (value.data < copy || value.len == 0 || value.data + value.len > copy + len)
            abort();
        (void)lmn__json_to_u64(value, &number);
        if (lmn__json_to_text(value, name, sizeof name) && value.data[0] != '"')
            abort();
    }
    free(copy);
    return 0;
}
