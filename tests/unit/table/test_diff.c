/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened to rows between two versions: by inserts, updates and deletes alone, whatever else
 * was committed.
 */
#include <stdio.h>
#include <string.h>

#include "sample_tables.h"
#include "stores.h"
#include "table/id_set.h"

enum { ROWS = 400 };

static struct sample sample;
static char change[ROWS]; /* 'i', 'u', 'd' or 0, by row id */
static int64_t number[ROWS];

static int setup(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 5);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

static const struct ArrowArray *column_of(const struct ArrowSchema *schema,
                                          const struct ArrowArray *batch, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (strcmp(schema->children[i]->name, name) == 0)
            return batch->children[i];
    }
    return NULL;
}

static void add_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch)
{
    const struct ArrowArray *what = batch->children[0], *id = batch->children[1];
    const struct ArrowArray *value = column_of(schema, batch, "number");
    const int32_t *offset = (const int32_t *)what->buffers[1] + what->offset;

    for (int64_t i = 0; i < batch->length; i++) {
        uint64_t at = ((const uint64_t *)id->buffers[1])[id->offset + i];

        CHECK(at < ROWS);
        CHECK_EQ(change[at], 0);
        CHECK_EQ(offset[i + 1] - offset[i], 6);
        change[at] = ((const char *)what->buffers[2])[offset[i]];
        if (value != NULL)
            number[at] = ((const int64_t *)value->buffers[1])[value->offset + i];
    }
}

