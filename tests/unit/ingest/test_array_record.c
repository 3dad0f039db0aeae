/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ArrayRecord files in C: options, damage and faults. What the library of that name reads and
 * writes is compared in tests/python.
 *
 * labels: threads
 */
#include <leman/array_record.h>
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow/builder.h"
#include "arrow/producer.h"
#include "base/bytes.h"
#include "check.h"
#include "ingest/highway.h"
#include "ingest/record_options.h"
#include "ingest/riegeli.h"
#include "ingest/snappy.h"
#include "stores.h"

enum { RECORDS = 50 };

/* The first bytes of every file. */
static const uint8_t signature[64] = {
    0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72,
    0x73, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

/* A stream of one batch, whose record i has i * i bytes. */
struct rows {
    struct lmn__producer producer; /* first */
    bool done, has_null;
};

static enum lmn_status rows_schema(struct lmn__producer *producer, struct ArrowSchema *schema_out,
                                   struct lmn_error *err)
{
    (void)producer;
    ArrowSchemaInit(schema_out);
    if (ArrowSchemaSetTypeStruct(schema_out, 1) == 0 &&
        ArrowSchemaSetType(schema_out->children[0], NANOARROW_TYPE_LARGE_BINARY) == 0 &&
        ArrowSchemaSetName(schema_out->children[0], "x") == 0)
        return LMN_OK;
    schema_out->release(schema_out);
    return lmn__no_memory(err, "a schema", 0);
}

static enum lmn_status rows_next(struct lmn__producer *producer, struct ArrowArray *array_out,
                                 struct lmn_error *err)
{
    static const struct lmn__layout binary = { .kind = LMN__LAYOUT_VARIABLE, .bits = 64 };
    static const struct lmn__layout *const child[] = { &binary };
    static const struct lmn__layout row = { .kind = LMN__LAYOUT_STRUCT,
                                            .child_count = 1,
                                            .child = child };
    struct rows *rows = (struct rows *)producer;
    struct lmn__builder builder;
    enum lmn_status st;

    if (rows->done)
        return LMN_OK;
    rows->done = true;
    st = lmn__builder_init(&builder, test_env(), &row, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; st == LMN_OK && i < RECORDS; i++) {
        uint8_t *offset, *data;
        uint64_t base;

        st = lmn__builder_extend_variable(&builder.child[0], 1, i * i, &offset, &data, &base, err);
        if (st != LMN_OK)
            break;
        memset(data, (int)i, i * i);
        lmn__store_u64(offset, base + i * i);
        st = rows->has_null && i == 7 ? lmn__builder_add_null(&builder.child[0], 1, err)
                                      : lmn__builder_add_valid(&builder.child[0], 1, err);
    }
    if (st == LMN_OK)
        st = lmn__builder_add_valid(&builder, RECORDS, err);
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array_out, err);
    lmn__builder_deinit(&builder);
    return st;
}

static void rows_free(struct lmn__producer *producer)
{
    (void)producer;
}

static enum lmn_status write_rows(const char *path, const char *options, bool has_null,
                                  struct lmn_error *err)
{
    static const struct lmn__producer_ops ops = { rows_schema, rows_next, rows_free };
    struct lmn_array_record_write_options write = { .options = options, .unsynced = true };
    struct rows rows = { .has_null = has_null };
    struct ArrowArrayStream stream;
    enum lmn_status st;

    lmn__producer_export(&rows.producer, &ops, &stream);
    st = lmn_array_record_write(test_env(), path, &stream, &write, NULL, err);
    stream.release(&stream);
    return st;
}

/* Read all records and compare them; *same_out is false when one is not what was written. */
static enum lmn_status read_rows(const char *path, bool *same_out, struct lmn_error *err)
{
    struct lmn_array_record_read_options options = { .parallelism = 1, .batch_bytes_max = 5000 };
    struct lmn_array_record *record;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    uint64_t n = 0;
    enum lmn_status st = lmn_array_record_open(test_env(), path, &record, err);

