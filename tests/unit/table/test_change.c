/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commits: what they carry, whom they conflict with, and that they are durable.
 */
#include <leman/leman.h>

#include "arrays.h"
#include "check.h"
#include "store/draft.h"
#include "store/powerloss.h"
#include "stores.h"
#include "table/change.h"
#include "table/versions.h"

enum { ROWS = 300 };

static struct sample sample;

static int make_rows(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 3);
    return 0;
}

static int free_rows(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

static struct lmn_table *create(struct lmn_store *store, uint64_t rows)
{
    const struct lmn_write_options options = { .fragment_rows_max = 100, .message = "first" };
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct lmn_error err;

    sample_stream(&sample, 0, rows, 70, &stream);
    CHECK_STATUS(lmn_table_create(store, &stream, &options, &table, &err), LMN_OK, &err);
    return table;
}

static void append(struct lmn_table *table, uint64_t rows)
{
    struct ArrowArrayStream stream;
    struct lmn_error err;

    sample_stream(&sample, 0, rows, 70, &stream);
    CHECK_STATUS(lmn_table_append(table, &stream, NULL, &err), LMN_OK, &err);
}

static uint64_t rows_of(struct lmn_table *table)
{
    struct lmn_table_info info;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_info(table, &info, &err), LMN_OK, &err);
    return info.row_count;
}

static void test_change__two_handles_append(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *one = create(store, ROWS), *two;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_open(store, NULL, &two, &err), LMN_OK, &err);
    append(one, 100);
    append(two, 50);
    CHECK_EQ(lmn_table_version(two), 3);
    CHECK_EQ(rows_of(two), ROWS + 150);
    CHECK_EQ(rows_of(one), ROWS + 100);
    CHECK_STATUS(lmn_table_refresh(one, &err), LMN_OK, &err);
    CHECK_EQ(rows_of(one), ROWS + 150);
    lmn_table_release(one);
    lmn_table_release(two);
    lmn_store_release(store);
}

static void test_change__create_where_a_table_is(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = create(store, 10), *other;
    struct ArrowArrayStream stream;
    struct lmn_error err;

    (void)state;
    sample_stream(&sample, 0, 10, 10, &stream);
    CHECK_STATUS(lmn_table_create(store, &stream, NULL, &other, &err), LMN_E_EXISTS, &err);
    CHECK(other == NULL);
    CHECK_EQ(rows_of(table), 10);
    CHECK_EQ(test_store_count(store, "data"), 1);
    lmn_table_release(table);
    lmn_store_release(store);
}

