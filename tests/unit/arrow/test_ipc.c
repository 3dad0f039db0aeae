/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow IPC, written and read back, and files that pyarrow wrote (tests/golden/ipc/make.py).
 */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "arrow/ipc_read.h"
#include "arrow/ipc_write.h"
#include "arrow/producer.h"
#include "check.h"

enum { ROWS = 300 };

static struct sample sample;

static int make_rows(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 1);
    return 0;
}

static int free_rows(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

static enum lmn_status read_bytes(struct lmn__span bytes, struct ArrowArrayStream *stream,
                                  struct lmn_error *err)
{
    return lmn__ipc_read_buffer(test_env(), "memory", bytes, stream, err);
}

/* Read everything and count rows; releases all of it. */
static enum lmn_status read_all(struct lmn__span bytes, uint64_t *rows_out, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = read_bytes(bytes, &stream, err);

    *rows_out = 0;
    if (st != LMN_OK)
        return st;
    while ((st = lmn__stream_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        *rows_out += (uint64_t)batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    return st;
}

/* Rows [first, first + count) of the sample, written as a slice and read back. */
static void check_slice(uint64_t first, uint64_t count)
{
    struct ArrowArray slice = sample.rows, batch, end;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct lmn_error err;
    struct lmn__buf buf;

    lmn__buf_init(&buf, test_env(), 0);
    slice.offset = (int64_t)first;
    slice.length = (int64_t)count;
    CHECK_STATUS(
        lmn__ipc_write_buffer(test_env(), LMN__IPC_STREAM, &sample.schema, &slice, &buf, &err),
        LMN_OK, &err);
    CHECK_STATUS(read_bytes((struct lmn__span){ buf.data, buf.len }, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_STATUS(lmn__stream_next(&stream, &batch, &err), LMN_OK, &err);
    CHECK_EQ(batch.length, count);
    CHECK(same_slots(&schema, &sample.rows, first, &batch, 0, count));
    CHECK_OK(lmn__stream_next(&stream, &end, &err));
    CHECK(end.release == NULL);
    stream.release(&stream);
    CHECK(same_slots(&schema, &sample.rows, first, &batch, 0, count)); /* outlives the stream */
    batch.release(&batch);
    schema.release(&schema);
    lmn__buf_deinit(&buf);
    CHECK_EQ(live_allocations(), 0);
}

static void test_ipc__slices_come_back(void **state)
{
    (void)state;
    check_slice(0, ROWS);
    check_slice(0, 0);
    check_slice(1, 1);
    check_slice(8, 64);
    check_slice(13, 200);
    check_slice(ROWS - 1, 1);
}

static void test_ipc__same_dictionary_is_written_once(void **state)
{
    struct lmn__ipc_writer writer;
    struct lmn__sink sink;
    struct lmn__buf buf;
    struct lmn_error err;
    size_t one, two;
    uint64_t rows;

    (void)state;
    lmn__buf_init(&buf, test_env(), 0);
    CHECK_OK(lmn__sink_open_buf(&sink, test_env(), &buf, &err));
    CHECK_OK(
        lmn__ipc_writer_open(&writer, test_env(), &sink, LMN__IPC_STREAM, &sample.schema, &err));
    one = buf.len;
    CHECK_OK(lmn__ipc_writer_write(&writer, &sample.rows, &err));
    one = buf.len - one;
    two = buf.len;
    CHECK_OK(lmn__ipc_writer_write(&writer, &sample.rows, &err));
    two = buf.len - two;
    CHECK(two < one);
    CHECK_OK(lmn__ipc_writer_finish(&writer, &err));
    CHECK_OK(lmn__sink_close(&sink, &err));
    CHECK_STATUS(read_all((struct lmn__span){ buf.data, buf.len }, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows, 2 * ROWS);
    lmn__buf_deinit(&buf);
    CHECK_EQ(live_allocations(), 0);
}

/* An array of one uint32 column, as deletion files have it. */
static void make_row_ids(struct ArrowSchema *schema, struct ArrowArray *array, uint32_t count)
{
    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_UINT32), 0);
    CHECK_EQ(ArrowSchemaSetName(schema->children[0], "row_id"), 0);
    CHECK_EQ(ArrowArrayInitFromSchema(array, schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(array), 0);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(ArrowArrayAppendUInt(array->children[0], i * 3), 0);
        CHECK_EQ(ArrowArrayFinishElement(array), 0);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(array, NULL), 0);
}

static void test_ipc__file_has_its_end(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn__buf buf;
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    make_row_ids(&schema, &array, 10);
    lmn__buf_init(&buf, test_env(), 0);
    CHECK_OK(lmn__ipc_write_buffer(test_env(), LMN__IPC_FILE, &schema, &array, &buf, &err));
    CHECK_BYTES(buf.data, "ARROW1\0\0", 8);
    CHECK_BYTES(buf.data + buf.len - 6, "ARROW1", 6);
    CHECK_OK(read_all((struct lmn__span){ buf.data, buf.len }, &rows, &err));
    CHECK_EQ(rows, 10);
    /* A file that was cut anywhere is found out. */
    for (size_t len = 0; len < buf.len; len++)
        CHECK_STATUS(read_all((struct lmn__span){ buf.data, len }, &rows, &err), LMN_E_CORRUPT,
                     &err);
    lmn__buf_deinit(&buf);
    array.release(&array);
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

static void test_ipc__file_refuses_dictionaries(void **state)
{
    struct lmn__buf buf;
    struct lmn_error err;

    (void)state;
    lmn__buf_init(&buf, test_env(), 0);
    CHECK_STATUS(
        lmn__ipc_write_buffer(test_env(), LMN__IPC_FILE, &sample.schema, &sample.rows, &buf, &err),
        LMN_E_UNSUPPORTED, &err);
    lmn__buf_deinit(&buf);
}

/* The whole of a golden file; the caller frees it. */
static struct lmn__span golden(const char *name)
{
    char path[512];
    uint8_t *data = malloc(1 << 20);
    FILE *file;
    size_t len;

    snprintf(path, sizeof path, "%s/golden/ipc/%s", LMN_TESTS, name);
    file = fopen(path, "rb");
    if (file == NULL || data == NULL)
        check_fail(__FILE__, __LINE__, "cannot open %s", path);
    len = fread(data, 1, 1 << 20, file);
    fclose(file);
    return (struct lmn__span){ data, len };
}

/* Is it one uint32 column "row_id" of `count` values, each three times its number? */
static void check_row_ids(const char *name, uint32_t count)
{
    struct lmn__span bytes = golden(name);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err;
    const uint32_t *ids;

    CHECK(lmn__ipc_is_start(bytes));
    CHECK_STATUS(read_bytes(bytes, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_STR(schema.children[0]->name, "row_id");
    CHECK_STR(schema.children[0]->format, "I");
    CHECK_STATUS(lmn__stream_next(&stream, &batch, &err), LMN_OK, &err);
    CHECK_EQ(batch.length, count);
    ids = batch.children[0]->buffers[1];
    for (uint32_t i = 0; i < count; i++)
        CHECK_EQ(ids[i], i * 3);
    batch.release(&batch);
    CHECK_OK(lmn__stream_next(&stream, &batch, &err));
    CHECK(batch.release == NULL);
    schema.release(&schema);
    stream.release(&stream);
    free((void *)bytes.data);
    CHECK_EQ(live_allocations(), 0);
}

static void test_ipc__golden_deletion_files(void **state)
{
    (void)state;
    check_row_ids("row_ids_zstd.arrow", 5000);
    check_row_ids("row_ids_lz4.arrow", 20000); /* several lz4 blocks */
    check_row_ids("row_ids_plain.arrow", 100);
    check_row_ids("row_ids_few_zstd.arrow", 2); /* stored: does not shrink */
}

/* Every byte of a small file is changed in turn; reading never crashes or leaks. */
static void check_damage(const char *name)
{
    struct lmn__span bytes = golden(name);
    uint8_t *copy = malloc(bytes.len);
    uint64_t seed = 7, rows;
    struct lmn_error err;

    for (size_t i = 0; i < bytes.len; i++) {
        memcpy(copy, bytes.data, bytes.len);
        copy[i] = (uint8_t)test_random(&seed);
        if (read_all((struct lmn__span){ copy, bytes.len }, &rows, &err) != LMN_OK)
            CHECK(err.message[0] != '\0');
        CHECK_EQ(live_allocations(), 0);
    }
    free(copy);
    free((void *)bytes.data);
}

static void test_ipc__corrupt_bytes(void **state)
{
    (void)state;
    check_damage("row_ids_few_zstd.arrow");
    check_damage("types.arrows");
    check_damage("types_lz4.arrows");
}

/* Write one column as it is, right or wrong, and read it. */
static void check_column(enum ArrowType type, enum ArrowType values, int32_t number, size_t at,
                         enum lmn_status want)
{
    struct ArrowSchema schema;
    struct ArrowArray array, *column;
    struct lmn_error err = { 0 };
    struct lmn__buf buf;
    uint64_t rows;

    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(&schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0], type), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], "column"), 0);
    if (values != NANOARROW_TYPE_UNINITIALIZED) {
        CHECK_EQ(ArrowSchemaAllocateDictionary(schema.children[0]), 0);
        ArrowSchemaInit(schema.children[0]->dictionary);
        CHECK_EQ(ArrowSchemaSetType(schema.children[0]->dictionary, values), 0);
    }
    CHECK_EQ(ArrowArrayInitFromSchema(&array, &schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(&array), 0);
    column = array.children[0];
    for (int i = 0; i < 3; i++) {
        if (values != NANOARROW_TYPE_UNINITIALIZED) {
            CHECK_EQ(ArrowArrayAppendInt(column->dictionary, i), 0);
            CHECK_EQ(ArrowArrayAppendInt(column, i), 0);
        } else {
            CHECK_EQ(ArrowArrayAppendString(column, ArrowCharView("a text of over 12 bytes")), 0);
        }
        CHECK_EQ(ArrowArrayFinishElement(&array), 0);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(&array, NULL), 0);
    memcpy((uint8_t *)(uintptr_t)column->buffers[1] + at, &number, sizeof number);
    lmn__buf_init(&buf, test_env(), 0);
    CHECK_OK(lmn__ipc_write_buffer(test_env(), LMN__IPC_STREAM, &schema, &array, &buf, &err));
    CHECK_STATUS(read_all((struct lmn__span){ buf.data, buf.len }, &rows, &err), want, &err);
    if (want != LMN_OK)
        CHECK_HAS(err.message, "memory: message");
    lmn__buf_deinit(&buf);
    array.release(&array);
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

static void test_ipc__corrupt_values(void **state)
{
    const enum ArrowType none = NANOARROW_TYPE_UNINITIALIZED, int32 = NANOARROW_TYPE_INT32;

    (void)state;
    check_column(int32, int32, 2, 4, LMN_OK); /* an index of the dictionary */
    check_column(int32, int32, 3, 4, LMN_E_CORRUPT);
    check_column(int32, int32, -1, 4, LMN_E_CORRUPT);
    check_column(NANOARROW_TYPE_STRING, none, 40, 4, LMN_OK); /* the second offset */
    check_column(NANOARROW_TYPE_STRING, none, 47, 4, LMN_E_CORRUPT);
    check_column(NANOARROW_TYPE_STRING, none, -1, 4, LMN_E_CORRUPT);
    check_column(NANOARROW_TYPE_STRING_VIEW, none, 20, 16, LMN_OK); /* the second view: length */
    check_column(NANOARROW_TYPE_STRING_VIEW, none, 60, 16, LMN_E_CORRUPT);
    check_column(NANOARROW_TYPE_STRING_VIEW, none, -1, 16, LMN_E_CORRUPT);
    check_column(NANOARROW_TYPE_STRING_VIEW, none, 1, 24, LMN_E_CORRUPT);  /* buffer */
    check_column(NANOARROW_TYPE_STRING_VIEW, none, 60, 28, LMN_E_CORRUPT); /* offset */
}

/* Batches of "a", null; and of "a", null, `text`. */
static void write_texts(enum ArrowType type, const char *text, struct lmn__buf *buf)
{
    struct lmn__ipc_writer writer;
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn__sink sink;
    struct lmn_error err;

    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(&schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0], type), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], "word"), 0);
    CHECK_EQ(ArrowArrayInitFromSchema(&array, &schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(&array), 0);
    CHECK_EQ(ArrowArrayAppendString(array.children[0], ArrowCharView("a")), 0);
    CHECK_EQ(ArrowArrayAppendNull(array.children[0], 1), 0);
    CHECK_EQ(ArrowArrayAppendString(array.children[0], ArrowCharView(text)), 0);
    array.length = 3;
    CHECK_EQ(ArrowArrayFinishBuildingDefault(&array, NULL), 0);
    CHECK_OK(lmn__sink_open_buf(&sink, test_env(), buf, &err));
    CHECK_OK(lmn__ipc_writer_open(&writer, test_env(), &sink, LMN__IPC_STREAM, &schema, &err));
    array.length = 2;
    CHECK_OK(lmn__ipc_writer_write(&writer, &array, &err));
    array.length = 3;
    CHECK_OK(lmn__ipc_writer_write(&writer, &array, &err));
    CHECK_OK(lmn__ipc_writer_finish(&writer, &err));
    lmn__ipc_writer_abort(&writer);
    CHECK_OK(lmn__sink_close(&sink, &err));
    array.release(&array);
    schema.release(&schema);
}

/* Strings from elsewhere are UTF-8; those of this library's own bytes are as they were given. */
static void check_texts(enum ArrowType type, const char *text, enum lmn_status want)
{
    struct ArrowArrayStream stream;
    struct lmn__source source;
    struct ArrowArray batch;
    struct lmn_error err = { 0 };
    struct lmn__buf buf;
    struct lmn__span bytes;
    uint64_t rows;

    lmn__buf_init(&buf, test_env(), 0);
    write_texts(type, text, &buf);
    bytes = (struct lmn__span){ buf.data, buf.len };
    CHECK_STATUS(read_all(bytes, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows, 5);
    CHECK_OK(lmn__source_open_memory(&source, test_env(), "texts", bytes, &err));
    CHECK_STATUS(lmn__ipc_read(test_env(), &source, &stream, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__stream_next(&stream, &batch, &err), LMN_OK, &err);
    batch.release(&batch);
    CHECK_STATUS(lmn__stream_next(&stream, &batch, &err), want, &err);
    if (want == LMN_OK)
        batch.release(&batch);
    else
        CHECK_HAS(err.message, "texts: message 3: row 4: \"word\": a string that is not UTF-8");
    stream.release(&stream);
    lmn__buf_deinit(&buf);
    CHECK_EQ(live_allocations(), 0);
}

static void test_ipc__strings_are_utf8(void **state)
{
    static const enum ArrowType texts[] = { NANOARROW_TYPE_STRING, NANOARROW_TYPE_LARGE_STRING,
                                            NANOARROW_TYPE_STRING_VIEW };

    (void)state;
    for (int i = 0; i < 3; i++) {
        check_texts(texts[i], "Rh\xc3\xb4ne", LMN_OK);
        check_texts(texts[i], "a longer text, up to a \xf0\x9f\x9a\x80", LMN_OK);
        check_texts(texts[i], "b\xff", LMN_E_CORRUPT);
        check_texts(texts[i], "a longer text, up to a \xf0\x9f\x9a", LMN_E_CORRUPT);
    }
    check_texts(NANOARROW_TYPE_BINARY, "b\xff", LMN_OK);
    check_texts(NANOARROW_TYPE_BINARY_VIEW, "b\xff", LMN_OK);
}

static void test_ipc__corrupt_not_arrow(void **state)
{
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    CHECK_STATUS(read_all((struct lmn__span){ (const uint8_t *)"", 0 }, &rows, &err), LMN_E_CORRUPT,
                 &err);
    CHECK_HAS(err.message, "memory: ");
    CHECK_STATUS(
        read_all((struct lmn__span){ (const uint8_t *)"name,age\nA,3\n", 13 }, &rows, &err),
        LMN_E_CORRUPT, &err);
}

static void test_ipc__faults(void **state)
{
    struct lmn__span bytes = golden("types_lz4.arrows");
    struct lmn_error err;
    uint64_t rows;
    enum lmn_status st;

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        fault_arm(FAULT_ALLOC, nth);
        st = read_all(bytes, &rows, &err);
        fault_disarm();
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
    free((void *)bytes.data);
}

static void test_ipc__write_faults(void **state)
{
    struct ArrowArray slice = sample.rows;
    struct lmn_error err;
    enum lmn_status st;

    (void)state;
    slice.offset = 3;
    slice.length = 20;
    for (uint64_t nth = 1;; nth++) {
        struct lmn__buf buf;

        lmn__buf_init(&buf, test_env(), 0);
        fault_arm(FAULT_ALLOC, nth);
        st = lmn__ipc_write_buffer(test_env(), LMN__IPC_STREAM, &sample.schema, &slice, &buf, &err);
        fault_disarm();
        lmn__buf_deinit(&buf);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_ipc__slices_come_back),
        cmocka_unit_test(test_ipc__same_dictionary_is_written_once),
        cmocka_unit_test(test_ipc__file_has_its_end),
        cmocka_unit_test(test_ipc__file_refuses_dictionaries),
        cmocka_unit_test(test_ipc__golden_deletion_files),
        cmocka_unit_test(test_ipc__corrupt_bytes),
        cmocka_unit_test(test_ipc__corrupt_values),
        cmocka_unit_test(test_ipc__strings_are_utf8),
        cmocka_unit_test(test_ipc__corrupt_not_arrow),
        cmocka_unit_test(test_ipc__faults),
        cmocka_unit_test(test_ipc__write_faults),
    };

    return cmocka_run_group_tests(cases, make_rows, free_rows);
}
