/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges: what each action does to matched rows, to others, and to rows of the table alone; what is
 * refused; and that a merge that fails leaves the table and its files as they were.
 */
#include <string.h>

#include "keyed_rows.h"
#include "stores.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define ROWS(...)                                                                                  \
    (const struct keyed_row[]){ __VA_ARGS__ },                                                     \
        sizeof((const struct keyed_row[]){ __VA_ARGS__ }) / sizeof(struct keyed_row)

/* Row 4 is deleted; key 8 is there twice, and one key is null. */
static const struct keyed_row made[] = {
    { 1, 10, "a" }, { 2, 20, "b" }, { 3, 30, "c" },          { 4, 40, "d" }, { 5, 50, NULL },
    { 6, 60, "f" }, { 8, 80, "h" }, { KEYED_NULL, 70, "g" }, { 8, 81, "i" },
};
static const struct keyed_row base[] = {
    { 1, 10, "a" }, { 2, 20, "b" }, { 3, 30, "c" },          { 5, 50, NULL },
    { 6, 60, "f" }, { 8, 80, "h" }, { KEYED_NULL, 70, "g" }, { 8, 81, "i" },
};
/* Two keys that match, one of a deleted row, a null. */
static const struct keyed_row given[] = {
    { 2, 200, "B" },
    { 4, 400, "D" },
    { 8, 800, "H" },
    { KEYED_NULL, 700, "G" },
};

static const char *const on_id[] = { "id" };

static struct lmn_table *base_table(struct lmn_store *store, uint64_t fragment_rows, bool unstable)
{
    const struct lmn_write_options options = { .fragment_rows_max = fragment_rows,
                                               .unstable_row_ids = unstable };
    struct lmn_table *table = keyed_table(store, made, COUNT(made), &options);
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn_table_delete(table, "id = 4", NULL, &err), LMN_OK, &err);
    return table;
}

static enum lmn_status merge(struct lmn_table *table, unsigned columns, const struct keyed_row *row,
                             uint64_t count, const struct lmn_merge_options *options,
                             struct lmn_merge_result *result, struct lmn_error *err)
{
    struct ArrowArrayStream stream;

    keyed_stream(columns, row, count, 2, &stream);
    return lmn_table_merge(table, &stream, options, result, err);
}

struct merge_case {
    const char *name; /* for whoever reads the table */
    struct lmn_merge_options options;
    unsigned columns; /* 0: all */
    bool empty;       /* the stream has no rows */
    struct lmn_merge_result result;
    const struct keyed_row *row;
    uint64_t count;
};

#define UPSERT    .matched = LMN_MERGE_UPDATE, .not_matched = LMN_MERGE_INSERT
#define UNCHANGED base, COUNT(base)

