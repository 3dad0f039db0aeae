/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of columns: what a writer gathers, what a reader finds, and what damage is noticed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <leman/file_writer.h>
#include <nanoarrow/nanoarrow.h>

#include "base/hash.h"
#include "format/file.h"
#include "format/stats_layout.h"
#include "stores.h"

enum { ROWS = 20000, ZONE_ROWS = 8192 };

/* A file "f" of one column with `rows` rows, which `append` makes one by one. */
static struct lmn_file *write_rows(struct lmn_store *store, enum ArrowType type, uint64_t rows,
                                   void (*append)(struct ArrowArray *column, uint64_t row))
{
    const struct lmn_file_writer_options options = { .replace = true };
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_file_writer *writer;
    struct lmn_file *file;
    struct lmn_error err = { 0 };

    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(&schema, 1), NANOARROW_OK);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0], type), NANOARROW_OK);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], "c"), NANOARROW_OK);
    CHECK_EQ(ArrowArrayInitFromSchema(&batch, &schema, NULL), NANOARROW_OK);
    CHECK_EQ(ArrowArrayStartAppending(&batch), NANOARROW_OK);
    for (uint64_t i = 0; i < rows; i++) {
        append(batch.children[0], i);
        CHECK_EQ(ArrowArrayFinishElement(&batch), NANOARROW_OK);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(&batch, NULL), NANOARROW_OK);
    CHECK_STATUS(lmn_file_writer_open(store, "f", &schema, &options, &writer, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_file_writer_write(writer, &batch, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_file_writer_finish(writer, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_file_open(store, "f", NULL, &file, &err), LMN_OK, &err);
    batch.release(&batch);
    schema.release(&schema);
    return file;
}

static const struct lmn__stats_column *zones_of(struct lmn_file *file)
{
    const struct lmn__stats_column *column;
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn__file_stats(file, 0, &column, &err), LMN_OK, &err);
    CHECK(column != NULL);
    return column;
}

static void append_number(struct ArrowArray *column, uint64_t row)
{
    if (row >= ZONE_ROWS && (row < 2 * ZONE_ROWS || row % 10 == 0))
        CHECK_EQ(ArrowArrayAppendNull(column, 1), NANOARROW_OK);
    else
        CHECK_EQ(ArrowArrayAppendInt(column, 100 - (int64_t)row), NANOARROW_OK);
}

static int64_t load_number(struct lmn__span bound)
{
    CHECK_EQ(bound.len, 8);
    return (int64_t)lmn__load_u64(bound.data);
}

/* Numbers that fall, a zone without values, a last zone with some nulls. */
static void test_stats__numbers(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_file *file = write_rows(store, NANOARROW_TYPE_INT64, ROWS, append_number);
    const struct lmn__stats_column *column = zones_of(file);

    (void)state;
    CHECK_EQ(column->zone_count, 3);
    CHECK_EQ(column->zone[0].row_end, ZONE_ROWS);
    CHECK_EQ(column->zone[0].null_count, 0);
    CHECK_EQ(load_number(column->zone[0].min), 101 - ZONE_ROWS);
    CHECK_EQ(load_number(column->zone[0].max), 100);
    CHECK_EQ(column->zone[1].null_count, ZONE_ROWS);
    CHECK(column->zone[1].min.data == NULL && column->zone[1].max.data == NULL);
    CHECK_EQ(column->zone[2].row_end, ROWS);
    CHECK_EQ(column->zone[2].null_count, 361);
    CHECK_EQ(load_number(column->zone[2].min), 101 - ROWS);
    CHECK_EQ(load_number(column->zone[2].max), 100 - 2 * ZONE_ROWS);
    CHECK_EQ(lmn__stats_find_zone(column, 0), 0);
    CHECK_EQ(lmn__stats_find_zone(column, ZONE_ROWS - 1), 0);
    CHECK_EQ(lmn__stats_find_zone(column, ZONE_ROWS), 1);
    CHECK_EQ(lmn__stats_find_zone(column, ROWS - 1), 2);
    lmn_file_release(file);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* The first zone has numbers, the second NaN among them, the third nothing else. */
static void append_float(struct ArrowArray *column, uint64_t row)
{
    double value = row / ZONE_ROWS == 0 ? (double)row - 50.5 : row % 3 == 0 ? NAN : -2.5;

    if (row == 7)
        CHECK_EQ(ArrowArrayAppendNull(column, 1), NANOARROW_OK);
    else
        CHECK_EQ(ArrowArrayAppendDouble(column, row >= 2 * ZONE_ROWS ? NAN : value), NANOARROW_OK);
}

static double load_float(struct lmn__span bound)
{
    double real;
    float single;

    if (bound.len == sizeof real) {
        memcpy(&real, bound.data, sizeof real);
        return real;
    }
    CHECK_EQ(bound.len, sizeof single);
    memcpy(&single, bound.data, sizeof single);
    return (double)single;
}

static void test_stats__floats(void **state)
{
    static const enum ArrowType type[] = { NANOARROW_TYPE_DOUBLE, NANOARROW_TYPE_FLOAT };
    struct lmn_store *store = test_store_memory();

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct lmn_file *file = write_rows(store, type[i], ROWS, append_float);
        const struct lmn__stats_zone *zone = zones_of(file)->zone;

        CHECK_EQ(zone[0].null_count, 1);
        CHECK(load_float(zone[0].min) == -50.5);
        CHECK(load_float(zone[0].max) == (double)ZONE_ROWS - 51.5);
        CHECK(load_float(zone[1].min) == -2.5);
        CHECK(isnan(load_float(zone[1].max)));
        CHECK(isnan(load_float(zone[2].min)));
        CHECK(isnan(load_float(zone[2].max)));
        lmn_file_release(file);
    }
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* Strings of a zone of their own each: 64 KiB of one letter, or of 0xff, behind shorter ones. */
static void append_text(struct ArrowArray *column, uint64_t row)
{
    static char text[64 << 10];
    struct ArrowBufferView bytes = { { text }, 3 };

    memset(text, row < 4 ? 'm' : 0xff, sizeof text);
    if (row == 1)
        memcpy(text, "abc", 3);
    if (row == 3 || row == 5)
        bytes.size_bytes = sizeof text;
    CHECK_EQ(ArrowArrayAppendBytes(column, bytes), NANOARROW_OK);
}

static void check_text(struct lmn__span bound, const char *start, size_t start_len, char fill,
                       size_t len, char last)
{
    char text[LMN__STATS_BYTES_MAX];

    memset(text, fill, sizeof text);
    memcpy(text, start, start_len);
    text[len - 1] = last;
    CHECK_EQ(bound.len, len);
    CHECK_BYTES(bound.data, text, len);
}

static void test_stats__texts(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_file *file = write_rows(store, NANOARROW_TYPE_BINARY, 7, append_text);
    const struct lmn__stats_column *column = zones_of(file);

    (void)state;
    CHECK_EQ(column->zone_count, 3);
    CHECK_EQ(column->zone[0].row_count, 4);
    check_text(column->zone[0].min, "abc", 3, 'm', 3, 'c');
    check_text(column->zone[0].max, "", 0, 'm', 32, 'n');
    check_text(column->zone[1].min, "", 0, (char)0xff, 3, (char)0xff);
    CHECK(column->zone[1].max.data == NULL);
    check_text(column->zone[2].max, "", 0, (char)0xff, 3, (char)0xff);
    lmn_file_release(file);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* Flip each byte of a file's statistics, their mark and version, too: that is noticed. */
static void test_stats__corrupt_every_byte(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_file *file = write_rows(store, NANOARROW_TYPE_INT64, 10, append_number);
    struct lmn__extent extent = file->global_extent[1];
    const struct lmn__stats_column *column;
    static uint8_t bytes[1 << 16];
    int64_t len = test_store_read(store, "f", bytes, sizeof bytes);

    (void)state;
    lmn_file_release(file);
    CHECK(len > 0);
    CHECK_BYTES(bytes + extent.position, LMN__STATS_MAGIC, 8);
    for (uint64_t i = 0; i < extent.bytes; i++) {
        struct lmn_error err = { 0 };
        enum lmn_status st;
        char path[32];

        snprintf(path, sizeof path, "damaged-%llu", (unsigned long long)i);
        bytes[extent.position + i] ^= 0x10;
        test_store_write(store, path, bytes, (size_t)len);
        bytes[extent.position + i] ^= 0x10;
        CHECK_STATUS(lmn_file_open(store, path, NULL, &file, &err), LMN_OK, &err);
        st = lmn__file_stats(file, 0, &column, &err);
        CHECK(column == NULL);
        CHECK_STATUS(st, LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "statistics are damaged");
        lmn_file_release(file);
    }
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* What another version has, whose hash is right, is left alone; so is what others have put there.
 */
static void test_stats__of_others(void **state)
{
    const struct lmn__stats_type type = { LMN__STATS_SIGNED, 8 };
    struct lmn_store *store = test_store_memory();
    struct lmn_file *file = write_rows(store, NANOARROW_TYPE_INT64, 10, append_number);
    struct lmn__extent extent = file->global_extent[1];
    static uint8_t file_bytes[1 << 16];
    uint8_t *bytes = file_bytes + extent.position;
    uint64_t hashed = LMN__STATS_HEAD_BYTES + LMN__STATS_ENTRY_BYTES;
    struct lmn__stats *stats;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK(test_store_read(store, "f", file_bytes, sizeof file_bytes) > 0);
    lmn_file_release(file);
    lmn__store_u32(bytes + 8, LMN__STATS_VERSION + 1);
    lmn__store_u64(bytes + hashed, lmn__hash64(bytes, hashed));
    for (uint64_t len = extent.bytes; len <= extent.bytes; len--) {
        CHECK_STATUS(lmn__stats_parse(test_env(), (struct lmn__span){ bytes, len }, &type, 1, 10,
                                      &stats, &err),
                     LMN_OK, &err);
        CHECK(stats == NULL);
        memcpy(bytes, "another mark", 12);
    }
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stats__numbers),   cmocka_unit_test(test_stats__floats),
        cmocka_unit_test(test_stats__texts),     cmocka_unit_test(test_stats__corrupt_every_byte),
        cmocka_unit_test(test_stats__of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
