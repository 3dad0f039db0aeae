/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions that statistics decide: what is not read is counted in reads of data files.
 */
#include <stdatomic.h>
#include <string.h>

#include <leman/leman.h>
#include <nanoarrow/nanoarrow.h>

#include "stores.h"

enum { ROWS = 40000, FRAGMENT_ROWS = 20000 };

/* Count reads of data files. */
static enum lmn__fault_action count_read(void *context, enum lmn__store_op op, const char *path)
{
    atomic_uint *reads = context;

    if (op == LMN__OP_READ && strncmp(path, "data/", 5) == 0)
        atomic_fetch_add(reads, 1);
    return LMN__FAULT_NONE;
}

/* Columns "id", 0 and up, and "half", the id of every second row and null else. */
static void make_rows(struct ArrowSchema *schema, struct ArrowArray *rows)
{
    static const char *const name[] = { "id", "half" };

    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, 2), NANOARROW_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(ArrowSchemaSetType(schema->children[i], NANOARROW_TYPE_INT64), NANOARROW_OK);
        CHECK_EQ(ArrowSchemaSetName(schema->children[i], name[i]), NANOARROW_OK);
    }
    CHECK_EQ(ArrowArrayInitFromSchema(rows, schema, NULL), NANOARROW_OK);
    CHECK_EQ(ArrowArrayStartAppending(rows), NANOARROW_OK);
    for (int64_t i = 0; i < ROWS; i++) {
        CHECK_EQ(ArrowArrayAppendInt(rows->children[0], i), NANOARROW_OK);
        if (i % 2 == 0)
            CHECK_EQ(ArrowArrayAppendInt(rows->children[1], i), NANOARROW_OK);
        else
            CHECK_EQ(ArrowArrayAppendNull(rows->children[1], 1), NANOARROW_OK);
        CHECK_EQ(ArrowArrayFinishElement(rows), NANOARROW_OK);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(rows, NULL), NANOARROW_OK);
}

static struct lmn_table *make_table(struct lmn_store *store)
{
    const struct lmn_write_options options = { .fragment_rows_max = FRAGMENT_ROWS };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray rows;
    struct lmn_table *table;
    struct lmn_error err = { 0 };

    make_rows(&schema, &rows);
    CHECK_EQ(ArrowBasicArrayStreamInit(&stream, &schema, 1), NANOARROW_OK);
    ArrowBasicArrayStreamSetArray(&stream, 0, &rows);
    CHECK_STATUS(lmn_table_create(store, &stream, &options, &table, &err), LMN_OK, &err);
    return table;
}

static void check_count(struct lmn_table *table, const char *where, uint64_t expected)
{
    uint64_t count;
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn_table_count(table, where, &count, &err), LMN_OK, &err);
    if (count != expected)
        check_fail(__FILE__, __LINE__, "%s: %llu rows, expected %llu", where,
                   (unsigned long long)count, (unsigned long long)expected);
}

/* How many reads of data files a count makes, once the files are open. */
static unsigned reads_of(struct lmn_table *table, atomic_uint *reads, const char *where,
                         uint64_t expected)
{
    check_count(table, where, expected);
    atomic_store(reads, 0);
    check_count(table, where, expected);
    return atomic_load(reads);
}

/* Conditions that bounds and counts of nulls decide read nothing; others a part of the rows. */
static void test_scan_prune__reads(void **state)
{
    atomic_uint reads = 0;
    struct lmn_store *memory = test_store_memory(), *store;
    struct lmn_table *table;
    struct lmn_error err;
    unsigned all;

    (void)state;
    CHECK_OK(lmn__store_open_fault(memory, count_read, &reads, &store, &err));
    table = make_table(store);
    all = reads_of(table, &reads, "id % 2 = 0", ROWS / 2);
    CHECK(all >= 2);
    CHECK_EQ(reads_of(table, &reads, "id < 0", 0), 0);
    CHECK_EQ(reads_of(table, &reads, "id >= 0", ROWS), 0);
    CHECK_EQ(reads_of(table, &reads, "id IS NULL OR half = -1", 0), 0);
    CHECK_EQ(reads_of(table, &reads, "id < 20000", FRAGMENT_ROWS), 0);
    CHECK_EQ(reads_of(table, &reads, "id = 8191", 1), 1);
    CHECK_EQ(reads_of(table, &reads, "half > 100 AND half <= 102", 1), 1);
    CHECK(reads_of(table, &reads, "half IS NULL", ROWS / 2) > 1);
    lmn_table_release(table);
    lmn_store_release(store);
    lmn_store_release(memory);
    CHECK_EQ(live_allocations(), 0);
}

/* Deleted rows do not count, and are found by the same statistics. */
static void test_scan_prune__deletions(void **state)
{
    atomic_uint reads = 0;
    struct lmn_store *memory = test_store_memory(), *store;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    uint64_t deleted;

    (void)state;
    CHECK_OK(lmn__store_open_fault(memory, count_read, &reads, &store, &err));
    table = make_table(store);
    CHECK_STATUS(lmn_table_delete(table, "id >= 100 AND id < 300", &deleted, &err), LMN_OK, &err);
    CHECK_EQ(deleted, 200);
    CHECK_EQ(reads_of(table, &reads, "id >= 0", ROWS - 200), 0);
    CHECK_EQ(reads_of(table, &reads, "id < 0", 0), 0);
    CHECK_EQ(reads_of(table, &reads, "id = 150", 0), 1);
    check_count(table, "id < 400", 200);
    lmn_table_release(table);
    lmn_store_release(store);
    lmn_store_release(memory);
    CHECK_EQ(live_allocations(), 0);
}

/* Every allocation and store operation of a count fails in its turn. */
static void test_scan_prune__faults(void **state)
{
    struct lmn_store *memory = test_store_memory();
    struct lmn_store *store = test_store_faulty(memory);
    struct lmn_table *table = make_table(memory);
    int64_t before;

    (void)state;
    lmn_table_release(table);
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        struct lmn_error err = { 0 };
        uint64_t count = 0;
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_open(store, NULL, &table, &err);
        if (st == LMN_OK)
            st = lmn_table_count(table, "id = 8191 OR half < 0", &count, &err);
        fault_disarm();
        lmn_table_release(table);
        CHECK_EQ(live_allocations(), before);
        if (st == LMN_OK)
            CHECK_EQ(count, 1);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
    }
    lmn_store_release(store);
    lmn_store_release(memory);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_prune__reads),
        cmocka_unit_test(test_scan_prune__deletions),
        cmocka_unit_test(test_scan_prune__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
