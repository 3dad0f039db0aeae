/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a descriptor of pages, added to the tail of a file of two columns. */
#include <leman/leman.h>

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void keep(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct ArrowSchema number = { .format = "l", .name = "n", .release = keep };
    struct ArrowSchema text = { .format = "u", .name = "s", .release = keep };
    struct ArrowSchema *columns[] = { &number, &text };
    struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = 2, .children = columns, .release = keep
    };
    struct lmn_tail *tail;
    const void *bytes;
    size_t bytes_len;

    if (lmn_tail_new(fuzz_env(), &schema, NULL, &tail, NULL) != LMN_OK)
        return 0;
    if (lmn_tail_add(tail, data, len, NULL) == LMN_OK)
        (void)!lmn_tail_finish(tail, 1 << 20, &bytes, &bytes_len, NULL);
    lmn_tail_free(tail);
    return 0;
}
