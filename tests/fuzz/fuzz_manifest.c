/* SPDX-License-Identifier: Apache-2.0 */
/* Input: the file of a manifest. What is read of it at open, and its sections and fragments. */
#include "input.h"
#include "store/store.h"
#include "table/conflict.h"
#include "table/table.h"
#include "table/table_fields.h"

enum { FRAGMENTS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char path[] = "_versions/1.manifest";

static void put_file(struct lmn_store *store, const uint8_t *data, size_t len)
{
    struct lmn__store_file *file;

    if (store->ops->create(store, path, &file, NULL) != LMN_OK ||
        (len != 0 && store->ops->write_at(file, 0, data, len, NULL) != LMN_OK))
        abort();
    store->ops->close(file);
}

static void look_at(struct lmn_store *store, const struct lmn__manifest *manifest)
{
    uint64_t count = lmn__manifest_fragment_count(manifest);
    struct lmn__pb_transaction transaction;
    struct lmn__pb_index_section indices = { 0 };
    struct lmn__pb_fragment fragment;
    struct lmn__arena arena;
    int32_t id;

    lmn__arena_init(&arena, fuzz_env(), 0);
    (void)lmn__manifest_time_us(manifest);
    (void)!lmn__manifest_check_writable(manifest, NULL);
    (void)!lmn__fields_next_id(manifest, &id, NULL);
    (void)!lmn__transaction_read(store, manifest, &arena, &transaction, NULL);
    if (manifest->index_section.data != NULL)
        (void)!lmn__pb_decode(&lmn__pb_index_section_message, manifest->index_section, &arena,
                              &indices, NULL);
    for (uint64_t i = 0; i < count && i < FRAGMENTS_MAX; i++) {
        if (lmn__manifest_fragment(manifest, i, &arena, &fragment, NULL) == LMN_OK &&
            fragment.deletion != NULL && fragment.deletion->row_count > fragment.row_count)
            abort();
    }
    lmn__arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct lmn_store *store;
    struct lmn__manifest *manifest;

    if (store == NULL && lmn_store_open_memory(fuzz_env(), &store, NULL) != LMN_OK)
        abort();
    put_file(store, data, len);
    if (lmn__manifest_read(store, path, &manifest, NULL) == LMN_OK)
        look_at(store, manifest);
    lmn__manifest_release(manifest);
    if (store->ops->remove(store, path, NULL) != LMN_OK)
        abort();
    return 0;
}
