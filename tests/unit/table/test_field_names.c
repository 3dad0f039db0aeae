/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns by the names that they have in other versions.
 */
#include "table/field_names.h"

#include <string.h>

#include "column_tables.h"
#include "stores.h"
#include "table/table.h"

enum { ROWS = 10, NAMES = 5 };

static const char *const name[NAMES] = { "number", "struct.x", "maybe", "text", "nobody" };

/* Two versions of a table: before and after columns were renamed and one was dropped. */
struct versions {
    struct lmn_store *store;
    struct lmn_table *table;
    struct lmn__manifest *before, *after;
};

static void versions_make(struct versions *versions)
{
    struct lmn_error err = { 0 };

    versions->store = test_store_memory();
    versions->table = column_table(versions->store, ROWS, ROWS);
    versions->before = lmn__table_manifest(versions->table);
    CHECK_STATUS(lmn_table_rename_column(versions->table, "number", "id", &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_rename_column(versions->table, "struct", "couple", &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_rename_column(versions->table, "couple.x", "y", &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_drop_columns(versions->table, &name[3], 1, &err), LMN_OK, &err);
    versions->after = lmn__table_manifest(versions->table);
}

static void versions_free(struct versions *versions)
{
    lmn__manifest_release(versions->before);
    lmn__manifest_release(versions->after);
    lmn_table_release(versions->table);
    lmn_store_release(versions->store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_field_names__are_followed(void **state)
{
    const char *const later[] = { "id", "couple.y" }, *const * found;
    struct lmn_error err = { 0 };
    struct versions versions;
    struct lmn__arena arena;

    (void)state;
    versions_make(&versions);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(
        lmn__field_names_follow(versions.before, versions.after, name, NAMES, &arena, &found, &err),
        LMN_OK, &err);
    CHECK_STR(found[0], "id");
    CHECK_STR(found[1], "couple.y");
    CHECK(found[2] == name[2]);
    CHECK(found[3] == name[3]); /* is gone */
    CHECK(found[4] == name[4]); /* never was */
    CHECK_STATUS(
        lmn__field_names_follow(versions.after, versions.before, later, 2, &arena, &found, &err),
        LMN_OK, &err);
    CHECK_STR(found[0], "number");
    CHECK_STR(found[1], "struct.x");
    CHECK_STATUS(
        lmn__field_names_follow(versions.after, versions.after, later, 2, &arena, &found, &err),
        LMN_OK, &err);
    CHECK(found == later);
    CHECK(lmn__field_of_id(&versions.after->schema, -1) == NULL);
    CHECK(lmn__field_of_id(&versions.after->schema, 1000) == NULL);
    lmn__arena_deinit(&arena);
    versions_free(&versions);
}

static void test_field_names__faults(void **state)
{
    struct versions versions;

    (void)state;
    versions_make(&versions);
    for (uint64_t nth = 1;; nth++) {
        int64_t live = live_allocations();
        const char *const *found;
        struct lmn_error err = { 0 };
        struct lmn__arena arena;
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        lmn__arena_init(&arena, test_env(), 0);
        st = lmn__field_names_follow(versions.before, versions.after, name, NAMES, &arena, &found,
                                     &err);
        lmn__arena_deinit(&arena);
        CHECK_EQ(live_allocations(), live);
        if (!fault_fired()) {
            CHECK_OK(st);
            break;
        }
        CHECK_EQ(st, LMN_E_NO_MEMORY);
        CHECK(err.message[0] != '\0');
    }
    fault_disarm();
    versions_free(&versions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_field_names__are_followed),
        cmocka_unit_test(test_field_names__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
