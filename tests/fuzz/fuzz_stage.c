/* SPDX-License-Identifier: Apache-2.0 */
/* Input: the text of a stage of a load. What is one has fragments with one file each. */
#include <string.h>

#include "ingest/stage.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__pb_transaction stage;
    struct lmn__arena arena;
    struct lmn_error err;
    char *text;

    lmn__arena_init(&arena, fuzz_env(), 0);
    text = lmn__arena_strndup(&arena, data, len);
    if (text != NULL && lmn__stage_decode(text, &arena, &stage, &err) == LMN_OK) {
        const struct lmn__pb_fragment *fragment = stage.append->fragments.item;

        for (size_t i = 0; i < stage.append->fragments.count; i++) {
            if (fragment[i].files.count != 1 || fragment[i].row_count == 0)
                abort();
        }
    }
    lmn__arena_deinit(&arena);
    return 0;
}
