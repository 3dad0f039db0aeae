/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations whose commit others overtake: what both did is there, or the later one is refused.
 */
#include <leman/leman.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "column_tables.h"
#include "meanwhile.h"
#include "store/draft.h"
#include "table/apply.h"
#include "table/versions.h"

static void update_two(struct lmn_table *table)
{
    static const struct lmn_assignment more = { "value", "value + 1" };
    struct lmn_error err;

    CHECK_STATUS(lmn_table_update(table, "id = 2", &more, 1, NULL, &err), LMN_OK, &err);
}

static void delete_two(struct lmn_table *table)
{
    struct lmn_error err;

    CHECK_STATUS(lmn_table_delete(table, "id = 2", NULL, &err), LMN_OK, &err);
}

/* The row stands elsewhere now, and is deleted there. */
static void test_overtaken__delete_finds_a_row_that_was_updated(void **state)
{
    static const struct keyed_row left[] = { { 1, 10, "one" }, { 4, 40, "four" } };
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, update_two);
    struct lmn_error err;
    uint64_t count;

    (void)state;
    CHECK_STATUS(lmn_table_delete(table, "id = 2 or id = 3", &count, &err), LMN_OK, &err);
    CHECK_EQ(count, 2);
    keyed_check(table, left, 2);
    meanwhile_free(table, &meanwhile);
}

/* A row that is not to be deleted any more stays. */
static void test_overtaken__delete_leaves_a_row_that_is_other_now(void **state)
{
    static const struct keyed_row left[] = { { 1, 10, "one" },
                                             { 2, 21, "two" },
                                             { 4, 40, "four" } };
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, update_two);
    struct lmn_error err;
    uint64_t count;

    (void)state;
    CHECK_STATUS(lmn_table_delete(table, "value = 20 or value = 30", &count, &err), LMN_OK, &err);
    CHECK_EQ(count, 1);
    keyed_check(table, left, 3);
    meanwhile_free(table, &meanwhile);
}

/* What others have deleted is not counted once more. */
static void test_overtaken__delete_counts_its_own_rows(void **state)
{
    static const struct keyed_row left[] = { { 1, 10, "one" }, { 4, 40, "four" } };
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, delete_two);
    struct lmn_error err;
    uint64_t count;

    (void)state;
    CHECK_STATUS(lmn_table_delete(table, "id = 2 or id = 3", &count, &err), LMN_OK, &err);
    CHECK_EQ(count, 1);
    keyed_check(table, left, 2);
    meanwhile_free(table, &meanwhile);
}

/* What pylance does to set the metadata of a field: a version of an "update config". */
static void set_metadata(struct lmn_table *table)
{
    static const uint8_t operation[] = { 0xfa, 0x01, 0 }; /* field 31, empty */
    struct lmn__pb_entry unit = { { (const uint8_t *)"unit", 4 }, { (const uint8_t *)"kg", 2 } };
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn__pb_schema_field *field = manifest->pb.fields.item;
    struct lmn__next next = { .env = test_env(), .base = manifest };
    char path[LMN__VERSION_PATH_BYTES];
    struct lmn__buf bytes;
    struct lmn_error err;

    field[1].metadata = (struct lmn__pb_list){ &unit, 1 };
    next.pb = manifest->pb;
    next.pb.version++;
    next.transaction.read_version = manifest->pb.version;
    next.transaction.update_config = (struct lmn__span){ operation, sizeof operation };
    lmn__buf_init(&bytes, test_env(), 0);
    CHECK_OK(lmn__next_encode(&next, &bytes, &err));
    lmn__version_path(next.pb.version, false, path);
    CHECK_STATUS(
        lmn__store_put(table->store, path, LMN__PUBLISH_IF_ABSENT, bytes.data, bytes.len, &err),
        LMN_OK, &err);
    lmn__buf_deinit(&bytes);
    lmn__manifest_release(manifest);
}

static void check_metadata(struct lmn_table *table)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    const struct lmn__pb_schema_field *field = manifest->pb.fields.item;

    CHECK_EQ(manifest->pb.version, 3);
    CHECK_EQ(field[1].metadata.count, 1);
    lmn__manifest_release(manifest);
}

