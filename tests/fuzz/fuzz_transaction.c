/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: u8 what a change is, then a Transaction. What decodes is encoded and decodes to the same,
 * and has a name and an answer for the change.
 */
#include "input.h"
#include "table/conflict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void try_change(uint8_t what, const struct lmn__pb_transaction *transaction)
{
    const struct lmn__change change = { .kind = what % (LMN__CHANGE_RESTORE + 1),
                                        .keyed = (what & 0x40) != 0,
                                        .alone = (what & 0x80) != 0 };
    struct lmn_error err;
    bool again;
    enum lmn_status st = lmn__conflict_check(&change, transaction, 7, &again, &err);

    if (st != LMN_OK && (st != LMN_E_CONFLICT || err.message[0] == '\0'))
        abort();
    if ((again && st == LMN_OK) || (change.alone && !again))
        abort();
    if (lmn__transaction_name(transaction)[0] == '\0')
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct lmn__pb_message *message = &lmn__pb_transaction_message;
    struct lmn__span input = { data, len };
    uint8_t what = (uint8_t)take_number(&input, 1);
    struct lmn__pb_transaction first = { 0 }, second = { 0 };
    struct lmn__arena arena;
    struct lmn__buf once, twice;

    lmn__arena_init(&arena, fuzz_env(), 0);
    lmn__buf_init(&once, fuzz_env(), 0);
    lmn__buf_init(&twice, fuzz_env(), 0);
    if (lmn__pb_decode(message, input, &arena, &first, NULL) == LMN_OK) {
        try_change(what, &first);
        lmn__pb_encode(message, &first, &once);
        if (lmn__pb_decode(message, (struct lmn__span){ once.data, once.len }, &arena, &second,
                           NULL) != LMN_OK)
            abort();
        lmn__pb_encode(message, &second, &twice);
        if (once.len != twice.len ||
            (once.len != 0 && memcmp(once.data, twice.data, once.len) != 0))
            abort();
    }
    lmn__buf_deinit(&once);
    lmn__buf_deinit(&twice);
    lmn__arena_deinit(&arena);
    return 0;
}
