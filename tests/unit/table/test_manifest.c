/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests as bytes: what is read from a real one, and what damaged ones and those of other
 * features and versions are refused with.
 */
#include "table/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keyed_rows.h"
#include "stores.h"
#include "table/versions.h"

enum { BYTES_MAX = 8192, TAIL_BYTES = 16 };

static const struct keyed_row rows[] = { { 1, 10, "a" }, { 2, 20, "b" }, { 3, 30, "c" } };

/* The manifest of a table, its bytes, and a store for changed ones. */
struct fixture {
    struct lmn_store *store;
    struct lmn__manifest *manifest;
    uint8_t bytes[BYTES_MAX];
    size_t len;
};

static void setup(struct fixture *fixture)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_error err = { 0 };
    char path[LMN__VERSION_PATH_BYTES];

    lmn_table_release(keyed_table(store, rows, 3, NULL));
    lmn__version_path(1, false, path);
    fixture->len = (size_t)test_store_read(store, path, fixture->bytes, BYTES_MAX);
    CHECK(fixture->len <= BYTES_MAX);
    CHECK_STATUS(lmn__manifest_read(store, path, &fixture->manifest, &err), LMN_OK, &err);
    fixture->store = store;
}

static void teardown(struct fixture *fixture)
{
    lmn__manifest_release(fixture->manifest);
    lmn_store_release(fixture->store);
    CHECK_EQ(live_allocations(), 0);
}

/* Read bytes as a manifest. The caller releases it when the answer is LMN_OK. */
static enum lmn_status read_bytes(struct fixture *fixture, const void *bytes, size_t len,
                                  struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    static const char path[] = "_versions/changed";
    enum lmn_status st;

    test_store_write(fixture->store, path, bytes, len);
    st = lmn__manifest_read(fixture->store, path, manifest_out, err);
    CHECK_OK(fixture->store->ops->remove(fixture->store, path, NULL));
    CHECK((st == LMN_OK) == (*manifest_out != NULL));
    return st;
}

static void check_refused(struct fixture *fixture, const void *bytes, size_t len,
                          enum lmn_status status, const char *part)
{
    struct lmn__manifest *manifest;
    struct lmn_error err = { 0 };

    CHECK_STATUS(read_bytes(fixture, bytes, len, &manifest, &err), status, &err);
    CHECK_HAS(err.message, part);
    CHECK_HAS(err.message, "_versions/changed");
}

/* A file of `pb` alone, in `buf`. */
static void encode(const struct lmn__pb_manifest *pb, struct lmn__buf *buf)
{
    struct lmn__buf body;

    lmn__buf_init(&body, test_env(), 0);
    lmn__buf_init(buf, test_env(), 0);
    lmn__pb_encode(&lmn__pb_manifest_message, pb, &body);
    lmn__buf_put_u32(buf, (uint32_t)body.len);
    lmn__buf_put(buf, body.data, body.len);
    lmn__buf_put_u64(buf, 0);
    lmn__buf_put(buf, "\0\0\2\0LANC", 8);
    lmn__buf_deinit(&body);
    CHECK_OK(lmn__buf_status(buf, "a manifest", NULL));
}

/* What reading `pb` answers. */
static enum lmn_status read_pb(struct fixture *fixture, const struct lmn__pb_manifest *pb,
                               struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    struct lmn__buf buf;
    enum lmn_status st;

    encode(pb, &buf);
    st = read_bytes(fixture, buf.data, buf.len, manifest_out, err);
    lmn__buf_deinit(&buf);
    return st;
}

/* The manifest without its sections. */
static struct lmn__pb_manifest bare(const struct fixture *fixture)
{
    struct lmn__pb_manifest pb = fixture->manifest->pb;

    pb.has_index_section = pb.has_transaction_section = false;
    return pb;
}

