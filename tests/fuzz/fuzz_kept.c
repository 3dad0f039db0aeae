/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a file of kept results of one column of 64-bit numbers. Whatever it is, it is looked at
 * and its first records are read.
 */
#include "base/bytes.h"
#include "input.h"
#include "job/kept.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void release_nothing(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct ArrowSchema child = {
        .format = "l", .name = "x", .flags = 2, .release = release_nothing
    };
    struct ArrowSchema *children[] = { &child };
    struct ArrowSchema schema = { .format = "+s",
                                  .name = "",
                                  .n_children = 1,
                                  .children = children,
                                  .release = release_nothing };
    struct lmn__kept_options options = { .dir = "fill", .schema = &schema };
    struct lmn__store_file *file;
    struct lmn_store *store;
    struct lmn__kept *kept;
    struct ArrowArray array;

    if (lmn_store_open_memory(fuzz_env(), &store, NULL) != LMN_OK)
        abort();
    if (store->ops->create(store, "fill/kept-0", &file, NULL) != LMN_OK ||
        store->ops->write_at(file, 0, data, len, NULL) != LMN_OK)
        abort();
    store->ops->close(file);
    options.store = store;
    if (lmn__kept_open(&options, &kept, NULL) != LMN_OK)
        abort();
    if (len >= 32 &&
        lmn__kept_read(kept, lmn__load_u64(data + 16), lmn__load_u64(data + 24), &array, NULL) ==
            LMN_OK &&
        array.release != NULL) {
        if (array.length != 1 || array.n_children != 1)
            abort();
        array.release(&array);
    }
    lmn__kept_close(kept);
    lmn_store_release(store);
    return 0;
}
