/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs of results that are kept: whoever finds them takes the payloads where they are, or copies
 * them where the fragment has changed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fills.h"
#include "job/journal_parts.h"
#include "job/moved.h"
#include "stores.h"

/* Bytes of a value: gathered with others, and in a place of its own. */
enum { SMALL = 1000, LARGE = 1200000, ROWS = 12 };

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

static void must(enum lmn_status st, const struct lmn_error *err)
{
    CHECK_STATUS(st, LMN_OK, err);
}

/* Another driver takes over: what the one before was granted is not granted any more. */
static void reopen(struct fill *fill)
{
    struct lmn_error err;

    must(lmn__journal_sync(fill->journal, &err), &err);
    fill_close(fill);
    must(fill_open(fill, &err), &err);
}

static void commit_and_check(struct fill *fill, uint64_t rows)
{
    struct lmn_error err;

    must(lmn__journal_sync(fill->journal, &err), &err);
    must(fill_commit(fill, 0, 1, &err), &err);
    CHECK_EQ(fill_check(fill->store, "v", fill->value_bytes), rows);
}

/* Nothing of the fill is left. */
static void finish(struct fill *fill)
{
    struct lmn_error err;

    lmn__page_sink_close(fill->sink);
    fill->sink = NULL;
    must(lmn__journal_remove(fill->journal, true, &err), &err);
    fill->journal = NULL;
    CHECK_EQ(test_store_count(fill->store, "_leman/fills"), 1);
    fill_end(fill);
}

static void keep_and_take(struct lmn_store *store, uint32_t value_bytes, bool segments)
{
    uint64_t found;
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, store, ROWS, ROWS, value_bytes);
    fill.segments = segments;
    must(fill_open(&fill, &err), &err);
    must(fill_keep(&fill, 0, 0, 5, &err), &err);
    must(fill_keep(&fill, 0, 5, 2, &err), &err);
    reopen(&fill);
    must(fill_recall(&fill, 0, 0, 4, &found, &err), &err);
    CHECK_EQ(found, 4);
    /* Not one byte was written, and the rows name what is there. */
    CHECK_EQ(fill_payload_bytes(&fill, 0), 0);
    CHECK(fill_kept_bytes(&fill, 0) >= 2 * value_bytes);
    must(fill_recall(&fill, 0, 4, ROWS - 4, &found, &err), &err);
    CHECK_EQ(found, 3);
    CHECK(fill_payload_bytes(&fill, 0) >= 3 * value_bytes);
    reopen(&fill);
    commit_and_check(&fill, ROWS - 1);
    finish(&fill);
}

static void test_kept_blobs__are_taken_where_they_are(void **state)
{
    keep_and_take(*state, SMALL, false);
}

static void test_kept_blobs__large_ones_too(void **state)
{
    keep_and_take(*state, LARGE, false);
}

static void test_kept_blobs__in_segments(void **state)
{
    keep_and_take(*state, SMALL, true);
}

static void test_kept_blobs__in_large_segments(void **state)
{
    keep_and_take(*state, LARGE, true);
}

/* A worker dies and another one of the same driver goes on: both were granted space. */
static void test_kept_blobs__of_the_same_epoch(void **state)
{
    uint64_t found;
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, *state, ROWS, ROWS, SMALL);
    must(fill_open(&fill, &err), &err);
    must(fill_keep(&fill, 0, 0, 8, &err), &err);
    lmn__payloads_reset(lmn__page_sink_payloads(fill.sink, fill.fragment_id, fill.layout), true);
    must(fill_recall(&fill, 0, 0, ROWS, &found, &err), &err);
    CHECK_EQ(found, 8);
    CHECK(fill_kept_bytes(&fill, 0) != 0);
    commit_and_check(&fill, ROWS - 1);
    finish(&fill);
}

/* Written by workers of other machines, and found by one of this; and the other way round. */
static void keep_elsewhere(struct lmn_store *store, bool first)
{
    uint64_t found;
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, store, ROWS, ROWS, LARGE);
    fill.segments = first;
    must(fill_open(&fill, &err), &err);
    must(fill_keep(&fill, 0, 0, 6, &err), &err);
    fill.segments = !first;
    reopen(&fill);
    must(fill_recall(&fill, 0, 0, ROWS, &found, &err), &err);
    CHECK_EQ(found, 6);
    CHECK_EQ(fill_kept_bytes(&fill, 0), 0); /* they are copied */
    commit_and_check(&fill, ROWS - 1);
    finish(&fill);
}