/* Read a diff into `change` and `number`; returns the number of rows. */
static uint64_t diff(struct lmn_table *table, uint64_t from, uint64_t to)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t rows = 0;

    memset(change, 0, sizeof change);
    CHECK_STATUS(lmn_table_diff(table, from, to, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_STR(schema.children[0]->name, "_change");
    CHECK_STR(schema.children[1]->name, "_rowid");
    for (;;) {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        add_batch(&schema, &batch);
        rows += (uint64_t)batch.length;
        batch.release(&batch);
    }
    schema.release(&schema);
    stream.release(&stream);
    return rows;
}

static void update(struct lmn_table *table, const char *where, const char *expression)
{
    struct lmn_assignment assignment = { "number", expression };
    struct lmn_error err;

    CHECK_STATUS(lmn_table_update(table, where, &assignment, 1, NULL, &err), LMN_OK, &err);
}

static void delete_rows(struct lmn_table *table, const char *where)
{
    struct lmn_error err;

    CHECK_STATUS(lmn_table_delete(table, where, NULL, &err), LMN_OK, &err);
}

static void compact(struct lmn_table *table)
{
    struct lmn_compact_options options = { .deleted_share = 0.0001 };
    struct lmn_error err;

    CHECK_STATUS(lmn_table_compact(table, &options, NULL, &err), LMN_OK, &err);
}

/* Version 1: rows 0 to 99, 2: up to 199. */
static struct lmn_table *make(struct lmn_store *store)
{
    struct lmn_table *table = sample_table_make(store, &sample, 100, NULL);

    sample_table_append(table, &sample, 100, 100);
    return table;
}

static void test_diff__tells_inserts_updates_and_deletes(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);

    (void)state;
    update(table, "_rowid >= 10 and _rowid < 20", "number + 1");
    delete_rows(table, "_rowid >= 15 and _rowid < 30");
    sample_table_append(table, &sample, 200, 50);
    CHECK_EQ(lmn_table_version(table), 5);
    CHECK_EQ(diff(table, 2, 5), 5 + 15 + 50);
    for (int i = 0; i < ROWS; i++) {
        char expected = 0;

        if (i >= 10 && i < 15)
            expected = 'u';
        else if (i >= 15 && i < 30)
            expected = 'd';
        else if (i >= 200 && i < 250)
            expected = 'i';
        CHECK_EQ(change[i], expected);
        /* Updated rows are told as they are, deleted ones as they were. */
        if (expected != 0)
            CHECK_EQ(number[i], i * 3 + (expected == 'u'));
    }
    CHECK_EQ(diff(table, 1, 2), 100);
    CHECK_EQ(diff(table, 2, 3), 10);
    CHECK_EQ(diff(table, 3, 4), 15);
    CHECK_EQ(diff(table, 4, 4), 0);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_diff__does_not_see_compactions(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);

    (void)state;
    update(table, "_rowid = 7", "0 - 1");
    delete_rows(table, "_rowid = 100");
    compact(table);
    CHECK_EQ(lmn_table_version(table), 5);
    CHECK_EQ(diff(table, 4, 5), 0);
    CHECK_EQ(diff(table, 2, 5), 2);
    CHECK_EQ(change[7], 'u');
    CHECK_EQ(number[7], -1);
    CHECK_EQ(change[100], 'd');
    update(table, "_rowid = 8", "5");
    CHECK_EQ(diff(table, 4, 6), 1);
    CHECK_EQ(change[8], 'u');
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_diff__does_not_see_added_columns(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);
    struct lmn_assignment twice = { "twice", "number * 2" };
    struct lmn_error err;

    (void)state;
    update(table, "_rowid = 7", "0 - 1");                                      /* 3 */
    CHECK_STATUS(lmn_table_add_columns(table, &twice, 1, &err), LMN_OK, &err); /* 4 */
    update(table, "_rowid = 9", "0 - 2");                                      /* 5 */
    compact(table);                                                            /* 6 */
    CHECK_EQ(lmn_table_version(table), 6);
    CHECK_EQ(diff(table, 3, 4), 0);
    CHECK_EQ(diff(table, 2, 4), 1);
    CHECK_EQ(change[7], 'u');
    CHECK_EQ(diff(table, 2, 6), 2);
    CHECK_EQ(change[7], 'u');
    CHECK_EQ(change[9], 'u');
    CHECK_EQ(diff(table, 1, 6), 102);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void add_column(struct lmn_table *table, const char *name, const char *expression)
{
    struct lmn_assignment column = { name, expression };
    struct lmn_error err;

    CHECK_STATUS(lmn_table_add_columns(table, &column, 1, &err), LMN_OK, &err);
}

/* A restored version goes on from the one whose content it has. */
static void test_diff__sees_through_restores(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);
    struct lmn_error err;

    (void)state;
    add_column(table, "twice", "number * 2");                      /* 3 */
    CHECK_STATUS(lmn_table_restore(table, 2, &err), LMN_OK, &err); /* 4 */
    update(table, "_rowid = 7", "0 - 1");                          /* 5 */
    CHECK_EQ(diff(table, 3, 4), 0);
    CHECK_EQ(diff(table, 2, 5), 1);
    CHECK_EQ(change[7], 'u');
    CHECK_EQ(diff(table, 3, 5), 1);
    CHECK_STATUS(lmn_table_restore(table, 3, &err), LMN_OK, &err); /* 6 */
    update(table, "_rowid = 8", "0 - 2");                          /* 7 */
    CHECK_EQ(diff(table, 5, 7), 2);
    CHECK_EQ(change[7], 'u');
    CHECK_EQ(number[7], 7 * 3);
    CHECK_EQ(change[8], 'u');
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_diff__tells_columns_of_one_field_id_apart(void **state)
{
    static const char *const twice[] = { "twice" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);
    struct lmn_error err;

    (void)state;
    add_column(table, "twice", "number * 2");                                  /* 3 */
    CHECK_STATUS(lmn_table_drop_columns(table, twice, 1, &err), LMN_OK, &err); /* 4 */
    add_column(table, "label", "'a label'");                                   /* 5 */
    CHECK_EQ(diff(table, 3, 5), 0);
    delete_rows(table, "_rowid = 7"); /* 6 */
    CHECK_EQ(diff(table, 3, 6), 1);
    CHECK_EQ(change[7], 'd');
    CHECK_EQ(number[7], 7 * 3);
    lmn_table_release(table);
    lmn_store_release(store);
}

/* Without the versions between, stamps decide: too many rows, but none too few. */
static void test_diff__leaves_no_update_out_when_versions_are_gone(void **state)
{
    struct lmn_cleanup_options options = { .older_than_us = INT64_MAX };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);
    struct lmn_assignment twice = { "twice", "number * 2" };
    struct lmn_error err;

    (void)state;
    update(table, "_rowid = 7", "0 - 1");
    CHECK_STATUS(lmn_table_add_columns(table, &twice, 1, &err), LMN_OK, &err);
    sample_table_append(table, &sample, 200, 1);
    CHECK_STATUS(lmn_table_tag(table, "two", 2, false, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_cleanup(table, &options, NULL, &err), LMN_OK, &err);
    CHECK_EQ(diff(table, 2, 5), 201);
    CHECK_EQ(change[7], 'u');
    CHECK_EQ(change[200], 'i');
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_diff__refuses_what_it_cannot_compare(void **state)
{
    struct lmn_write_options unstable = { .unstable_row_ids = true };
    struct lmn_store *store = test_store_memory(), *other = test_store_memory();
    struct lmn_table *table = make(store);
    struct lmn_table *addressed = sample_table_make(other, &sample, 10, &unstable);
    struct ArrowArrayStream stream;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_diff(table, 2, 1, &stream, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "version 2 is not before version 1");
    CHECK_STATUS(lmn_table_diff(table, 1, 9, &stream, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_table_diff(addressed, 1, 1, &stream, &err), LMN_E_UNSUPPORTED, &err);
    CHECK(stream.release == NULL);
    lmn_table_release(addressed);
    lmn_table_release(table);
    lmn_store_release(other);
    lmn_store_release(store);
}

static void test_diff__faults(void **state)
{
    struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
    struct lmn_table *table = make(inner);
    int64_t before;

    (void)state;
    update(table, "_rowid >= 10 and _rowid < 20", "number + 1");
    delete_rows(table, "_rowid >= 15 and _rowid < 30");
    add_column(table, "twice", "number * 2");
    lmn_table_release(table);
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        struct ArrowArrayStream stream;
        struct ArrowArray batch;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        table = sample_table_open(store);
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_diff(table, 2, 5, &stream, &err);
        while (st == LMN_OK && (st = lmn_table_scan_next(&stream, &batch, &err)) == LMN_OK &&
               batch.release != NULL)
            batch.release(&batch);
        if (stream.release != NULL)
            stream.release(&stream);
        lmn_table_release(table);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_OK(st);
            break;
        }
        if (st != LMN_OK) {
            CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
            CHECK(err.message[0] != '\0');
        }
    }
    fault_disarm();
    lmn_store_release(store);
    lmn_store_release(inner);
}

static void test_id_set__finds_runs(void **state)
{
    struct lmn__id_set set;
    struct lmn_error err;
    bool inside;

    (void)state;
    lmn__id_set_init(&set, test_env());
    CHECK_EQ(lmn__id_set_run(&set, 3, 7, &inside), 7);
    CHECK(!inside);
    CHECK_OK(lmn__id_set_add(&set, 20, 10, &err));
    CHECK_OK(lmn__id_set_add(&set, 5, 5, &err));
    CHECK_OK(lmn__id_set_add(&set, 10, 2, &err));
    CHECK_OK(lmn__id_set_add(&set, 25, 20, &err));
    lmn__id_set_sort(&set);
    CHECK_EQ(set.count, 2);
    CHECK_EQ(lmn__id_set_size(&set), 7 + 25);
    CHECK_EQ(lmn__id_set_run(&set, 0, 100, &inside), 5);
    CHECK(!inside);
    CHECK_EQ(lmn__id_set_run(&set, 5, 100, &inside), 7);
    CHECK(inside);
    CHECK_EQ(lmn__id_set_run(&set, 11, 100, &inside), 1);
    CHECK(inside);
    CHECK_EQ(lmn__id_set_run(&set, 12, 3, &inside), 3);
    CHECK(!inside);
    CHECK_EQ(lmn__id_set_run(&set, 44, 9, &inside), 1);
    CHECK(inside);
    CHECK_EQ(lmn__id_set_run(&set, 45, 9, &inside), 9);
    CHECK(!inside);
    lmn__id_set_deinit(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff__tells_inserts_updates_and_deletes),
        cmocka_unit_test(test_diff__does_not_see_compactions),
        cmocka_unit_test(test_diff__does_not_see_added_columns),
        cmocka_unit_test(test_diff__sees_through_restores),
        cmocka_unit_test(test_diff__tells_columns_of_one_field_id_apart),
        cmocka_unit_test(test_diff__leaves_no_update_out_when_versions_are_gone),
        cmocka_unit_test(test_diff__refuses_what_it_cannot_compare),
        cmocka_unit_test(test_diff__faults),
        cmocka_unit_test(test_id_set__finds_runs),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
