/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that is whole has no findings; each thing that is wrong has one that names it.
 */
#include <stdio.h>
#include <string.h>

#include "golden_tables.h"
#include "sample_tables.h"
#include "stores.h"
#include "table/rewrite.h"

enum { ROWS = 300, FINDINGS_MAX = 16, BYTES_MAX = 1 << 20, KEEP_LENGTH = INT32_MAX };

static struct sample sample;
static char finding[FINDINGS_MAX][512];
static uint64_t finding_count;

static int setup(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 9);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

static void keep_finding(void *context, const char *text)
{
    CHECK(context == &sample);
    if (finding_count < FINDINGS_MAX)
        snprintf(finding[finding_count], sizeof finding[0], "%s", text);
    finding_count++;
}

static struct lmn_verify_result verify(struct lmn_store *store)
{
    struct lmn_table *table = sample_table_open(store);
    struct lmn_verify_result result;
    struct lmn_error err;

    finding_count = 0;
    CHECK_STATUS(lmn_table_verify(table, keep_finding, &sample, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.findings, finding_count);
    lmn_table_release(table);
    return result;
}

/* Two fragments of 100 rows, of which one has lost some. */
static void make(struct lmn_store *store)
{
    struct lmn_table *table = sample_table_make(store, &sample, 100, NULL);
    struct lmn_error err;

    sample_table_append(table, &sample, 100, 100);
    CHECK_STATUS(lmn_table_delete(table, "_rowid < 10", NULL, &err), LMN_OK, &err);
    lmn_table_release(table);
}

/* The only entry of a folder, or one of them. */
struct entry {
    char path[256];
    const char *dir;
};

static enum lmn_status keep_entry(void *context, const char *name, bool is_directory,
                                  struct lmn_error *err)
{
    struct entry *entry = context;

    (void)err;
    CHECK(!is_directory);
    snprintf(entry->path, sizeof entry->path, "%s/%s", entry->dir, name);
    return LMN_OK;
}

static struct entry entry_of(struct lmn_store *store, const char *dir)
{
    struct entry entry = { .dir = dir };
    struct lmn_error err;

    CHECK_OK(store->ops->list(store, dir, keep_entry, &entry, &err));
    return entry;
}

/*
 * Write the first `len` bytes of the file anew, or all but the last -`len`, with the byte at
 * `damaged` another one.
 */
static void rewrite(struct lmn_store *store, const char *path, int64_t len, int64_t damaged)
{
    static uint8_t bytes[BYTES_MAX];
    int64_t size = test_store_read(store, path, bytes, sizeof bytes);
    struct lmn_error err;

    CHECK(size > 0 && size <= BYTES_MAX);
    if (damaged >= 0)
        bytes[damaged] ^= 0xff;
    if (len < 0)
        len += size;
    CHECK_OK(store->ops->remove(store, path, &err));
    test_store_write(store, path, bytes, (size_t)(len < size ? len : size));
}

static void test_verify__finds_nothing_in_a_whole_table(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_verify_result result;

    (void)state;
    make(store);
    result = verify(store);
    CHECK_EQ(result.findings, 0);
    /* Two data files, a deletion file and the manifest. */
    CHECK_EQ(result.files, 4);
    CHECK(result.pages >= 2 * 12);
    CHECK(result.bytes > 10000);
    lmn_store_release(store);
}

static void test_verify__finds_nothing_in_tables_of_others(void **state)
{
    static const char *const golden[] = { "history-2.0", "history-2.1", "history-2.2", "stable",
                                          "compacted" };
    struct lmn_verify_result result;
    struct lmn_error err;

    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        struct lmn_table *table = golden_open(golden[i]);

        finding_count = 0;
        CHECK_STATUS(lmn_table_verify(table, keep_finding, &sample, &result, &err), LMN_OK, &err);
        if (finding_count != 0)
            CHECK_STR(finding[0], "");
        CHECK(result.pages > 0);
        lmn_table_release(table);
    }
}

static void test_verify__names_a_missing_file_and_goes_on(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct entry data, deletion;
    struct lmn_error err;

    (void)state;
    make(store);
    data = entry_of(store, "data");
    deletion = entry_of(store, "_deletions");
    CHECK_OK(store->ops->remove(store, data.path, &err));
    rewrite(store, deletion.path, 3, -1);
    CHECK_EQ(verify(store).findings, 2);
    CHECK(strstr(finding[0], data.path) != NULL || strstr(finding[1], data.path) != NULL);
    CHECK(strstr(finding[0], deletion.path) != NULL || strstr(finding[1], deletion.path) != NULL);
    CHECK_HAS(finding[0], "fragment ");
    lmn_store_release(store);
}

/* Cut the file, or damage its tail: wherever that is, it is found. */
static void test_verify__names_a_damaged_file(void **state)
{
    (void)state;
    for (int64_t i = 1; i <= 40; i += 3) {
        struct lmn_store *store = test_store_memory();
        struct entry data;

        make(store);
        data = entry_of(store, "data");
        rewrite(store, data.path, -i, -1);
        CHECK_EQ(verify(store).findings, 1);
        CHECK_HAS(finding[0], data.path);
        lmn_store_release(store);
    }
}