static void test_kept_blobs__by_another_kind_of_sink(void **state)
{
    keep_elsewhere(*state, true);
}

static void test_kept_blobs__by_segments_after_a_shared_file(void **state)
{
    keep_elsewhere(*state, false);
}

/* Somebody else changes the fragment: another layout, and a pages file of its own. */
static void test_kept_blobs__of_another_layout_are_copied(void **state)
{
    uint64_t found;
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, *state, ROWS, ROWS, LARGE);
    must(fill_open(&fill, &err), &err);
    must(fill_keep(&fill, 0, 0, 6, &err), &err);
    reopen(&fill);
    fill.fragment[0].layout++;
    must(fill_recall(&fill, 0, 0, ROWS, &found, &err), &err);
    CHECK_EQ(found, 6);
    CHECK_EQ(fill_kept_bytes(&fill, 0), 0);
    commit_and_check(&fill, ROWS - 1);
    finish(&fill);
}

/*
 * Some rows of a fragment are committed and others, that were kept, are not: their payloads are in
 * the table's file then. Twice, so that there are two such files.
 */
static void test_kept_blobs__outlive_their_pages_file(void **state)
{
    uint64_t found;
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, *state, ROWS, ROWS, LARGE);
    must(fill_open(&fill, &err), &err);
    must(fill_keep(&fill, 0, 0, 4, &err), &err);
    must(fill_range(&fill, 0, 8, 2, &err), &err);
    commit_and_check(&fill, 2);
    reopen(&fill);
    must(fill_keep(&fill, 0, 4, 4, &err), &err);
    must(fill_range(&fill, 0, 10, 2, &err), &err);
    commit_and_check(&fill, 4);
    reopen(&fill);
    must(fill_recall(&fill, 0, 0, 6, &found, &err), &err);
    CHECK_EQ(found, 6);
    CHECK_EQ(fill_kept_bytes(&fill, 0), 0); /* copied, into the third */
    commit_and_check(&fill, 9);
    reopen(&fill);
    must(fill_recall(&fill, 0, 6, 2, &found, &err), &err);
    CHECK_EQ(found, 2);
    commit_and_check(&fill, ROWS - 1);
    finish(&fill);
}

/* The same where they are objects of their own, which stay. */
static void test_kept_blobs__in_segments_outlive_a_commit(void **state)
{
    uint64_t found;
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, *state, ROWS, ROWS, SMALL);
    fill.segments = true;
    must(fill_open(&fill, &err), &err);
    must(fill_keep(&fill, 0, 0, 6, &err), &err);
    must(fill_range(&fill, 0, 6, 6, &err), &err);
    commit_and_check(&fill, 6);
    reopen(&fill);
    must(fill_recall(&fill, 0, 0, 6, &found, &err), &err);
    CHECK_EQ(found, 6);
    CHECK_EQ(fill_payload_bytes(&fill, 0), 0);
    commit_and_check(&fill, ROWS - 1);
    finish(&fill);
}

/* A fragment with receipts is compacted away: payloads of other rows of it can still be had. */
static void test_kept_blobs__outlive_their_fragment(void **state)
{
    struct lmn_table *other;
    uint64_t found;
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, *state, 40, 10, SMALL);
    must(fill_open(&fill, &err), &err);
    must(fill_keep(&fill, 1, 0, 6, &err), &err);
    must(fill_range(&fill, 1, 8, 2, &err), &err);
    must(lmn__journal_sync(fill.journal, &err), &err);
    must(lmn_table_open(*state, NULL, &other, &err), &err);
    must(lmn_table_compact(other, NULL, NULL, &err), &err);
    lmn_table_release(other);
    must(fill_rebase(&fill, &err), &err);
    CHECK_EQ(fill_check(*state, "v", SMALL), 2);
    fill.first[0] = 1; /* row 3 is deleted: row 9 is the first of what was fragment 1 */
    must(fill_recall(&fill, 0, 9, 6, &found, &err), &err);
    CHECK_EQ(found, 6);
    CHECK_EQ(fill_kept_bytes(&fill, 0), 0);
    commit_and_check(&fill, 8);
    finish(&fill);
}