    *same_out = true;
    if (st != LMN_OK)
        return st;
    st = lmn_array_record_stream(record, &options, &stream, err);
    lmn_array_record_close(record);
    if (st != LMN_OK)
        return st;
    while ((st = lmn__stream_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        const uint64_t *offset = batch.children[0]->buffers[1];
        const uint8_t *bytes = batch.children[0]->buffers[2];

        for (int64_t i = 0; i < batch.length; i++, n++) {
            *same_out = *same_out && offset[i + 1] - offset[i] == n * n;
            for (uint64_t k = offset[i]; k < offset[i + 1]; k++)
                *same_out = *same_out && bytes[k] == (uint8_t)n;
        }
        batch.release(&batch);
    }
    *same_out = *same_out && n == RECORDS;
    stream.release(&stream);
    return st;
}

static size_t load_file(const char *path, uint8_t *data, size_t cap)
{
    FILE *file = fopen(path, "rb");
    size_t len = fread(data, 1, cap, file);

    fclose(file);
    return len;
}

static void save_file(const char *path, const uint8_t *data, size_t len)
{
    FILE *file = fopen(path, "wb");

    CHECK_EQ(fwrite(data, 1, len, file), len);
    fclose(file);
}

static void test_highway__hashes_the_signature(void **state)
{
    (void)state;
    CHECK_EQ(lmn__highway_hash(signature + 8, 16), lmn__load_u64(signature));
    CHECK_EQ(lmn__highway_hash(signature + 32, 32), lmn__load_u64(signature + 24));
    CHECK_EQ(lmn__highway_hash("", 0), lmn__load_u64(signature + 40));
}

static void test_highway__spans_are_one_run(void **state)
{
    uint8_t data[200];

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37);
    for (size_t len = 0; len <= sizeof data; len += 1 + len / 8) {
        uint64_t want = lmn__highway_hash(data, len);

        for (size_t a = 0; a <= len; a++) {
            size_t b = a + (len - a) / 3;
            struct lmn__span span[] = { { data, a }, { data + a, b - a }, { data + b, len - b } };

            CHECK_EQ(lmn__highway_hash_spans(span, 3), want);
        }
    }
}

static void test_snappy__round_trips(void **state)
{
    uint64_t random = 7;
    uint8_t *plain = malloc(200000), *packed = malloc(lmn__snappy_bound(200000)),
            *again = malloc(200000);

    (void)state;
    for (int round = 0; round < 60; round++) {
        size_t len = test_random(&random) % (round < 40 ? 300 : 200000), size;
        uint64_t letters = 1 + test_random(&random) % 300;

        for (size_t i = 0; i < len; i++)
            plain[i] = (uint8_t)(test_random(&random) % letters);
        size = lmn__snappy_compress((struct lmn__span){ plain, len }, packed);
        CHECK(size <= lmn__snappy_bound(len));
        CHECK(lmn__snappy_decompress((struct lmn__span){ packed, size }, again, len));
        CHECK_BYTES(again, plain, len);
        CHECK(!lmn__snappy_decompress((struct lmn__span){ packed, size }, again, len + 1));
        for (size_t cut = 0; cut < size && cut < 300; cut++)
            CHECK(!lmn__snappy_decompress((struct lmn__span){ packed, cut }, again, len));
    }
    free(plain);
    free(packed);
    free(again);
}

