/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that functions fill: what is added, what is hidden, what cells say of themselves after
 * updates, deletions, compactions, renames and restores.
 */
#include <string.h>

#include "column_tables.h"
#include "fill_tables.h"
#include "stores.h"
#include "table/ledger.h"

enum { ROWS = 60, FRAGMENT_ROWS = 20, LIVE = ROWS - 1, MORE_ROWS = 7 };

static const char *const number_text[] = { "number", "text" };

static struct lmn_table *filled_table(struct lmn_store *store, fill_state_fn state)
{
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);

    fill_add(table, number_text, 2);
    if (state != NULL)
        fill_cells(table, "filled", state, lmn_table_version(table));
    return table;
}

static void tables_end(struct lmn_table *table, struct lmn_store *store)
{
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static uint64_t count_where(struct lmn_table *table, const char *where)
{
    struct lmn_error err = { 0 };
    uint64_t count;

    CHECK_STATUS(lmn_table_count(table, where, &count, &err), LMN_OK, &err);
    return count;
}

/* Does a scan of everything, and the schema, show the column? */
static bool is_shown(struct lmn_table *table, const char *name)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema, rows;
    bool in_schema = false, in_rows = false;

    CHECK_OK(lmn_table_schema(table, &schema, NULL));
    CHECK_OK(lmn_table_scan(table, NULL, &stream, NULL));
    CHECK_EQ(stream.get_schema(&stream, &rows), 0);
    for (int64_t i = 0; i < schema.n_children; i++)
        in_schema |= strcmp(schema.children[i]->name, name) == 0;
    for (int64_t i = 0; i < rows.n_children; i++)
        in_rows |= strcmp(rows.children[i]->name, name) == 0;
    CHECK_EQ(in_schema, in_rows);
    schema.release(&schema);
    rows.release(&rows);
    stream.release(&stream);
    return in_rows;
}

static void test_ledger__added_and_hidden(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = filled_table(store, NULL);
    struct lmn_error err = { 0 };
    char *function;

    (void)state;
    CHECK_EQ(lmn_table_version(table), 3);
    CHECK(is_shown(table, "filled") && !is_shown(table, "_leman_filled"));
    CHECK(column_exists(table, "_leman_filled"));
    CHECK_CELLS(table, "filled", LIVE, 0, 0, 0);
    CHECK_STATUS(lmn_table_function(table, "filled", &function, &err), LMN_OK, &err);
    CHECK_STR(function, "{\"name\": \"f\", \"inputs\": [\"number\", \"text\"]}");
    lmn_text_free(function);
    CHECK_STATUS(lmn_table_function(table, "number", &function, &err), LMN_OK, &err);
    CHECK(function == NULL);
    CHECK_STATUS(lmn_table_function(table, "nothing", &function, &err), LMN_E_NOT_FOUND, &err);
    tables_end(table, store);
}