/* Files that somebody has removed: rows are computed again, and nothing else is taken for them. */
static void test_kept_blobs__that_are_gone_do_not_count(void **state)
{
    struct lmn_store *store = *state;
    char path[LMN__FILL_PATH_BYTES];
    uint64_t found;
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, store, ROWS, ROWS, LARGE);
    must(fill_open(&fill, &err), &err);
    must(fill_keep(&fill, 0, 0, 6, &err), &err);
    must(fill_range(&fill, 0, 6, 1, &err), &err);
    must(lmn__journal_sync(fill.journal, &err), &err);
    lmn__fill_path(lmn__journal_dir(fill.journal), LMN__GRANT_PAGES, fill.fragment[0].id,
                   fill.fragment[0].layout, path);
    fill_close(&fill);
    must(store->ops->remove(store, path, &err), &err);
    must(fill_open(&fill, &err), &err);
    CHECK(!fill_has_receipt(&fill, 0, 6));
    must(fill_range(&fill, 0, 7, 5, &err), &err); /* another pages file of the same name */
    must(fill_recall(&fill, 0, 0, 7, &found, &err), &err);
    CHECK_EQ(found, 1); /* one that is null */
    commit_and_check(&fill, ROWS - 1);
    finish(&fill);
}

/* Enter a receipt of row `row` that names a payload which was kept. */
static enum lmn_status add_kept(struct fill *fill, uint64_t row, uint64_t position, bool segments,
                                struct lmn_error *err)
{
    uint64_t column[] = { 0, 1 }, one = 1, hold_position;
    struct lmn__receipt_hold hold = { 0, 100, 77, { column, 2 } };
    struct lmn__receipt_payloads kept = { position, 1000 };
    struct lmn__receipt receipt = { .fragment_id = fill->fragment[0].id,
                                    .layout = fill->fragment[0].layout,
                                    .first = { &row, 1 },
                                    .count = { &one, 1 },
                                    .row_count = 1,
                                    .holds = { &hold, 1 },
                                    .segments = segments,
                                    .kept = { &kept, 1 } };
    struct lmn__buf buf;
    enum lmn_status st;

    must(lmn__journal_grant(fill->journal, LMN__GRANT_HOLD, 0, 0, 100, &hold_position, err), err);
    hold.position = hold_position;
    lmn__buf_init(&buf, test_env(), 0);
    lmn__receipt_encode(&receipt, &buf);
    st = lmn__journal_add(fill->journal, (struct lmn__span){ buf.data, buf.len }, err);
    lmn__buf_deinit(&buf);
    return st;
}