static void test_options__as_the_library_takes_them(void **state)
{
    static const char *const bad[] = { "group_size", "group_size:0", "group_size:x",
                                       "zstd:23",    "brotli:12",    "gzip",
                                       "snappy:1",   "transpose:1",  "max_parallelism:-1" };
    struct lmn__record_options options;
    struct lmn_error err;
    char text[256];

    (void)state;
    CHECK_STATUS(lmn__record_options_read(NULL, &options, &err), LMN_OK, &err);
    CHECK_EQ(options.group_size, 1);
    CHECK_EQ(options.codec, LMN__RECORD_ZSTD);
    CHECK_STATUS(lmn__record_options_read("group_size:64,brotli:5,max_parallelism:3,window_log:20,"
                                          "transpose:false,pad_to_block_boundary:true",
                                          &options, &err),
                 LMN_OK, &err);
    CHECK_EQ(options.group_size, 64);
    CHECK_EQ(options.codec, LMN__RECORD_BROTLI);
    CHECK_EQ(options.parallelism, 3);
    lmn__record_options_text(&options, text, sizeof text);
    CHECK_STR(text, "group_size:64,transpose:false,pad_to_block_boundary:true,brotli:5");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_STATUS(lmn__record_options_read(bad[i], &options, &err), LMN_E_INVALID, &err);
        CHECK_HAS(err.message, bad[i]);
    }
    CHECK_STATUS(lmn__record_options_read("pad_to_block_boundary", &options, &err), LMN_OK, &err);
    CHECK(options.pads);
    CHECK_STATUS(lmn__record_options_read("transpose", &options, &err), LMN_E_UNSUPPORTED, &err);
    CHECK_STATUS(lmn__record_options_read("transpose:true", &options, &err), LMN_E_UNSUPPORTED,
                 &err);
}

