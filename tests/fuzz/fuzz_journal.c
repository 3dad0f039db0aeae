/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: u8; 0: the bytes of a journal follow; otherwise its records as pieces, which get their
 * lengths and checksums here, behind a first one that is right. A journal that opens takes a
 * receipt, and opens again with it.
 */
#include "base/hash.h"
#include "input.h"
#include "job/journal.h"
#include "job/journal_record.h"
#include "store/draft.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct lmn__fill_key key = { 5, 0xabcdef, 2 };

static void put_record(struct lmn__buf *file, struct lmn__span message, uint64_t *chain)
{
    struct lmn__buf hashed;

    lmn__buf_init(&hashed, fuzz_env(), 0);
    lmn__buf_put_u64(&hashed, *chain);
    lmn__buf_put(&hashed, message.data, message.len);
    *chain = lmn__hash64(hashed.data, hashed.len);
    lmn__buf_put_u32(file, (uint32_t)message.len);
    lmn__buf_put_u64(file, *chain);
    lmn__buf_put(file, message.data, message.len);
    lmn__buf_deinit(&hashed);
}

static void make_file(struct lmn__buf *file, struct lmn__span input)
{
    struct lmn__record_fill fill = { LMN__JOURNAL_FORMAT, key.field_id, key.version,
                                     key.column_count };
    uint64_t chain = 0;

    if (take_number(&input, 1) == 0) {
        lmn__buf_put(file, input.data, input.len);
        return;
    }
    lmn__record_put(file, &(struct lmn__record){ .fill = &fill }, &chain);
    while (input.len != 0)
        put_record(file, take_piece(&input), &chain);
}

/* Enter a receipt of a fragment that no input has, as far as it can tell. */
static bool add_receipt(struct lmn__journal *journal)
{
    uint64_t column[] = { 0, 1 }, first = 10, count = 10, position;
    struct lmn__receipt_hold hold = { .bytes = 100, .column = { column, 2 } };
    struct lmn__receipt receipt = { .fragment_id = UINT64_MAX,
                                    .layout = UINT64_MAX,
                                    .first = { &first, 1 },
                                    .count = { &count, 1 },
                                    .row_count = count,
                                    .holds = { &hold, 1 } };
    struct lmn__buf buf;
    bool added;

    if (lmn__journal_grant(journal, LMN__GRANT_HOLD, 0, 0, 100, &position, NULL) != LMN_OK)
        return false;
    hold.position = position;
    lmn__buf_init(&buf, fuzz_env(), 0);
    lmn__receipt_encode(&receipt, &buf);
    added = lmn__journal_add(journal, (struct lmn__span){ buf.data, buf.len }, NULL) == LMN_OK &&
            lmn__journal_sync(journal, NULL) == LMN_OK;
    lmn__buf_deinit(&buf);
    return added;
}

static void try_journal(struct lmn_store *store)
{
    const struct lmn__receipt *receipt;
    struct lmn__journal *journal;
    uint64_t count;
    bool added;

    if (lmn__journal_open(store, &key, "job", &journal, NULL) != LMN_OK)
        return;
    added = add_receipt(journal);
    lmn__journal_close(journal);
    if (lmn__journal_open(store, &key, "job", &journal, NULL) != LMN_OK)
        abort();
    if (added &&
        (lmn__journal_receipts(journal, UINT64_MAX, UINT64_MAX, &receipt, &count, NULL) != LMN_OK ||
         count == 0))
        abort();
    lmn__journal_close(journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn_store *store;
    struct lmn__buf file;

    if (lmn_store_open_memory(fuzz_env(), &store, NULL) != LMN_OK)
        abort();
    lmn__buf_init(&file, fuzz_env(), 0);
    make_file(&file, (struct lmn__span){ data, len });
    if (file.failed || lmn__store_put(store, "_leman/fills/5-0000000000abcdef/journal",
                                      LMN__PUBLISH_REPLACE, file.data, file.len, NULL) != LMN_OK)
        abort();
    lmn__buf_deinit(&file);
    try_journal(store);
    lmn_store_release(store);
    return 0;
}