static void test_overtaken__changes_of_columns_keep_metadata(void **state)
{
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, set_metadata);
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_rename_column(table, "name", "called", &err), LMN_OK, &err);
    CHECK(column_exists(table, "called"));
    check_metadata(table);
    meanwhile_free(table, &meanwhile);

    table = meanwhile_table(&meanwhile, set_metadata);
    CHECK_STATUS(column_add_nulls(table, "more", &err), LMN_OK, &err);
    CHECK(column_exists(table, "more"));
    check_metadata(table);
    meanwhile_free(table, &meanwhile);
}

/* It is seen before the manifest has its name, so nothing is in doubt. */
static void test_overtaken__a_commit_that_waited_is_made_again(void **state)
{
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, append_and_clean);
    struct lmn_error err;
    uint64_t count;

    (void)state;
    meanwhile.op = LMN__OP_SYNC;
    CHECK_STATUS(lmn_table_delete(table, "id < 3 or id = 5", &count, &err), LMN_OK, &err);
    CHECK_EQ(count, 4);
    CHECK_EQ(lmn_table_version(table), 4);

    meanwhile.others = append_and_clean;
    CHECK_STATUS(append_six(table, &err), LMN_E_CONFLICT, &err);
    CHECK_HAS(err.message, "nothing is changed");
    CHECK_STATUS(append_six(table, &err), LMN_OK, &err);
    meanwhile_free(table, &meanwhile);
}

/* What a delete reads of a version that is cleaned up is read of a newer one. */
static void test_overtaken__rows_that_are_gone_are_read_again(void **state)
{
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, compact_and_clean);
    struct lmn_error err;
    uint64_t count;

    (void)state;
    meanwhile.op = LMN__OP_OPEN;
    meanwhile.folder = "data/";
    CHECK_STATUS(lmn_table_delete(table, "id = 2", &count, &err), LMN_OK, &err);
    CHECK_EQ(count, 1);
    meanwhile_free(table, &meanwhile);
}

/* A transaction that is too large for the manifest has a file; that of an attempt goes with it. */
static void test_overtaken__attempts_leave_no_files(void **state)
{
    enum { BYTES = 70 << 10 };
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, append_five);
    char *where = malloc(BYTES);
    struct lmn_error err;

    (void)state;
    CHECK(where != NULL);
    memset(where, ' ', BYTES);
    memcpy(where, "id = 2", 6);
    where[BYTES - 1] = '\0';
    CHECK_STATUS(lmn_table_delete(table, where, NULL, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), 3);
    CHECK_EQ(test_store_count(meanwhile.inner, "_transactions"), 1);
    CHECK_EQ(test_store_count(meanwhile.inner, "_deletions"), 1);
    free(where);
    meanwhile_free(table, &meanwhile);
}

/* Keys that all are there cannot be inserted by others. */
static void test_overtaken__a_merge_without_new_keys_fits_after_appends(void **state)
{
    static const struct keyed_row changed = { 2, 22, "zwei" };
    static const struct keyed_row all[] = { { 1, 10, "one" },
                                            { 2, 22, "zwei" },
                                            { 3, 30, "three" },
                                            { 4, 40, "four" },
                                            { 5, 50, "five" } };
    static const char *const on[] = { "id" };
    const struct lmn_merge_options options = {
        .on = on, .on_count = 1, .matched = LMN_MERGE_UPDATE, .not_matched = LMN_MERGE_INSERT
    };
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, append_five);
    struct ArrowArrayStream stream;
    struct lmn_error err;

    (void)state;
    keyed_stream(KEYED_ALL, &changed, 1, 64, &stream);
    CHECK_STATUS(lmn_table_merge(table, &stream, &options, NULL, &err), LMN_OK, &err);
    CHECK_EQ(meanwhile.files, 1);
    keyed_check(table, all, 5);
    meanwhile_free(table, &meanwhile);
}

/* Another thread has the same handle; it does not go back behind what that has made. */
static void test_overtaken__a_handle_stays_at_the_later_of_its_commits(void **state)
{
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, append_five);
    struct lmn_error err;

    (void)state;
    meanwhile.op = LMN__OP_SYNC_DIR;
    meanwhile.folder = "_versions";
    meanwhile.same = table;
    CHECK_STATUS(append_six(table, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), 3);
    meanwhile_free(table, &meanwhile);
}

