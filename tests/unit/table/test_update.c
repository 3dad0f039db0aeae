/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates: rows that match get other values and keep their ids, all others stay; what is refused;
 * and that an update that fails leaves the table and its files as they were.
 */
#include "keyed_rows.h"
#include "stores.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct keyed_row base[] = {
    { 1, 10, "a" }, { 2, 20, "b" }, { 3, KEYED_NULL, "c" },  { 4, 40, NULL },
    { 5, 50, "e" }, { 6, 60, "f" }, { KEYED_NULL, 70, "g" },
};

static struct lmn_table *base_table(struct lmn_store *store, bool unstable)
{
    const struct lmn_write_options options = { .fragment_rows_max = 3,
                                               .unstable_row_ids = unstable };

    return keyed_table(store, base, COUNT(base), &options);
}

struct update_case {
    const char *where;
    struct lmn_assignment assignment[2];
    uint32_t assignment_count;
    uint64_t count;
    struct keyed_row row[COUNT(base)];
};

static const struct update_case cases[] = {
    { "id > 4",
      { { "value", "value + id" } },
      1,
      2,
      { { 1, 10, "a" },
        { 2, 20, "b" },
        { 3, KEYED_NULL, "c" },
        { 4, 40, NULL },
        { 5, 55, "e" },
        { 6, 66, "f" },
        { KEYED_NULL, 70, "g" } } },
    /* Every expression sees the row as it was; nulls stay null. */
    { NULL,
      { { "value", "id" }, { "id", "value" } },
      2,
      7,
      { { 10, 1, "a" },
        { 20, 2, "b" },
        { KEYED_NULL, 3, "c" },
        { 40, 4, NULL },
        { 50, 5, "e" },
        { 60, 6, "f" },
        { 70, KEYED_NULL, "g" } } },
    { "name is null or value is null",
      { { "name", "'none'" }, { "value", "0" } },
      2,
      2,
      { { 1, 10, "a" },
        { 2, 20, "b" },
        { 3, 0, "none" },
        { 4, 0, "none" },
        { 5, 50, "e" },
        { 6, 60, "f" },
        { KEYED_NULL, 70, "g" } } },
    { "id = 2",
      { { "name", "null" } },
      1,
      1,
      { { 1, 10, "a" },
        { 2, 20, NULL },
        { 3, KEYED_NULL, "c" },
        { 4, 40, NULL },
        { 5, 50, "e" },
        { 6, 60, "f" },
        { KEYED_NULL, 70, "g" } } },
};

static void test_update__sets_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const struct update_case *one = &cases[i / 2];
        struct lmn_store *store = test_store_memory();
        struct lmn_table *table = base_table(store, i % 2 != 0), *again;
        struct lmn_error err = { 0 };
        uint64_t count;

        CHECK_STATUS(lmn_table_update(table, one->where, one->assignment, one->assignment_count,
                                      &count, &err),
                     LMN_OK, &err);
        CHECK_EQ(count, one->count);
        CHECK_EQ(lmn_table_version(table), 2);
        CHECK_OK(lmn_table_open(store, NULL, &again, &err));
        keyed_check(again, one->row, COUNT(one->row));
        lmn_table_release(again);
        lmn_table_release(table);
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), 0);
    }
}

