/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening, scanning and taking while every allocation and store operation fails in its turn.
 */
#include "golden_tables.h"
#include "stores.h"

static enum lmn_status scan_all(struct lmn_table *table, const char *where, struct lmn_error *err)
{
    const struct lmn_scan_options options = {
        .threads = 1, .batch_rows_max = 25, .where = where, .with_row_id = true
    };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    enum lmn_status st = lmn_table_scan(table, &options, &stream, err);

    if (st != LMN_OK)
        return st;
    if (stream.get_schema(&stream, &schema) == 0)
        schema.release(&schema);
    while ((st = lmn_table_scan_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL)
        batch.release(&batch);
    stream.release(&stream);
    return st;
}

static enum lmn_status read_all(struct lmn_store *store, const char *where, struct lmn_error *err)
{
    const uint64_t wanted[] = { 45, 1, 45, 62 };
    const struct lmn_scan_options options = { .with_row_address = true };
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_table *table;
    enum lmn_status st = lmn_table_open(store, NULL, &table, err);

    if (st != LMN_OK)
        return st;
    st = scan_all(table, where, err);
    if (st == LMN_OK)
        st = lmn_table_take_ids(table, wanted, 4, &options, &schema, &array, err);
    if (st == LMN_OK) {
        array.release(&array);
        schema.release(&schema);
    }
    lmn_table_release(table);
    return st;
}

static void check_faults(const char *where)
{
    struct lmn_store *local = test_store_local(LMN_TESTS "/golden/table/stable");
    struct lmn_store *store = test_store_faulty(local);
    int64_t before = live_allocations();
    struct lmn_error err;
    enum lmn_status st;

    for (uint64_t nth = 1;; nth++) {
        err = (struct lmn_error){ 0 };
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = read_all(store, where, &err);
        fault_disarm();
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        if (st == LMN_OK) /* a larger buffer was not to be had, a smaller one was */
            continue;
        CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(err.message[0] != '\0');
    }
    lmn_store_release(store);
    lmn_store_release(local);
    CHECK_EQ(live_allocations(), 0);
}

static void test_read__faults(void **state)
{
    (void)state;
    check_faults(NULL);
}

static void test_read__faults_with_condition(void **state)
{
    (void)state;
    check_faults("id % 2 = 0 AND text IS NOT NULL");
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_read__faults),
        cmocka_unit_test(test_read__faults_with_condition),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