static const struct merge_case cases[] = {
    { "upsert",
      { UPSERT },
      0,
      false,
      { .inserted = 2, .updated = 3 },
      ROWS({ 1, 10, "a" }, { 2, 200, "B" }, { 3, 30, "c" }, { 5, 50, NULL }, { 6, 60, "f" },
           { 8, 800, "H" }, { 8, 800, "H" }, { KEYED_NULL, 70, "g" }, { 4, 400, "D" },
           { KEYED_NULL, 700, "G" }) },
    { "update",
      { .matched = LMN_MERGE_UPDATE },
      0,
      false,
      { .updated = 3, .skipped = 2 },
      ROWS({ 1, 10, "a" }, { 2, 200, "B" }, { 3, 30, "c" }, { 5, 50, NULL }, { 6, 60, "f" },
           { 8, 800, "H" }, { 8, 800, "H" }, { KEYED_NULL, 70, "g" }) },
    { "insert",
      { .not_matched = LMN_MERGE_INSERT },
      0,
      false,
      { .inserted = 2, .skipped = 3 },
      ROWS({ 1, 10, "a" }, { 2, 20, "b" }, { 3, 30, "c" }, { 5, 50, NULL }, { 6, 60, "f" },
           { 8, 80, "h" }, { 8, 81, "i" }, { KEYED_NULL, 70, "g" }, { 4, 400, "D" },
           { KEYED_NULL, 700, "G" }) },
    { "skip", { .matched = LMN_MERGE_SKIP }, 0, false, { .skipped = 5 }, UNCHANGED },
    { "delete",
      { .matched = LMN_MERGE_DELETE },
      KEYED_ID,
      false,
      { .deleted = 3, .skipped = 2 },
      ROWS({ 1, 10, "a" }, { 3, 30, "c" }, { 5, 50, NULL }, { 6, 60, "f" },
           { KEYED_NULL, 70, "g" }) },
    { "delete and insert",
      { .matched = LMN_MERGE_DELETE, .not_matched = LMN_MERGE_INSERT },
      0,
      false,
      { .deleted = 3, .inserted = 2 },
      ROWS({ 1, 10, "a" }, { 3, 30, "c" }, { 5, 50, NULL }, { 6, 60, "f" }, { KEYED_NULL, 70, "g" },
           { 4, 400, "D" }, { KEYED_NULL, 700, "G" }) },
    { "replace all",
      { UPSERT, .not_in_source = LMN_MERGE_DELETE },
      0,
      false,
      { .inserted = 2, .updated = 3, .deleted = 5 },
      ROWS({ 2, 200, "B" }, { 8, 800, "H" }, { 8, 800, "H" }, { 4, 400, "D" },
           { KEYED_NULL, 700, "G" }) },
    { "delete others by condition",
      { .not_in_source = LMN_MERGE_DELETE, .not_in_source_where = "value > 30 and name = 'f'" },
      0,
      false,
      { .deleted = 1, .skipped = 5 },
      ROWS({ 1, 10, "a" }, { 2, 20, "b" }, { 3, 30, "c" }, { 5, 50, NULL }, { 8, 80, "h" },
           { KEYED_NULL, 70, "g" }, { 8, 81, "i" }) },
    { "where, both sides",
      { UPSERT, .matched_where = "source.value > 300 and target.name = 'i'" },
      0,
      false,
      { .inserted = 2, .updated = 1, .skipped = 2 },
      ROWS({ 1, 10, "a" }, { 2, 20, "b" }, { 3, 30, "c" }, { 5, 50, NULL }, { 6, 60, "f" },
           { 8, 80, "h" }, { 8, 800, "H" }, { KEYED_NULL, 70, "g" }, { 4, 400, "D" },
           { KEYED_NULL, 700, "G" }) },
    { "where, source only",
      { .matched = LMN_MERGE_UPDATE, .matched_where = "source.value < 300" },
      0,
      false,
      { .updated = 1, .skipped = 4 },
      ROWS({ 1, 10, "a" }, { 2, 200, "B" }, { 3, 30, "c" }, { 5, 50, NULL }, { 6, 60, "f" },
           { 8, 80, "h" }, { KEYED_NULL, 70, "g" }, { 8, 81, "i" }) },
    { "where never",
      { .matched = LMN_MERGE_UPDATE, .matched_where = "source.value < target.value" },
      0,
      false,
      { .skipped = 5 },
      UNCHANGED },
    { "delete where, both sides",
      { .matched = LMN_MERGE_DELETE, .matched_where = "source.value > 300 and target.name = 'i'" },
      0,
      false,
      { .deleted = 1, .skipped = 4 },
      ROWS({ 1, 10, "a" }, { 2, 20, "b" }, { 3, 30, "c" }, { 5, 50, NULL }, { 6, 60, "f" },
           { 8, 80, "h" }, { KEYED_NULL, 70, "g" }) },
    { "delete where never",
      { .matched = LMN_MERGE_DELETE, .matched_where = "source.value < target.value" },
      0,
      false,
      { .skipped = 5 },
      UNCHANGED },
    { "partial columns",
      { UPSERT },
      KEYED_ID | KEYED_VALUE,
      false,
      { .inserted = 2, .updated = 3 },
      ROWS({ 1, 10, "a" }, { 2, 200, "b" }, { 3, 30, "c" }, { 5, 50, NULL }, { 6, 60, "f" },
           { 8, 800, "h" }, { 8, 800, "i" }, { KEYED_NULL, 70, "g" }, { 4, 400, NULL },
           { KEYED_NULL, 700, NULL }) },
    { "empty stream", { UPSERT }, 0, true, { 0 }, UNCHANGED },
    { "empty stream, delete others",
      { UPSERT, .not_in_source = LMN_MERGE_DELETE },
      0,
      true,
      { .deleted = 8 },
      NULL,
      0 },
};

static void check_case(const struct merge_case *one, bool unstable)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = base_table(store, 3, unstable), *again;
    struct lmn_merge_options options = one->options;
    struct lmn_merge_result result;
    struct lmn_error err = { 0 };
    enum lmn_status st;

    options.on = on_id;
    options.on_count = 1;
    st = merge(table, one->columns != 0 ? one->columns : KEYED_ALL, given,
               one->empty ? 0 : COUNT(given), &options, &result, &err);
    CHECK_STATUS(st, LMN_OK, &err);
    CHECK_EQ(result.inserted, one->result.inserted);
    CHECK_EQ(result.updated, one->result.updated);
    CHECK_EQ(result.deleted, one->result.deleted);
    CHECK_EQ(result.skipped, one->result.skipped);
    CHECK_EQ(lmn_table_version(table), one->row == base ? 2 : 3);
    CHECK_OK(lmn_table_open(store, NULL, &again, &err));
    keyed_check(again, one->row, one->count);
    lmn_table_release(again);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_merge__actions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        check_case(&cases[i], false);
        check_case(&cases[i], true);
    }
}

