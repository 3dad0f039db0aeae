/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of version 2.0 become 2.1 with all their rows.
 */
#include <stdio.h>
#include <string.h>

#include "golden_tables.h"
#include "stores.h"
#include "table/table.h"

/* A golden table in memory. */
static struct lmn_store *copy_golden(const char *name)
{
    struct lmn_store *store = test_store_memory();

    golden_copy(name, store);
    return store;
}

static struct lmn_table *open_table(struct lmn_store *store)
{
    struct lmn_table *table;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    return table;
}

/* All golden rows but the first `missing`, in order. */
static void check_rows(struct lmn_table *table, uint64_t missing)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t rows = missing;

    CHECK_STATUS(lmn_table_scan(table, NULL, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    for (;;) {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        for (uint64_t i = 0; i < (uint64_t)batch.length; i++) {
            CHECK(rows < GOLDEN_ROWS);
            CHECK_EQ(golden_check_row(&schema, &batch, i), golden_id[rows++]);
        }
        batch.release(&batch);
    }
    CHECK_EQ(rows, GOLDEN_ROWS);
    schema.release(&schema);
    stream.release(&stream);
}

static void check_version(struct lmn_table *table, const char *expected)
{
    struct lmn_table_info info;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_info(table, &info, &err), LMN_OK, &err);
    CHECK_STR(info.file_version, expected);
}

static bool has_several_versions(struct lmn_table *table)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    bool has = (manifest->pb.reader_flags & LMN__FLAG_MIXED_VERSIONS) != 0;

    CHECK_EQ((manifest->pb.writer_flags & LMN__FLAG_MIXED_VERSIONS) != 0, has);
    lmn__manifest_release(manifest);
    return has;
}

/* Files of 2.1 beside those of 2.0, which a flag tells, until the upgrade. */
static void test_upgrade__leaves_one_version(void **state)
{
    const struct lmn_assignment same = { "id", "id" };
    struct lmn_store *store = copy_golden("history-2.0");
    struct lmn_table *table = open_table(store);
    struct lmn_error err;

    (void)state;
    CHECK(!has_several_versions(table));
    CHECK_STATUS(lmn_table_update(table, "id >= 0", &same, 1, NULL, &err), LMN_OK, &err);
    CHECK(has_several_versions(table));
    check_version(table, "2.0");
    CHECK_STATUS(lmn_table_upgrade(table, &err), LMN_OK, &err);
    CHECK(!has_several_versions(table));
    check_version(table, "2.1");
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_upgrade__keeps_every_row(void **state)
{
    struct lmn_store *store = copy_golden("history-2.0");
    struct lmn_table *table = open_table(store);
    struct lmn_verify_result result;
    struct lmn_error err;
    uint64_t version = lmn_table_version(table);

    (void)state;
    check_version(table, "2.0");
    check_rows(table, 0);
    CHECK_STATUS(lmn_table_upgrade(table, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), version + 1);
    check_version(table, "2.1");
    check_rows(table, 0);
    CHECK_STATUS(lmn_table_verify(table, NULL, NULL, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.findings, 0);
    /* It can be written to. */
    CHECK_STATUS(lmn_table_delete(table, "id = -1", NULL, &err), LMN_OK, &err);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_upgrade__leaves_later_versions_alone(void **state)
{
    static const char *const golden[] = { "history-2.1", "history-2.2" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct lmn_store *store = copy_golden(golden[i]);
        struct lmn_table *table = open_table(store);
        struct lmn_error err;
        uint64_t version = lmn_table_version(table);

        CHECK_STATUS(lmn_table_upgrade(table, &err), LMN_OK, &err);
        CHECK_EQ(lmn_table_version(table), version);
        lmn_table_release(table);
        lmn_store_release(store);
    }
}

/* A delete, just before the commit of the upgrade. */
struct meanwhile {
    struct lmn_store *inner;
    bool armed;
};

static enum lmn__fault_action intervene(void *context, enum lmn__store_op op, const char *path)
{
    struct meanwhile *meanwhile = context;
    struct lmn_table *other;
    struct lmn_error err;
    char where[64];
    uint64_t count;

    if (op != LMN__OP_LINK || strncmp(path, "_versions/", 10) != 0 || !meanwhile->armed)
        return LMN__FAULT_NONE;
    meanwhile->armed = false;
    other = open_table(meanwhile->inner);
    snprintf(where, sizeof where, "id = %lld", (long long)golden_id[0]);
    CHECK_STATUS(lmn_table_delete(other, where, &count, &err), LMN_OK, &err);
    CHECK_EQ(count, 1);
    lmn_table_release(other);
    return LMN__FAULT_NONE;
}

static void test_upgrade__keeps_what_others_commit_meanwhile(void **state)
{
    struct lmn_store *inner = copy_golden("history-2.0"), *store;
    struct meanwhile meanwhile = { inner, true };
    struct lmn_table *table;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__store_open_fault(inner, intervene, &meanwhile, &store, &err));
    table = open_table(store);
    CHECK_STATUS(lmn_table_upgrade(table, &err), LMN_OK, &err);
    CHECK(!meanwhile.armed);
    check_version(table, "2.1");
    check_rows(table, 1);
    lmn_table_release(table);
    lmn_store_release(store);
    lmn_store_release(inner);
}

static void test_upgrade__faults(void **state)
{
    int64_t before = live_allocations();

    (void)state;
    for (uint64_t nth = 1;; nth += 11) {
        struct lmn_store *inner = copy_golden("history-2.0"), *store = test_store_faulty(inner);
        size_t files = test_store_count(inner, "data");
        struct lmn_table *table = open_table(store);
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_upgrade(table, &err);
        fired = fault_fired();
        fault_disarm();
        lmn_table_release(table);
        table = open_table(inner);
        check_rows(table, 0);
        if (st != LMN_OK) {
            CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
            CHECK(err.message[0] != '\0');
        }
        if (st == LMN_E_NO_MEMORY)
            CHECK_EQ(test_store_count(inner, "data"), files);
        lmn_table_release(table);
        lmn_store_release(store);
        lmn_store_release(inner);
        CHECK_EQ(live_allocations(), before);
        if (!fired) {
            CHECK_OK(st);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upgrade__keeps_every_row),
        cmocka_unit_test(test_upgrade__leaves_one_version),
        cmocka_unit_test(test_upgrade__leaves_later_versions_alone),
        cmocka_unit_test(test_upgrade__keeps_what_others_commit_meanwhile),
        cmocka_unit_test(test_upgrade__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
