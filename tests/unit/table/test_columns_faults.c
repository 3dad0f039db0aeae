/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of columns when others commit in between, memory ends, the store fails or power is lost.
 */
#include <string.h>

#include "column_tables.h"
#include "store/powerloss.h"
#include "stores.h"

enum { ROWS = 18, FRAGMENT_ROWS = 6, FRAGMENTS = ROWS / FRAGMENT_ROWS, MORE_ROWS = 5 };

static const struct lmn_assignment twice = { "twice", "number * 2" };

/* A store that counts data files and calls somebody before the first manifest is named. */
struct watch {
    uint64_t files;
    void (*meanwhile)(void *context);
    void *context;
};

static enum lmn__fault_action watch_step(void *context, enum lmn__store_op op, const char *path)
{
    struct watch *watch = context;
    void (*meanwhile)(void *) = watch->meanwhile;

    watch->files += op == LMN__OP_CREATE && strncmp(path, "data/", 5) == 0;
    if (meanwhile != NULL && op == LMN__OP_CREATE && strncmp(path, "_versions/", 10) == 0) {
        watch->meanwhile = NULL;
        meanwhile(watch->context);
    }
    return LMN__FAULT_NONE;
}

static struct lmn_table *open_watched(struct lmn_store *store, struct watch *watch)
{
    struct lmn_store *watched;
    struct lmn_table *table;

    CHECK_OK(lmn__store_open_fault(store, watch_step, watch, &watched, NULL));
    CHECK_OK(lmn_table_open(watched, NULL, &table, NULL));
    lmn_store_release(watched);
    return table;
}

static void delete_and_add(void *context)
{
    CHECK_OK(lmn_table_delete(context, "number % 2 = 0", NULL, NULL));
    CHECK_OK(column_add_nulls(context, "meanwhile", NULL));
}

static void append_some(void *context)
{
    column_append(context, MORE_ROWS);
}

static void swap_columns(void *context)
{
    CHECK_OK(column_widen(context, "maybe", NANOARROW_TYPE_INT64, NULL));
    CHECK_OK(lmn_table_rename_column(context, "number", "spare", NULL));
    CHECK_OK(lmn_table_rename_column(context, "maybe", "number", NULL));
}

static void check_twice(struct lmn_table *table, uint64_t rows_max)
{
    int64_t number[ROWS + MORE_ROWS], value[ROWS + MORE_ROWS];
    uint64_t rows = column_read(table, "number", number);

    CHECK(rows <= rows_max && rows > 0);
    CHECK_EQ(column_read(table, "twice", value), rows);
    for (uint64_t i = 0; i < rows; i++)
        CHECK_EQ(value[i], number[i] == NO_VALUE ? NO_VALUE : number[i] * 2);
}

/*
 * An attempt that is made again computes what it has to: nothing after deletions, the fragments
 * that were appended, everything when the name stands for another column.
 */
static void test_columns__made_again(void **state)
{
    static const struct {
        void (*meanwhile)(void *context);
        uint64_t files;
    } step[] = { { delete_and_add, FRAGMENTS },
                 { append_some, FRAGMENTS + 1 },
                 { swap_columns, 2 * FRAGMENTS } };
    struct lmn_error err = { 0 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct lmn_store *store = test_store_memory();
        struct lmn_table *other = column_table(store, ROWS, FRAGMENT_ROWS), *table;
        struct watch watch = { .meanwhile = step[i].meanwhile, .context = other };

        table = open_watched(store, &watch);
        CHECK_STATUS(lmn_table_add_columns(table, &twice, 1, &err), LMN_OK, &err);
        CHECK_EQ(watch.files, step[i].files);
        check_twice(table, ROWS + MORE_ROWS);
        CHECK_EQ(test_store_count(store, "data"),
                 i == 1 ? 2 * FRAGMENTS + 2 : (i == 2 ? 3 : 2) * FRAGMENTS);
        lmn_table_release(table);
        lmn_table_release(other);
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), 0);
    }
}

/* Rows are counted at one version: deletions of others do not shift them, rows of others conflict.
 */
static void test_columns__join_by_position_meets_others(void **state)
{
    struct lmn_error err = { 0 };

    (void)state;
    for (int appended = 0; appended <= 1; appended++) {
        struct lmn_store *store = test_store_memory();
        struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS), *other;
        struct pairs pairs = { .step = 1, .left = ROWS - 1, .batch_rows = 7, .name = "at" };
        struct ArrowArrayStream stream = pairs_stream(&pairs);
        int64_t number[ROWS], joined[ROWS];
        uint64_t rows;

        CHECK_OK(lmn_table_open(store, NULL, &other, &err));
        pairs.meanwhile = appended ? append_some : delete_and_add;
        pairs.context = other;
        CHECK_STATUS(lmn_table_join_columns(table, &stream, NULL, 0, &err),
                     appended ? LMN_E_CONFLICT : LMN_OK, &err);
        CHECK_EQ(test_store_count(store, "data"), appended ? FRAGMENTS + 1 : 2 * FRAGMENTS);
        rows = appended ? 0 : column_read(table, "number", number);
        CHECK(appended || (rows > 0 && rows < ROWS - 1));
        CHECK(appended || column_read(table, "joined", joined) == rows);
        for (uint64_t i = 0; i < rows; i++)
            CHECK_EQ(joined[i], (number[i] / 3 - (number[i] > 9)) * 10);
        lmn_table_release(other);
        lmn_table_release(table);
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), 0);
    }
}