/* Nothing matches: nothing is committed. */
static void test_update__no_rows(void **state)
{
    const struct lmn_assignment zero = { "value", "0" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = base_table(store, false);
    struct lmn_error err = { 0 };
    uint64_t count = 1;
    size_t files = test_store_count(store, "data");

    (void)state;
    CHECK_STATUS(lmn_table_update(table, "id = 100", &zero, 1, &count, &err), LMN_OK, &err);
    CHECK_EQ(count, 0);
    CHECK_EQ(lmn_table_version(table), 1);
    CHECK_EQ(test_store_count(store, "data"), files);
    lmn_table_release(table);
    lmn_store_release(store);
}

/* Rows that moved are found by the ids that they had. */
static void test_update__keeps_row_ids(void **state)
{
    const struct lmn_assignment hundred = { "value", "100" };
    static const char *const columns[] = { "id", "value" };
    const struct lmn_scan_options options = { .column = columns, .column_count = 2 };
    const uint64_t ids[] = { 4, 0, 1 };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = base_table(store, false);
    struct ArrowSchema schema;
    struct ArrowArray rows;
    struct lmn_error err = { 0 };
    const int64_t *id, *value;

    (void)state;
    CHECK_STATUS(lmn_table_update(table, "id = 5 or id = 2", &hundred, 1, NULL, &err), LMN_OK,
                 &err);
    CHECK_STATUS(lmn_table_take_ids(table, ids, 3, &options, &schema, &rows, &err), LMN_OK, &err);
    id = (const int64_t *)rows.children[0]->buffers[1] + rows.children[0]->offset;
    value = (const int64_t *)rows.children[1]->buffers[1] + rows.children[1]->offset;
    CHECK(id[0] == 5 && value[0] == 100);
    CHECK(id[1] == 1 && value[1] == 10);
    CHECK(id[2] == 2 && value[2] == 100);
    rows.release(&rows);
    schema.release(&schema);
    lmn_table_release(table);
    lmn_store_release(store);
}

static const struct {
    const char *where;
    struct lmn_assignment assignment[2];
    uint32_t count;
    enum lmn_status status;
    const char *part; /* of the message */
} refusals[] = {
    { NULL, { { "value", "0" } }, 0, LMN_E_INVALID, "sets nothing" },
    { NULL, { { NULL, "0" } }, 1, LMN_E_INVALID, "without a name" },
    { NULL, { { "value", NULL } }, 1, LMN_E_INVALID, "there is no expression" },
    { NULL, { { "other", "0" } }, 1, LMN_E_NOT_FOUND, "other" },
    { NULL, { { "_rowid", "0" } }, 1, LMN_E_NOT_FOUND, "_rowid" },
    { NULL, { { "value", "0" }, { "value", "1" } }, 2, LMN_E_INVALID, "set twice" },
    { NULL, { { "value", "'text'" } }, 1, LMN_E_INVALID, "value" },
    { NULL, { { "value", "0 +" } }, 1, LMN_E_INVALID, "value" },
    { NULL, { { "value", "other" } }, 1, LMN_E_NOT_FOUND, "other" },
    { "id >", { { "value", "0" } }, 1, LMN_E_INVALID, "" },
    { "other = 1", { { "value", "0" } }, 1, LMN_E_NOT_FOUND, "other" },
    { "id", { { "value", "0" } }, 1, LMN_E_INVALID, "" },
};

/* The files of a table that a failed update must not leave behind. */
static size_t count_files(struct lmn_store *store)
{
    return test_store_count(store, "data") + test_store_count(store, "_deletions") +
           test_store_count(store, "_transactions") + test_store_count(store, "_versions");
}

static void test_update__refused(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = base_table(store, false);
    size_t files = count_files(store);

    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct lmn_error err = { 0 };
        uint64_t count = 1;

        CHECK_STATUS(lmn_table_update(table, refusals[i].where, refusals[i].assignment,
                                      refusals[i].count, &count, &err),
                     refusals[i].status, &err);
        CHECK_HAS(err.message, refusals[i].part);
        CHECK_EQ(count, 0);
        CHECK_EQ(count_files(store), files);
    }
    CHECK_EQ(lmn_table_delete(table, NULL, NULL, NULL), LMN_E_INVALID);
    keyed_check(table, base, COUNT(base));
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/*
 * One update with the nth fault, on a table that is made anew if there is none or it has changed.
 * False when there was no fault.
 */
static bool update_with_fault(struct lmn_store **store, uint64_t nth)
{
    const struct lmn_assignment *assignment = cases[0].assignment;
    struct lmn_store *broken;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    enum lmn_status st;
    uint64_t version;
    size_t files;
    bool fired;

    if (*store == NULL) {
        *store = test_store_memory();
        lmn_table_release(base_table(*store, false));
    }
    files = count_files(*store);
    broken = test_store_faulty(*store);
    CHECK_OK(lmn_table_open(broken, NULL, &table, &err));
    fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
    st = lmn_table_update(table, cases[0].where, assignment, 1, NULL, &err);
    fired = fault_fired();
    fault_disarm();
    lmn_table_release(table);
    lmn_store_release(broken);
    CHECK(st == LMN_OK || (fired && (st == LMN_E_NO_MEMORY || st == LMN_E_IO)));
    CHECK(st == LMN_OK || err.message[0] != '\0');
    CHECK_OK(lmn_table_open(*store, NULL, &table, &err));
    version = lmn_table_version(table);
    CHECK(version == 2 || st != LMN_OK);
    if (version == 1 && st == LMN_E_NO_MEMORY)
        CHECK_EQ(count_files(*store), files);
    else
        keyed_check(table, version == 1 ? base : cases[0].row, COUNT(base));
    lmn_table_release(table);
    if (count_files(*store) != files) {
        lmn_store_release(*store);
        *store = NULL;
        CHECK_EQ(live_allocations(), 0);
    }
    return fired;
}

static void test_update__faults(void **state)
{
    struct lmn_store *store = NULL;

    (void)state;
    for (uint64_t nth = 1; update_with_fault(&store, nth); nth++)
        ;
    CHECK(store == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_update__sets_values),   cmocka_unit_test(test_update__no_rows),
        cmocka_unit_test(test_update__keeps_row_ids), cmocka_unit_test(test_update__refused),
        cmocka_unit_test(test_update__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