static struct lmn__span span_of(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static void test_manifest__reads(void **state)
{
    struct fixture fixture;
    struct lmn__pb_fragment fragment;
    struct lmn__arena arena;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture);
    CHECK_EQ(fixture.manifest->pb.version, 1);
    CHECK_EQ(fixture.manifest->bytes, fixture.len);
    CHECK_EQ(fixture.manifest->schema.top_count, 3);
    CHECK_STR(fixture.manifest->schema.top->name, "id");
    CHECK_EQ(fixture.manifest->format_minor, 1);
    CHECK(lmn__manifest_stable_ids(fixture.manifest));
    CHECK_OK(lmn__manifest_check_writable(fixture.manifest, &err));
    CHECK_EQ(lmn__manifest_fragment_count(fixture.manifest), 1);
    CHECK(lmn__manifest_base(fixture.manifest, 0) == NULL);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_OK(lmn__manifest_fragment(fixture.manifest, 0, &arena, &fragment, &err));
    CHECK_EQ(fragment.row_count, 3);
    lmn__arena_deinit(&arena);
    teardown(&fixture);
}

static void test_manifest__not_there(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__manifest *manifest;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn__manifest_read(store, "_versions/none", &manifest, &err), LMN_E_NOT_FOUND,
                 &err);
    CHECK(manifest == NULL);
    lmn_store_release(store);
}

static void test_manifest__corrupt_cut_short(void **state)
{
    struct fixture fixture;

    (void)state;
    setup(&fixture);
    for (size_t len = 0; len < fixture.len; len++) {
        check_refused(&fixture, fixture.bytes, len, LMN_E_CORRUPT, "do not end as a manifest does");
        if (len != 0) /* the end without the start */
            check_refused(&fixture, fixture.bytes + len, fixture.len - len, LMN_E_CORRUPT, "");
    }
    teardown(&fixture);
}

/* The number that the last length stands at, and that length. */
static void test_manifest__corrupt_place(void **state)
{
    struct fixture fixture;
    uint8_t *tail;
    uint64_t end, at, wrong[] = { 0, 0, 0, UINT64_MAX, UINT64_MAX - 3, 1ull << 32 };
    uint32_t len;

    (void)state;
    setup(&fixture);
    end = fixture.len - TAIL_BYTES;
    tail = fixture.bytes + end;
    memcpy(&at, tail, 8);
    wrong[0] = end;
    wrong[1] = end - 3;
    wrong[2] = fixture.len;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memcpy(tail, &wrong[i], 8);
        check_refused(&fixture, fixture.bytes, fixture.len, LMN_E_CORRUPT, "is outside the file");
    }
    memcpy(tail, &at, 8);
    memcpy(&len, fixture.bytes + at, 4);
    for (uint32_t more = 1; more != 0; more *= 16) {
        uint32_t longer = len + more, shorter = len - (more < len ? more : len);

        memcpy(fixture.bytes + at, &longer, 4);
        check_refused(&fixture, fixture.bytes, fixture.len, LMN_E_CORRUPT, "leaves the file");
        memcpy(fixture.bytes + at, &shorter, 4);
        check_refused(&fixture, fixture.bytes, fixture.len, LMN_E_CORRUPT, "does not fill");
    }
    memcpy(fixture.bytes + at, &len, 4);
    fixture.bytes[fixture.len - 1] ^= 1;
    check_refused(&fixture, fixture.bytes, fixture.len, LMN_E_CORRUPT, "do not end");
    teardown(&fixture);
}

/* Positions of sections that are not in the file. */
static void test_manifest__corrupt_sections(void **state)
{
    static const uint64_t wrong[] = { 1u << 20, UINT64_MAX, UINT64_MAX - 4 };
    struct fixture fixture;

    (void)state;
    setup(&fixture);
    for (int which = 0; which < 2; which++) {
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            struct lmn__pb_manifest pb = bare(&fixture);
            struct lmn__buf buf;

            *(which != 0 ? &pb.has_index_section : &pb.has_transaction_section) = true;
            *(which != 0 ? &pb.index_section : &pb.transaction_section) = wrong[i];
            encode(&pb, &buf);
            check_refused(&fixture, buf.data, buf.len, LMN_E_CORRUPT,
                          which != 0 ? "index section" : "transaction");
            lmn__buf_deinit(&buf);
        }
    }
    teardown(&fixture);
}

