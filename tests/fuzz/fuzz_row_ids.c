/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: u16 number of rows, then a RowIdSequence. What decodes is encoded and decodes to the same.
 * The same bytes are tried as a RowDatasetVersionSequence.
 */
#include "input.h"
#include "table/row_ids.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void try_ids(struct lmn__span input, uint64_t count, struct lmn__arena *arena,
                    uint64_t *number, struct lmn__buf *buf)
{
    struct lmn__row_ids ids;

    if (lmn__row_ids_read(input, count, arena, &ids, NULL) != LMN_OK)
        return;
    lmn__row_ids_copy(&ids, 0, count, number);
    lmn__row_ids_write(number, count, buf);
    if (lmn__row_ids_read((struct lmn__span){ buf->data, buf->len }, count, arena, &ids, NULL) !=
        LMN_OK)
        abort();
    for (uint64_t i = 0; i < count; i++)
        if (lmn__row_ids_get(&ids, i) != number[i])
            abort();
}

static void try_versions(struct lmn__span input, uint64_t count, struct lmn__arena *arena,
                         uint64_t *number, struct lmn__buf *buf)
{
    struct lmn__row_versions versions;

    if (lmn__row_versions_read(input, count, arena, &versions, NULL) != LMN_OK)
        return;
    for (uint64_t i = 0; i < count; i++)
        number[i] = lmn__row_versions_get(&versions, i);
    lmn__row_versions_write(number, count, buf);
    if (lmn__row_versions_read((struct lmn__span){ buf->data, buf->len }, count, arena, &versions,
                               NULL) != LMN_OK)
        abort();
    for (uint64_t i = 0; i < count; i++)
        if (lmn__row_versions_get(&versions, i) != number[i])
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint64_t number[UINT16_MAX + 1];
    struct lmn__span input = { data, len };
    uint64_t count = take_number(&input, 2);
    struct lmn__arena arena;
    struct lmn__buf buf;

    lmn__arena_init(&arena, fuzz_env(), 0);
    lmn__buf_init(&buf, fuzz_env(), 0);
    try_ids(input, count, &arena, number, &buf);
    lmn__buf_reset(&buf);
    try_versions(input, count, &arena, number, &buf);
    lmn__buf_deinit(&buf);
    lmn__arena_deinit(&arena);
    return 0;
}