static void clean(struct lmn_table *table)
{
    const struct lmn_cleanup_options all = { .older_than_us = INT64_MAX };
    struct lmn_error err;

    CHECK_STATUS(lmn_table_cleanup(table, &all, NULL, &err), LMN_OK, &err);
}

/* The files of a version that is cleaned up are not brought back. */
static void test_overtaken__no_restore_of_what_is_cleaned_up(void **state)
{
    static const struct keyed_row left[] = { { 1, 10, "one" },
                                             { 3, 30, "three" },
                                             { 4, 40, "four" } };
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, NULL);
    struct lmn_error err;

    (void)state;
    delete_two(table);
    meanwhile.others = clean;
    meanwhile.op = LMN__OP_SYNC;
    CHECK_STATUS(lmn_table_restore(table, 1, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "no version 1");
    CHECK_STATUS(lmn_table_refresh(table, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), 2);
    keyed_check(table, left, 3);
    meanwhile_free(table, &meanwhile);
}

/* What it began with does not matter to an overwrite. */
static void test_overtaken__overwrite_of_a_version_that_is_gone(void **state)
{
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, NULL), *other;
    struct ArrowArrayStream stream;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_open(meanwhile.inner, NULL, &other, &err), LMN_OK, &err);
    append_and_clean(other);
    lmn_table_release(other);
    keyed_stream(KEYED_ALL, base_row, 2, 64, &stream);
    CHECK_STATUS(lmn_table_overwrite(table, &stream, NULL, &err), LMN_OK, &err);
    keyed_check(table, base_row, 2);
    meanwhile_free(table, &meanwhile);
}

/* Rows that are not worth moving: updates of many write the column that they set. */
static void make_wide(struct keyed_row *row)
{
    for (unsigned i = 0; i < BASE_ROWS; i++) {
        row[i] = base_row[i];
        row[i].name = keyed_wide_name(i);
    }
}

static void raise_all(struct lmn_table *table)
{
    static const struct lmn_assignment more = { "value", "value + 1" };
    struct lmn_error err;

    CHECK_STATUS(lmn_table_update(table, NULL, &more, 1, NULL, &err), LMN_OK, &err);
}

static void add_nulls(struct lmn_table *table)
{
    struct lmn_error err;

    CHECK_STATUS(column_add_nulls(table, "more", &err), LMN_OK, &err);
}

static void compact(struct lmn_table *table)
{
    struct lmn_error err;

    append_five(table);
    CHECK_STATUS(lmn_table_compact(table, NULL, NULL, &err), LMN_OK, &err);
}

/* Updates of a column in its place; the values are those of rows 1 to 5, 0 of none. */
static const struct {
    void (*others)(struct lmn_table *table);
    const char *where;
    uint64_t count;
    int64_t value[BASE_ROWS + 1];
    uint64_t files; /* that are begun: 2 when it is made again */
} set_cases[] = {
    { append_five, NULL, 4, { 1010, 1020, 1030, 1040, 50 }, 1 },
    { delete_two, "id <> 2", 3, { 1010, 0, 1030, 1040, 0 }, 1 },
    { delete_two, NULL, 3, { 1010, 0, 1030, 1040, 0 }, 2 },
    { update_two, "id <> 2", 3, { 1010, 21, 1030, 1040, 0 }, 1 },
    { update_two, NULL, 4, { 1010, 1021, 1030, 1040, 0 }, 3 },
    { update_two, "value <> 21", 3, { 1010, 21, 1030, 1040, 0 }, 2 },
    { raise_all, NULL, 4, { 1011, 1021, 1031, 1041, 0 }, 2 },
    { raise_all, "value < 41", 3, { 1011, 1021, 1031, 41, 0 }, 2 },
    { compact, NULL, 5, { 1010, 1020, 1030, 1040, 1050 }, 2 },
    { add_nulls, NULL, 4, { 1010, 1020, 1030, 1040, 0 }, 2 },
};

