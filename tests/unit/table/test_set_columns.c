/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates and upserts that write the columns that they set, in rows that stay where they are: which
 * files there are before and after, what fragments say of their rows, and that a failure leaves
 * nothing.
 */
#include "keyed_rows.h"
#include "stores.h"
#include "table/row_ids.h"
#include "table/table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ROWS = KEYED_WIDE_NAMES, FRAGMENT_ROWS = 3, FRAGMENTS = ROWS / FRAGMENT_ROWS };

/* Rows 1 to `count` with values 10, 20, ... and long names. */
static void make_rows(struct keyed_row *row, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        row[i] = (struct keyed_row){ i + 1, 10 * (int64_t)(i + 1), keyed_wide_name(i) };
}

static struct lmn_table *make_table(struct lmn_store *store, unsigned count, bool unstable)
{
    const struct lmn_write_options options = { .fragment_rows_max = FRAGMENT_ROWS,
                                               .unstable_row_ids = unstable };
    struct keyed_row row[ROWS];

    make_rows(row, count);
    return keyed_table(store, row, count, &options);
}

static void update(struct lmn_table *table, const char *where, const char *column,
                   const char *expression, uint64_t count)
{
    const struct lmn_assignment assignment = { column, expression };
    struct lmn_error err = { 0 };
    uint64_t found;

    CHECK_STATUS(lmn_table_update(table, where, &assignment, 1, &found, &err), LMN_OK, &err);
    CHECK_EQ(found, count);
}

/* Fragment number `index` of the version that the table stands at. */
static void get_fragment(struct lmn_table *table, uint64_t index, struct lmn__arena *arena,
                         struct lmn__pb_fragment *fragment_out)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn_error err;

    CHECK_OK(lmn__manifest_fragment(manifest, index, arena, fragment_out, &err));
    lmn__manifest_release(manifest);
}

