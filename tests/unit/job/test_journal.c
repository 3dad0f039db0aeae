/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "job/journal.h"
#include "store/powerloss.h"
#include "stores.h"

static const struct lmn__fill_key key = { 5, 0xabcdef, 2 };
static const char dir[] = "_leman/fills/5-0000000000abcdef";

static int begin(void **state)
{
    *state = test_store_memory();
    return 0;
}

static int end(void **state)
{
    lmn_store_release(*state);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static struct lmn__journal *open_journal(struct lmn_store *store)
{
    struct lmn__journal *journal;
    struct lmn_error err;

    CHECK_STATUS(lmn__journal_open(store, &key, "job-1", &journal, &err), LMN_OK, &err);
    return journal;
}

/* Enter a receipt for rows of a fragment whose bytes are at `position` of the hold file. */
static enum lmn_status add_at(struct lmn__journal *journal, uint64_t fragment, uint64_t first,
                              uint64_t count, uint64_t position, struct lmn_error *err)
{
    uint64_t column[] = { 0, 1 };
    struct lmn__receipt_hold hold = { position, 100, 77, { column, 2 } };
    struct lmn__receipt receipt = { .fragment_id = fragment,
                                    .layout = 9,
                                    .first = { &first, 1 },
                                    .count = { &count, 1 },
                                    .row_count = count,
                                    .holds = { &hold, 1 } };
    struct lmn__buf buf;
    enum lmn_status st;

    lmn__buf_init(&buf, test_env(), 0);
    lmn__receipt_encode(&receipt, &buf);
    st = lmn__buf_status(&buf, "a receipt", err);
    if (st == LMN_OK)
        st = lmn__journal_add(journal, (struct lmn__span){ buf.data, buf.len }, err);
    lmn__buf_deinit(&buf);
    return st;
}

/* The same with space that is granted for it. */
static enum lmn_status add(struct lmn__journal *journal, uint64_t fragment, uint64_t first,
                           uint64_t count, struct lmn_error *err)
{
    uint64_t position;
    enum lmn_status st = lmn__journal_grant(journal, LMN__GRANT_HOLD, 0, 0, 100, &position, err);

    return st == LMN_OK ? add_at(journal, fragment, first, count, position, err) : st;
}

static void must_add(struct lmn__journal *journal, uint64_t fragment, uint64_t first,
                     uint64_t count)
{
    struct lmn_error err;

    CHECK_STATUS(add(journal, fragment, first, count, &err), LMN_OK, &err);
}

static void must_sync(struct lmn__journal *journal)
{
    struct lmn_error err;

    CHECK_STATUS(lmn__journal_sync(journal, &err), LMN_OK, &err);
}

/* Receipts of a fragment. */
static uint64_t receipts(struct lmn__journal *journal, uint64_t fragment)
{
    const struct lmn__receipt *receipt;
    struct lmn_error err;
    uint64_t count;

    CHECK_STATUS(lmn__journal_receipts(journal, fragment, 9, &receipt, &count, &err), LMN_OK, &err);
    for (uint64_t i = 1; i < count; i++)
        CHECK(receipt[i - 1].first.item[0] < receipt[i].first.item[0]);
    return count;
}

static void test_journal__reopens_with_what_was_synced(void **state)
{
    struct lmn__journal *journal = open_journal(*state);
    uint64_t fragment, layout;

    CHECK_STR(lmn__journal_dir(journal), dir);
    must_add(journal, 3, 100, 50);
    must_add(journal, 3, 0, 50);
    must_add(journal, 4, 0, 50);
    must_sync(journal);
    must_add(journal, 4, 50, 50);
    CHECK_EQ(receipts(journal, 4), 2);
    lmn__journal_close(journal);

    journal = open_journal(*state);
    CHECK_EQ(receipts(journal, 3), 2);
    CHECK_EQ(receipts(journal, 4), 1);
    CHECK_EQ(receipts(journal, 5), 0);
    CHECK(lmn__journal_fragment(journal, 1, &fragment, &layout));
    CHECK_EQ(fragment, 4);
    CHECK_EQ(layout, 9);
    CHECK(!lmn__journal_fragment(journal, 2, &fragment, &layout));
    lmn__journal_close(journal);
}

static void test_journal__row_has_one_receipt(void **state)
{
    struct lmn__journal *journal = open_journal(*state);
    struct lmn_error err;

    must_add(journal, 0, 10, 10);
    must_add(journal, 0, 30, 10);
    CHECK_STATUS(add(journal, 0, 15, 1, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "row 15 has a receipt");
    CHECK_STATUS(add(journal, 0, 5, 6, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(add(journal, 0, 19, 20, &err), LMN_E_INVALID, &err);
    must_add(journal, 0, 20, 10);
    CHECK_STATUS(add(journal, 0, 0, 100, &err), LMN_E_INVALID, &err);
    CHECK_EQ(receipts(journal, 0), 3);
    lmn__journal_close(journal);
}

static void test_journal__receipt_needs_its_grant(void **state)
{
    struct lmn__journal *journal = open_journal(*state);
    struct lmn_error err;
    uint64_t position;

    CHECK_STATUS(add_at(journal, 0, 0, 10, 0, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "not granted");
    CHECK_OK(lmn__journal_grant(journal, LMN__GRANT_HOLD, 0, 0, 100, &position, &err));
    CHECK_STATUS(add_at(journal, 0, 0, 10, position, &err), LMN_OK, &err);
    /* A grant is for one receipt. */
    CHECK_STATUS(add_at(journal, 0, 10, 10, position, &err), LMN_E_INVALID, &err);
    CHECK_OK(lmn__journal_grant(journal, LMN__GRANT_HOLD, 0, 0, 99, &position, &err));
    CHECK_STATUS(add_at(journal, 0, 10, 10, position, &err), LMN_E_INVALID, &err);
    lmn__journal_close(journal);
}

/* What a receipt leaves of a grant is for the next: from its end on, at a multiple of 64. */
static void test_journal__receipt_takes_a_part_of_its_grant(void **state)
{
    struct lmn__journal *journal = open_journal(*state);
    struct lmn_error err;
    uint64_t position;

    CHECK_OK(lmn__journal_grant(journal, LMN__GRANT_HOLD, 0, 0, 500, &position, &err));
    CHECK_STATUS(add_at(journal, 0, 0, 10, position + 448, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(add_at(journal, 0, 0, 10, position, &err), LMN_OK, &err);
    CHECK_STATUS(add_at(journal, 0, 10, 10, position, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(add_at(journal, 0, 10, 10, position + 64, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(add_at(journal, 0, 10, 10, position + 192, &err), LMN_OK, &err);
    CHECK_STATUS(add_at(journal, 0, 20, 10, position + 128, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(add_at(journal, 0, 20, 10, position + 384, &err), LMN_OK, &err);
    CHECK_STATUS(add_at(journal, 0, 30, 10, position + 448, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "not granted");
    lmn__journal_close(journal);
}

static void test_journal__space_is_granted_once(void **state)
{
    struct lmn__journal *journal;
    struct lmn_error err;
    uint64_t end_hold = 0, end_pages = 0, position;

    for (int epoch = 0; epoch < 4; epoch++) {
        journal = open_journal(*state);
        for (uint64_t i = 0; i < 20; i++) {
            CHECK_OK(lmn__journal_grant(journal, LMN__GRANT_HOLD, 0, 0, 1000 + i, &position, &err));
            CHECK_EQ(position % 64, 0);
            CHECK(position >= end_hold);
            end_hold = position + 1000 + i;
            CHECK_OK(
                lmn__journal_grant(journal, LMN__GRANT_PAGES, 7, 8, 50 << 20, &position, &err));
            CHECK_EQ(position % LMN__FILE_BLOCK_BYTES, 0); /* as much is */
            CHECK(position >= end_pages);
            end_pages = position + (50 << 20);
            CHECK_OK(lmn__journal_grant(journal, LMN__GRANT_PAGES, 7, 8, 100, &position, &err));
            CHECK_EQ(position, end_pages);
            end_pages = position + 100;
        }
        lmn__journal_close(journal);
    }
    /* Another fragment has a file of its own. */
    journal = open_journal(*state);
    CHECK_OK(lmn__journal_grant(journal, LMN__GRANT_PAGES, 8, 8, 1, &position, &err));
    CHECK_EQ(position, 0);
    CHECK_STATUS(
        lmn__journal_grant(journal, LMN__GRANT_PAGES, 8, 8, UINT64_MAX - 100, &position, &err),
        LMN_E_INVALID, &err);
    lmn__journal_close(journal);
}

static void test_journal__late_receipt_of_an_older_driver_is_refused(void **state)
{
    struct lmn__journal *journal = open_journal(*state);
    struct lmn_error err;
    uint64_t position;

    CHECK_OK(lmn__journal_grant(journal, LMN__GRANT_HOLD, 0, 0, 100, &position, &err));
    lmn__journal_close(journal);
    journal = open_journal(*state);
    CHECK_STATUS(add_at(journal, 0, 0, 10, position, &err), LMN_E_INVALID, &err);
    lmn__journal_close(journal);
}

static void test_journal__second_driver_is_told_who_holds_it(void **state)
{
    struct lmn__journal *journal = open_journal(*state), *second;
    struct lmn_error err;

    CHECK_STATUS(lmn__journal_open(*state, &key, "job-2", &second, &err), LMN_E_UNAVAILABLE, &err);
    CHECK(second == NULL);
    CHECK_HAS(err.message, "job-1");
    CHECK_HAS(err.message, "process");
    lmn__journal_close(journal);
    CHECK_STATUS(lmn__journal_open(*state, &key, "job-2", &second, &err), LMN_OK, &err);
    lmn__journal_close(second);
}

/* Others look at it while it is driven, and change nothing. */
static void test_journal__view(void **state)
{
    struct lmn_store *store = *state;
    const struct lmn__fill_key other = { 5, 0xabcdef, 3 };
    struct lmn__journal *journal, *seen;
    struct lmn_error err;

    CHECK_STATUS(lmn__journal_view(store, &key, &seen, &err), LMN_OK, &err);
    CHECK(seen == NULL);
    journal = open_journal(store);
    must_add(journal, 1, 0, 10);
    must_sync(journal);
    must_add(journal, 1, 10, 10);
    CHECK_STATUS(lmn__journal_view(store, &key, &seen, &err), LMN_OK, &err);
    CHECK_EQ(receipts(seen, 1), 1);
    lmn__journal_close(seen);
    CHECK_STATUS(lmn__journal_view(store, &other, &seen, &err), LMN_E_CORRUPT, &err);
    CHECK(seen == NULL);
    must_sync(journal);
    must_add(journal, 1, 20, 10);
    must_sync(journal);
    lmn__journal_close(journal);
    for (uint64_t nth = 1;; nth++) {
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__journal_view(store, &key, &seen, &err);
        if (!fault_fired())
            break;
        CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
    fault_disarm();
    CHECK_EQ(receipts(seen, 1), 3);
    lmn__journal_close(seen);
}

static void test_journal__of_another_fill_is_corrupt(void **state)
{
    const struct lmn__fill_key wider = { 5, 0xabcdef, 4 };
    struct lmn__journal *journal = open_journal(*state);
    struct lmn_error err;

    lmn__journal_close(journal);
    CHECK_STATUS(lmn__journal_open(*state, &wider, "job-2", &journal, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "2 columns; not of field 5");
}

static void test_journal__retired_receipts_are_gone(void **state)
{
    static const uint8_t path[] = "x.lance";
    struct lmn__published published = { 0, 9, 4, { path, 7 }, true };
    struct lmn__journal *journal = open_journal(*state);
    struct lmn_error err;

    must_add(journal, 0, 0, 10);
    must_add(journal, 1, 0, 10);
    CHECK_OK(lmn__journal_publish(journal, &published, &err));
    published.fragment_id = 1;
    CHECK_OK(lmn__journal_publish(journal, &published, &err));
    must_sync(journal);
    CHECK_OK(lmn__journal_retire(journal, 0, 9, &err));
    must_sync(journal);
    lmn__journal_close(journal);

    journal = open_journal(*state);
    CHECK_EQ(receipts(journal, 0), 0);
    CHECK_EQ(receipts(journal, 1), 1);
    CHECK(lmn__journal_published(journal, 0, &published));
    CHECK_EQ(published.fragment_id, 1);
    CHECK_EQ(published.version, 4);
    CHECK(published.direct);
    CHECK_BYTES(published.path.data, path, 7);
    CHECK(!lmn__journal_published(journal, 1, &published));
    /* The rows may be filled again. */
    must_add(journal, 0, 0, 10);
    lmn__journal_close(journal);
}

static void test_journal__remove_leaves_nothing_but_the_lock(void **state)
{
    struct lmn__journal *journal = open_journal(*state);
    struct lmn_error err;

    must_add(journal, 0, 0, 10);
    must_sync(journal);
    CHECK_STATUS(lmn__journal_remove(journal, false, &err), LMN_OK, &err);
    journal = open_journal(*state);
    CHECK_EQ(receipts(journal, 0), 1);
    CHECK_STATUS(lmn__journal_remove(journal, true, &err), LMN_OK, &err);
    CHECK_EQ(test_store_count(*state, "_leman/fills"), 1);
    journal = open_journal(*state);
    CHECK_EQ(receipts(journal, 0), 0);
    lmn__journal_close(journal);
}

/* Cut or change the journal's file at every byte: what is left is a start of what was entered. */
static void test_journal__damage_ends_it(void **state)
{
    struct lmn__journal *journal = open_journal(*state);
    char path[128], bytes[4096];
    int64_t len;

    snprintf(path, sizeof path, "%s/journal", dir);
    for (uint64_t i = 0; i < 5; i++) {
        must_add(journal, 0, 10 * i, 10);
        must_sync(journal);
    }
    lmn__journal_close(journal);
    len = test_store_read(*state, path, bytes, sizeof bytes);
    CHECK(len > 100 && len < (int64_t)sizeof bytes);
    for (int64_t at = 0; at < len; at++) {
        struct lmn_store *store = test_store_memory();
        struct lmn_error err;
        uint64_t count;
        bool cut = at % 2 == 0;

        bytes[at] = (char)(bytes[at] ^ 0x20);
        test_store_write(store, path, bytes, (size_t)(cut ? at : len));
        bytes[at] = (char)(bytes[at] ^ 0x20);
        CHECK_STATUS(lmn__journal_open(store, &key, "job-1", &journal, &err), LMN_OK, &err);
        count = receipts(journal, 0);
        CHECK(count <= 5 && (count < 5 || at > len - 60));
        /* It goes on behind what was good, and stays good. */
        must_add(journal, 0, 10 * count, 10);
        must_sync(journal);
        lmn__journal_close(journal);
        journal = open_journal(store);
        CHECK_EQ(receipts(journal, 0), count + 1);
        lmn__journal_close(journal);
        lmn_store_release(store);
    }
}

/* Everything that a driver does to a journal. */
static enum lmn_status use(struct lmn_store *store, struct lmn_error *err)
{
    static const uint8_t path[] = "x.lance";
    const struct lmn__published published = { 0, 9, 4, { path, 7 }, true };
    struct lmn__journal *journal;
    uint64_t position;
    enum lmn_status st = lmn__journal_open(store, &key, "job-1", &journal, err);

    if (st != LMN_OK)
        return st;
    st = add(journal, 0, 0, 10, err);
    if (st == LMN_OK)
        st = lmn__journal_grant(journal, LMN__GRANT_PAGES, 1, 2, 100, &position, err);
    if (st == LMN_OK)
        st = add(journal, 1, 0, 10, err);
    if (st == LMN_OK)
        st = lmn__journal_publish(journal, &published, err);
    if (st == LMN_OK)
        st = lmn__journal_sync(journal, err);
    if (st == LMN_OK)
        st = lmn__journal_retire(journal, 0, 9, err);
    if (st == LMN_OK)
        st = lmn__journal_sync(journal, err);
    lmn__journal_close(journal);
    if (st == LMN_OK)
        st = lmn__journal_open(store, &key, "job-1", &journal, err);
    return st == LMN_OK ? lmn__journal_remove(journal, true, err) : st;
}

static void test_journal__faults(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
        struct lmn__journal *journal;
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = use(store, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || err.message[0] != '\0');
        CHECK(fired || st == LMN_OK);
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        /* Whatever happened, it can be opened and goes on. */
        journal = open_journal(inner);
        must_add(journal, 8, 0, 10);
        must_sync(journal);
        lmn__journal_close(journal);
        lmn_store_release(store);
        lmn_store_release(inner);
        CHECK_EQ(live_allocations(), 0);
        if (!fired)
            break;
    }
}

/* A fault function that stops at the nth operation, and stays stopped. */
struct stop {
    uint64_t left;
};

static enum lmn__fault_action stop_at(void *context, enum lmn__store_op op, const char *path)
{
    struct stop *stop = context;

    (void)op;
    (void)path;
    if (stop->left == 0)
        return LMN__FAULT_FAIL;
    stop->left--;
    return LMN__FAULT_NONE;
}

/* Add receipts one by one, each synced; how many syncs came back. */
static uint64_t add_until_stopped(struct lmn_store *store)
{
    struct lmn__journal *journal;
    struct lmn_error err;
    uint64_t durable = 0;

    if (lmn__journal_open(store, &key, "job-1", &journal, &err) != LMN_OK)
        return 0;
    while (durable < 4 && add(journal, 0, 10 * durable, 10, &err) == LMN_OK &&
           lmn__journal_sync(journal, &err) == LMN_OK)
        durable++;
    lmn__journal_close(journal);
    return durable;
}

/* Power is lost before every operation: what was synced is there, and nothing that was not. */
static void test_journal__power_loss_at_every_step(void **state)
{
    uint64_t durable = 0;

    (void)state;
    for (uint64_t step = 0; durable < 4; step++) {
        for (uint64_t seed = 0; seed < 8; seed++) {
            struct lmn_store *inner = test_store_memory(), *lossy, *store;
            struct stop stop = { step };
            struct lmn__journal *journal;
            struct lmn_error err;
            uint64_t count;

            CHECK_OK(lmn__store_open_powerloss(inner, &lossy, &err));
            CHECK_OK(lmn__store_open_fault(lossy, stop_at, &stop, &store, &err));
            durable = add_until_stopped(store);
            CHECK_STATUS(lmn__powerloss_crash(lossy, seed, &err), LMN_OK, &err);
            journal = open_journal(lossy);
            count = receipts(journal, 0);
            CHECK(count >= durable);
            CHECK(seed != 0 ? count <= durable + 1 : count == durable);
            must_add(journal, 0, 10 * count, 10);
            must_sync(journal);
            lmn__journal_close(journal);
            journal = open_journal(lossy);
            CHECK_EQ(receipts(journal, 0), count + 1);
            lmn__journal_close(journal);
            lmn_store_release(store);
            lmn_store_release(lossy);
            lmn_store_release(inner);
        }
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_journal__reopens_with_what_was_synced),
        CASE(test_journal__row_has_one_receipt),
        CASE(test_journal__receipt_needs_its_grant),
        CASE(test_journal__receipt_takes_a_part_of_its_grant),
        CASE(test_journal__space_is_granted_once),
        CASE(test_journal__late_receipt_of_an_older_driver_is_refused),
        CASE(test_journal__second_driver_is_told_who_holds_it),
        CASE(test_journal__view),
        CASE(test_journal__of_another_fill_is_corrupt),
        CASE(test_journal__retired_receipts_are_gone),
        CASE(test_journal__remove_leaves_nothing_but_the_lock),
        CASE(test_journal__damage_ends_it),
        cmocka_unit_test(test_journal__faults),
        cmocka_unit_test(test_journal__power_loss_at_every_step),
    };

    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
