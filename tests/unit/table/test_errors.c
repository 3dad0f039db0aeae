/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of failed cells: which are shown, the newest of several, and what is lost or broken.
 */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <string.h>

#include "column_tables.h"
#include "fill_tables.h"
#include "stores.h"
#include "table/error_record.h"

enum { ROWS = 12, FRAGMENT_ROWS = 6, COLUMNS = 10 };
enum { ROW_ID, TYPE, MESSAGE, TRACEBACK, INPUTS, ATTEMPTS, JOB, TIME, FUNCTION, REPEAT };

static const char *const input[] = { "number" };

/* Rows 0 and 7 fail; row 3 is deleted. */
static uint8_t two_failed(uint64_t fragment_id, uint64_t row)
{
    return fragment_id == row && row <= 1 ? 2 : 1;
}

/* A table whose failed rows have the ids 0 and 7, and the directory of its records. */
static struct lmn_table *failed_table(struct lmn_store *store, char dir[64])
{
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);

    fill_add(table, input, 1);
    fill_cells(table, "filled", two_failed, 0);
    snprintf(dir, 64, "_leman/errors/%d", fill_field_id(table, "filled"));
    return table;
}

static void put(struct lmn_store *store, const char *dir, const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_store_write(store, path, text, strlen(text));
}

/* The text of a cell of the errors; "-" for null. Returns the number of rows. */
static int64_t show(struct lmn_table *table, int64_t row, int column, char text[256])
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct ArrowArrayView view;
    struct lmn_error err = { 0 };
    int64_t rows;

    CHECK_STATUS(lmn_table_errors(table, "filled", &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_EQ(schema.n_children, COLUMNS);
    CHECK_EQ(stream.get_next(&stream, &array), 0);
    CHECK_EQ(ArrowArrayViewInitFromSchema(&view, schema.children[column], NULL), 0);
    rows = array.release != NULL ? array.length : 0;
    snprintf(text, 256, "-");
    if (row < rows) {
        CHECK_EQ(ArrowArrayViewSetArray(&view, array.children[column], NULL), 0);
        if (ArrowArrayViewIsNull(&view, row)) {
            snprintf(text, 256, "-");
        } else if (column == ROW_ID || column == ATTEMPTS) {
            snprintf(text, 256, "%lld", (long long)ArrowArrayViewGetIntUnsafe(&view, row));
        } else {
            struct ArrowStringView value = ArrowArrayViewGetStringUnsafe(&view, row);

            snprintf(text, 256, "%.*s", (int)value.size_bytes, value.data);
        }
    }
    ArrowArrayViewReset(&view);
    if (array.release != NULL)
        array.release(&array);
    schema.release(&schema);
    stream.release(&stream);
    return rows;
}

#define CHECK_SHOWN(table, row, column, expected)                                                  \
    do {                                                                                           \
        char shown[256];                                                                           \
        show((table), (row), (column), shown);                                                     \
        CHECK_STR(shown, (expected));                                                              \
    } while (0)

static void test_errors__newest_of_failed(void **state)
{
    struct lmn_store *store = test_store_memory();
    char dir[64], text[256];
    struct lmn_table *table = failed_table(store, dir);

    (void)state;
    put(store, dir, "b.jsonl",
        "{\"row_id\":7,\"type\":\"OSError\",\"message\":\"new\\n\\u00e4\\ud83d\\ude00\","
        "\"attempts\":3,"
        "\"inputs\":{\"number\": 21},\"job\":\"j2\",\"time\":\"2026-01-02T00:00:00Z\",\"function\":"
        "\"2a\",\"repeat\":\"f.test()\"}\n{\"row_id\":5,\"type\":\"X\",\"time\":\"2027\"}\n");
    put(store, dir, "a.jsonl",
        "{\"row_id\":7,\"type\":\"ValueError\",\"message\":\"old\",\"time\":\"2026-01-01T00:00:"
        "00Z\"}\n"
        "not a record\n{\"type\":\"no row\"}\n\n");
    put(store, dir, "c.jsonl.tmp", "{\"row_id\":0,\"type\":\"X\"}\n");
    CHECK_EQ(show(table, 0, ROW_ID, text), 2);
    CHECK_STR(text, "0");
    CHECK_SHOWN(table, 0, TYPE, "-");
    CHECK_SHOWN(table, 0, ATTEMPTS, "-");
    CHECK_SHOWN(table, 1, ROW_ID, "7");
    CHECK_SHOWN(table, 1, TYPE, "OSError");
    CHECK_SHOWN(table, 1, MESSAGE, "new\n\xc3\xa4\xf0\x9f\x98\x80");
    CHECK_SHOWN(table, 1, TRACEBACK, "-");
    CHECK_SHOWN(table, 1, INPUTS, "{\"number\": 21}");
    CHECK_SHOWN(table, 1, ATTEMPTS, "3");
    CHECK_SHOWN(table, 1, JOB, "j2");
    CHECK_SHOWN(table, 1, TIME, "2026-01-02T00:00:00Z");
    CHECK_SHOWN(table, 1, FUNCTION, "2a");
    CHECK_SHOWN(table, 0, REPEAT, "-");
    CHECK_SHOWN(table, 1, REPEAT, "f.test()");
    fill_cells(table, "filled", fill_ok, 0);
    CHECK_EQ(show(table, 0, ROW_ID, text), 0);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_errors__not_found(void **state)
{
    struct lmn_store *store = test_store_memory();
    char dir[64];
    struct lmn_table *table = failed_table(store, dir);
    struct ArrowArrayStream stream;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_table_errors(table, "number", &stream, &err), LMN_E_NOT_FOUND, &err);
    CHECK(stream.release == NULL);
    CHECK_STATUS(lmn_table_errors(table, "nothing", &stream, &err), LMN_E_NOT_FOUND, &err);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_errors__corrupt_records(void **state)
{
    static const char *const bad[] = { "",
                                       "[]",
                                       "{",
                                       "{\"row_id\":}",
                                       "{\"row_id\":-1}",
                                       "{\"row_id\":99999999999999999999}",
                                       "{\"row_id\":\"7\"}" };
    struct lmn__error_record record;
    struct lmn_error err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct lmn__span line = { (const uint8_t *)bad[i], strlen(bad[i]) };

        CHECK_STATUS(lmn__error_record_parse(line, &record, &err), LMN_E_CORRUPT, &err);
    }
}

static void test_errors__faults(void **state)
{
    struct lmn_store *store = test_store_memory(), *faulty = test_store_faulty(store);
    char dir[64];
    struct lmn_table *table = failed_table(store, dir);

    (void)state;
    put(store, dir, "a.jsonl", "{\"row_id\":7,\"type\":\"ValueError\",\"message\":\"old\"}\n");
    lmn_table_release(table);
    for (uint64_t nth = 1;; nth++) {
        int64_t before = live_allocations();
        struct lmn_error err = { 0 };
        struct ArrowArrayStream stream = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_open(faulty, NULL, &table, &err);
        if (st == LMN_OK)
            st = lmn_table_errors(table, "filled", &stream, &err);
        if (st == LMN_OK)
            stream.release(&stream);
        lmn_table_release(table);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
    }
    fault_disarm();
    lmn_store_release(faulty);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors__newest_of_failed),
        cmocka_unit_test(test_errors__not_found),
        cmocka_unit_test(test_errors__corrupt_records),
        cmocka_unit_test(test_errors__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
