/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that are added, joined, dropped, renamed and widened: what the rows hold afterwards, and
 * what is refused.
 */
#include "column_tables.h"
#include "stores.h"

enum { ROWS = 60, FRAGMENT_ROWS = 20, FRAGMENTS = ROWS / FRAGMENT_ROWS };

static void tables_end(struct lmn_table *table, struct lmn_store *store)
{
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* "inverse" has no value for the row that is deleted, and nobody asks for it. */
static void test_columns__computed(void **state)
{
    const struct lmn_assignment column[] = { { "twice", "number * 2" },
                                             { "inverse", "900 / (number - 9)" },
                                             { "one", "1" } };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    int64_t number[ROWS], twice[ROWS], inverse[ROWS], one[ROWS];
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_table_add_columns(table, column, 3, &err), LMN_OK, &err);
    CHECK_EQ(test_store_count(store, "data"), 2 * FRAGMENTS);
    CHECK_EQ(column_read(table, "number", number), ROWS - 1);
    CHECK_EQ(column_read(table, "twice", twice), ROWS - 1);
    CHECK_EQ(column_read(table, "inverse", inverse), ROWS - 1);
    CHECK_EQ(column_read(table, "one", one), ROWS - 1);
    for (int i = 0; i < ROWS - 1; i++) {
        CHECK_EQ(twice[i], number[i] * 2);
        CHECK_EQ(inverse[i], 900 / (number[i] - 9));
        CHECK_EQ(one[i], 1);
    }
    tables_end(table, store);
}

/* A call that fails leaves neither a version nor a file. */
static void test_columns__computed_wrong(void **state)
{
    static const struct {
        struct lmn_assignment column[2];
        uint32_t count;
        enum lmn_status status;
        const char *message;
    } wrong[] = {
        { { { "number", "1" } }, 1, LMN_E_EXISTS, "number" },
        { { { "x", "number +" } }, 1, LMN_E_INVALID, "x" },
        { { { "x", NULL } }, 1, LMN_E_INVALID, "there is no expression" },
        { { { "x", "nothing" } }, 1, LMN_E_NOT_FOUND, "nothing" },
        { { { "x", "1" }, { "x", "2" } }, 2, LMN_E_INVALID, "twice" },
        { { { "", "1" } }, 1, LMN_E_INVALID, "name" },
        { { { "x", "1 / (number - 150)" } }, 1, LMN_E_INVALID, "division" },
        { { { "x", "1" } }, 0, LMN_E_INVALID, "no columns" },
    };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct lmn_error err;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_STATUS(lmn_table_add_columns(table, wrong[i].column, wrong[i].count, &err),
                     wrong[i].status, &err);
        CHECK_HAS(err.message, wrong[i].message);
        CHECK_EQ(lmn_table_version(table), 2);
        CHECK_EQ(test_store_count(store, "data"), FRAGMENTS);
    }
    tables_end(table, store);
}