/* No byte that changes makes the reader leave its bounds. */
static void test_manifest__corrupt_bytes(void **state)
{
    struct fixture fixture;

    (void)state;
    setup(&fixture);
    for (size_t i = 0; i < fixture.len; i++) {
        for (int bit = 0; bit < 8; bit += 3) {
            struct lmn__manifest *manifest;
            struct lmn_error err = { 0 };

            fixture.bytes[i] ^= (uint8_t)(1 << bit);
            if (read_bytes(&fixture, fixture.bytes, fixture.len, &manifest, &err) != LMN_OK)
                CHECK(err.message[0] != '\0');
            lmn__manifest_release(manifest);
            fixture.bytes[i] ^= (uint8_t)(1 << bit);
        }
    }
    teardown(&fixture);
}

struct flag {
    uint64_t bit;
    bool reads, writes;
    const char *name;
};

static const struct flag flags[] = {
    { 1, true, true, "" },
    { 2, true, true, "" },
    { 4, true, true, "" },
    { 8, true, true, "" },
    { 16, true, true, "" },
    { 32, true, true, "" },
    { 64, false, false, "feature flag 64 (overlay files)" },
    { 128, true, true, "" },
    { 256, true, true, "" },
    { 512, true, true, "" },
    { 1024, true, true, "" },
    { 2048, true, false, "feature flag 2048 (row lineage in columns)" },
    { 4096, false, false, "feature flag 4096 (a fragment tree)" },
    { 8192, false, false, "feature flag 8192 (a reserved feature)" },
    { 16384, true, false, "feature flag 16384 (managed blobs)" },
    { 32768, true, true, "" },
    { 131072, false, false, "feature flag 131072 (clustering)" },
    { 1ull << 40, false, false, "feature flag 1099511627776, which this library does not know" },
    { 1ull << 63, false, false, "feature flag 9223372036854775808, which" },
};

static void test_manifest__corrupt_columns_of_one_name(void **state)
{
    struct fixture fixture;
    struct lmn__pb_manifest pb;
    struct lmn__pb_schema_field *field;
    struct lmn__span name;
    struct lmn__buf buf;

    (void)state;
    setup(&fixture);
    pb = bare(&fixture);
    field = pb.fields.item;
    name = field[2].name;
    field[2].name = field[0].name;
    encode(&pb, &buf);
    check_refused(&fixture, buf.data, buf.len, LMN_E_CORRUPT, "two columns have the name \"id\"");
    field[2].name = name;
    lmn__buf_deinit(&buf);
    teardown(&fixture);
}

static void test_manifest__corrupt_under_another_name(void **state)
{
    struct fixture fixture;
    char path[LMN__VERSION_PATH_BYTES];
    struct lmn_table *table;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture);
    lmn__version_path(4, false, path);
    test_store_write(fixture.store, path, fixture.bytes, fixture.len);
    CHECK_STATUS(lmn_table_open(fixture.store, NULL, &table, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, path);
    CHECK_HAS(err.message, "says that it is version 1");
    CHECK(table == NULL);
    teardown(&fixture);
}

