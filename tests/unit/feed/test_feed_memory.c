/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds whose batches lie in memory of the caller's: every buffer of every batch, however its rows
 * were read, with the values of a feed without.
 *
 * labels: threads
 */
#include <stdlib.h>
#include <string.h>

#include "keyed_rows.h"
#include "slots.h"
#include "stores.h"

enum { ROWS = 200, LARGE = 9000, SLOT_BYTES = 256 << 10, SLOT_COUNT = 600 };

/* Small rows in some fragments; or large ones in one, each of which is read to where it stays. */
static struct lmn_table *make_table(struct lmn_store *store, bool large)
{
    const struct lmn_write_options options = { .fragment_rows_max = large ? ROWS : 70 };
    struct keyed_row row[ROWS];
    char *text = malloc(LARGE + 1);
    struct lmn_table *table;

    CHECK(text != NULL);
    memset(text, 'x', LARGE);
    text[LARGE] = '\0';
    for (int i = 0; i < ROWS; i++)
        row[i] = (struct keyed_row){ i, i % 5 == 0 ? KEYED_NULL : i * 3,
                                     large ? text : text + LARGE - i % 9 };
    table = keyed_table(store, row, ROWS, &options);
    free(text);
    return table;
}

static void check_inside(const struct slots *slots, const struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_buffers; i++)
        CHECK(array->buffers[i] == NULL || slots_have(slots, array->buffers[i]));
    for (int64_t i = 0; i < array->n_children; i++)
        check_inside(slots, array->children[i]);
}

static void check_equal(const struct ArrowArray *a, const struct ArrowArray *b)
{
    const int32_t *end = a->children[2]->buffers[1];
    const uint64_t *ids = a->children[3]->buffers[1], *other_ids = b->children[3]->buffers[1];
    uint64_t count = (uint64_t)a->length;

    CHECK_EQ(a->length, b->length);
    CHECK_EQ(a->children[1]->null_count, b->children[1]->null_count);
    CHECK_BYTES(a->children[0]->buffers[1], b->children[0]->buffers[1], count * 8);
    CHECK_BYTES(ids, other_ids, count * 8);
    CHECK_BYTES(end, b->children[2]->buffers[1], (count + 1) * 4);
    CHECK_BYTES(a->children[2]->buffers[2], b->children[2]->buffers[2], (size_t)end[count]);
}

/* Two epochs beside a feed without the memory; some batches are held for a while. */
static void check_feed(struct lmn_table *table, struct lmn_feed_options options)
{
    enum { HELD = 3 };
    struct ArrowArray held[HELD] = { 0 };
    struct lmn_error err = { 0 };
    struct lmn_feed_stats stats;
    struct lmn_feed *feed, *plain;
    struct lmn_memory memory;
    struct slots slots;
    uint64_t batches = 0;

    slots_init(&slots, SLOT_BYTES, SLOT_COUNT);
    memory = slots_memory(&slots);
    options.with_row_id = true;
    options.epochs = 2;
    CHECK_STATUS(lmn_feed_open(table, &options, &plain, &err), LMN_OK, &err);
    options.memory = &memory;
    CHECK_STATUS(lmn_feed_open(table, &options, &feed, &err), LMN_OK, &err);
    for (;; batches++) {
        struct ArrowArray batch, expected, *place = &held[batches % HELD];

        CHECK_STATUS(lmn_feed_next(feed, &batch, &err), LMN_OK, &err);
        CHECK_STATUS(lmn_feed_next(plain, &expected, &err), LMN_OK, &err);
        CHECK_EQ(batch.release == NULL, expected.release == NULL);
        if (batch.release == NULL)
            break;
        check_inside(&slots, &batch);
        check_equal(&batch, &expected);
        expected.release(&expected);
        if (place->release != NULL)
            place->release(place);
        *place = batch;
    }
    lmn_feed_stats(feed, &stats);
    CHECK(stats.placed >= batches * 3 && stats.placed_bytes > 0);
    CHECK_EQ(stats.not_placed, 0);
    lmn_feed_stats(plain, &stats);
    CHECK_EQ(stats.placed, 0);
    lmn_feed_close(plain);
    lmn_feed_close(feed);
    CHECK(slots_used(&slots) > 0); /* the batches that are held */
    CHECK_EQ(slots_closed(&slots), 0);
    for (int i = 0; i < HELD; i++) {
        if (held[i].release != NULL)
            held[i].release(&held[i]);
    }
    CHECK_EQ(slots_closed(&slots), 1);
    slots_deinit(&slots);
}

static void test_feed_memory__every_order(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++) {
        struct lmn_store *store = test_store_memory();
        struct lmn_table *table = make_table(store, large != 0);

        for (int shuffle = 0; shuffle < 3; shuffle++) {
            struct lmn_feed_options options = {
                .shuffle = (enum lmn_feed_shuffle)shuffle, .batch_rows = 16, .seed = 5, .threads = 3
            };

            check_feed(table, options);
            options.prefetch = 9;
            check_feed(table, options);
            options.where = "value > 100";
            check_feed(table, options);
        }
        lmn_table_release(table);
        lmn_store_release(store);
    }
}