/* The number at `at`, or -`at` bytes before the end. */
static uint64_t u64_at(struct lmn_store *store, const char *path, int64_t at)
{
    static uint8_t bytes[BYTES_MAX];
    int64_t size = test_store_read(store, path, bytes, sizeof bytes);

    return lmn__load_u64(bytes + (at < 0 ? size + at : at));
}

/*
 * Damage byte `at` of a file's schema, or of all from the descriptions of its columns on, and see
 * it found. False behind the last one.
 */
static bool damage_is_found(bool of_schema, int64_t at)
{
    struct lmn_store *store = test_store_memory();
    int64_t globals, from, to;
    struct entry data;
    uint8_t byte;

    make(store);
    data = entry_of(store, "data");
    globals = (int64_t)u64_at(store, data.path, -24);
    from = (int64_t)u64_at(store, data.path, of_schema ? globals : -40);
    to = of_schema ? from + (int64_t)u64_at(store, data.path, globals + 8)
                   : (int64_t)test_store_read(store, data.path, &byte, 1);
    if (from + at < to) {
        rewrite(store, data.path, KEEP_LENGTH, from + at);
        CHECK(verify(store).findings != 0);
        CHECK_HAS(finding[0], data.path);
    }
    lmn_store_release(store);
    return from + at < to;
}

/* Most damage in what describes the columns would decode, as something else. */
static void test_verify__finds_damage_in_schema_and_descriptions(void **state)
{
    (void)state;
    for (int64_t i = 0; damage_is_found(true, i); i += 11)
        continue;
    for (int64_t i = 0; damage_is_found(false, i); i += 11)
        continue;
}

/* Damage in a page is found by its checksum, also where the page decodes all the same. */
static void test_verify__names_column_and_page(void **state)
{
    uint64_t found = 0, tries = 0;

    (void)state;
    for (int64_t at = 0; at < 16000; at += 500) {
        struct lmn_store *store = test_store_memory();
        struct entry data;

        make(store);
        data = entry_of(store, "data");
        rewrite(store, data.path, KEEP_LENGTH, at);
        tries++;
        if (verify(store).findings != 0) {
            CHECK_HAS(finding[0], data.path);
            CHECK_HAS(finding[0], "column ");
            CHECK_HAS(finding[0], "page ");
            found++;
        }
        lmn_store_release(store);
    }
    /* The rest falls between pages. */
    CHECK(found > tries * 3 / 4);
}

/* Where `word` stands in the file. */
static int64_t place_of(struct lmn_store *store, const char *path, const char *word)
{
    static uint8_t bytes[BYTES_MAX];
    int64_t size = test_store_read(store, path, bytes, sizeof bytes), len = (int64_t)strlen(word);

    for (int64_t i = 0; i + len <= size; i++) {
        if (memcmp(bytes + i, word, (size_t)len) == 0)
            return i;
    }
    return -1;
}

/* A damaged directory of statistics is one finding, whatever columns it has; so are zones. */
static void test_verify__names_damaged_statistics(void **state)
{
    (void)state;
    for (int64_t behind = 12; behind <= 480; behind += 36) {
        struct lmn_store *store = test_store_memory();
        struct entry data;
        int64_t at;

        make(store);
        data = entry_of(store, "data");
        at = place_of(store, data.path, "LMNSTATS");
        CHECK(at >= 0);
        rewrite(store, data.path, KEEP_LENGTH, at + behind);
        CHECK_EQ(verify(store).findings, 1);
        CHECK_HAS(finding[0], data.path);
        CHECK_HAS(finding[0], "statistics");
        lmn_store_release(store);
    }
}

/* A table of one column of the sample. */
static void make_column(struct lmn_store *store, const char *column)
{
    const struct lmn_scan_options options = { .column = &column, .column_count = 1 };
    struct lmn_store *other = test_store_memory();
    struct lmn_table *all = sample_table_make(other, &sample, 100, NULL), *table;
    struct ArrowArrayStream stream;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_scan(all, &options, &stream, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_create(store, &stream, NULL, &table, &err), LMN_OK, &err);
    lmn_table_release(table);
    lmn_table_release(all);
    lmn_store_release(other);
}

/* Without its mark nobody would look at checksums or statistics again. */
static void test_verify__names_damaged_marks(void **state)
{
    static const char *const mark[] = { "LMNSTATS", "LMNC", "LMNC" };
    static const char *const column[] = { "number", "number", "vector" };
    static const char *const what[] = { "statistics are damaged: in their mark or version",
                                        "the checksums at", "the checksums at" };

    (void)state;
    for (int k = 0; k < 3; k++) {
        int64_t len = (int64_t)strlen(mark[k]) + 4; /* with the version */

        for (int64_t i = 0; i < len; i++) {
            struct lmn_store *store = test_store_memory();
            struct entry data;
            int64_t at;

            make_column(store, column[k]);
            data = entry_of(store, "data");
            at = place_of(store, data.path, mark[k]);
            CHECK(at >= 0);
            CHECK_EQ(verify(store).findings, 0);
            rewrite(store, data.path, KEEP_LENGTH, at + i);
            CHECK_EQ(verify(store).findings, 1);
            CHECK_HAS(finding[0], data.path);
            CHECK_HAS(finding[0], what[k]);
            lmn_store_release(store);
        }
    }
}

