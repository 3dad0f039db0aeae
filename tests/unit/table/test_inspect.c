/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of a table: the sizes of its columns and fragments, and its primary key.
 */
#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "sample_tables.h"
#include "stores.h"

enum { ROWS = 300 };

static struct sample sample;

static int setup(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 3);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

/* The columns of the sample, by name. */
static const char *column_name(int64_t index)
{
    struct ArrowSchema *schema = &sample.schema;

    CHECK(index < schema->n_children);
    return schema->children[index]->name;
}

static void test_inspect__sums_files_and_fragments(void **state)
{
    struct lmn_write_options options = { .fragment_rows_max = 100 };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = sample_table_make(store, &sample, ROWS, &options);
    struct lmn_table_report report;
    uint64_t columns = 0, files = 0, count;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_delete(table, "_rowid < 10", &count, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_inspect(table, NULL, &report, &err), LMN_OK, &err);
    CHECK_EQ(report.info.version, 2);
    CHECK_EQ(report.info.fragment_count, 3);
    CHECK_EQ(report.column_count, (uint64_t)sample.schema.n_children);
    for (uint64_t i = 0; i < report.column_count; i++) {
        columns += report.column[i].bytes;
        CHECK(i == 0 || report.column[i].bytes <= report.column[i - 1].bytes);
        CHECK(report.column[i].page_count >= 3);
        CHECK(report.column[i].page_rows_max <= 100);
    }
    for (uint64_t i = 0; i < 3; i++) {
        files += report.fragment[i].bytes;
        CHECK_EQ(report.fragment[i].id, i);
        CHECK_EQ(report.fragment[i].deleted_count, i == 0 ? 10 : 0);
        CHECK_EQ(report.fragment[i].row_count, i == 0 ? 90 : 100);
        CHECK_EQ(report.fragment[i].file_count, 1);
    }
    CHECK_EQ(files, report.info.data_bytes);
    CHECK(columns > files / 4 && columns < files);
    lmn_table_report_free(&report);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void ok(int code)
{
    CHECK_EQ(code, NANOARROW_OK);
}

/* Columns of every shape: a number, a string, a list, a list of strings, a vector, a blob. */
static void make_shapes(struct ArrowSchema *schema)
{
    static const char blob[] = "\1\0\0\0\23\0\0\0lance-encoding:blob\4\0\0\0true";
    static const char *const names[] = { "n", "s", "l", "ls", "v", "b" };
    static const enum ArrowType types[] = { NANOARROW_TYPE_INT64, NANOARROW_TYPE_STRING,
                                            NANOARROW_TYPE_LIST,  NANOARROW_TYPE_LIST,
                                            NANOARROW_TYPE_NA,    NANOARROW_TYPE_LARGE_BINARY };

    ArrowSchemaInit(schema);
    ok(ArrowSchemaSetTypeStruct(schema, 6));
    for (int i = 0; i < 6; i++) {
        if (i == 4)
            ok(ArrowSchemaSetTypeFixedSize(schema->children[i], NANOARROW_TYPE_FIXED_SIZE_LIST, 3));
        else
            ok(ArrowSchemaSetType(schema->children[i], types[i]));
        ok(ArrowSchemaSetName(schema->children[i], names[i]));
    }
    ok(ArrowSchemaSetType(schema->children[2]->children[0], NANOARROW_TYPE_INT32));
    ok(ArrowSchemaSetType(schema->children[3]->children[0], NANOARROW_TYPE_STRING));
    ok(ArrowSchemaSetType(schema->children[4]->children[0], NANOARROW_TYPE_FLOAT));
    ok(ArrowSchemaSetMetadata(schema->children[5], blob));
}

/* Row i has i bytes, or i items of one byte; every seventh is null. */
static void append_shapes(struct ArrowArray *rows, int64_t i)
{
    static const char bytes[64];
    struct ArrowArray **column = rows->children;
    struct ArrowBufferView data = { .data = { .data = bytes }, .size_bytes = i };

    ok(ArrowArrayAppendInt(column[0], i));
    ok(i % 7 == 0 ? ArrowArrayAppendNull(column[1], 1) : ArrowArrayAppendBytes(column[1], data));
    for (int64_t k = 0; k < i; k++) {
        ok(ArrowArrayAppendInt(column[2]->children[0], k));
        ok(ArrowArrayAppendString(column[3]->children[0], ArrowCharView("ab")));
    }
    ok(ArrowArrayFinishElement(column[2]));
    ok(ArrowArrayFinishElement(column[3]));
    ok(ArrowArrayAppendNull(column[4], 1));
    ok(i % 7 == 0 ? ArrowArrayAppendNull(column[5], 1) : ArrowArrayAppendBytes(column[5], data));
    ok(ArrowArrayFinishElement(rows));
}

static uint64_t largest_of(const struct lmn_fragment_report *fragment, uint64_t count,
                           const char *name)
{
    for (uint64_t i = 0; i < count; i++) {
        CHECK(i == 0 || fragment->column[i].bytes <= fragment->column[i - 1].bytes);
        if (strcmp(fragment->column[i].name, name) == 0)
            return fragment->column[i].value_bytes_max;
    }
    check_fail(__FILE__, __LINE__, "there is no column %s", name);
    return 0;
}

/* Rows 0 to 9 and 10 to 19 are a fragment each; the last one, the largest, is deleted. */
static void test_inspect__largest_values(void **state)
{
    static const struct {
        const char *name;
        uint64_t bytes[2]; /* by fragment */
    } expected[] = { { "n", { 8, 8 } },    { "s", { 9, 18 } },  { "l", { 36, 72 } },
                     { "ls", { 18, 36 } }, { "v", { 12, 12 } }, { "b", { 9, 18 } } };
    const struct lmn_inspect_options looking = { .fragment_columns = true, .largest_values = true };
    struct lmn_write_options options = { .fragment_rows_max = 10 };
    struct lmn_store *store = test_store_memory();
    struct sample shapes = { 0 };
    struct ArrowArrayStream stream;
    struct lmn_table_report report;
    struct lmn_table *table;
    struct lmn_error err;
    uint64_t count;

    (void)state;
    make_shapes(&shapes.schema);
    ok(ArrowArrayInitFromSchema(&shapes.rows, &shapes.schema, NULL));
    ok(ArrowArrayStartAppending(&shapes.rows));
    for (int64_t i = 0; i < 20; i++)
        append_shapes(&shapes.rows, i);
    ok(ArrowArrayFinishBuildingDefault(&shapes.rows, NULL));
    sample_stream(&shapes, 0, 20, 20, &stream);
    CHECK_STATUS(lmn_table_create(store, &stream, &options, &table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_delete(table, "n = 19", &count, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_inspect(table, &looking, &report, &err), LMN_OK, &err);
    CHECK_EQ(report.info.fragment_count, 2);
    for (int i = 0; i < 6; i++) {
        for (uint64_t k = 0; k < 2; k++)
            CHECK_EQ(largest_of(&report.fragment[k], report.column_count, expected[i].name),
                     expected[i].bytes[k]);
        for (uint64_t k = 0; k < report.column_count; k++)
            CHECK(strcmp(report.column[k].name, expected[i].name) != 0 ||
                  report.column[k].value_bytes_max == expected[i].bytes[1]);
    }
    lmn_table_report_free(&report);
    CHECK_STATUS(lmn_table_inspect(table, NULL, &report, &err), LMN_OK, &err);
    CHECK(report.fragment[0].column == NULL);
    CHECK_EQ(report.column[0].value_bytes_max, 0);
    lmn_table_report_free(&report);
    lmn_table_release(table);
    sample_deinit(&shapes);
    lmn_store_release(store);
}

static void test_inspect__counts_no_dropped_columns(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = sample_table_make(store, &sample, ROWS, NULL);
    const char *gone = column_name(1);
    struct lmn_table_report report;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_drop_columns(table, &gone, 1, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_rename_column(table, column_name(0), "renamed", &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_inspect(table, NULL, &report, &err), LMN_OK, &err);
    CHECK_EQ(report.column_count, (uint64_t)sample.schema.n_children - 1);
    for (uint64_t i = 0; i < report.column_count; i++) {
        CHECK(strcmp(report.column[i].name, gone) != 0);
        CHECK(strcmp(report.column[i].name, column_name(0)) != 0);
        CHECK(report.column[i].bytes > 0);
    }
    lmn_table_report_free(&report);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_primary_key__in_the_order_given(void **state)
{
    const char *const key[] = { column_name(4), column_name(0) }; /* without nulls */
    struct lmn_write_options options = { .primary_key = key, .primary_key_count = 2 };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = sample_table_make(store, &sample, 10, &options);
    struct lmn_name_list list;
    struct lmn_error err;

    (void)state;
    sample_table_append(table, &sample, 10, 10);
    CHECK_STATUS(lmn_table_primary_key(table, &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, 2);
    CHECK_STR(list.name[0], key[0]);
    CHECK_STR(list.name[1], key[1]);
    lmn_name_list_free(&list);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_primary_key__none(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = sample_table_make(store, &sample, 10, NULL);
    struct lmn_name_list list;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_primary_key(table, &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, 0);
    lmn_name_list_free(&list);
    lmn_table_release(table);
    lmn_store_release(store);
}

static enum lmn_status describe(struct lmn_store *store, struct lmn_error *err)
{
    const struct lmn_inspect_options options = { .fragment_columns = true, .largest_values = true };
    struct lmn_table_report report;
    struct lmn_name_list list;
    struct lmn_table *table;
    enum lmn_status st = lmn_table_open(store, NULL, &table, err);

    if (st != LMN_OK)
        return st;
    st = lmn_table_inspect(table, &options, &report, err);
    if (st == LMN_OK) {
        lmn_table_report_free(&report);
        st = lmn_table_primary_key(table, &list, err);
    }
    if (st == LMN_OK)
        lmn_name_list_free(&list);
    lmn_table_release(table);
    return st;
}

static void test_inspect__faults(void **state)
{
    struct lmn_store *memory = test_store_memory();
    struct lmn_store *store = test_store_faulty(memory);
    struct lmn_error err;
    int64_t before;
    enum lmn_status st;

    (void)state;
    lmn_table_release(sample_table_make(memory, &sample, 50, NULL));
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        err = (struct lmn_error){ 0 };
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = describe(store, &err);
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
    lmn_store_release(memory);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_inspect__sums_files_and_fragments),
        cmocka_unit_test(test_inspect__largest_values),
        cmocka_unit_test(test_inspect__counts_no_dropped_columns),
        cmocka_unit_test(test_primary_key__in_the_order_given),
        cmocka_unit_test(test_primary_key__none),
        cmocka_unit_test(test_inspect__faults),
    };

    return cmocka_run_group_tests(cases, setup, teardown);
}