/* A receipt names nothing that was never granted, and nothing of a pages file that has gone. */
static void test_journal__kept_payloads_are_checked(void **state)
{
    uint64_t position, id, layout;
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, *state, ROWS, ROWS, SMALL);
    must(fill_open(&fill, &err), &err);
    id = fill.fragment[0].id;
    layout = fill.fragment[0].layout;
    CHECK_STATUS(add_kept(&fill, 0, 0, false, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "1000 bytes at position 0, of a result that was kept, are not in");
    must(lmn__journal_grant(fill.journal, LMN__GRANT_PAGES, id, layout, 4096, &position, &err),
         &err);
    must(add_kept(&fill, 0, position, false, &err), &err);
    must(add_kept(&fill, 1, position, false, &err), &err); /* it is nobody's */
    CHECK_STATUS(add_kept(&fill, 2, 1ull << 40, false, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(add_kept(&fill, 2, 32, false, &err), LMN_E_CORRUPT, &err);
    CHECK_EQ(lmn__journal_since(fill.journal, id, layout), 0);
    must(lmn__journal_retire(fill.journal, id, layout, &err), &err);
    for (int again = 0; again < 2; again++) {
        CHECK(lmn__journal_since(fill.journal, id, layout) > position + 1000);
        CHECK_STATUS(add_kept(&fill, 3, position, false, &err), LMN_E_INVALID, &err);
        reopen(&fill);
    }
    must(add_kept(&fill, 3, position, true, &err), &err); /* an object of its own stays */
    must(lmn__journal_grant(fill.journal, LMN__GRANT_PAGES, id, layout, 4096, &position, &err),
         &err);
    must(add_kept(&fill, 4, position, false, &err), &err);
    finish(&fill);
}

/* Notes that are none, and what other notes say. */
static void test_moved__notes(void **state)
{
    static const char *const name[] = { "7-000000000000000a.moved.",
                                        "7-000000000000000a.moved.12x",
                                        "7-000000000000000a.moved.99999999999999999999999",
                                        "7-000000000000000b.moved.64",
                                        "7-000000000000000a.moved.640",
                                        "7-000000000000000a.moved.1280",
                                        "7-000000000000000a.moved.1920" };
    static const char *const text[] = { "data/x", "data/x",        "data/x", "data/x",
                                        "data/a", "../etc/passwd", "" };
    struct lmn_store *store = *state;
    char path[LMN__MOVED_PATH_BYTES];
    struct lmn_error err;

    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        struct lmn__store_file *file;

        snprintf(path, sizeof path, "fill/%s", name[i]);
        must(store->ops->create(store, path, &file, &err), &err);
        must(store->ops->write_at(file, 0, text[i], strlen(text[i]), &err), &err);
        store->ops->close(file);
    }
    must(lmn__moved_find(store, "fill", 7, 10, 639, path, &err), &err);
    CHECK_STR(path, "data/a");
    must(lmn__moved_find(store, "fill", 7, 10, 640, path, &err), &err);
    CHECK_STR(path, "");
    must(lmn__moved_find(store, "fill", 7, 10, 1280, path, &err), &err);
    CHECK_STR(path, "");
    must(lmn__moved_find(store, "fill", 7, 10, 1920, path, &err), &err);
    CHECK_STR(path, "fill/7-000000000000000a.pages");
    must(lmn__moved_find(store, "fill", 8, 10, 0, path, &err), &err);
    CHECK_STR(path, "fill/8-000000000000000a.pages");
}

/* Keep, die, find again, and with `whole` commit: each allocation and each operation of the store
 * fails once. */
static enum lmn_status keep_all(struct fill *fill, bool whole, struct lmn_error *err)
{
    uint64_t found;
    enum lmn_status st = fill_open(fill, err);

    if (st == LMN_OK && !fill_has_receipt(fill, 0, 0))
        st = fill_keep(fill, 0, 0, 2, err);
    fill_close(fill);
    if (st == LMN_OK)
        st = fill_open(fill, err);
    if (st == LMN_OK && !fill_has_receipt(fill, 0, 0))
        st = fill_recall(fill, 0, 0, 4, &found, err);
    if (st == LMN_OK)
        st = lmn__journal_sync(fill->journal, err);
    if (st == LMN_OK && whole)
        st = fill_commit(fill, 0, 1, err);
    fill_close(fill);
    return st;
}

static void lose_nothing(bool segments)
{
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
        struct lmn_error err = { 0 };
        enum lmn_status st;
        struct fill fill;
        bool fired;

        fill_make_blobs(&fill, store, 4, 4, SMALL);
        fill.segments = segments;
        fill_prepare(&fill, 0, 0, 2);
        fill_prepare(&fill, 0, 0, 4);
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = keep_all(&fill, !segments, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || err.message[0] != '\0');
        if (fill_check(inner, "v", SMALL) == 0)
            must(keep_all(&fill, true, &err), &err);
        CHECK_EQ(fill_check(inner, "v", SMALL), 3);
        fill_forget();
        fill_end(&fill);
        lmn_store_release(store);
        lmn_store_release(inner);
        if (!fired)
            break;
    }
}

static void test_kept_blobs__faults_lose_nothing(void **state)
{
    (void)state;
    lose_nothing(false);
}

static void test_kept_blobs__faults_in_segments_lose_nothing(void **state)
{
    (void)state;
    lose_nothing(true);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_kept_blobs__are_taken_where_they_are),
        CASE(test_kept_blobs__large_ones_too),
        CASE(test_kept_blobs__in_segments),
        CASE(test_kept_blobs__in_large_segments),
        CASE(test_kept_blobs__of_the_same_epoch),
        CASE(test_kept_blobs__by_another_kind_of_sink),
        CASE(test_kept_blobs__by_segments_after_a_shared_file),
        CASE(test_kept_blobs__of_another_layout_are_copied),
        CASE(test_kept_blobs__outlive_their_pages_file),
        CASE(test_kept_blobs__in_segments_outlive_a_commit),
        CASE(test_kept_blobs__outlive_their_fragment),
        CASE(test_kept_blobs__that_are_gone_do_not_count),
        CASE(test_journal__kept_payloads_are_checked),
        CASE(test_moved__notes),
        CASE(test_kept_blobs__faults_lose_nothing),
        CASE(test_kept_blobs__faults_in_segments_lose_nothing),
    };

    return cmocka_run_group_tests_name("kept_blobs", tests, NULL, NULL);
}