/* Readers of a version's message would fail at it; it is refused before rows are read. */
static void test_change__messages_are_utf8(void **state)
{
    const struct lmn_write_options bad = { .message = "gr\xfcn" }, good = { .message = "\xc3\xa9" };
    const struct lmn_merge_options merge = { .on = (const char *const[]){ "number" },
                                             .on_count = 1,
                                             .matched = LMN_MERGE_DELETE,
                                             .write = bad };
    struct lmn_store *store = test_store_memory(), *other = test_store_memory();
    struct lmn_table *table = create(store, ROWS), *none;
    struct ArrowArrayStream stream;
    struct lmn_error err;

    (void)state;
    sample_stream(&sample, 0, 10, 10, &stream);
    CHECK_STATUS(lmn_table_create(other, &stream, &bad, &none, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "the message of a commit is not UTF-8: \"gr\\xfcn\"");
    sample_stream(&sample, 0, 10, 10, &stream);
    CHECK_STATUS(lmn_table_overwrite(table, &stream, &bad, &err), LMN_E_INVALID, &err);
    sample_stream(&sample, 0, 10, 10, &stream);
    CHECK_STATUS(lmn_table_append(table, &stream, &bad, &err), LMN_E_INVALID, &err);
    sample_stream(&sample, 0, 10, 10, &stream);
    CHECK_STATUS(lmn_table_merge(table, &stream, &merge, NULL, &err), LMN_E_INVALID, &err);
    CHECK_EQ(lmn_table_version(table), 1);
    sample_stream(&sample, 0, 10, 10, &stream);
    CHECK_STATUS(lmn_table_append(table, &stream, &good, &err), LMN_OK, &err);
    lmn_table_release(table);
    lmn_store_release(store);
    lmn_store_release(other);
    CHECK_EQ(live_allocations(), 0);
}

static void test_change__overwrite_conflicts_with_deletes_in_flight(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *one = create(store, ROWS), *two;
    struct lmn__change change = { .kind = LMN__CHANGE_APPEND, .read_version = 1 };
    struct ArrowArrayStream stream;
    struct lmn_error err;
    bool again;

    (void)state;
    CHECK_STATUS(lmn_table_open(store, NULL, &two, &err), LMN_OK, &err);
    sample_stream(&sample, 0, 10, 10, &stream);
    CHECK_STATUS(lmn_table_overwrite(one, &stream, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__change_commit(two, &change, &again, &err), LMN_E_CONFLICT, &err);
    CHECK(!again);
    CHECK_HAS(err.message, "version 2 (overwrite)");
    change.kind = LMN__CHANGE_MERGE;
    change.read_version = 2;
    CHECK_STATUS(lmn_table_refresh(two, &err), LMN_OK, &err);
    append(one, 10);
    CHECK_STATUS(lmn__change_commit(two, &change, &again, &err), LMN_E_CONFLICT, &err);
    CHECK(again);
    lmn_table_release(one);
    lmn_table_release(two);
    lmn_store_release(store);
}

/* Put `manifest` as version 2, as another writer would. */
static void put_version_2(struct lmn_store *store, struct lmn__manifest *manifest)
{
    struct lmn__buf body, file;
    char path[LMN__VERSION_PATH_BYTES];
    struct lmn_error err;

    manifest->pb.version = 2;
    manifest->pb.has_transaction_section = false;
    lmn__buf_init(&body, test_env(), 0);
    lmn__buf_init(&file, test_env(), 0);
    lmn__pb_encode(&lmn__pb_manifest_message, &manifest->pb, &body);
    lmn__buf_put_u32(&file, (uint32_t)body.len);
    lmn__buf_put(&file, body.data, body.len);
    lmn__buf_put_u64(&file, 0);
    lmn__buf_put(&file, "\0\0\2\0LANC", 8);
    lmn__version_path(2, false, path);
    CHECK_STATUS(lmn__store_put(store, path, LMN__PUBLISH_IF_ABSENT, file.data, file.len, &err),
                 LMN_OK, &err);
    lmn__buf_deinit(&body);
    lmn__buf_deinit(&file);
}

/* A field that this library does not know, and a position that only its writer can keep true. */
static void test_change__unknown_fields_are_carried(void **state)
{
    static const uint8_t unknown[] = { 0xfa, 0x01, 3, 'h', 'e', 'y' }; /* field 31, bytes */
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = create(store, 10);
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn_error err;

    (void)state;
    manifest->pb.unknown = (struct lmn__span){ unknown, sizeof unknown };
    manifest->pb.has_early_transaction = true;
    manifest->pb.early_transaction = 12345;
    put_version_2(store, manifest);
    lmn__manifest_release(manifest);
    lmn_table_release(table);

    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    append(table, 10);
    CHECK_EQ(lmn_table_version(table), 3);
    manifest = lmn__table_manifest(table);
    CHECK_EQ(manifest->pb.unknown.len, sizeof unknown);
    CHECK_BYTES(manifest->pb.unknown.data, unknown, sizeof unknown);
    CHECK(!manifest->pb.has_early_transaction);
    lmn__manifest_release(manifest);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void check_refused(uint64_t reader, uint64_t writer, const char *part)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = create(store, 10), *again;
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct ArrowArrayStream stream;
    struct lmn_error err;

    manifest->pb.reader_flags |= reader;
    manifest->pb.writer_flags |= writer;
    put_version_2(store, manifest);
    lmn__manifest_release(manifest);
    lmn_table_release(table);
    if (reader != 0) {
        CHECK_STATUS(lmn_table_open(store, NULL, &again, &err), LMN_E_UNSUPPORTED, &err);
    } else {
        CHECK_STATUS(lmn_table_open(store, NULL, &again, &err), LMN_OK, &err);
        sample_stream(&sample, 0, 10, 10, &stream);
        CHECK_STATUS(lmn_table_append(again, &stream, NULL, &err), LMN_E_UNSUPPORTED, &err);
        lmn_table_release(again);
    }
    CHECK_HAS(err.message, part);
    lmn_store_release(store);
}

static void test_change__unknown_flags_are_refused(void **state)
{
    (void)state;
    check_refused(64, 64, "feature flag 64 (overlay files)");
    check_refused((uint64_t)1 << 40, 0, "feature flag 1099511627776");
    check_refused(0, 2048, "feature flag 2048 (row lineage in columns)");
    check_refused(0, 131072, "feature flag 131072 (clustering)");
}

/*
 * Power is lost at every step of an append: what was acknowledged is there, and what is there is
 * whole.
 */
static void test_change__power_loss_keeps_acknowledged_commits(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *inner = test_store_memory(), *store, *faulty;
        struct lmn_table *table;
        struct ArrowArrayStream stream;
        struct lmn_error err;
        uint64_t rows;
        bool fired;
        enum lmn_status st;

        CHECK_STATUS(lmn__store_open_powerloss(inner, &store, &err), LMN_OK, &err);
        table = create(store, 10);
        lmn_table_release(table);
        faulty = test_store_faulty(store);
        fault_arm(FAULT_STORE, nth);
        st = lmn_table_open(faulty, NULL, &table, &err);
        if (st == LMN_OK) {
            sample_stream(&sample, 0, 20, 7, &stream);
            st = lmn_table_append(table, &stream, NULL, &err);
            lmn_table_release(table);
        }
        fired = fault_fired();
        fault_disarm();
        lmn_store_release(faulty);
        CHECK_STATUS(lmn__powerloss_crash(store, nth % 3, &err), LMN_OK, &err);
        CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
        rows = rows_of(table);
        CHECK(rows == 10 || rows == 30);
        if (st == LMN_OK)
            CHECK_EQ(rows, 30);
        lmn_table_release(table);
        lmn_store_release(store);
        lmn_store_release(inner);
        if (!fired) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
    }
}

/* How often the versions are listed. */
static enum lmn__fault_action count_listings(void *context, enum lmn__store_op op, const char *path)
{
    *(uint64_t *)context += op == LMN__OP_LIST && strcmp(path, "_versions") == 0;
    return LMN__FAULT_NONE;
}

static void test_change__own_commits_are_known_to_be_the_newest(void **state)
{
    char *dir = test_dir_make();
    struct lmn_store *local = test_store_local(dir), *store;
    struct lmn_table *table, *other;
    struct lmn_error err;
    uint64_t listings = 0;

    (void)state;
    CHECK_STATUS(lmn__store_open_fault(local, count_listings, &listings, &store, &err), LMN_OK,
                 &err);
    table = create(store, 10);
    append(table, 10);
    listings = 0;
    /* A clock that stood still would say nothing; then there is a listing for that commit. */
    for (int i = 0; i < 20; i++)
        append(table, 10);
    CHECK(listings < 20);
    CHECK_STATUS(lmn_table_open(store, NULL, &other, &err), LMN_OK, &err);
    append(other, 5);
    CHECK_STATUS(lmn_table_refresh(table, &err), LMN_OK, &err);
    CHECK_EQ(rows_of(table), 225);
    append(other, 5);
    append(table, 1);
    CHECK_EQ(rows_of(table), 231);
    CHECK_EQ(lmn_table_version(table), 25);
    lmn_table_release(other);
    lmn_table_release(table);
    lmn_store_release(store);
    lmn_store_release(local);
    test_dir_remove(dir);
}

static int64_t stamp_now;
static bool stamp_stands;

static int64_t read_stamp(struct lmn_store *store, const char *path)
{
    (void)store;
    (void)path;
    return stamp_stands ? stamp_now : ++stamp_now;
}

/* A clock that ticks slowly does not hide what others commit between two ticks. */
static void test_change__commits_of_others_within_a_tick_are_seen(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__store_ops ops = *store->ops;
    struct lmn_table *table = create(store, 10), *other;
    struct lmn_error err;

    (void)state;
    ops.dir_stamp = read_stamp;
    store->ops = &ops;
    CHECK_STATUS(lmn_table_open(store, NULL, &other, &err), LMN_OK, &err);
    stamp_stands = false;
    append(table, 10);
    stamp_stands = true;
    append(other, 5);
    CHECK_STATUS(lmn_table_refresh(table, &err), LMN_OK, &err);
    CHECK_EQ(rows_of(table), 25);
    append(table, 1);
    append(other, 1);
    CHECK_EQ(rows_of(other), 27);
    lmn_table_release(other);
    lmn_table_release(table);
    lmn_store_release(store);
}

/* A manifest that is copied back, as from a backup, is read again; its directory has not changed.
 */
static void test_change__a_manifest_that_is_copied_back_is_seen(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__store_ops ops = *store->ops;
    struct lmn_table *table = create(store, 10);
    char path[LMN__VERSION_PATH_BYTES], bytes[4096];
    int64_t len;

    (void)state;
    ops.dir_stamp = read_stamp;
    store->ops = &ops;
    stamp_stands = false;
    append(table, 10);
    stamp_stands = true;
    lmn__version_path(2, false, path);
    len = test_store_read(store, path, bytes, sizeof bytes);
    CHECK(len > 0 && len <= (int64_t)sizeof bytes);
    CHECK_OK(ops.remove(store, path, NULL));
    test_store_write(store, path, bytes, (size_t)len);
    append(table, 5);
    CHECK_EQ(rows_of(table), 25);
    lmn_table_release(table);
    lmn_store_release(store);
}

/*
 * The version that follows the handle's own is made and cleaned away by others; its number must not
 * be taken again.
 */
static void test_change__a_number_that_was_cleaned_away_stays_free(void **state)
{
    char *dir = test_dir_make(), path[LMN__VERSION_PATH_BYTES];
    struct lmn_store *store = test_store_local(dir);
    struct lmn_table *table = create(store, 10), *other;
    struct lmn_error err;
    int64_t stamp;

    (void)state;
    append(table, 10);
    stamp = lmn__versions_stamp(store);
    CHECK(stamp != 0);
    CHECK_STATUS(lmn_table_open(store, NULL, &other, &err), LMN_OK, &err);
    append(other, 5);
    do {
        append(other, 5);
    } while (lmn__versions_stamp(store) == stamp); /* until the clock has moved on */
    lmn__version_path(3, false, path);
    CHECK_STATUS(store->ops->remove(store, path, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_refresh(table, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), lmn_table_version(other));
    append(table, 1);
    CHECK_EQ(lmn_table_version(table), lmn_table_version(other) + 1);
    lmn_table_release(other);
    lmn_table_release(table);
    lmn_store_release(store);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_change__two_handles_append),
        cmocka_unit_test(test_change__create_where_a_table_is),
        cmocka_unit_test(test_change__messages_are_utf8),
        cmocka_unit_test(test_change__overwrite_conflicts_with_deletes_in_flight),
        cmocka_unit_test(test_change__unknown_fields_are_carried),
        cmocka_unit_test(test_change__unknown_flags_are_refused),
        cmocka_unit_test(test_change__power_loss_keeps_acknowledged_commits),
        cmocka_unit_test(test_change__own_commits_are_known_to_be_the_newest),
        cmocka_unit_test(test_change__commits_of_others_within_a_tick_are_seen),
        cmocka_unit_test(test_change__a_manifest_that_is_copied_back_is_seen),
        cmocka_unit_test(test_change__a_number_that_was_cleaned_away_stays_free),
    };

    return cmocka_run_group_tests(cases, make_rows, free_rows);
}
