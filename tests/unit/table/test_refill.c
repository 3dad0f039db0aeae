/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns computed again: begun, compared, swapped, discarded, and what a crash leaves of that.
 */
#include <string.h>

#include "column_tables.h"
#include "fill_tables.h"
#include "store/powerloss.h"
#include "stores.h"

enum { ROWS = 18, FRAGMENT_ROWS = 6, LIVE = ROWS - 1, SAMPLES = 8 };

static const char *const number[] = { "number" };
static const char *const filled[] = { "filled" };
static const char *const refill = "_leman_next_filled";

/* A table with a filled column, whose function is another one now. */
static struct lmn_table *changed_table(struct lmn_store *store)
{
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);

    fill_add(table, number, 1);
    fill_cells(table, "filled", fill_ok, lmn_table_version(table));
    CHECK_OK(lmn_table_set_function(
        table, "filled", "{\"name\":\"g\",\"version\":\"2\",\"inputs\":[\"number\"]}", NULL));
    return table;
}

static void tables_end(struct lmn_table *table, struct lmn_store *store)
{
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static bool has_refill(struct lmn_table *table, const char *column, const char *name)
{
    struct lmn_error err = { 0 };
    bool found;
    char *text;

    CHECK_STATUS(lmn_table_refill_name(table, column, &text, &err), LMN_OK, &err);
    found = text != NULL && strcmp(text, name) == 0;
    lmn_text_free(text);
    return found;
}

/* The table shows "filled" as its last column, and has these hidden ones. */
static void check_columns(struct lmn_table *table, const char *const *name, int64_t count)
{
    struct ArrowSchema schema;

    CHECK_OK(lmn_table_schema(table, &schema, NULL));
    CHECK_STR(schema.children[schema.n_children - 1]->name, "filled");
    schema.release(&schema);
    for (int64_t i = 0; i < count; i++)
        CHECK(column_exists(table, name[i]));
}

/* One cell of a fragment failed; the last fragment is not computed. */
static uint8_t some_failed(uint64_t fragment_id, uint64_t row)
{
    return fragment_id == 2 ? 0 : row == 1 ? 2 : 1;
}

static void test_refill__begin(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = changed_table(store);
    const char *const added[] = { "_leman_filled", "_leman_next_filled",
                                  "_leman__leman_next_filled" };
    struct lmn_error err = { 0 };
    uint64_t version;

    (void)state;
    CHECK(!has_refill(table, "filled", refill));
    CHECK_STATUS(lmn_table_refill_begin(table, filled, 1, &err), LMN_OK, &err);
    CHECK(has_refill(table, "filled", refill));
    check_columns(table, added, 3);
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    CHECK_CELLS(table, refill, LIVE, 0, 0, 0);
    version = lmn_table_version(table);
    CHECK_STATUS(lmn_table_refill_begin(table, filled, 1, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), version); /* it is there */
    fill_cells(table, refill, fill_ok, version);
    CHECK_CELLS(table, refill, 0, LIVE, 0, 0);
    CHECK_OK(lmn_table_set_function(
        table, "filled", "{\"name\":\"h\",\"version\":\"3\",\"inputs\":[\"number\"]}", NULL));
    CHECK_STATUS(lmn_table_refill_begin(table, filled, 1, &err), LMN_OK, &err);
    CHECK(has_refill(table, "filled", refill));
    CHECK_CELLS(table, refill, LIVE, 0, 0, 0); /* begun anew for another function */
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    CHECK_STATUS(lmn_table_drop_columns(table, filled, 1, &err), LMN_OK, &err);
    CHECK(!column_exists(table, refill) && !column_exists(table, "_leman__leman_next_filled"));
    tables_end(table, store);
}

/* A column whose ledger is named as a refill would be, and one as its ledger would be. */
static void test_refill__names_that_are_taken(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = changed_table(store);
    struct lmn_error err = { 0 };

    (void)state;
    fill_add_named(table, "next_filled", number, 1);
    CHECK_CELLS(table, "next_filled", LIVE, 0, 0, 0);
    fill_cells(table, "next_filled", fill_ok, lmn_table_version(table));
    CHECK_STATUS(lmn_table_refill_begin(table, filled, 1, &err), LMN_OK, &err);
    CHECK(has_refill(table, "filled", "_leman_next_filled_2"));
    CHECK(!has_refill(table, "next_filled", "_leman_next_filled_2"));
    fill_cells(table, "_leman_next_filled_2", fill_ok, lmn_table_version(table));
    CHECK_STATUS(lmn_table_refill_swap(table, filled, 1, &err), LMN_OK, &err);
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    CHECK_CELLS(table, "next_filled", 0, LIVE, 0, 0);
    tables_end(table, store);
}

static void test_refill__compare(void **state)
{
    const struct lmn_assignment other = { refill, "7" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = changed_table(store);
    struct lmn_refill_comparison counts;
    struct lmn_error err = { 0 };
    uint64_t id[SAMPLES];
    uint32_t count;

    (void)state;
    CHECK_OK(lmn_table_refill_begin(table, filled, 1, &err));
    fill_cells(table, refill, some_failed, lmn_table_version(table));
    CHECK_OK(lmn_table_update(table, "number = 12 or number = 27", &other, 1, NULL, &err));
    CHECK_STATUS(lmn_table_refill_compare(table, "filled", id, SAMPLES, &count, &counts, &err),
                 LMN_OK, &err);
    CHECK_EQ(counts.pending, FRAGMENT_ROWS);
    CHECK_EQ(counts.failed, 2);
    CHECK_EQ(counts.newly_null, 2);
    CHECK_EQ(counts.changed, 2);
    CHECK_EQ(counts.equal, LIVE - FRAGMENT_ROWS - 4);
    CHECK_EQ(count, 4);
    CHECK_EQ(id[0], 4);
    CHECK_EQ(id[1], 9);
    CHECK_EQ(id[2], 1);
    CHECK_EQ(id[3], 7);
    CHECK_OK(lmn_table_refill_compare(table, "filled", id, 3, &count, &counts, &err));
    CHECK_EQ(count, 3);
    CHECK(id[0] == 4 && id[1] == 9 && id[2] == 1);
    CHECK_OK(lmn_table_refill_compare(table, "filled", NULL, 0, &count, &counts, &err));
    CHECK_EQ(count, 0);
    tables_end(table, store);
}

static void test_refill__swap(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = changed_table(store);
    int64_t before[ROWS], after[ROWS];
    int id = fill_field_id(table, "filled"), id_of_refill;
    struct lmn_error err = { 0 };
    char *function;

    (void)state;
    fill_add_named(table, "reader", filled, 1);
    fill_cells(table, "reader", fill_ok, lmn_table_version(table));
    CHECK_CELLS(table, "reader", 0, LIVE, 0, 0);
    CHECK_OK(lmn_table_refill_begin(table, filled, 1, &err));
    id_of_refill = fill_field_id(table, refill);
    CHECK_STATUS(lmn_table_refill_swap(table, filled, 1, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "17 rows that have a value");
    fill_cells(table, refill, some_failed, lmn_table_version(table));
    CHECK_STATUS(lmn_table_refill_swap(table, filled, 1, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "6 rows that have a value");
    fill_cells(table, refill, fill_failed, lmn_table_version(table));
    CHECK_EQ(column_read(table, "filled", before), LIVE);
    CHECK_EQ(before[4], 5);
    CHECK_STATUS(lmn_table_refill_swap(table, filled, 1, &err), LMN_OK, &err);
    CHECK_EQ(column_read(table, "filled", after), LIVE);
    CHECK_EQ(after[4], NO_VALUE);
    CHECK_EQ(fill_field_id(table, "filled"), id_of_refill);
    CHECK(id_of_refill != id);
    CHECK_CELLS(table, "filled", 0, 0, LIVE, 0);
    CHECK_CELLS(table, "reader", 0, 0, 0, LIVE);
    CHECK(!column_exists(table, refill) && !column_exists(table, "_leman__leman_next_filled"));
    CHECK_OK(lmn_table_function(table, "filled", &function, &err));
    CHECK_HAS(function, "\"version\":\"2\"");
    lmn_text_free(function);
    tables_end(table, store);
}

static void test_refill__discard(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = changed_table(store);
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_OK(lmn_table_refill_begin(table, filled, 1, &err));
    fill_cells(table, refill, fill_ok, lmn_table_version(table));
    CHECK_STATUS(lmn_table_refill_discard(table, filled, 1, &err), LMN_OK, &err);
    CHECK(!column_exists(table, refill) && !column_exists(table, "_leman__leman_next_filled"));
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    CHECK_STATUS(lmn_table_refill_discard(table, filled, 1, &err), LMN_E_NOT_FOUND, &err);
    tables_end(table, store);
}

static void test_refill__refused(void **state)
{
    static const char *const twice[] = { "filled", "filled" };
    static const char *const missing[] = { "nothing" }, *const part[] = { "struct.x" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = changed_table(store);
    struct lmn_refill_comparison counts;
    struct lmn_error err = { 0 };
    uint64_t version = lmn_table_version(table), id[1];
    uint32_t count;
    char *text;

    (void)state;
    CHECK_STATUS(lmn_table_refill_begin(table, number, 1, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "no function fills the column \"number\"");
    CHECK_STATUS(lmn_table_refill_begin(table, missing, 1, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_table_refill_begin(table, part, 1, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_table_refill_begin(table, twice, 2, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "named twice");
    CHECK_STATUS(lmn_table_refill_begin(table, filled, 0, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_table_refill_swap(table, filled, 1, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "\"filled\" has not been computed again");
    CHECK_STATUS(lmn_table_refill_compare(table, "filled", id, 1, &count, &counts, &err),
                 LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_table_refill_name(table, "nothing", &text, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_table_refill_indices(table, "nothing", &text, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_table_refill_indices(table, "filled", &text, &err), LMN_OK, &err);
    CHECK_STR(text, "[]");
    lmn_text_free(text);
    CHECK_EQ(lmn_table_version(table), version);
    tables_end(table, store);
}

/* begin, swap, discard, in this order. */
static enum lmn_status call(struct lmn_table *table, int which, struct lmn_error *err)
{
    struct lmn_refill_comparison counts;
    uint64_t id[SAMPLES];
    uint32_t count;
    char *text;
    enum lmn_status st;

    switch (which) {
    case 0:
        return lmn_table_refill_begin(table, filled, 1, err);
    case 1:
        return lmn_table_refill_swap(table, filled, 1, err);
    case 2:
        return lmn_table_refill_discard(table, filled, 1, err);
    case 3:
        return lmn_table_refill_compare(table, "filled", id, SAMPLES, &count, &counts, err);
    default:
        st = lmn_table_refill_indices(table, "filled", &text, err);
        lmn_text_free(text);
        return st;
    }
}

enum { CALLS = 5, WRITES = 3 };

/* What each call starts from. */
static void prepare(struct lmn_store *store, int which)
{
    struct lmn_table *table = changed_table(store);

    if (which > 0) {
        CHECK_OK(lmn_table_refill_begin(table, filled, 1, NULL));
        fill_cells(table, refill, fill_failed, lmn_table_version(table));
    }
    lmn_table_release(table);
}

/* The column holds what it held or what was computed again, whole. Returns whether it is swapped.
 */
static bool check_whole(struct lmn_store *store)
{
    struct lmn_table *table;
    struct lmn_cell_counts counts;
    int64_t value[ROWS];
    bool swapped;

    CHECK_OK(lmn_table_open(store, NULL, &table, NULL));
    CHECK_EQ(column_read(table, "filled", value), LIVE);
    CHECK_OK(lmn_table_cells(table, "filled", &counts, NULL));
    swapped = counts.failed == LIVE;
    CHECK(swapped || counts.ok == LIVE);
    for (int i = 0; i < LIVE; i++)
        CHECK((value[i] == NO_VALUE) == swapped);
    lmn_table_release(table);
    return swapped;
}

/*
 * One call with the nth fault, on a table that is made anew if there is none or it has changed.
 * False when there was no fault.
 */
static bool call_with_fault(struct lmn_store **store, int which, uint64_t nth)
{
    struct lmn_store *faulty;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    uint64_t version;
    enum lmn_status st;
    bool fired;

    if (*store == NULL) {
        *store = test_store_memory();
        prepare(*store, which);
    }
    faulty = test_store_faulty(*store);
    CHECK_OK(lmn_table_open(faulty, NULL, &table, &err));
    version = lmn_table_version(table);
    fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
    st = call(table, which, &err);
    fired = fault_fired();
    fault_disarm();
    CHECK(st == LMN_OK || (fired && (st == LMN_E_NO_MEMORY || st == LMN_E_IO)));
    CHECK(st == LMN_OK || err.message[0] != '\0');
    lmn_table_release(table);
    CHECK_OK(lmn_table_open(faulty, NULL, &table, &err));
    if (lmn_table_version(table) != version || !fired) {
        CHECK_EQ(check_whole(*store), which == 1);
        lmn_store_release(*store);
        *store = NULL;
    }
    lmn_table_release(table);
    lmn_store_release(faulty);
    return fired;
}

static void test_refill__faults(void **state)
{
    (void)state;
    for (int which = 0; which < CALLS; which++) {
        struct lmn_store *store = NULL;

        for (uint64_t nth = 1; call_with_fault(&store, which, nth); nth++)
            ;
        CHECK_EQ(live_allocations(), 0);
    }
}

struct death {
    uint64_t left;
};

static enum lmn__fault_action death_step(void *context, enum lmn__store_op op, const char *path)
{
    struct death *death = context;

    (void)op;
    (void)path;
    if (death->left == 0)
        return LMN__FAULT_FAIL;
    death->left--;
    return LMN__FAULT_NONE;
}

/* A power loss at any step leaves the column old or new, and the same call goes through after it.
 */
static void test_refill__power_loss(void **state)
{
    (void)state;
    for (int which = 0; which < WRITES; which++) {
        enum lmn_status st = LMN_E_IO;

        for (uint64_t steps = 0; st != LMN_OK; steps++) {
            struct lmn_store *memory = test_store_memory(), *store, *mortal;
            struct death death = { UINT64_MAX };
            struct lmn_table *table;
            struct lmn_error err = { 0 };
            enum lmn_status again;

            CHECK_OK(lmn__store_open_powerloss(memory, &store, &err));
            prepare(store, which);
            CHECK_OK(lmn__store_open_fault(store, death_step, &death, &mortal, &err));
            CHECK_OK(lmn_table_open(mortal, NULL, &table, &err));
            death.left = steps;
            st = call(table, which, &err);
            lmn_table_release(table);
            lmn_store_release(mortal);
            CHECK_OK(lmn__powerloss_crash(store, steps % 3 == 0 ? 0 : steps, &err));
            CHECK(check_whole(store) ? which == 1 : (which != 1 || st != LMN_OK));
            CHECK_OK(lmn_table_open(store, NULL, &table, &err));
            again = call(table, which, &err);
            CHECK(again == LMN_OK || again == LMN_E_NOT_FOUND);
            CHECK_EQ(check_whole(store), which == 1);
            lmn_table_release(table);
            lmn_store_release(store);
            lmn_store_release(memory);
        }
        CHECK_EQ(live_allocations(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refill__begin),   cmocka_unit_test(test_refill__names_that_are_taken),
        cmocka_unit_test(test_refill__compare), cmocka_unit_test(test_refill__swap),
        cmocka_unit_test(test_refill__discard), cmocka_unit_test(test_refill__refused),
        cmocka_unit_test(test_refill__faults),  cmocka_unit_test(test_refill__power_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