/* A source that does not fit into memory is read from a file, which is gone afterwards. */
static void test_merge__source_in_a_file(void **state)
{
    test_source_bytes_max(1);
    test_merge__actions(state);
    test_source_bytes_max(0);
}

/* Keys of two columns, one of which may be null. */
static void test_merge__key_of_two_columns(void **state)
{
    static const char *const on[] = { "name", "id" };
    const struct lmn_merge_options options = { .on = on, .on_count = 2, UPSERT };
    const struct keyed_row source[] = { { 1, 11, "a" }, { 1, 12, "b" }, { 5, 51, NULL } };
    const struct keyed_row expected[] = {
        { 1, 11, "a" }, { 2, 20, "b" },          { 3, 30, "c" }, { 5, 50, NULL }, { 6, 60, "f" },
        { 8, 80, "h" }, { KEYED_NULL, 70, "g" }, { 8, 81, "i" }, { 1, 12, "b" },  { 5, 51, NULL },
    };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = base_table(store, 3, false);
    struct lmn_merge_result result;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(merge(table, KEYED_ALL, source, COUNT(source), &options, &result, &err), LMN_OK,
                 &err);
    CHECK_EQ(result.updated, 1);
    CHECK_EQ(result.inserted, 2);
    keyed_check(table, expected, COUNT(expected));
    lmn_table_release(table);
    lmn_store_release(store);
}

struct refusal {
    struct lmn_merge_options options;
    const struct keyed_row *row;
    uint64_t count;
    enum lmn_status status;
    const char *part; /* of the message */
};

static const char *const on_other[] = { "other" }, *const on_value[] = { "value" };

#define ON_ID .on = on_id, .on_count = 1
#define GIVEN given, COUNT(given)

static const struct refusal refusals[] = {
    { { ON_ID, .matched = LMN_MERGE_FAIL }, GIVEN, LMN_E_EXISTS, "id = 2" },
    { { ON_ID, .not_matched = LMN_MERGE_FAIL }, GIVEN, LMN_E_NOT_FOUND, "id = 4" },
    { { ON_ID, UPSERT },
      ROWS({ 3, 1, "x" }, { 7, 2, "y" }, { 3, 3, "z" }),
      LMN_E_INVALID,
      "id = 3 is there twice, in rows 0 and 2" },
    { { .on = on_other, .on_count = 1, UPSERT }, GIVEN, LMN_E_NOT_FOUND, "other" },
    { { .on = on_value, .on_count = 0, UPSERT }, GIVEN, LMN_E_INVALID, "key columns" },
    { { ON_ID, .matched = LMN_MERGE_INSERT }, GIVEN, LMN_E_INVALID, "a merge can" },
    { { ON_ID, .not_matched = LMN_MERGE_UPDATE }, GIVEN, LMN_E_INVALID, "a merge can" },
    { { ON_ID, .not_matched = LMN_MERGE_DELETE }, GIVEN, LMN_E_INVALID, "a merge can" },
    { { ON_ID, .not_in_source = LMN_MERGE_FAIL }, GIVEN, LMN_E_INVALID, "a merge can" },
    { { ON_ID, .matched = LMN_MERGE_FAIL + 1 }, GIVEN, LMN_E_INVALID, "a merge can" },
    { { ON_ID, .not_matched = LMN_MERGE_FAIL + 1 }, GIVEN, LMN_E_INVALID, "a merge can" },
    { { ON_ID, UPSERT, .matched_where = "source.value >" }, GIVEN, LMN_E_INVALID, "" },
    { { ON_ID, UPSERT, .matched_where = "target.other > 1" }, GIVEN, LMN_E_NOT_FOUND, "other" },
    { { ON_ID, UPSERT, .matched_where = "source.other > 1" }, GIVEN, LMN_E_NOT_FOUND, "other" },
    { { ON_ID, UPSERT, .matched_where = "source.value" }, GIVEN, LMN_E_INVALID, "" },
    { { ON_ID, .matched = LMN_MERGE_DELETE, .matched_where = "source.other > 1" },
      GIVEN,
      LMN_E_NOT_FOUND,
      "other" },
    { { ON_ID, .matched_where = "true" }, GIVEN, LMN_E_INVALID, "neither updates nor deletes" },
    { { ON_ID, .matched = LMN_MERGE_FAIL, .matched_where = "true" },
      GIVEN,
      LMN_E_INVALID,
      "neither updates nor deletes" },
    { { ON_ID, UPSERT, .not_in_source_where = "true" }, GIVEN, LMN_E_INVALID, "does not delete" },
    { { ON_ID, .not_in_source = LMN_MERGE_DELETE, .not_in_source_where = "other = 1" },
      GIVEN,
      LMN_E_NOT_FOUND,
      "other" },
};