static void test_overtaken__columns_are_set_in_every_row_once(void **state)
{
    static const struct lmn_assignment more = { "value", "value + 1000" };

    (void)state;
    for (size_t i = 0; i < sizeof set_cases / sizeof set_cases[0]; i++) {
        struct keyed_row row[BASE_ROWS + 1] = { [BASE_ROWS] = { 5, 50, "five" } };
        struct meanwhile meanwhile;
        struct lmn_table *table;
        struct lmn_error err;
        uint64_t count, left = 0;

        make_wide(row);
        table = meanwhile_table_of(row, &meanwhile, set_cases[i].others);
        CHECK_STATUS(lmn_table_update(table, set_cases[i].where, &more, 1, &count, &err), LMN_OK,
                     &err);
        CHECK_EQ(count, set_cases[i].count);
        CHECK_EQ(meanwhile.files, set_cases[i].files);
        for (unsigned k = 0; k <= BASE_ROWS; k++) {
            row[left] = row[k];
            row[left].value = set_cases[i].value[k];
            left += row[left].value != 0;
        }
        keyed_check(table, row, left);
        meanwhile_free(table, &meanwhile);
    }
}

/* Others set values in place: what was read of them has changed, though no row has moved. */
static void test_overtaken__columns_set_in_place_are_seen(void **state)
{
    static const struct lmn_assignment more = { "value", "value + 1000" };
    struct keyed_row row[BASE_ROWS];
    struct meanwhile meanwhile;
    struct lmn_table *table;
    struct lmn_error err;
    uint64_t count;

    (void)state;
    make_wide(row);
    table = meanwhile_table_of(row, &meanwhile, raise_all);
    CHECK_STATUS(lmn_table_delete(table, "value = 20 or value = 31", &count, &err), LMN_OK, &err);
    CHECK_EQ(count, 1);
    meanwhile_free(table, &meanwhile);

    table = meanwhile_table_of(row, &meanwhile, raise_all);
    CHECK_STATUS(lmn_table_update(table, "id = 1", &more, 1, &count, &err), LMN_OK, &err);
    CHECK_EQ(count, 1);
    for (unsigned i = 0; i < BASE_ROWS; i++)
        row[i].value += i == 0 ? 1001 : 1;
    keyed_check(table, row, BASE_ROWS);
    meanwhile_free(table, &meanwhile);
}

static void drop_value(struct lmn_table *table)
{
    static const char *const value[] = { "value" };
    struct lmn_error err;

    CHECK_STATUS(lmn_table_drop_columns(table, value, 1, &err), LMN_OK, &err);
}

static void test_overtaken__a_column_that_is_gone_is_not_set(void **state)
{
    static const struct lmn_assignment more = { "value", "value + 1000" };
    struct keyed_row row[BASE_ROWS];
    struct meanwhile meanwhile;
    struct lmn_table *table;
    struct lmn_error err;

    (void)state;
    make_wide(row);
    table = meanwhile_table_of(row, &meanwhile, drop_value);
    CHECK_STATUS(lmn_table_update(table, NULL, &more, 1, NULL, &err), LMN_E_NOT_FOUND, &err);
    CHECK_EQ(test_store_count(meanwhile.inner, "data"), 1);
    meanwhile_free(table, &meanwhile);
}

/* The attempt is made again because of the first, and finds the second. */
static void update_and_restore(struct lmn_table *table)
{
    struct lmn_error err;

    update_two(table);
    CHECK_STATUS(lmn_table_restore(table, 1, &err), LMN_OK, &err);
}

/* A table without row 3, whose next commit is overtaken. */
static struct lmn_table *make_table_of_three(struct meanwhile *meanwhile,
                                             void (*others)(struct lmn_table *table))
{
    struct lmn_table *table = meanwhile_table(meanwhile, NULL);
    struct lmn_error err;

    CHECK_STATUS(lmn_table_delete(table, "id = 3", NULL, &err), LMN_OK, &err);
    meanwhile->others = others;
    meanwhile->files = 0;
    return table;
}

static uint64_t count_where(struct lmn_table *table, const char *where)
{
    struct lmn_error err;
    uint64_t count;

    CHECK_STATUS(lmn_table_count(table, where, &count, &err), LMN_OK, &err);
    return count;
}

static const struct lmn_assignment doubled = { "doubled", "value * 2" };

