/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A feed while every allocation and store operation fails in its turn: it says so, leaks nothing,
 * and goes on with the batch that failed.
 */
#include <string.h>

#include "keyed_rows.h"
#include "stores.h"

enum { ROWS = 60 };

static struct lmn_store *make_store(void)
{
    const struct lmn_write_options options = { .fragment_rows_max = 25 };
    struct lmn_store *store = test_store_memory();
    struct keyed_row row[ROWS];
    struct lmn_error err = { 0 };
    struct lmn_table *table;
    uint64_t deleted;

    for (int i = 0; i < ROWS; i++)
        row[i] = (struct keyed_row){ i, i % 7, "text" };
    table = keyed_table(store, row, ROWS, &options);
    CHECK_STATUS(lmn_table_delete(table, "id = 30 or id = 31", &deleted, &err), LMN_OK, &err);
    lmn_table_release(table);
    return store;
}

static enum lmn_status use(struct lmn_store *store, const char *where, struct lmn_error *err)
{
    const struct lmn_feed_options options = { .where = where,
                                              .batch_rows = 9,
                                              .epochs = 1,
                                              .threads = 1,
                                              .prefetch = 2,
                                              .with_row_id = true };
    struct lmn_id_list list;
    struct lmn_table *table;
    struct lmn_feed *feed = NULL;
    const char *text;
    enum lmn_status st = lmn_table_open(store, NULL, &table, err);

    if (st == LMN_OK)
        st = lmn_feed_open(table, &options, &feed, err);
    lmn_table_release(table);
    for (int i = 0; st == LMN_OK && i < 4; i++) {
        struct ArrowArray batch;

        st = lmn_feed_next(feed, &batch, err);
        if (st == LMN_OK && batch.release != NULL)
            batch.release(&batch);
    }
    if (st == LMN_OK)
        st = lmn_feed_row_ids(feed, 1, NULL, &list, err);
    if (st == LMN_OK) {
        lmn_id_list_free(&list);
        st = lmn_feed_state(feed, &text, err);
    }
    if (st == LMN_OK)
        st = lmn_feed_restore(feed, text, err);
    lmn_feed_close(feed);
    return st;
}

static void check_faults(const char *where)
{
    struct lmn_store *memory = make_store(), *store = test_store_faulty(memory);
    int64_t before;
    struct lmn_error err;
    enum lmn_status st;

    fault_disarm();
    CHECK_STATUS(use(store, where, &err), LMN_OK, &err);
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        err = (struct lmn_error){ 0 };
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = use(store, where, &err);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_OK(st);
            break;
        }
        /* The tag that pins the version is left out when it cannot be written. */
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(st == LMN_OK || err.message[0] != '\0');
    }
    fault_disarm();
    lmn_store_release(store);
    lmn_store_release(memory);
}

static void test_feed__faults(void **state)
{
    (void)state;
    check_faults(NULL);
}

static void test_feed__faults_with_condition(void **state)
{
    (void)state;
    check_faults("value < 5");
}

/* A batch that fails is the one that comes next, when the store is well again. */
static void test_feed__goes_on_after_a_failure(void **state)
{
    const struct lmn_feed_options options = { .batch_rows = 9, .epochs = 1, .threads = 1 };
    struct lmn_store *memory = make_store(), *store = test_store_faulty(memory);
    struct lmn_error err = { 0 };
    struct lmn_table *table;
    uint64_t failures = 0;

    (void)state;
    for (uint64_t nth = 1; nth < 40; nth++) {
        bool seen[ROWS] = { 0 };
        struct lmn_feed *feed;
        struct ArrowArray batch;
        uint64_t rows = 0;
        enum lmn_status st;

        CHECK_OK(lmn_table_open(store, NULL, &table, &err));
        CHECK_OK(lmn_feed_open(table, &options, &feed, &err));
        lmn_table_release(table);
        fault_arm(FAULT_STORE, nth);
        do {
            st = lmn_feed_next(feed, &batch, &err);
            failures += st != LMN_OK;
            for (int64_t i = 0; st == LMN_OK && batch.release != NULL && i < batch.length; i++) {
                int64_t id = ((const int64_t *)batch.children[0]->buffers[1])[i];

                CHECK(!seen[id]);
                seen[id] = true;
                rows++;
            }
            if (st == LMN_OK && batch.release != NULL)
                batch.release(&batch);
            else if (st == LMN_OK)
                break;
        } while (true);
        fault_disarm();
        CHECK_EQ(rows, ROWS - 2);
        lmn_feed_close(feed);
    }
    CHECK(failures != 0);
    lmn_store_release(store);
    lmn_store_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feed__faults),
        cmocka_unit_test(test_feed__faults_with_condition),
        cmocka_unit_test(test_feed__goes_on_after_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
