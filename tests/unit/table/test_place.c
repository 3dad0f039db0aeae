/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commits that are held up at the naming of their manifest, while others go on and clean up: they
 * stand, or fill a gap of the history, or nobody can tell.
 */
#include "table/place.h"

#include <leman/leman.h>

#include "column_tables.h"
#include "meanwhile.h"

/* A version that nobody reads is not a commit. */
static void test_place__no_commit_fills_a_gap_of_the_history(void **state)
{
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, append_and_clean);
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(append_six(table, &err), LMN_E_IO, &err);
    CHECK_HAS(err.message, "version 2 was made and cleaned up by others");
    CHECK_EQ(test_store_count(meanwhile.inner, "_versions"), 1);
    CHECK_STATUS(append_six(table, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), 4);
    meanwhile_free(table, &meanwhile);
}

static enum lmn_status drop_value(struct lmn_table *table, struct lmn_error *err)
{
    static const char *const column[] = { "value" };

    return lmn_table_drop_columns(table, column, 1, err);
}

static enum lmn_status rename_value(struct lmn_table *table, struct lmn_error *err)
{
    return lmn_table_rename_column(table, "value", "number", err);
}

static enum lmn_status add_more(struct lmn_table *table, struct lmn_error *err)
{
    return column_add_nulls(table, "more", err);
}

static enum lmn_status delete_all(struct lmn_table *table, struct lmn_error *err)
{
    return lmn_table_delete(table, "id > 0", NULL, err);
}

static enum lmn_status restore_first(struct lmn_table *table, struct lmn_error *err)
{
    return lmn_table_restore(table, 1, err);
}

static void delete_and_clean(struct lmn_table *table)
{
    const struct lmn_cleanup_options all = { .older_than_us = INT64_MAX };
    struct lmn_error err;

    CHECK_STATUS(lmn_table_delete(table, "id = 1", NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_delete(table, "id = 2", NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_cleanup(table, &all, NULL, &err), LMN_OK, &err);
}

static const struct {
    enum lmn_status (*fn)(struct lmn_table *table, struct lmn_error *err);
    void (*others)(struct lmn_table *table);
} held[] = {
    { append_six, append_and_clean },    { append_six, delete_and_clean },
    { drop_value, delete_and_clean },    { rename_value, delete_and_clean },
    { add_more, append_and_clean },      { add_more, delete_and_clean },
    { delete_all, append_and_clean },    { restore_first, append_and_clean },
    { restore_first, delete_and_clean },
};

/* A commit that is held up behind the naming of its manifest, while others go on from there. */
static void test_place__a_commit_stands_when_its_base_is_gone(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        struct meanwhile meanwhile;
        struct lmn_table *table = meanwhile_table(&meanwhile, held[i].others);
        struct lmn_error err;

        meanwhile.op = LMN__OP_REMOVE;
        CHECK_STATUS(held[i].fn(table, &err), LMN_OK, &err);
        CHECK_OK(lmn_table_refresh(table, &err));
        CHECK_EQ(lmn_table_version(table), 4);
        CHECK_EQ(test_store_count(meanwhile.inner, "_versions"), 1);
        meanwhile_free(table, &meanwhile);
    }
}

static const struct keyed_row all_six[] = { { 1, 10, "one" },   { 2, 20, "two" },
                                            { 3, 30, "three" }, { 4, 40, "four" },
                                            { 5, 50, "five" },  { 6, 60, "six" } };

/* What it brought is in other files by then: nothing is taken away that may stand. */
static void test_place__a_commit_that_may_stand_is_left_alone(void **state)
{
    struct meanwhile meanwhile;
    struct lmn_table *table = meanwhile_table(&meanwhile, compact_and_clean);
    struct lmn_error err;

    (void)state;
    meanwhile.op = LMN__OP_REMOVE;
    CHECK_STATUS(append_six(table, &err), LMN_E_IO, &err);
    CHECK_HAS(err.message, "whether it stands cannot be seen");
    CHECK_OK(lmn_table_refresh(table, &err));
    CHECK_EQ(lmn_table_version(table), 4);
    keyed_check(table, all_six, 6);
    meanwhile_free(table, &meanwhile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place__no_commit_fills_a_gap_of_the_history),
        cmocka_unit_test(test_place__a_commit_stands_when_its_base_is_gone),
        cmocka_unit_test(test_place__a_commit_that_may_stand_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