static void test_array_record__codecs_and_groups(void **state)
{
    static const char *const options[] = { "group_size:1,uncompressed",
                                           "group_size:7,zstd:1",
                                           "group_size:64,snappy",
                                           "group_size:3,brotli:1",
                                           "group_size:5,pad_to_block_boundary:true",
                                           "group_size:1,uncompressed,max_parallelism:4",
                                           "group_size:2,zstd,max_parallelism:3" };
    char *dir = test_dir_make(), path[4200];
    struct lmn_error err;
    uint8_t start[64];
    bool same;

    (void)state;
    snprintf(path, sizeof path, "%s/x.array_record", dir);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        enum lmn_status st = write_rows(path, options[i], false, &err);

        if (st == LMN_E_UNSUPPORTED) /* brotli is not everywhere */
            continue;
        CHECK_STATUS(st, LMN_OK, &err);
        load_file(path, start, sizeof start);
        CHECK_BYTES(start, signature, sizeof start);
        CHECK_STATUS(read_rows(path, &same, &err), LMN_OK, &err);
        CHECK(same);
    }
    CHECK_STATUS(write_rows(path, NULL, true, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "record 7 is null");
    CHECK_STATUS(read_rows(path, &same, &err), LMN_OK, &err); /* the file before is still there */
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

/* A file of which any byte is changed is told as damaged, or the byte was padding. */
static void test_array_record__corrupt_bytes_and_cuts(void **state)
{
    char *dir = test_dir_make(), path[4200];
    uint8_t *data = malloc(1 << 20);
    uint64_t random = 3;
    struct lmn_error err;
    uint32_t told = 0;
    size_t len;
    bool same;

    (void)state;
    snprintf(path, sizeof path, "%s/x.array_record", dir);
    CHECK_STATUS(write_rows(path, "group_size:4,uncompressed", false, &err), LMN_OK, &err);
    len = load_file(path, data, 1 << 20);
    for (int i = 0; i < 400; i++) {
        size_t at = test_random(&random) % len;
        uint8_t bit = (uint8_t)(1u << test_random(&random) % 8);
        enum lmn_status st;

        data[at] ^= bit;
        save_file(path, data, len);
        st = read_rows(path, &same, &err);
        CHECK(st == LMN_OK || st == LMN_E_CORRUPT || st == LMN_E_UNSUPPORTED);
        CHECK(st != LMN_OK || same);
        told += st != LMN_OK;
        data[at] ^= bit;
    }
    CHECK(told > 50);
    for (int i = 0; i < 50; i++) {
        save_file(path, data, test_random(&random) % len);
        CHECK_STATUS(read_rows(path, &same, &err), LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "x.array_record");
    }
    free(data);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void test_array_record__transposed_is_refused(void **state)
{
    char *dir = test_dir_make(), path[4200];
    uint8_t *data = malloc(1 << 20);
    struct lmn_error err;
    size_t len;
    bool same;

    (void)state;
    snprintf(path, sizeof path, "%s/x.array_record", dir);
    CHECK_STATUS(write_rows(path, "group_size:64,uncompressed", false, &err), LMN_OK, &err);
    len = load_file(path, data, 1 << 20);
    data[64 + 24] = 't'; /* the first chunk of records stands behind the signature */
    lmn__store_u64(data + 64, lmn__highway_hash(data + 72, 32));
    save_file(path, data, len);
    CHECK_STATUS(read_rows(path, &same, &err), LMN_E_UNSUPPORTED, &err);
    CHECK_HAS(err.message, "transposed");
    free(data);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

struct told {
    uint64_t count, offset;
    char text[200];
    int freed;
};

static void note(void *self, const struct lmn_problem *problem)
{
    struct told *told = self;

    told->count++;
    told->offset = problem->offset;
    snprintf(told->text, sizeof told->text, "%.90s|%.90s", problem->key, problem->message);
}

static void note_free(void *self)
{
    ((struct told *)self)->freed++;
}

/* Groups that cannot be read are left out as a whole, and told. */
static void test_array_record__groups_left_out(void **state)
{
    struct told told = { 0 };
    struct lmn_array_record_read_options options = {
        .bad = LMN_BAD_SKIP, .report = note, .report_self = &told, .report_free = note_free
    };
    char *dir = test_dir_make(), path[4200];
    uint8_t *data = malloc(1 << 20);
    struct lmn_array_record *record;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_error err;
    int64_t rows = 0;
    size_t len, at = 0;

    (void)state;
    snprintf(path, sizeof path, "%s/x.array_record", dir);
    CHECK_STATUS(write_rows(path, "group_size:4,uncompressed", false, &err), LMN_OK, &err);
    len = load_file(path, data, 1 << 20);
    while (data[at] != 21 || data[at + 1] != 21) /* record 21, of the group of 20 to 23 */
        at++;
    data[at] ^= 1;
    save_file(path, data, len);
    CHECK_STATUS(lmn_array_record_open(test_env(), path, &record, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_array_record_stream(record, &options, &stream, &err), LMN_OK, &err);
    lmn_array_record_close(record);
    while (lmn__stream_next(&stream, &batch, &err) == LMN_OK && batch.release != NULL) {
        rows += batch.length;
        batch.release(&batch);
    }
    CHECK_EQ(told.freed, 0);
    stream.release(&stream);
    CHECK_EQ(told.freed, 1);
    CHECK_EQ(rows, RECORDS - 4);
    CHECK_EQ(told.count, 1);
    CHECK(told.offset > 64 && told.offset < at);
    CHECK_HAS(told.text, "20 to 23|");
    CHECK_HAS(told.text, "x.array_record");
    free(data);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void test_array_record__every_fault_is_told(void **state)
{
    char *dir = test_dir_make(), path[4200];
    struct lmn_error err;
    bool same;

    (void)state;
    snprintf(path, sizeof path, "%s/x.array_record", dir);
    for (uint64_t nth = 1;; nth += 1 + nth / 50) {
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = write_rows(path, "group_size:7,snappy,max_parallelism:1", false, &err);
        if (st == LMN_OK)
            st = read_rows(path, &same, &err);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            CHECK(same);
            break;
        }
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY);
    }
    fault_disarm();
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_highway__hashes_the_signature),
        cmocka_unit_test(test_highway__spans_are_one_run),
        cmocka_unit_test(test_snappy__round_trips),
        cmocka_unit_test(test_options__as_the_library_takes_them),
        cmocka_unit_test(test_array_record__codecs_and_groups),
        cmocka_unit_test(test_array_record__corrupt_bytes_and_cuts),
        cmocka_unit_test(test_array_record__transposed_is_refused),
        cmocka_unit_test(test_array_record__groups_left_out),
        cmocka_unit_test(test_array_record__every_fault_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