/* Where the memory has no room the environment's is taken, and counted. */
static void test_feed_memory__without_room(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store, false);
    struct lmn_error err = { 0 };
    struct lmn_feed_stats stats;
    struct lmn_memory memory;
    struct lmn_feed *feed;
    struct slots slots;
    uint64_t rows = 0;

    (void)state;
    slots_init(&slots, SLOT_BYTES, 2);
    memory = slots_memory(&slots);
    CHECK_OK(lmn_feed_open(table,
                           &(struct lmn_feed_options){
                               .batch_rows = 16, .epochs = 1, .threads = 2, .memory = &memory },
                           &feed, &err));
    for (;;) {
        struct ArrowArray batch;

        CHECK_STATUS(lmn_feed_next(feed, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        rows += (uint64_t)batch.length;
        batch.release(&batch);
    }
    CHECK_EQ(rows, ROWS);
    lmn_feed_stats(feed, &stats);
    CHECK(stats.placed > 0 && stats.not_placed > 0);
    lmn_feed_close(feed);
    CHECK_EQ(slots_closed(&slots), 1);
    slots_deinit(&slots);
    lmn_table_release(table);
    lmn_store_release(store);
}

/* A feed that cannot be opened leaves the memory the caller's; one that is closed early puts back
 * what it has read ahead. */
static void test_feed_memory__refused_and_closed_early(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store, false);
    struct lmn_feed_options options = { .batch_rows = 8, .prefetch = 6, .rank = 1 };
    struct lmn_error err = { 0 };
    struct lmn_memory memory;
    struct lmn_feed *feed;
    struct slots slots;

    (void)state;
    slots_init(&slots, SLOT_BYTES, SLOT_COUNT);
    memory = slots_memory(&slots);
    options.memory = &memory;
    CHECK_STATUS(lmn_feed_open(table, &options, &feed, &err), LMN_E_INVALID, &err);
    CHECK_EQ(slots_closed(&slots), 0);
    options.rank = 0;
    CHECK_STATUS(lmn_feed_open(table, &options, &feed, &err), LMN_OK, &err);
    for (int i = 0; i < 3; i++) {
        struct ArrowArray batch;
        const char *text;

        CHECK_OK(lmn_feed_next(feed, &batch, &err));
        batch.release(&batch);
        CHECK_OK(lmn_feed_skip(feed, 2, &err));
        CHECK_OK(lmn_feed_state(feed, &text, &err));
        CHECK_OK(lmn_feed_restore(feed, text, &err));
    }
    lmn_feed_close(feed);
    CHECK_EQ(slots_closed(&slots), 1);
    slots_deinit(&slots);
    lmn_table_release(table);
    lmn_store_release(store);
}

static enum lmn_status use(struct lmn_store *store, struct slots *slots, bool *opened_out,
                           struct lmn_error *err)
{
    const struct lmn_memory memory = slots_memory(slots);
    const struct lmn_feed_options options = { .batch_rows = 30,
                                              .epochs = 1,
                                              .threads = 1,
                                              .prefetch = 1,
                                              .unpinned = true,
                                              .with_row_id = true,
                                              .memory = &memory };
    struct lmn_feed *feed = NULL;
    struct lmn_table *table;
    enum lmn_status st = lmn_table_open(store, NULL, &table, err);

    if (st == LMN_OK)
        st = lmn_feed_open(table, &options, &feed, err);
    lmn_table_release(table);
    *opened_out = st == LMN_OK;
    for (int i = 0; st == LMN_OK && i < 2; i++) {
        struct ArrowArray batch;

        st = lmn_feed_next(feed, &batch, err);
        if (st == LMN_OK)
            batch.release(&batch);
    }
    lmn_feed_close(feed);
    return st;
}

static void test_feed_memory__faults(void **state)
{
    struct lmn_store *memory = test_store_memory(), *store = test_store_faulty(memory);
    bool fired = true;

    (void)state;
    lmn_table_release(make_table(memory, true));
    for (uint64_t nth = 1; fired; nth++) {
        int64_t before = live_allocations();
        struct lmn_error err = { 0 };
        struct slots slots;
        bool opened;
        enum lmn_status st;

        slots_init(&slots, SLOT_BYTES, 20);
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = use(store, &slots, &opened, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK_EQ(live_allocations(), before);
        CHECK_EQ(slots_closed(&slots), opened);
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(st == LMN_OK || (fired && err.message[0] != '\0'));
        slots_deinit(&slots);
    }
    lmn_store_release(store);
    lmn_store_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feed_memory__every_order),
        cmocka_unit_test(test_feed_memory__without_room),
        cmocka_unit_test(test_feed_memory__refused_and_closed_early),
        cmocka_unit_test(test_feed_memory__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
