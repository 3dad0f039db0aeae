/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a whole file. It is opened, inspected, scanned, and rows are taken from it. */
#include <leman/leman.h>

#include "format/checksum.h"
#include "input.h"
#include "store/draft.h"

enum { BATCHES_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_sums(struct lmn_file *file)
{
    struct lmn__checksums checksums;
    struct lmn__arena arena;

    lmn__arena_init(&arena, file->env, 0);
    if (lmn__checksums_read(file, &arena, &checksums, NULL) == LMN_OK && checksums.there) {
        (void)!lmn__checksums_check(&checksums, file, 0, 0, NULL);
        (void)!lmn__checksums_check_ends(&checksums, file, NULL);
    }
    lmn__arena_deinit(&arena);
}

static void scan(struct lmn_file *file, enum lmn_blob_mode blobs)
{
    const struct lmn_read_options options = { .threads = 1,
                                              .batch_rows_max = 1000,
                                              .blobs = blobs };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;

    if (lmn_file_scan(file, &options, &stream, NULL) != LMN_OK)
        return;
    for (int i = 0; i < BATCHES_MAX; i++) {
        if (stream.get_next(&stream, &batch) != 0 || batch.release == NULL)
            break;
        batch.release(&batch);
    }
    stream.release(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct lmn_file_report *report;
    struct lmn_store *store;
    struct lmn_file *file;
    struct ArrowArray array;

    if (lmn_store_open_memory(fuzz_env(), &store, NULL) != LMN_OK)
        return 0;
    if (lmn__store_put(store, "x.lance", LMN__PUBLISH_REPLACE, data, len, NULL) == LMN_OK &&
        lmn_file_open(store, "x.lance", NULL, &file, NULL) == LMN_OK) {
        uint64_t rows = lmn_file_row_count(file);
        uint64_t wanted[3] = { rows / 2, 0, rows != 0 ? rows - 1 : 0 };

        if (lmn_file_take(file, wanted, 3, NULL, &array, NULL) == LMN_OK)
            array.release(&array);
        if (lmn_file_inspect(file, &report, NULL) == LMN_OK)
            lmn_file_report_free(report);
        check_sums(file);
        scan(file, LMN_BLOB_DESCRIPTORS);
        scan(file, LMN_BLOB_BYTES);
        lmn_file_release(file);
    }
    lmn_store_release(store);
    return 0;
}