static bool same_span(struct lmn__span a, struct lmn__span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static void check_fields(const struct lmn__pb_data_file *file, size_t count, const int32_t *field)
{
    CHECK_EQ(file->fields.count, count);
    for (size_t i = 0; i < count; i++)
        CHECK_EQ((int32_t)file->fields.item[i], field[i]);
}

/* The versions that a fragment says have changed its rows last. */
static void check_stamps(const struct lmn__pb_fragment *fragment, struct lmn__arena *arena,
                         const uint64_t *version)
{
    struct lmn__row_versions stamps;
    struct lmn_error err;

    CHECK_OK(lmn__row_versions_read(fragment->updated_at, FRAGMENT_ROWS, arena, &stamps, &err));
    for (uint64_t i = 0; i < FRAGMENT_ROWS; i++)
        CHECK_EQ(lmn__row_versions_get(&stamps, i), version[i]);
}

/*
 * Two fragments get one small file each; all else stays, and a deleted row keeps its place. It has
 * the version of the row before it, so that these are one run.
 */
static void set_some(bool unstable)
{
    static const int32_t left[] = { 0, -2, 2 }, set[] = { 1 };
    static const uint64_t stamps[][FRAGMENT_ROWS] = { { 3, 3, 3 }, { 3, 3, 3 } };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store, ROWS, unstable);
    struct lmn__pb_fragment before[FRAGMENTS], after[FRAGMENTS];
    struct lmn__manifest *old, *new;
    struct keyed_row row[ROWS], left_row[ROWS - 1];
    struct lmn__arena arena;
    struct lmn_error err;

    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(lmn_table_delete(table, "id = 5", NULL, &err), LMN_OK, &err);
    old = lmn__table_manifest(table);
    for (uint64_t i = 0; i < FRAGMENTS; i++)
        get_fragment(table, i, &arena, &before[i]);
    update(table, "id < 7", "value", "value + id", 5);
    new = lmn__table_manifest(table);
    CHECK_EQ(new->pb.version, 3);
    CHECK_EQ(lmn__manifest_fragment_count(new), FRAGMENTS);
    for (uint64_t i = 0; i < FRAGMENTS; i++)
        get_fragment(table, i, &arena, &after[i]);
    for (uint64_t i = 0; i < 2; i++) {
        const struct lmn__pb_data_file *file = after[i].files.item, *was = before[i].files.item;

        CHECK_EQ(after[i].id, before[i].id);
        CHECK_EQ(after[i].files.count, 2);
        CHECK(same_span(file[0].path, was[0].path));
        check_fields(&file[0], 3, left);
        check_fields(&file[1], 1, set);
        CHECK(file[1].bytes != 0 && file[1].bytes < 4096);
        CHECK(same_span(after[i].row_ids, before[i].row_ids));
        CHECK(same_span(after[i].created_at, before[i].created_at));
        if (unstable)
            CHECK(after[i].updated_at.data == NULL);
        else
            check_stamps(&after[i], &arena, stamps[i]);
    }
    CHECK(same_span(new->pb.fragments.item[2], old->pb.fragments.item[2]));
    make_rows(row, ROWS);
    for (unsigned i = 0, k = 0; i < ROWS; i++) {
        row[i].value += i < 6 ? row[i].id : 0;
        if (i != 4)
            left_row[k++] = row[i];
    }
    keyed_check(table, left_row, ROWS - 1);
    lmn__manifest_release(old);
    lmn__manifest_release(new);
    lmn__arena_deinit(&arena);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_set_columns__writes_the_column_alone(void **state)
{
    (void)state;
    set_some(false);
    set_some(true);
}

/* A file that has only columns which are set again is not named any more. */
static void test_set_columns__drops_files_without_columns(void **state)
{
    static const int32_t left[] = { 0, -2, 2 }, set[] = { 1 };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store, FRAGMENT_ROWS, false);
    struct lmn__pb_fragment first, second;
    const struct lmn__pb_data_file *one, *two;
    struct keyed_row row[FRAGMENT_ROWS];
    struct lmn_error err = { 0 };
    struct lmn_verify_result result;
    struct lmn__manifest *manifest;
    struct lmn__arena arena;

    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    update(table, NULL, "value", "value + 1", 3);
    manifest = lmn__table_manifest(table);
    get_fragment(table, 0, &arena, &first);
    update(table, "value > 11", "value", "null", 2);
    get_fragment(table, 0, &arena, &second);
    one = first.files.item;
    two = second.files.item;
    CHECK_EQ(second.files.count, 2);
    check_fields(&two[0], 3, left);
    check_fields(&two[1], 1, set);
    CHECK(!same_span(one[1].path, two[1].path));
    check_stamps(&second, &arena, (const uint64_t[]){ 2, 3, 3 });
    make_rows(row, FRAGMENT_ROWS);
    row[0].value = 11;
    row[1].value = row[2].value = KEYED_NULL;
    keyed_check(table, row, FRAGMENT_ROWS);
    CHECK_STATUS(lmn_table_verify(table, NULL, NULL, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.findings, 0);
    lmn__manifest_release(manifest);
    lmn__arena_deinit(&arena);
    lmn_table_release(table);
    lmn_store_release(store);
}

/* Few rows, and columns that are most of a row: they move, and are found in the search once. */
static void test_set_columns__moves_what_is_cheaper(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store, ROWS, false);
    struct keyed_row row[ROWS];

    (void)state;
    update(table, "id = 100", "value", "0", 0);
    CHECK_EQ(lmn_table_version(table), 1);
    update(table, "id = 2", "value", "0", 1);
    CHECK_EQ(test_store_count(store, "_deletions"), 1);
    update(table, "id > 3 and id < 7", "name", "'n'", 3);
    CHECK_EQ(test_store_count(store, "_deletions"), 1);
    CHECK_EQ(test_store_count(store, "data"), FRAGMENTS + 2);
    make_rows(row, ROWS);
    row[1].value = 0;
    row[3].name = row[4].name = row[5].name = "n";
    keyed_check(table, row, ROWS);
    lmn_table_release(table);
    lmn_store_release(store);
}