/* Flip each bit of a file behind its pages, but for those between the schema and the checksums. */
static void test_verify__finds_every_bit_of_the_tail(void **state)
{
    static uint8_t bytes[BYTES_MAX];
    struct lmn_store *store = test_store_memory();
    struct lmn_error err;
    struct entry data;
    uint64_t size, table, schema, checksums;

    (void)state;
    make_column(store, "vector");
    data = entry_of(store, "data");
    size = (uint64_t)test_store_read(store, data.path, bytes, sizeof bytes);
    table = lmn__load_u64(bytes + size - 24);
    schema = lmn__load_u64(bytes + table);
    checksums = (uint64_t)place_of(store, data.path, "LMNC");
    for (uint64_t at = schema; at < size; at++) {
        if (at == schema + lmn__load_u64(bytes + table + 8))
            at = checksums;
        for (int bit = 0; bit < 8; bit++) {
            CHECK_OK(store->ops->remove(store, data.path, &err));
            bytes[at] ^= (uint8_t)(1 << bit);
            test_store_write(store, data.path, bytes, size);
            bytes[at] ^= (uint8_t)(1 << bit);
            if (verify(store).findings == 0)
                check_fail(__FILE__, __LINE__, "the flip of bit %d of byte %llu is not found", bit,
                           (unsigned long long)at);
        }
    }
    lmn_store_release(store);
}

static void test_verify__names_a_damaged_transaction(void **state)
{
    static const char manifest[] = "_versions/18446744073709551612.manifest"; /* version 3 */
    struct lmn_store *store = test_store_memory();

    (void)state;
    make(store);
    rewrite(store, manifest, KEEP_LENGTH, place_of(store, manifest, "_rowid < 10") - 1);
    CHECK_EQ(verify(store).findings, 1);
    CHECK_HAS(finding[0], "the transaction: ");
    CHECK_HAS(finding[0], "version 3");
    lmn_store_release(store);
}

static void test_verify__finds_ids_that_are_there_twice(void **state)
{
    static const struct lmn_write_options defaults;
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table, *pinned;
    struct lmn__arena arena;
    struct lmn__rewrite_group group;
    struct lmn__change change = { .kind = LMN__CHANGE_APPEND };
    uint64_t id = 1, rows;
    struct lmn_error err;
    bool again;

    (void)state;
    make(store);
    table = sample_table_open(store);
    pinned = sample_table_open(store);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_OK(lmn__rewrite_fragments(&(struct lmn__rewrite){ pinned, &id, 1, 1, &defaults }, &arena,
                                    &group, &rows, &err));
    change.read_version = lmn_table_version(table);
    change.added = group.after;
    change.added_count = group.after_count;
    CHECK_STATUS(lmn__change_commit(table, &change, &again, &err), LMN_OK, &err);
    CHECK_EQ(verify(store).findings, 1);
    CHECK_STR(finding[0], "row id 100 stands in fragment 1 and in fragment 2");
    lmn__arena_deinit(&arena);
    lmn_table_release(pinned);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_verify__faults(void **state)
{
    struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
    int64_t before;

    (void)state;
    make(inner);
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        struct lmn_table *table = sample_table_open(store);
        struct lmn_verify_result result;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        finding_count = 0;
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_verify(table, keep_finding, &sample, &result, &err);
        lmn_table_release(table);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_OK(st);
            CHECK_EQ(finding_count, 0);
            break;
        }
        /* A file that cannot be read is a finding; a lack of memory is not. */
        CHECK(st == LMN_E_NO_MEMORY || (st == LMN_OK && finding_count <= 2));
        CHECK(st == LMN_OK || err.message[0] != '\0');
    }
    fault_disarm();
    lmn_store_release(store);
    lmn_store_release(inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verify__finds_nothing_in_a_whole_table),
        cmocka_unit_test(test_verify__finds_nothing_in_tables_of_others),
        cmocka_unit_test(test_verify__names_a_missing_file_and_goes_on),
        cmocka_unit_test(test_verify__names_a_damaged_file),
        cmocka_unit_test(test_verify__finds_damage_in_schema_and_descriptions),
        cmocka_unit_test(test_verify__names_column_and_page),
        cmocka_unit_test(test_verify__names_damaged_statistics),
        cmocka_unit_test(test_verify__names_damaged_marks),
        cmocka_unit_test(test_verify__finds_every_bit_of_the_tail),
        cmocka_unit_test(test_verify__names_a_damaged_transaction),
        cmocka_unit_test(test_verify__finds_ids_that_are_there_twice),
        cmocka_unit_test(test_verify__faults),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