/* The files of a table that a failed merge must not leave behind. */
static size_t count_files(struct lmn_store *store)
{
    return test_store_count(store, "data") + test_store_count(store, "_deletions") +
           test_store_count(store, "_transactions") + test_store_count(store, "_versions");
}

static void check_refusals(void)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = base_table(store, 3, false);
    size_t files = count_files(store);

    for (size_t i = 0; i < COUNT(refusals); i++) {
        const struct refusal *one = &refusals[i];
        struct lmn_merge_result result = { 1, 1, 1, 1 };
        struct lmn_error err = { 0 };

        CHECK_STATUS(merge(table, KEYED_ALL, one->row, one->count, &one->options, &result, &err),
                     one->status, &err);
        CHECK_HAS(err.message, one->part);
        CHECK_EQ(result.inserted + result.updated + result.deleted + result.skipped, 0);
        CHECK_EQ(count_files(store), files);
    }
    CHECK_EQ(merge(table, KEYED_ALL, GIVEN, NULL, NULL, NULL), LMN_E_INVALID);
    CHECK_EQ(lmn_table_version(table), 2);
    keyed_check(table, base, COUNT(base));
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_merge__refused(void **state)
{
    (void)state;
    check_refusals();
    test_source_bytes_max(1);
    check_refusals();
    test_source_bytes_max(0);
}

/* Merges for the fault loop: rows that move and are inserted, rows that go, two sides of a row. */
static const struct lmn_merge_options faulty[] = {
    { ON_ID, UPSERT, .not_in_source = LMN_MERGE_DELETE, .not_in_source_where = "value = 60" },
    { ON_ID, .matched = LMN_MERGE_DELETE },
    { ON_ID, .matched = LMN_MERGE_DELETE, .matched_where = "source.value > 300" },
    { ON_ID, .matched = LMN_MERGE_UPDATE,
      .matched_where = "source.value > 300 and target.name = 'i'" },
};

/*
 * One merge with the nth fault, on a table that is made anew if there is none or it has changed.
 * False when there was no fault.
 */
static bool merge_with_fault(struct lmn_store **store, int which, uint64_t nth)
{
    struct lmn_store *broken;
    struct lmn_table *table;
    struct ArrowArrayStream stream;
    struct lmn_error err = { 0 };
    enum lmn_status st;
    uint64_t version;
    size_t files;
    bool fired;

    if (*store == NULL) {
        *store = test_store_memory();
        lmn_table_release(base_table(*store, COUNT(made), false));
    }
    files = count_files(*store);
    broken = test_store_faulty(*store);
    CHECK_OK(lmn_table_open(broken, NULL, &table, &err));
    keyed_stream(which == 2 ? KEYED_ID | KEYED_VALUE : KEYED_ALL, given, COUNT(given),
                 which == 0 ? 2 : 4, &stream);
    fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
    st = lmn_table_merge(table, &stream, &faulty[which], NULL, &err);
    fired = fault_fired();
    fault_disarm();
    lmn_table_release(table);
    lmn_store_release(broken);
    if (!(st == LMN_OK || (fired && (st == LMN_E_NO_MEMORY || st == LMN_E_IO))))
        check_fail(__FILE__, __LINE__, "fault %llu: %s", (unsigned long long)nth, err.message);
    CHECK(st == LMN_OK || err.message[0] != '\0');
    CHECK_OK(lmn_table_open(*store, NULL, &table, &err));
    version = lmn_table_version(table);
    if (version == 2) {
        CHECK(st != LMN_OK);
        if (st == LMN_E_NO_MEMORY)
            CHECK_EQ(count_files(*store), files);
        else
            keyed_check(table, base, COUNT(base));
    }
    lmn_table_release(table);
    if (version != 2 || count_files(*store) != files) {
        lmn_store_release(*store);
        *store = NULL;
        CHECK_EQ(live_allocations(), 0);
    }
    return fired;
}

static void test_merge__faults(void **state)
{
    (void)state;
    for (int which = 0; which < (int)COUNT(faulty); which++) {
        struct lmn_store *store = NULL;

        for (uint64_t nth = 1; merge_with_fault(&store, which, nth); nth++)
            ;
        CHECK(store == NULL);
    }
}

static void test_merge__faults_of_a_source_in_a_file(void **state)
{
    test_source_bytes_max(1);
    test_merge__faults(state);
    test_source_bytes_max(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge__actions),
        cmocka_unit_test(test_merge__source_in_a_file),
        cmocka_unit_test(test_merge__key_of_two_columns),
        cmocka_unit_test(test_merge__refused),
        cmocka_unit_test(test_merge__faults),
        cmocka_unit_test(test_merge__faults_of_a_source_in_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