static void test_columns__nulls(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct ArrowSchema schema;
    int64_t value[ROWS];
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(column_add_nulls(table, "empty", &err), LMN_OK, &err);
    CHECK_EQ(test_store_count(store, "data"), FRAGMENTS);
    CHECK_EQ(column_read(table, "empty", value), ROWS - 1);
    for (int i = 0; i < ROWS - 1; i++)
        CHECK_EQ(value[i], NO_VALUE);
    CHECK_STATUS(column_add_nulls(table, "empty", &err), LMN_E_EXISTS, &err);
    CHECK_OK(column_schema(&schema, "never", NANOARROW_TYPE_INT32, &err));
    schema.children[0]->flags = 0;
    CHECK_STATUS(lmn_table_add_null_columns(table, &schema, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "never");
    schema.release(&schema);
    tables_end(table, store);
}

/* A read group is noted in one commit, once, and kept by what comes after it. */
static void test_columns__read_group(void **state)
{
    const char *const both[] = { "image", "text" }, *const missing[] = { "image", "nothing" };
    const char *const inside[] = { "struct.x" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    uint64_t version = lmn_table_version(table);
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_table_set_read_group(table, both, 2, 0, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_table_set_read_group(table, missing, 2, 64, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_table_set_read_group(table, inside, 1, 64, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "a read group is one of a column");
    CHECK_EQ(lmn_table_version(table), version);
    CHECK_STATUS(lmn_table_set_read_group(table, both, 2, 64, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_set_read_group(table, both, 1, 64, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), version + 1);
    CHECK_STATUS(lmn_table_set_read_group(table, both, 1, 65, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), version + 2);
    tables_end(table, store);
}

static void test_columns__drop_and_rename(void **state)
{
    const char *const all[] = { "number", "maybe", "flag", "word",  "text",   "image",
                                "vector", "pair",  "list", "lists", "struct", "dictionary" };
    const char *const part[] = { "maybe", "struct.x" }, *const rest[] = { "struct.tags" };
    const char *const item[] = { "list.item" }, *const none[] = { NULL };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    int64_t value[ROWS];
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_table_rename_column(table, "number", "id", &err), LMN_OK, &err);
    CHECK_EQ(column_read(table, "id", value), ROWS - 1);
    CHECK_EQ(value[ROWS - 2], (ROWS - 1) * 3);
    CHECK_STATUS(lmn_table_rename_column(table, "id", "maybe", &err), LMN_E_EXISTS, &err);
    CHECK_STATUS(lmn_table_rename_column(table, "struct.x", "tags", &err), LMN_E_EXISTS, &err);
    CHECK_STATUS(lmn_table_rename_column(table, "id", "", &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_table_rename_column(table, "id", "a.b", &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_table_rename_column(table, "number", "x", &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_table_rename_column(table, "id", "number", &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_drop_columns(table, all, 12, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_table_drop_columns(table, all, 0, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_table_drop_columns(table, item, 1, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_table_drop_columns(table, none, 1, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_table_rename_column(table, NULL, "x", &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_table_rename_column(table, "number", NULL, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_table_drop_columns(table, part, 2, &err), LMN_OK, &err);
    CHECK(!column_exists(table, "maybe") && column_exists(table, "struct"));
    CHECK_STATUS(lmn_table_drop_columns(table, rest, 1, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "struct");
    CHECK_STATUS(lmn_table_drop_columns(table, part, 1, &err), LMN_E_NOT_FOUND, &err);
    /* The id of what was dropped is not given again, though its values are still in the files. */
    CHECK_STATUS(column_add_nulls(table, "maybe", &err), LMN_OK, &err);
    CHECK_EQ(column_read(table, "maybe", value), ROWS - 1);
    for (int i = 0; i < ROWS - 1; i++)
        CHECK_EQ(value[i], NO_VALUE);
    tables_end(table, store);
}

/* Nobody could open a table that has another name; none is committed. */
static void test_columns__names_are_utf8(void **state)
{
    const struct lmn_assignment sum = { "sum\xff", "number + 1" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    uint64_t version = lmn_table_version(table);
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_table_rename_column(table, "number", "a\xff", &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "\"a\\xff\"");
    CHECK_STATUS(lmn_table_rename_column(table, "struct.x", "\xc3", &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "\"\\xc3\"");
    CHECK_STATUS(column_add_nulls(table, "n\x80", &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "\"n\\x80\"");
    CHECK_STATUS(lmn_table_add_columns(table, &sum, 1, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "\"sum\\xff\"");
    CHECK_EQ(lmn_table_version(table), version);
    CHECK_EQ(test_store_count(store, "data"), FRAGMENTS);
    tables_end(table, store);
}

/* Columns that the library keeps for another one go with it; those of others stay. */
static void test_columns__drop_ledgers(void **state)
{
    static const char *const of[] = { "1", "2" }, *const name[] = { "_leman_a", "_leman_b" };
    const char *const column[] = { "maybe" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct lmn_error err = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ArrowSchema schema;
        struct ArrowBuffer metadata;

        CHECK_OK(column_schema(&schema, name[i], NANOARROW_TYPE_INT32, &err));
        CHECK_EQ(ArrowMetadataBuilderInit(&metadata, NULL), 0);
        CHECK_EQ(
            ArrowMetadataBuilderAppend(&metadata, ArrowCharView("leman:of"), ArrowCharView(of[i])),
            0);
        CHECK_EQ(ArrowSchemaSetMetadata(schema.children[0], (char *)metadata.data), 0);
        CHECK_STATUS(lmn_table_add_null_columns(table, &schema, &err), LMN_OK, &err);
        ArrowBufferReset(&metadata);
        schema.release(&schema);
    }
    CHECK_STATUS(lmn_table_drop_columns(table, column, 1, &err), LMN_OK, &err);
    CHECK(!column_exists(table, "_leman_a") && column_exists(table, "_leman_b"));
    tables_end(table, store);
}

static void test_columns__join_by_key(void **state)
{
    const char *const on[] = { "number" };
    struct pairs pairs = { .key = 174, .step = -6, .left = 25, .batch_rows = 4 };
    struct pairs same = { .key = 3, .step = 0, .left = 2, .batch_rows = 1 };
    struct ArrowArrayStream stream = pairs_stream(&same);
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    int64_t number[ROWS], joined[ROWS];
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_table_join_columns(table, &stream, on, 1, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "number = 3");
    stream = pairs_stream(&pairs);
    CHECK_STATUS(lmn_table_join_columns(table, &stream, on, 1, &err), LMN_OK, &err);
    CHECK_EQ(column_read(table, "number", number), ROWS - 1);
    CHECK_EQ(column_read(table, "joined", joined), ROWS - 1);
    for (int i = 0; i < ROWS - 1; i++)
        CHECK_EQ(joined[i],
                 number[i] % 6 == 0 && number[i] >= 30 ? number[i] * 10 : (int64_t)NO_VALUE);
    tables_end(table, store);
}

static void test_columns__join_of_a_stream_in_a_file(void **state)
{
    test_source_bytes_max(1);
    test_columns__join_by_key(state);
    test_source_bytes_max(0);
}

static void test_columns__join_by_position(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    int64_t joined[ROWS];
    struct lmn_error err = { 0 };

    (void)state;
    for (int64_t more = 1; more >= -1; more -= 2) {
        struct pairs pairs = { .step = 1, .left = ROWS - 1 + more, .batch_rows = 1, .name = "at" };
        struct ArrowArrayStream stream = pairs_stream(&pairs);

        CHECK_STATUS(lmn_table_join_columns(table, &stream, NULL, 0, &err), LMN_E_INVALID, &err);
        CHECK_HAS(err.message, "fewer than");
        CHECK_EQ(test_store_count(store, "data"), FRAGMENTS);
    }
    for (int64_t batch_rows = 1; batch_rows <= ROWS; batch_rows += 8) {
        struct pairs pairs = {
            .step = 1, .left = ROWS - 1, .batch_rows = batch_rows, .name = "at"
        };
        const char *const column[] = { "at", "joined" };
        struct ArrowArrayStream stream = pairs_stream(&pairs);

        CHECK_STATUS(lmn_table_join_columns(table, &stream, NULL, 0, &err), LMN_OK, &err);
        CHECK_EQ(column_read(table, "joined", joined), ROWS - 1);
        for (int i = 0; i < ROWS - 1; i++)
            CHECK_EQ(joined[i], i * 10);
        CHECK_STATUS(lmn_table_drop_columns(table, column, 2, &err), LMN_OK, &err);
    }
    tables_end(table, store);
}

/* Numbers, strings and vectors; the rest of the type is checked by test_wider.c. */
static void test_columns__widen(void **state)
{
    const char *const vectors[] = { "pair" };
    const struct lmn_scan_options options = { .column = vectors, .column_count = 1 };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    int64_t before[ROWS], after[ROWS];
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_EQ(column_read(table, "maybe", before), ROWS - 1);
    CHECK_STATUS(column_widen(table, "maybe", NANOARROW_TYPE_INT64, &err), LMN_OK, &err);
    CHECK_EQ(column_read(table, "maybe", after), ROWS - 1);
    for (int i = 0; i < ROWS - 1; i++)
        CHECK_EQ(after[i], before[i]);
    CHECK_STATUS(column_widen(table, "maybe", NANOARROW_TYPE_INT64, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(column_widen(table, "maybe", NANOARROW_TYPE_INT32, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "int64");
    CHECK_HAS(err.message, "int32");
    CHECK_STATUS(column_widen(table, "nothing", NANOARROW_TYPE_INT32, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(column_widen(table, "word", NANOARROW_TYPE_LARGE_STRING, &err), LMN_OK, &err);

    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeFixedSize(&schema, NANOARROW_TYPE_FIXED_SIZE_LIST, 3), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0], NANOARROW_TYPE_DOUBLE), 0);
    CHECK_STATUS(lmn_table_widen_column(table, "pair", &schema, &err), LMN_OK, &err);
    schema.release(&schema);
    CHECK_STATUS(lmn_table_scan(table, &options, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_STR(schema.children[0]->children[0]->format, "g");
    CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
    CHECK_EQ(batch.children[0]->children[0]->length >= 3 * batch.length, true);
    batch.release(&batch);
    schema.release(&schema);
    stream.release(&stream);
    tables_end(table, store);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_columns__computed),
        cmocka_unit_test(test_columns__computed_wrong),
        cmocka_unit_test(test_columns__nulls),
        cmocka_unit_test(test_columns__drop_and_rename),
        cmocka_unit_test(test_columns__names_are_utf8),
        cmocka_unit_test(test_columns__read_group),
        cmocka_unit_test(test_columns__drop_ledgers),
        cmocka_unit_test(test_columns__join_by_key),
        cmocka_unit_test(test_columns__join_of_a_stream_in_a_file),
        cmocka_unit_test(test_columns__join_by_position),
        cmocka_unit_test(test_columns__widen),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