/* The calls, each on a table of its own. */
static enum lmn_status call(struct lmn_table *table, int which, struct lmn_error *err)
{
    const char *const column[] = { "maybe", "struct.x" }, *const on[] = { "number" };
    struct pairs pairs = { .step = 3, .left = ROWS - 1, .batch_rows = 7, .name = "at" };
    struct pairs keyed = { .step = 6, .left = ROWS, .batch_rows = 7 };
    bool by_key = which == 1 || which == 8;
    struct ArrowArrayStream stream = pairs_stream(by_key ? &keyed : &pairs);
    enum lmn_status st;

    switch (which) {
    case 0:
        return lmn_table_add_columns(table, &twice, 1, err);
    case 1:
        return lmn_table_join_columns(table, &stream, on, 1, err);
    case 2:
        return lmn_table_join_columns(table, &stream, NULL, 0, err);
    case 3:
        return column_widen(table, "maybe", NANOARROW_TYPE_INT64, err);
    case 4:
        return lmn_table_drop_columns(table, column, 2, err);
    case 5:
        return lmn_table_rename_column(table, "maybe", "other", err);
    case 6:
        return lmn_table_set_read_group(table, column, 1, 64, err);
    case 7:
        return column_add_nulls(table, "empty", err);
    default: /* a stream in a file */
        test_source_bytes_max(1);
        st = lmn_table_join_columns(table, &stream, on, 1, err);
        test_source_bytes_max(0);
        return st;
    }
}

enum { CALLS = 9 };

/* The table is as it was before the call or after it, and can be read. Returns its version. */
static uint64_t check_whole(struct lmn_store *store)
{
    const struct lmn_scan_options every = { .batch_rows_max = 5 };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_table *table;
    int64_t number[ROWS];
    struct lmn_error err = { 0 };
    uint64_t version;

    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    CHECK_EQ(column_read(table, "number", number), ROWS - 1);
    CHECK_STATUS(lmn_table_scan(table, &every, &stream, &err), LMN_OK, &err);
    do {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        batch.release(&batch);
    } while (true);
    stream.release(&stream);
    if (column_exists(table, "twice"))
        check_twice(table, ROWS);
    version = lmn_table_version(table);
    lmn_table_release(table);
    return version;
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
    enum lmn_status st;
    size_t files;
    bool fired;

    if (*store == NULL) {
        *store = test_store_memory();
        lmn_table_release(column_table(*store, ROWS, FRAGMENT_ROWS));
    }
    files = test_store_count(*store, "data");
    faulty = test_store_faulty(*store);
    CHECK_OK(lmn_table_open(faulty, NULL, &table, &err));
    fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
    st = call(table, which, &err);
    fired = fault_fired();
    fault_disarm();
    lmn_table_release(table);
    lmn_store_release(faulty);
    if (st != LMN_OK) {
        CHECK(fired && (st == LMN_E_NO_MEMORY || st == LMN_E_IO));
        CHECK(err.message[0] != '\0');
    }
    if (st == LMN_E_NO_MEMORY)
        CHECK_EQ(test_store_count(*store, "data"), files);
    if (check_whole(*store) != 2) {
        lmn_store_release(*store);
        *store = NULL;
        CHECK_EQ(live_allocations(), 0);
    }
    return fired;
}

static void test_columns__faults(void **state)
{
    (void)state;
    for (int which = 0; which < CALLS; which++) {
        struct lmn_store *store = NULL;

        for (uint64_t nth = 1; call_with_fault(&store, which, nth); nth++)
            ;
        CHECK(store == NULL);
    }
}

/* From one step on the store answers nothing any more: the program is dead. */
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

/* A power loss at any step leaves the table as it was or as it becomes; what was answered stays. */
static void test_columns__power_loss(void **state)
{
    (void)state;
    for (int which = 0; which < CALLS; which++) {
        enum lmn_status st = LMN_E_IO;

        for (uint64_t steps = 0; st != LMN_OK; steps++) {
            struct lmn_store *memory = test_store_memory(), *store, *mortal;
            struct death death = { UINT64_MAX };
            struct lmn_table *table;
            struct lmn_error err = { 0 };
            uint64_t version;

            CHECK_OK(lmn__store_open_powerloss(memory, &store, &err));
            lmn_table_release(column_table(store, ROWS, FRAGMENT_ROWS));
            CHECK_OK(lmn__store_open_fault(store, death_step, &death, &mortal, &err));
            CHECK_OK(lmn_table_open(mortal, NULL, &table, &err));
            death.left = steps;
            st = call(table, which, &err);
            lmn_table_release(table);
            lmn_store_release(mortal);
            CHECK_OK(lmn__powerloss_crash(store, steps % 3 == 0 ? 0 : steps, &err));
            version = check_whole(store);
            CHECK(version == 3 || (version == 2 && st != LMN_OK));
            lmn_store_release(store);
            lmn_store_release(memory);
        }
        CHECK_EQ(live_allocations(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_columns__made_again),
        cmocka_unit_test(test_columns__join_by_position_meets_others),
        cmocka_unit_test(test_columns__faults),
        cmocka_unit_test(test_columns__power_loss),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