static void test_ledger__refused(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = filled_table(store, NULL);
    struct lmn_cell_counts counts;
    struct ArrowSchema schema;
    struct lmn_error err = { 0 };
    char text[1100];

    (void)state;
    CHECK_OK(column_schema(&schema, "filled", NANOARROW_TYPE_INT64, &err));
    CHECK_STATUS(lmn_table_add_function_columns(table, &schema, "{}", &err), LMN_E_EXISTS, &err);
    CHECK_STATUS(lmn_table_add_function_columns(table, &schema, "f", &err), LMN_E_INVALID, &err);
    memset(text, ' ', sizeof text - 1);
    memcpy(text + sizeof text - 3, "{}", 3);
    CHECK_STATUS(lmn_table_add_function_columns(table, &schema, text, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "1024");
    schema.children[0]->flags = 0;
    CHECK_STATUS(lmn_table_add_function_columns(table, &schema, "{}", &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "no nulls");
    schema.release(&schema);
    CHECK_STATUS(lmn_table_cells(table, "number", &counts, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "no function fills");
    CHECK_STATUS(lmn_table_set_function(table, "number", "{}", &err), LMN_E_NOT_FOUND, &err);
    CHECK_EQ(lmn_table_version(table), 3);
    tables_end(table, store);
}

static void test_ledger__another_function(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = filled_table(store, fill_ok);
    struct lmn_error err = { 0 };
    char *function;

    (void)state;
    CHECK_STATUS(lmn_table_set_function(table, "filled",
                                        "{\"name\": \"g\", \"inputs\": [\"number\", \"text\"]}",
                                        &err),
                 LMN_OK, &err);
    CHECK_STATUS(lmn_table_function(table, "filled", &function, &err), LMN_OK, &err);
    CHECK_HAS(function, "\"g\"");
    lmn_text_free(function);
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    tables_end(table, store);
}

static uint8_t some_failed(uint64_t fragment_id, uint64_t row)
{
    return (uint8_t)((fragment_id * FRAGMENT_ROWS + row) % 3);
}

static void test_ledger__states(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = filled_table(store, some_failed);
    struct lmn_error err = { 0 };
    uint64_t count;

    (void)state;
    CHECK_CELLS(table, "filled", 19, 20, 20, 0); /* row 3, which is deleted, is pending */
    CHECK_EQ(count_where(table, "leman_state('filled') = 'pending'"), 19);
    CHECK_EQ(count_where(table, "leman_state('filled') = 'ok' AND filled % 3 = 1"), 7);
    CHECK_EQ(count_where(table, "leman_state('filled') IN ('ok', 'failed') OR number = 0"), 41);
    CHECK_EQ(count_where(table, "_leman_filled.state = 2 AND leman_state('filled') = 'failed'"),
             20);
    CHECK_EQ(count_where(table, "leman_state('filled') = 'stale'"), 0);
    CHECK_STATUS(lmn_table_count(table, "leman_state('number') = 'ok'", &count, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "number");
    CHECK_STATUS(lmn_table_count(table, "leman_state(1) = 'ok'", &count, &err), LMN_E_INVALID,
                 &err);
    CHECK_STATUS(lmn_table_delete(table, "leman_state('filled') = 'failed'", &count, &err), LMN_OK,
                 &err);
    CHECK_EQ(count, 20);
    CHECK_CELLS(table, "filled", 19, 20, 0, 0);
    tables_end(table, store);
}

static void update(struct lmn_table *table, const char *where, const char *column,
                   const char *expression)
{
    const struct lmn_assignment set = { column, expression };
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn_table_update(table, where, &set, 1, NULL, &err), LMN_OK, &err);
}

/* A cell is stale when its inputs have other values, and is not any more when they are back. */
static void test_ledger__stale(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = filled_table(store, fill_ok);

    (void)state;
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    update(table, "number = 30", "text", "'other'");
    CHECK_CELLS(table, "filled", 0, LIVE - 1, 0, 1);
    CHECK_EQ(count_where(table, "leman_state('filled') = 'stale' AND number = 30"), 1);
    update(table, "number < 30", "flag", "NOT flag");
    update(table, "number < 30", "text", "text");
    CHECK_CELLS(table, "filled", 0, LIVE - 1, 0, 1);
    update(table, "number = 33", "number", "1000");
    CHECK_CELLS(table, "filled", 0, LIVE - 2, 0, 2);
    update(table, "number = 1000", "number", "33");
    CHECK_CELLS(table, "filled", 0, LIVE - 1, 0, 1);
    tables_end(table, store);
}

/* Cells stay with their rows whatever happens to these. */
static void test_ledger__follows_rows(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = filled_table(store, fill_ok);
    uint64_t version;
    struct lmn_error err = { 0 };

    (void)state;
    column_append(table, MORE_ROWS);
    CHECK_CELLS(table, "filled", MORE_ROWS, LIVE, 0, 0);
    update(table, "number >= 150", "text", "'moved'"); /* 10 rows; the appended ones are below */
    CHECK_CELLS(table, "filled", MORE_ROWS, LIVE - 10, 0, 10);
    CHECK_STATUS(lmn_table_compact(table, NULL, NULL, &err), LMN_OK, &err);
    CHECK_CELLS(table, "filled", MORE_ROWS, LIVE - 10, 0, 10);
    version = lmn_table_version(table);
    CHECK_STATUS(lmn_table_delete(table, "number >= 150", NULL, &err), LMN_OK, &err);
    CHECK_CELLS(table, "filled", MORE_ROWS, LIVE - 10, 0, 0);
    CHECK_OK(column_add_nulls(table, "more", &err));
    CHECK_OK(column_widen(table, "maybe", NANOARROW_TYPE_INT64, &err));
    CHECK_CELLS(table, "filled", MORE_ROWS, LIVE - 10, 0, 0);
    CHECK_STATUS(lmn_table_restore(table, version, &err), LMN_OK, &err);
    CHECK_CELLS(table, "filled", MORE_ROWS, LIVE - 10, 0, 10);
    tables_end(table, store);
}

static void test_ledger__rename_and_drop(void **state)
{
    const char *const dropped[] = { "filled" }, *const name = "filled";
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = filled_table(store, fill_ok);
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_table_rename_column(table, "filled", "caption", &err), LMN_OK, &err);
    CHECK_CELLS(table, "caption", 0, LIVE, 0, 0);
    CHECK_EQ(count_where(table, "leman_state('caption') = 'ok'"), LIVE);
    fill_add(table, number_text, 2); /* its ledger cannot have the name that it would have */
    CHECK(column_exists(table, "_leman_filled") && column_exists(table, "_leman_filled_2"));
    CHECK_CELLS(table, "caption", 0, LIVE, 0, 0);
    CHECK_CELLS(table, name, LIVE, 0, 0, 0);
    CHECK_STATUS(lmn_table_drop_columns(table, dropped, 1, &err), LMN_OK, &err);
    CHECK(column_exists(table, "_leman_filled") && !column_exists(table, "_leman_filled_2"));
    CHECK_CELLS(table, "caption", 0, LIVE, 0, 0);
    tables_end(table, store);
}

static void check_function(struct lmn_table *table, const char *expected)
{
    struct lmn_error err = { 0 };
    char *function;

    CHECK_STATUS(lmn_table_function(table, "filled", &function, &err), LMN_OK, &err);
    CHECK_STR(function, expected);
    lmn_text_free(function);
}

/* A renamed input is the same input; one that takes its name is another. */
static void test_ledger__inputs_are_renamed(void **state)
{
    const char *const dropped[] = { "amount" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = filled_table(store, fill_ok);
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_OK(lmn_table_rename_column(table, "number", "amount", &err));
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    check_function(table, "{\"name\": \"f\", \"inputs\": [\"amount\", \"text\"]}");
    CHECK_OK(lmn_table_rename_column(table, "maybe", "number", &err));
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    check_function(table, "{\"name\": \"f\", \"inputs\": [\"amount\", \"text\"]}");
    CHECK_OK(lmn_table_set_function(table, "filled", "{\"inputs\":[\"amount\",\"none\"]}", &err));
    CHECK_OK(lmn_table_rename_column(table, "amount", "sum", &err));
    check_function(table, "{\"inputs\":[\"sum\", \"none\"]}");
    CHECK_OK(lmn_table_rename_column(table, "sum", "amount", &err));
    check_function(table, "{\"inputs\":[\"amount\",\"none\"]}");
    CHECK_STATUS(lmn_table_drop_columns(table, dropped, 1, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "filled");
    check_function(table, "{\"inputs\":[\"amount\",\"none\"]}");
    tables_end(table, store);
}

/* A column with this text of ids, whose function reads "a", "b" and "c". */
static void check_ids(const char *ids, const char *const expected[3])
{
    static const char function[] = "{\"inputs\": [\"a\", \"b\", \"c\"]}";
    struct lmn__pb_entry entry[] = {
        { .key = { (const uint8_t *)LMN__FUNCTION_KEY, sizeof LMN__FUNCTION_KEY - 1 },
          .value = { (const uint8_t *)function, sizeof function - 1 } },
        { .key = { (const uint8_t *)LMN__INPUTS_KEY, sizeof LMN__INPUTS_KEY - 1 },
          .value = { (const uint8_t *)ids, strlen(ids) } },
    };
    struct lmn__pb_schema_field field[] = { { .id = 3 }, { .id = 70 }, { .id = 5 } };
    struct lmn__node node[] = { { .field = &field[0], .name = "x" },
                                { .field = &field[1], .name = "y" },
                                { .field = &field[2], .name = "filled" } };
    struct lmn__schema schema = { .node = node, .node_count = 3 };
    const char *const *input;
    struct lmn__arena arena;
    struct lmn_env *env;
    uint32_t count;

    node[1].parent = &node[0];
    field[2].metadata = (struct lmn__pb_list){ entry, 2 };
    CHECK_OK(lmn__env_resolve(NULL, &env, NULL));
    lmn__arena_init(&arena, env, 0);
    CHECK_OK(lmn__ledger_inputs(&schema, &node[2], &arena, &input, &count, NULL));
    CHECK_EQ(count, 3);
    for (uint32_t i = 0; i < count; i++)
        CHECK_STR(input[i], expected[i]);
    lmn__arena_deinit(&arena);
    lmn_env_release(env);
}

/* Ids that are none, or of no field, leave the names; so do ids that are missing. */
static void test_ledger__corrupt_ids(void **state)
{
    (void)state;
    check_ids("3,70,5", (const char *const[]){ "x", "x.y", "filled" });
    check_ids("", (const char *const[]){ "a", "b", "c" });
    check_ids("-1,70", (const char *const[]){ "a", "x.y", "c" });
    check_ids("x,,3", (const char *const[]){ "a", "b", "x" });
    check_ids("3x,4294967299,99999999999999999999", (const char *const[]){ "a", "b", "c" });
    check_ids("3,3,3,3,3", (const char *const[]){ "x", "x", "x" });
}

/* A wider type is another field: the ledger goes along, and fingerprints stay what they are. */
static void test_ledger__widened(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct ArrowSchema schema;
    struct lmn_error err = { 0 };
    int before;

    (void)state;
    CHECK_OK(column_schema(&schema, "filled", NANOARROW_TYPE_INT32, &err));
    CHECK_OK(lmn_table_add_function_columns(table, &schema, "{\"inputs\": [\"maybe\"]}", &err));
    schema.release(&schema);
    fill_cells(table, "filled", fill_ok, 0);
    before = fill_field_id(table, "maybe");
    CHECK_STATUS(column_widen(table, "maybe", NANOARROW_TYPE_INT64, &err), LMN_OK, &err);
    CHECK(fill_field_id(table, "maybe") != before);
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    CHECK_OK(lmn_table_rename_column(table, "maybe", "perhaps", &err));
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    check_function(table, "{\"inputs\": [\"perhaps\"]}");
    before = fill_field_id(table, "filled");
    CHECK_STATUS(column_widen(table, "filled", NANOARROW_TYPE_INT64, &err), LMN_OK, &err);
    CHECK(fill_field_id(table, "filled") != before);
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    tables_end(table, store);
}

/* The input "filled" is as good as its cells say: a value that is set by hand changes nothing. */
static void test_ledger__filled_input(void **state)
{
    const char *const input[] = { "filled" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = filled_table(store, fill_ok);

    (void)state;
    fill_add_named(table, "second", input, 1);
    fill_cells(table, "second", fill_ok, 0);
    CHECK_CELLS(table, "second", 0, LIVE, 0, 0);
    update(table, "number = 30", "filled", "7");
    CHECK_CELLS(table, "second", 0, LIVE, 0, 0);
    update(table, "number = 33", "text", "'other'");
    CHECK_CELLS(table, "filled", 0, LIVE - 1, 0, 1);
    CHECK_CELLS(table, "second", 0, LIVE, 0, 0);
    fill_cells(table, "filled", fill_ok, 0);
    CHECK_CELLS(table, "filled", 0, LIVE, 0, 0);
    CHECK_CELLS(table, "second", 0, LIVE - 1, 0, 1);
    tables_end(table, store);
}

static void test_ledger__functions_by_content(void **state)
{
    static const char hello[] = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct lmn_error err = { 0 };
    char hash[65], *code;
    uint64_t len;

    (void)state;
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(lmn_table_put_function(table, "hello", 5, hash, &err), LMN_OK, &err);
        CHECK_STR(hash, hello);
        CHECK_EQ(test_store_count(store, "_leman/functions"), 1);
    }
    CHECK_STATUS(lmn_table_get_function(table, hello, &code, &len, &err), LMN_OK, &err);
    CHECK_EQ(len, 5);
    CHECK_STR(code, "hello");
    lmn_text_free(code);
    hash[0] = '3';
    CHECK_STATUS(lmn_table_get_function(table, hash, &code, &len, &err), LMN_E_NOT_FOUND, &err);
    test_store_write(store,
                     "_leman/functions/"
                     "3cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
                     "hello", 5);
    CHECK_STATUS(lmn_table_get_function(table, hash, &code, &len, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(lmn_table_get_function(table, "../x", &code, &len, &err), LMN_E_INVALID, &err);
    tables_end(table, store);
}

/* Every allocation and every operation of the store fails once, then all of it is done. */
static void test_ledger__faults(void **state)
{
    struct lmn_store *store, *faulty;
    struct lmn_table *table;

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_error err = { 0 };
        struct ArrowSchema schema;
        char hash[65], *function = NULL;
        uint64_t count = 0;
        enum lmn_status st;

        store = test_store_memory();
        faulty = test_store_faulty(store);
        lmn_table_release(column_table(store, 6, 3));
        CHECK_OK(column_schema(&schema, "filled", NANOARROW_TYPE_INT64, &err));
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_open(faulty, NULL, &table, &err);
        if (st == LMN_OK)
            st = lmn_table_put_function(table, "code", 4, hash, &err);
        if (st == LMN_OK)
            st = lmn_table_add_function_columns(table, &schema, "{\"inputs\":[\"number\"]}", &err);
        if (st == LMN_OK)
            st = lmn_table_set_function(table, "filled", "{\"inputs\":[\"text\"]}", &err);
        if (st == LMN_OK)
            st = lmn_table_rename_column(table, "text", "words", &err);
        if (st == LMN_OK)
            st = lmn_table_function(table, "filled", &function, &err);
        lmn_text_free(function);
        if (st == LMN_OK)
            st = lmn_table_count(table, "leman_state('filled') = 'pending'", &count, &err);
        schema.release(&schema);
        lmn_table_release(table);
        lmn_store_release(faulty);
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            CHECK_EQ(count, 5);
            break;
        }
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(st == LMN_OK || err.message[0] != '\0');
    }
    fault_disarm();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ledger__added_and_hidden),
        cmocka_unit_test(test_ledger__refused),
        cmocka_unit_test(test_ledger__another_function),
        cmocka_unit_test(test_ledger__states),
        cmocka_unit_test(test_ledger__stale),
        cmocka_unit_test(test_ledger__follows_rows),
        cmocka_unit_test(test_ledger__rename_and_drop),
        cmocka_unit_test(test_ledger__inputs_are_renamed),
        cmocka_unit_test(test_ledger__corrupt_ids),
        cmocka_unit_test(test_ledger__widened),
        cmocka_unit_test(test_ledger__filled_input),
        cmocka_unit_test(test_ledger__functions_by_content),
        cmocka_unit_test(test_ledger__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