static void test_manifest__flags(void **state)
{
    struct fixture fixture;

    (void)state;
    setup(&fixture);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct lmn__pb_manifest pb = bare(&fixture);
        struct lmn__manifest *manifest;
        struct lmn_error err = { 0 };

        pb.reader_flags |= flags[i].bit;
        CHECK_STATUS(read_pb(&fixture, &pb, &manifest, &err),
                     flags[i].reads ? LMN_OK : LMN_E_UNSUPPORTED, &err);
        CHECK(flags[i].reads || strstr(err.message, flags[i].name) != NULL);
        lmn__manifest_release(manifest);

        /* Writers' flags do not matter to readers. */
        pb = bare(&fixture);
        pb.writer_flags |= flags[i].bit;
        CHECK_STATUS(read_pb(&fixture, &pb, &manifest, &err), LMN_OK, &err);
        CHECK_STATUS(lmn__manifest_check_writable(manifest, &err),
                     flags[i].writes ? LMN_OK : LMN_E_UNSUPPORTED, &err);
        CHECK(flags[i].writes || strstr(err.message, flags[i].name) != NULL);
        lmn__manifest_release(manifest);
    }
    teardown(&fixture);
}

static void test_manifest__file_versions(void **state)
{
    static const struct {
        const char *version; /* NULL: none */
        enum lmn_status status;
        uint32_t format_minor, minor;
        const char *part;
    } step[] = {
        { "2.0", LMN_OK, 0, 1, "" },
        { "2.1", LMN_OK, 1, 1, "" },
        { "2.2", LMN_OK, 2, 2, "" },
        { "2.3", LMN_E_UNSUPPORTED, 0, 0, "files of version \"2.3\"" },
        { "next", LMN_E_UNSUPPORTED, 0, 0, "files of version \"next\"" },
        { "", LMN_E_UNSUPPORTED, 0, 0, "files of version \"\"" },
        { "0.1", LMN_E_UNSUPPORTED, 0, 0, "files of version 1" },
        { "legacy", LMN_E_UNSUPPORTED, 0, 0, "files of version 1" },
        { NULL, LMN_E_UNSUPPORTED, 0, 0, "files of version 1" },
    };
    struct fixture fixture;

    (void)state;
    setup(&fixture);
    for (size_t i = 0; i < sizeof step / sizeof step[0]; i++) {
        struct lmn__pb_manifest pb = bare(&fixture);
        struct lmn__pb_data_format format = { .file_format = span_of("lance") };
        struct lmn__manifest *manifest;
        struct lmn_error err = { 0 };

        if (step[i].version != NULL)
            format.version = span_of(step[i].version);
        pb.data_format = step[i].version != NULL ? &format : NULL;
        CHECK_STATUS(read_pb(&fixture, &pb, &manifest, &err), step[i].status, &err);
        if (manifest != NULL) {
            CHECK_EQ(manifest->format_minor, step[i].format_minor);
            CHECK_EQ(manifest->minor, step[i].minor);
        } else {
            CHECK_HAS(err.message, step[i].part);
        }
        lmn__manifest_release(manifest);
    }
    teardown(&fixture);
}

static void test_manifest__branch_is_not_written(void **state)
{
    struct fixture fixture;
    struct lmn__pb_manifest pb;
    struct lmn__manifest *manifest;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture);
    pb = bare(&fixture);
    pb.branch = span_of("dev");
    CHECK_STATUS(read_pb(&fixture, &pb, &manifest, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__manifest_check_writable(manifest, &err), LMN_E_UNSUPPORTED, &err);
    CHECK_HAS(err.message, "\"dev\"");
    lmn__manifest_release(manifest);
    teardown(&fixture);
}