/* A value that does not exist counts only in rows that are chosen. */
static void test_set_columns__values_of_other_rows(void **state)
{
    const struct lmn_assignment inverse = { "value", "100 / (id - 1)" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store, ROWS, false);
    struct lmn_error err = { 0 };
    struct keyed_row row[ROWS];
    size_t files = test_store_count(store, "data");

    (void)state;
    CHECK_STATUS(lmn_table_update(table, NULL, &inverse, 1, NULL, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "value");
    CHECK_EQ(test_store_count(store, "data"), files);
    update(table, "id > 1", "value", "100 / (id - 1)", ROWS - 1);
    CHECK_EQ(test_store_count(store, "data"), files + FRAGMENTS);
    make_rows(row, ROWS);
    for (unsigned i = 1; i < ROWS; i++)
        row[i].value = 100 / i;
    keyed_check(table, row, ROWS);
    lmn_table_release(table);
    lmn_store_release(store);
}

/* Upsert the rows of a stream, which is released. */
static enum lmn_status upsert_stream(struct lmn_table *table, struct ArrowArrayStream *stream,
                                     const char *where, struct lmn_merge_result *result_out,
                                     struct lmn_error *err)
{
    static const char *const on[] = { "id" };
    const struct lmn_merge_options options = { .on = on,
                                               .on_count = 1,
                                               .matched = LMN_MERGE_UPDATE,
                                               .matched_where = where,
                                               .not_matched = LMN_MERGE_INSERT };

    return lmn_table_merge(table, stream, &options, result_out, err);
}

static void upsert(struct lmn_table *table, unsigned columns, const struct keyed_row *row,
                   uint64_t count, const char *where, struct lmn_merge_result *result_out)
{
    struct ArrowArrayStream stream;
    struct lmn_error err = { 0 };

    keyed_stream(columns, row, count, 2, &stream);
    CHECK_STATUS(upsert_stream(table, &stream, where, result_out, &err), LMN_OK, &err);
}

/* Matched rows stay, others are new rows; the key that the source brings is not written. */
static void upsert_some(bool unstable)
{
    static const struct keyed_row given[] = {
        { 6, 600, NULL }, { 12, 1200, NULL }, { 2, 200, NULL }, { 1, KEYED_NULL, NULL },
        { 5, 500, NULL }, { 11, 1100, NULL }, { 4, 400, NULL },
    };
    static const int32_t left[] = { 0, -2, 2 }, set[] = { 1 };
    static const uint64_t stamps[][FRAGMENT_ROWS] = { { 3, 3, 1 }, { 3, 3, 3 } };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store, ROWS, unstable);
    struct keyed_row row[ROWS + 3];
    struct lmn__pb_fragment fragment;
    struct lmn_merge_result result;
    struct lmn__arena arena;
    struct lmn_error err = { 0 };
    size_t files = test_store_count(store, "data");

    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(lmn_table_delete(table, "id = 5", NULL, &err), LMN_OK, &err);
    upsert(table, KEYED_ID | KEYED_VALUE, given, COUNT(given), NULL, &result);
    CHECK_EQ(result.updated, 4);
    CHECK_EQ(result.inserted, 3);
    CHECK_EQ(test_store_count(store, "data"), files + 3);
    CHECK_EQ(lmn_table_version(table), 3);
    for (uint64_t i = 0; i < 2; i++) {
        const struct lmn__pb_data_file *file;

        get_fragment(table, i, &arena, &fragment);
        file = fragment.files.item;
        CHECK_EQ(fragment.files.count, 2);
        check_fields(&file[0], 3, left);
        check_fields(&file[1], 1, set);
        if (!unstable)
            check_stamps(&fragment, &arena, stamps[i]);
    }
    make_rows(row, ROWS);
    row[0].value = KEYED_NULL;
    row[1].value = 200;
    row[3].value = 400;
    row[4] = (struct keyed_row){ 5, 500, NULL };
    row[5].value = 600;
    row[ROWS] = (struct keyed_row){ 11, 1100, NULL };
    row[ROWS + 1] = (struct keyed_row){ 12, 1200, NULL };
    keyed_check(table, row, ROWS + 2);
    lmn__arena_deinit(&arena);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_set_columns__of_upserts(void **state)
{
    (void)state;
    upsert_some(false);
    upsert_some(true);
}

/* Rows that the condition leaves out are not set; those of whole rows move. */
static void test_set_columns__of_upserts_where(void **state)
{
    static const char where[] = "source.value > target.value";
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store, ROWS, false);
    struct keyed_row row[ROWS], given[ROWS];
    struct lmn_merge_result result;
    size_t files = test_store_count(store, "data");

    (void)state;
    make_rows(row, ROWS);
    make_rows(given, ROWS);
    for (unsigned i = 0; i < ROWS; i++) {
        given[i].value = 45;
        row[i].value = row[i].value < 45 ? 45 : row[i].value;
    }
    upsert(table, KEYED_ID | KEYED_VALUE, given, ROWS, where, &result);
    CHECK_EQ(result.updated, 4);
    CHECK_EQ(result.skipped, ROWS - 4);
    CHECK_EQ(test_store_count(store, "data"), files + 2);
    CHECK_EQ(test_store_count(store, "_deletions"), 0);
    keyed_check(table, row, ROWS);
    upsert(table, KEYED_ALL, row, 2, NULL, &result);
    CHECK_EQ(test_store_count(store, "_deletions"), 1);
    keyed_check(table, row, ROWS);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static size_t count_files(struct lmn_store *store)
{
    return test_store_count(store, "data") + test_store_count(store, "_deletions") +
           test_store_count(store, "_transactions") + test_store_count(store, "_versions");
}

/* All rows but the second get other values: by an update, or by an upsert with one row more. */
static const struct lmn_assignment more = { "value", "value + id" };
static const struct keyed_row upserted[] = {
    { 1, 11, NULL }, { 3, 33, NULL }, { 4, 44, NULL }, { 5, 55, NULL }
};

/* The rows are the old ones, or the new ones; with the nth fault. False: there was none. */
static bool set_with_fault(struct lmn_store **store, bool by_key, uint64_t nth)
{
    struct keyed_row row[FRAGMENT_ROWS + 2];
    struct ArrowArrayStream stream;
    struct lmn_store *broken;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    enum lmn_status st;
    uint64_t version;
    size_t files;
    bool fired;

    if (*store == NULL) {
        *store = test_store_memory();
        lmn_table_release(make_table(*store, FRAGMENT_ROWS + 1, false));
    }
    files = count_files(*store);
    broken = test_store_faulty(*store);
    CHECK_OK(lmn_table_open(broken, NULL, &table, &err));
    if (by_key)
        keyed_stream(KEYED_ID | KEYED_VALUE, upserted, COUNT(upserted), 2, &stream);
    fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
    st = by_key ? upsert_stream(table, &stream, NULL, NULL, &err)
                : lmn_table_update(table, "id <> 2", &more, 1, NULL, &err);
    fired = fault_fired();
    fault_disarm();
    lmn_table_release(table);
    lmn_store_release(broken);
    CHECK(st == LMN_OK || (fired && (st == LMN_E_NO_MEMORY || st == LMN_E_IO)));
    CHECK_OK(lmn_table_open(*store, NULL, &table, &err));
    version = lmn_table_version(table);
    CHECK(version == 2 || st != LMN_OK);
    if (version == 1 && st == LMN_E_NO_MEMORY)
        CHECK_EQ(count_files(*store), files);
    make_rows(row, FRAGMENT_ROWS + 1);
    for (unsigned i = 0; version == 2 && i <= FRAGMENT_ROWS; i++)
        row[i].value += i != 1 ? row[i].id : 0;
    row[FRAGMENT_ROWS + 1] = upserted[3];
    keyed_check(table, row, by_key && version == 2 ? FRAGMENT_ROWS + 2 : FRAGMENT_ROWS + 1);
    lmn_table_release(table);
    if (count_files(*store) != files) {
        lmn_store_release(*store);
        *store = NULL;
        CHECK_EQ(live_allocations(), 0);
    }
    return fired;
}

static void test_set_columns__faults(void **state)
{
    (void)state;
    for (int by_key = 0; by_key < 2; by_key++) {
        struct lmn_store *store = NULL;

        for (uint64_t nth = 1; set_with_fault(&store, by_key != 0, nth); nth++)
            ;
        CHECK(store == NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_columns__writes_the_column_alone),
        cmocka_unit_test(test_set_columns__drops_files_without_columns),
        cmocka_unit_test(test_set_columns__moves_what_is_cheaper),
        cmocka_unit_test(test_set_columns__values_of_other_rows),
        cmocka_unit_test(test_set_columns__of_upserts),
        cmocka_unit_test(test_set_columns__of_upserts_where),
        cmocka_unit_test(test_set_columns__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
