/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a fill before they are committed; what they are, the tests in Python compare. */
#include <string.h>

#include "fills.h"
#include "job/peek.h"
#include "stores.h"

enum { ROWS = 100 };

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

/* A fill with two receipts, of rows 0 to 39 and 50 to 69 of the only fragment. */
static void compute(struct fill *fill, struct lmn_store *store, uint32_t value_bytes, bool segments)
{
    struct lmn_error err;

    fill_make(fill, store, ROWS, ROWS, value_bytes);
    fill->segments = segments;
    must(fill_open(fill, &err), &err);
    must(fill_range(fill, 0, 0, 40, &err), &err);
    must(fill_range(fill, 0, 50, 20, &err), &err);
    must(lmn__journal_sync(fill->journal, &err), &err);
}

/* The same for a column that is computed again; the fill knows its refill by name. */
static void compute_again(struct fill *fill, struct lmn_store *store)
{
    struct lmn_error err;

    fill_make(fill, store, ROWS, ROWS, 20);
    must(lmn_table_refill_begin(fill->table, &fill->column, 1, &err), &err);
    fill_end(fill);
    fill_attach(fill, store, "_leman_next_v", 20);
    must(fill_open(fill, &err), &err);
    must(fill_range(fill, 0, 0, 40, &err), &err);
    must(fill_range(fill, 0, 50, 20, &err), &err);
    must(lmn__journal_sync(fill->journal, &err), &err);
    fill->column = "v"; /* that a job's record has */
}

static enum lmn_status look(struct fill *fill, uint64_t rows_max, struct ArrowSchema *schema,
                            struct ArrowArray *array, struct lmn_error *err)
{
    struct lmn_table *table;
    enum lmn_status st = lmn_table_open(fill->store, NULL, &table, err);

    if (st != LMN_OK)
        return st;
    st = lmn__peek(table, &fill->key, &fill->column, 1, rows_max, schema, array, err);
    lmn_table_release(table);
    return st;
}

static void check_rows(struct fill *fill, uint64_t rows_max, int64_t wanted)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err;
    const uint64_t *id;

    must(look(fill, rows_max, &schema, &array, &err), &err);
    CHECK_EQ(array.length, wanted);
    CHECK_EQ(array.n_children, 2);
    CHECK_STR(schema.children[0]->name, fill->column);
    CHECK_STR(schema.children[1]->name, "_rowid");
    id = array.children[1]->buffers[1];
    for (int64_t i = 1; i < array.length; i++)
        CHECK(id[i] > id[i - 1]);
    for (int64_t i = 0; i < array.length; i++)
        CHECK(id[i] != 3 && (id[i] < 40 || (id[i] >= 50 && id[i] < 70))); /* row 3 is deleted */
    array.release(&array);
    schema.release(&schema);
}

static void test_peek__held_and_direct(void **state)
{
    for (int kind = 0; kind < 4; kind++) {
        struct lmn_store *store = test_store_memory();
        struct fill fill;

        (void)state;
        compute(&fill, store, kind % 2 == 0 ? 20 : 100000, kind >= 2);
        CHECK_EQ(fill_direct_count(&fill, 0), kind % 2 == 0 ? 0 : 2);
        check_rows(&fill, 1000, 59);
        check_rows(&fill, 45, 45);
        check_rows(&fill, 5, 5);
        check_rows(&fill, 0, 0);
        fill_end(&fill);
        lmn_store_release(store);
    }
}

static void test_peek__a_column_that_is_computed_again(void **state)
{
    struct fill fill;

    compute_again(&fill, *state);
    check_rows(&fill, 1000, 59);
    check_rows(&fill, 5, 5);
    fill_end(&fill);
}

static void test_peek__nothing_there(void **state)
{
    struct fill fill;

    fill_make(&fill, *state, ROWS, ROWS, 20);
    check_rows(&fill, 10, 0);
    fill_end(&fill);
}

static void test_peek__a_column_that_is_gone(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err;
    struct fill fill;

    compute(&fill, *state, 20, false);
    fill.key.field_id += 100;
    CHECK_STATUS(look(&fill, 10, &schema, &array, &err), LMN_E_NOT_FOUND, &err);
    CHECK(schema.release == NULL && array.release == NULL);
    fill.key.field_id -= 100;
    fill_end(&fill);
}

static void check_faults(struct fill *fill)
{
    int64_t live = live_allocations();

    for (uint64_t nth = 1;; nth++) {
        struct ArrowSchema schema;
        struct ArrowArray array;
        struct lmn_error err;
        enum lmn_status st;
        bool fired;

        fault_arm(FAULT_ALLOC, nth);
        st = look(fill, 30, &schema, &array, &err);
        fired = fault_fired();
        fault_disarm();
        if (st == LMN_OK) {
            array.release(&array);
            schema.release(&schema);
        } else {
            CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
        }
        CHECK_EQ(live_allocations(), live);
        if (!fired)
            break;
    }
    fill_end(fill);
}

static void test_peek__faults_of_held(void **state)
{
    struct fill fill;

    compute(&fill, *state, 20, false);
    check_faults(&fill);
}

static void test_peek__faults_of_direct(void **state)
{
    struct fill fill;

    compute(&fill, *state, 100000, false);
    check_faults(&fill);
}

static void test_peek__faults_of_refills(void **state)
{
    struct fill fill;

    compute_again(&fill, *state);
    check_faults(&fill);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_peek__held_and_direct, begin, end),
        cmocka_unit_test_setup_teardown(test_peek__a_column_that_is_computed_again, begin, end),
        cmocka_unit_test_setup_teardown(test_peek__nothing_there, begin, end),
        cmocka_unit_test_setup_teardown(test_peek__a_column_that_is_gone, begin, end),
        cmocka_unit_test_setup_teardown(test_peek__faults_of_held, begin, end),
        cmocka_unit_test_setup_teardown(test_peek__faults_of_direct, begin, end),
        cmocka_unit_test_setup_teardown(test_peek__faults_of_refills, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