/* Fragments are decoded when they are asked for, so that is where their numbers are refused. */
static void test_manifest__corrupt_fragments(void **state)
{
    struct lmn__pb_deletion_file deletion = { .row_count = 4 };
    uint64_t number[2] = { 0, 1 };
    struct lmn__pb_data_file file = { .fields = { number, 2 }, .columns = { number, 1 } };
    const struct {
        struct lmn__pb_fragment fragment;
        const char *part;
    } step[] = {
        { { .row_count = 1ull << 32 }, "fragment number 0: a fragment of 4294967296 rows" },
        { { .row_count = 3, .deletion = &deletion }, "4 of 3 rows deleted" },
        { { .row_count = 3, .files = { &file, 1 } }, "2 fields and 1 columns" },
    };
    struct fixture fixture;

    (void)state;
    setup(&fixture);
    for (size_t i = 0; i < sizeof step / sizeof step[0]; i++) {
        struct lmn__pb_manifest pb = bare(&fixture);
        struct lmn__manifest *manifest;
        struct lmn__pb_fragment fragment;
        struct lmn__span bytes;
        struct lmn__arena arena;
        struct lmn__buf buf;
        struct lmn_error err = { 0 };

        lmn__buf_init(&buf, test_env(), 0);
        lmn__pb_encode(&lmn__pb_fragment_message, &step[i].fragment, &buf);
        bytes = (struct lmn__span){ buf.data, buf.len };
        pb.fragments = (struct lmn__pb_spans){ &bytes, 1 };
        CHECK_STATUS(read_pb(&fixture, &pb, &manifest, &err), LMN_OK, &err);
        lmn__arena_init(&arena, test_env(), 0);
        CHECK_STATUS(lmn__manifest_fragment(manifest, 0, &arena, &fragment, &err), LMN_E_CORRUPT,
                     &err);
        CHECK_HAS(err.message, step[i].part);
        lmn__arena_deinit(&arena);
        lmn__manifest_release(manifest);
        lmn__buf_deinit(&buf);
    }
    teardown(&fixture);
}

static void test_manifest__base_paths(void **state)
{
    struct lmn__pb_base_path base[] = { { .id = 7 }, { .id = 1 } };
    struct fixture fixture;
    struct lmn__pb_manifest pb;
    struct lmn__manifest *manifest;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture);
    base[0].path = span_of("/far/away");
    base[1].path = span_of("/near");
    pb = bare(&fixture);
    pb.base_paths = (struct lmn__pb_list){ base, 2 };
    CHECK_STATUS(read_pb(&fixture, &pb, &manifest, &err), LMN_OK, &err);
    CHECK(lmn__span_equal(lmn__manifest_base(manifest, 7)->path, "/far/away"));
    CHECK(lmn__span_equal(lmn__manifest_base(manifest, 1)->path, "/near"));
    CHECK(lmn__manifest_base(manifest, 0) == NULL);
    lmn__manifest_release(manifest);
    teardown(&fixture);
}

static void test_manifest__faults(void **state)
{
    struct fixture fixture;
    struct lmn_store *faulty;
    char path[LMN__VERSION_PATH_BYTES];
    bool fired = true;

    (void)state;
    setup(&fixture);
    faulty = test_store_faulty(fixture.store);
    lmn__version_path(1, false, path);
    for (uint64_t nth = 1; fired; nth++) {
        struct lmn__manifest *manifest;
        struct lmn_error err = { 0 };
        int64_t alive = live_allocations();
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn__manifest_read(faulty, path, &manifest, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || (fired && (st == LMN_E_NO_MEMORY || st == LMN_E_IO)));
        CHECK(st == LMN_OK || (manifest == NULL && err.message[0] != '\0'));
        lmn__manifest_release(manifest);
        CHECK_EQ(live_allocations(), alive);
    }
    lmn_store_release(faulty);
    teardown(&fixture);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_manifest__reads),
        cmocka_unit_test(test_manifest__not_there),
        cmocka_unit_test(test_manifest__corrupt_cut_short),
        cmocka_unit_test(test_manifest__corrupt_place),
        cmocka_unit_test(test_manifest__corrupt_sections),
        cmocka_unit_test(test_manifest__corrupt_bytes),
        cmocka_unit_test(test_manifest__corrupt_columns_of_one_name),
        cmocka_unit_test(test_manifest__corrupt_under_another_name),
        cmocka_unit_test(test_manifest__flags),
        cmocka_unit_test(test_manifest__file_versions),
        cmocka_unit_test(test_manifest__branch_is_not_written),
        cmocka_unit_test(test_manifest__corrupt_fragments),
        cmocka_unit_test(test_manifest__base_paths),
        cmocka_unit_test(test_manifest__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