static void test_overtaken__rows_that_are_back_have_values(void **state)
{
    struct meanwhile meanwhile;
    struct lmn_table *table = make_table_of_three(&meanwhile, update_and_restore);
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_add_columns(table, &doubled, 1, &err), LMN_OK, &err);
    CHECK_EQ(count_where(table, "doubled = value * 2"), BASE_ROWS);
    meanwhile_free(table, &meanwhile);

    table = make_table_of_three(&meanwhile, update_and_restore);
    CHECK_STATUS(column_widen(table, "name", NANOARROW_TYPE_LARGE_STRING, &err), LMN_OK, &err);
    CHECK_EQ(count_where(table, "name is not null"), BASE_ROWS);
    meanwhile_free(table, &meanwhile);
}

static void test_overtaken__rows_that_are_gone_need_no_new_file(void **state)
{
    struct meanwhile meanwhile;
    struct lmn_table *table = make_table_of_three(&meanwhile, delete_two);
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_add_columns(table, &doubled, 1, &err), LMN_OK, &err);
    CHECK_EQ(count_where(table, "doubled = value * 2"), 2);
    CHECK_EQ(meanwhile.files, 1);
    meanwhile_free(table, &meanwhile);
}

/* Row by row, a stream has nothing for a row that was not there. */
static void test_overtaken__rows_that_are_back_have_no_position(void **state)
{
    struct meanwhile meanwhile;
    struct lmn_table *table = make_table_of_three(&meanwhile, update_and_restore);
    struct pairs pairs = { .key = 1, .step = 1, .left = 3, .batch_rows = 3, .name = "other" };
    struct ArrowArrayStream stream = pairs_stream(&pairs);
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_join_columns(table, &stream, NULL, 0, &err), LMN_E_CONFLICT, &err);
    CHECK(!column_exists(table, "joined"));
    meanwhile_free(table, &meanwhile);
}

/* The column of names is back; what asks for another attempt is the other one. */
static void add_and_restore(struct lmn_table *table)
{
    struct lmn_error err;

    CHECK_STATUS(column_add_nulls(table, "more", &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_restore(table, 2, &err), LMN_OK, &err);
}

static void test_overtaken__columns_that_are_back_are_compacted(void **state)
{
    static const char *const name[] = { "name" };
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, NULL);
    struct lmn_error err;

    (void)state;
    append_five(table);
    CHECK_STATUS(lmn_table_drop_columns(table, name, 1, &err), LMN_OK, &err);
    meanwhile.others = add_and_restore;
    CHECK_STATUS(lmn_table_compact(table, NULL, NULL, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), 6);
    CHECK_EQ(count_where(table, "name is not null"), BASE_ROWS + 1);
    meanwhile_free(table, &meanwhile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overtaken__delete_finds_a_row_that_was_updated),
        cmocka_unit_test(test_overtaken__delete_leaves_a_row_that_is_other_now),
        cmocka_unit_test(test_overtaken__delete_counts_its_own_rows),
        cmocka_unit_test(test_overtaken__changes_of_columns_keep_metadata),
        cmocka_unit_test(test_overtaken__a_commit_that_waited_is_made_again),
        cmocka_unit_test(test_overtaken__rows_that_are_gone_are_read_again),
        cmocka_unit_test(test_overtaken__attempts_leave_no_files),
        cmocka_unit_test(test_overtaken__a_merge_without_new_keys_fits_after_appends),
        cmocka_unit_test(test_overtaken__a_handle_stays_at_the_later_of_its_commits),
        cmocka_unit_test(test_overtaken__no_restore_of_what_is_cleaned_up),
        cmocka_unit_test(test_overtaken__overwrite_of_a_version_that_is_gone),
        cmocka_unit_test(test_overtaken__columns_are_set_in_every_row_once),
        cmocka_unit_test(test_overtaken__columns_set_in_place_are_seen),
        cmocka_unit_test(test_overtaken__a_column_that_is_gone_is_not_set),
        cmocka_unit_test(test_overtaken__rows_that_are_back_have_values),
        cmocka_unit_test(test_overtaken__rows_that_are_gone_need_no_new_file),
        cmocka_unit_test(test_overtaken__rows_that_are_back_have_no_position),
        cmocka_unit_test(test_overtaken__columns_that_are_back_are_compacted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
