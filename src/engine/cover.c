/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cover.h"

#include <string.h>

/* The secret whose value the text begins with; NULL when none does. */
static const char *find(const char *const *secret, struct lmn__span text, size_t *value_len_out)
{
    const char *found = NULL;

    *value_len_out = 0;
    for (; secret != NULL && *secret != NULL; secret++) {
        const char *value = strchr(*secret, '=');
        size_t len = value != NULL ? strlen(value + 1) : 0;

        if (len > *value_len_out && len <= text.len && memcmp(text.data, value + 1, len) == 0) {
            found = *secret;
            *value_len_out = len;
        }
    }
    return found;
}

void lmn__cover_put(const char *const *secret, struct lmn__span text, struct lmn__buf *buf)
{
    while (text.len > 0) {
        size_t len;
        const char *found = find(secret, text, &len);

        if (found != NULL) {
            lmn__buf_printf(buf, "[%.*s]", (int)strcspn(found, "="), found);
        } else {
            len = 1;
            lmn__buf_put(buf, text.data, 1);
        }
        text.data += len;
        text.len -= len;
    }
}
