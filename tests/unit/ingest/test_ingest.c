/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV and JSON lines in C: schemas that are given, records longer than a read, and faults. What the
 * formats mean is tested in tests/cli, beside other programs.
 */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "ingest/reader.h"

typedef enum lmn_status (*open_fn)(struct lmn_env *env, struct lmn__source *source,
                                   const struct lmn_ingest_options *options,
                                   struct ArrowArrayStream *stream_out, struct lmn_error *err);

static enum lmn_status open_text(open_fn open, const char *text, size_t len,
                                 const struct lmn_ingest_options *options,
                                 struct ArrowArrayStream *stream, struct lmn_error *err)
{
    struct lmn__span bytes = { (const uint8_t *)text, len };
    struct lmn__source source;
    enum lmn_status st = lmn__source_open_memory(&source, test_env(), "text", bytes, err);

    return st != LMN_OK ? st : open(test_env(), &source, options, stream, err);
}

static enum lmn_status read_all(open_fn open, const char *text, size_t len,
                                const struct lmn_ingest_options *options, uint64_t *rows_out,
                                struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = open_text(open, text, len, options, &stream, err);

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

/* A schema of columns a, b, ... of these types. */
static void make_schema(struct ArrowSchema *schema, const enum ArrowType *type, int count)
{
    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, count), 0);
    for (int i = 0; i < count; i++) {
        char name[2] = { (char)('a' + i), '\0' };

        if (type[i] == NANOARROW_TYPE_FIXED_SIZE_LIST) {
            CHECK_EQ(ArrowSchemaSetTypeFixedSize(schema->children[i], type[i], 2), 0);
            CHECK_EQ(ArrowSchemaSetType(schema->children[i]->children[0], NANOARROW_TYPE_FLOAT), 0);
        } else {
            CHECK_EQ(ArrowSchemaSetType(schema->children[i], type[i]), 0);
        }
        CHECK_EQ(ArrowSchemaSetName(schema->children[i], name), 0);
    }
}

static void test_csv__schema_is_kept_to(void **state)
{
    static const enum ArrowType types[] = { NANOARROW_TYPE_INT8, NANOARROW_TYPE_STRING };
    static const char good[] = "a,b\n127,1\n-128,\n", bad[] = "a,b\n127,1\n128,2\n";
    struct lmn_ingest_options options = { 0 };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    make_schema(&schema, types, 2);
    options.schema = &schema;
    CHECK_STATUS(open_text(lmn__csv_open, good, sizeof good - 1, &options, &stream, &err), LMN_OK,
                 &err);
    CHECK_STATUS(lmn__stream_next(&stream, &batch, &err), LMN_OK, &err);
    CHECK_EQ(((const int8_t *)batch.children[0]->buffers[1])[1], -128);
    CHECK_EQ(batch.children[1]->null_count, 1);
    batch.release(&batch);
    stream.release(&stream);
    CHECK_STATUS(read_all(lmn__csv_open, bad, sizeof bad - 1, &options, &rows, &err), LMN_E_INVALID,
                 &err);
    CHECK_HAS(err.message, "line 3");
    CHECK_HAS(err.message, "int8");
    CHECK_STATUS(read_all(lmn__csv_open, "a,x\n", 4, &options, &rows, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "\"x\" in the header");
    CHECK_STATUS(open_text(lmn__csv_open, "b,a\n,7\n", 7, &options, &stream, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__stream_next(&stream, &batch, &err), LMN_OK, &err);
    CHECK_EQ(((const int8_t *)batch.children[0]->buffers[1])[0], 7);
    CHECK_EQ(batch.children[1]->null_count, 1);
    batch.release(&batch);
    stream.release(&stream);
    CHECK_STATUS(read_all(lmn__csv_open, "a\n1\n", 4, &options, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows, 1);
    CHECK_STATUS(read_all(lmn__csv_open, "a\n1,2\n", 6, &options, &rows, &err), LMN_E_INVALID,
                 &err);
    schema.children[1]->flags = 0;
    CHECK_STATUS(read_all(lmn__csv_open, good, sizeof good - 1, &options, &rows, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "no place for a null");
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

static void test_jsonl__schema_selects_fields(void **state)
{
    static const enum ArrowType types[] = { NANOARROW_TYPE_BINARY, NANOARROW_TYPE_FIXED_SIZE_LIST };
    static const char good[] = "{\"x\":{\"y\":[1]},\"a\":\"AP8=\",\"b\":[1,2]}\n{\"b\":null}\n";
    static const char *const bad[] = { "{\"b\":[1]}",      "{\"b\":[1,2,3]}", "{\"a\":\"AP8\"}",
                                       "{\"a\":\"A?8=\"}", "{\"a\":1}",       "{\"b\":{}}" };
    struct lmn_ingest_options options = { 0 };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    make_schema(&schema, types, 2);
    options.schema = &schema;
    CHECK_STATUS(open_text(lmn__jsonl_open, good, sizeof good - 1, &options, &stream, &err), LMN_OK,
                 &err);
    CHECK_STATUS(lmn__stream_next(&stream, &batch, &err), LMN_OK, &err);
    CHECK_EQ(batch.length, 2);
    CHECK_BYTES(batch.children[0]->buffers[2], "\0\xff", 2);
    CHECK_EQ(batch.children[0]->null_count, 1);
    CHECK(((const float *)batch.children[1]->children[0]->buffers[1])[1] == 2);
    CHECK_EQ(batch.children[1]->children[0]->length, 4);
    batch.release(&batch);
    stream.release(&stream);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_STATUS(read_all(lmn__jsonl_open, bad[i], strlen(bad[i]), &options, &rows, &err),
                     LMN_E_INVALID, &err);
        CHECK_HAS(err.message, "text: line 1: field \"");
    }
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

struct told {
    uint64_t count, offset[8];
    char message[8][100];
};

static void note(void *self, const struct lmn_problem *problem)
{
    struct told *told = self;

    CHECK(told->count < 8);
    told->offset[told->count] = problem->offset;
    snprintf(told->message[told->count++], 100, "%s", problem->message);
}

/* Rows that do not fit are left out and told; those around them stay. */
static void test_ingest__rows_left_out(void **state)
{
    static const char csv[] = "a,b\n1,x\ny\n2,\xff\n3,z\n4,\"open\n";
    static const char jsonl[] =
        "{\"a\":1,\"b\":[\"x\"]}\n{\"a\":2,\n[]\n{\"a\":\"x\"}\n{\"a\":3}\n";
    static const enum ArrowType type[] = { NANOARROW_TYPE_INT64 };
    struct told told = { 0 };
    struct lmn_ingest_options options = { .bad = LMN_BAD_SKIP,
                                          .report = note,
                                          .report_self = &told };
    struct ArrowSchema schema;
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    CHECK_STATUS(read_all(lmn__csv_open, csv, sizeof csv - 1, &options, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows, 2);
    CHECK_EQ(told.count, 3);
    CHECK_EQ(told.offset[0], 8);
    CHECK_STR(told.message[0], "line 3: 1 fields where there are 2 columns");
    CHECK_HAS(told.message[1], "line 4: the text is not UTF-8");
    CHECK_HAS(told.message[2], "line 6: a quote that is opened is not closed");
    told.count = 0;
    make_schema(&schema, type, 1);
    options.schema = &schema;
    CHECK_STATUS(read_all(lmn__jsonl_open, jsonl, sizeof jsonl - 1, &options, &rows, &err), LMN_OK,
                 &err);
    CHECK_EQ(rows, 2);
    CHECK_EQ(told.count, 3);
    CHECK_EQ(told.offset[0], 18);
    CHECK_HAS(told.message[2], "line 4");
    schema.release(&schema);
    told.count = 0;
    options.schema = NULL; /* the columns are taken from the lines that parse */
    CHECK_STATUS(read_all(lmn__jsonl_open, "{\n{\"a\":1}\n", 10, &options, &rows, &err), LMN_OK,
                 &err);
    CHECK_EQ(rows, 1);
    CHECK_EQ(told.count, 1);
    CHECK_EQ(live_allocations(), 0);
}

/* A file that cannot be opened has no rows, and is told of when they are asked for. */
static void test_ingest__files_left_out(void **state)
{
    static const enum ArrowType type[] = { NANOARROW_TYPE_INT64 };
    struct told told = { 0 };
    struct lmn_ingest_options options = { .format = "csv", .report = note, .report_self = &told };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err;

    (void)state;
    make_schema(&schema, type, 1);
    options.schema = &schema;
    CHECK_STATUS(lmn_ingest_open(test_env(), "nowhere/x.csv", &options, &stream, &err),
                 LMN_E_NOT_FOUND, &err);
    options.bad = LMN_BAD_SKIP;
    for (uint64_t nth = 1;; nth++) {
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn_ingest_open(test_env(), "nowhere/x.csv", &options, &stream, &err);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
        CHECK_EQ(live_allocations(), 0);
    }
    fault_disarm();
    CHECK_EQ(told.count, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(lmn__stream_next(&stream, &batch, &err), LMN_OK, &err);
        CHECK(batch.release == NULL);
    }
    CHECK_EQ(told.count, 1);
    CHECK_HAS(told.message[0], "nowhere/x.csv");
    stream.release(&stream);
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

static void test_ingest__types_without_text(void **state)
{
    static const enum ArrowType types[] = { NANOARROW_TYPE_HALF_FLOAT };
    struct lmn_ingest_options options = { 0 };
    struct ArrowSchema schema;
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    make_schema(&schema, types, 1);
    options.schema = &schema;
    CHECK_STATUS(read_all(lmn__csv_open, "a\n1\n", 4, &options, &rows, &err), LMN_E_UNSUPPORTED,
                 &err);
    CHECK_HAS(err.message, "\"a\"");
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

/* Records larger than what is read at once, and many of them. */
static void test_ingest__long_records(void **state)
{
    static const struct lmn_ingest_options options = { .batch_rows_max = 2 };
    enum { LONG = 700000, COUNT = 5 };
    char *text = malloc(COUNT * (LONG + 16) + 16);
    struct lmn_error err;
    uint64_t rows;
    size_t len = 0;

    (void)state;
    memcpy(text, "a,b\n", 4);
    len = 4;
    for (int i = 0; i < COUNT; i++) {
        text[len++] = '"';
        memset(text + len, 'x', LONG);
        text[len + LONG / 2] = '\n';
        len += LONG;
        memcpy(text + len, "\",1\r\n", 5);
        len += 5;
    }
    CHECK_STATUS(read_all(lmn__csv_open, text, len, &options, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows, COUNT);
    len = 0;
    for (int i = 0; i < COUNT; i++) {
        memcpy(text + len, "{\"a\":\"", 6);
        memset(text + len + 6, 'x', LONG);
        len += 6 + LONG;
        memcpy(text + len, "\"}\n", 3);
        len += 3;
    }
    CHECK_STATUS(read_all(lmn__jsonl_open, text, len, &options, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows, COUNT);
    free(text);
    CHECK_EQ(live_allocations(), 0);
}

static void check_faults(open_fn open, const char *text, const struct ArrowSchema *schema,
                         uint64_t want)
{
    const struct lmn_ingest_options options = { .batch_rows_max = 2, .schema = schema };
    struct lmn_error err;
    uint64_t rows;

    for (uint64_t nth = 1;; nth++) {
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = read_all(open, text, strlen(text), &options, &rows, &err);
        fault_disarm();
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            CHECK_EQ(rows, want);
            break;
        }
        if (st != LMN_OK) /* a vector that cannot double takes what it needs */
            CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
}

/* A column "m" of strings to integers. */
static void make_map(struct ArrowSchema *schema)
{
    struct ArrowSchema *entries;

    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_MAP), 0);
    CHECK_EQ(ArrowSchemaSetName(schema->children[0], "m"), 0);
    entries = schema->children[0]->children[0];
    CHECK_EQ(ArrowSchemaSetType(entries->children[0], NANOARROW_TYPE_STRING), 0);
    CHECK_EQ(ArrowSchemaSetType(entries->children[1], NANOARROW_TYPE_INT64), 0);
}

static void test_ingest__faults(void **state)
{
    struct ArrowSchema map;

    (void)state;
    check_faults(lmn__csv_open, "a,b,c,d\n1,x,2024-01-01,true\n,\"q\"\"r\",,\n3,y,,false\n", NULL,
                 3);
    check_faults(lmn__csv_open, "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,,c16\n,,,,,,,,,,,,,,,,,1\n", NULL,
                 1);
    check_faults(lmn__jsonl_open,
                 "{\"a\":1,\"l\":[1,2],\"s\":{\"x\":\"\\u00e9\"}}\n{\"l\":null}\n{\"a\":2.5}\n",
                 NULL, 3);
    make_map(&map);
    check_faults(lmn__jsonl_open, "{\"m\":{\"a\":1,\"b\":2}}\n{\"m\":{}}\n", &map, 2);
    map.release(&map);
}

/* The columns that the text has, in the types of those that it should be like. */
static void test_ingest__types_like(void **state)
{
    static const enum ArrowType types[] = { NANOARROW_TYPE_INT8, NANOARROW_TYPE_FLOAT,
                                            NANOARROW_TYPE_STRING };
    static const char csv[] = "c,a,x\n007,1.0,true\n", json[] = "{\"c\":7,\"a\":1e1,\"x\":true}";
    struct lmn_ingest_options options = { 0 };
    struct ArrowSchema like, got;
    struct ArrowArrayStream stream;
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    make_schema(&like, types, 3);
    options.like = &like;
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(open_text(i == 0 ? lmn__csv_open : lmn__jsonl_open, i == 0 ? csv : json,
                               strlen(i == 0 ? csv : json), &options, &stream, &err),
                     LMN_OK, &err);
        CHECK_EQ(stream.get_schema(&stream, &got), 0);
        CHECK_EQ(got.n_children, 3);
        CHECK_STR(got.children[0]->format, "u");
        CHECK_STR(got.children[1]->format, "c");
        CHECK_STR(got.children[2]->format, "b");
        got.release(&got);
        stream.release(&stream);
    }
    CHECK_STATUS(read_all(lmn__jsonl_open, json, strlen(json), &options, &rows, &err), LMN_OK,
                 &err);
    CHECK_EQ(rows, 1);
    CHECK_STATUS(read_all(lmn__csv_open, "a\n1.5\n", 6, &options, &rows, &err), LMN_E_INVALID,
                 &err);
    CHECK_STR(err.message, "text: line 2: field \"a\" of type int8 has no place for \"1.5\"");
    CHECK_STATUS(read_all(lmn__csv_open, "b\n1e300\n", 8, &options, &rows, &err), LMN_E_INVALID,
                 &err);
    CHECK_HAS(err.message, "1e300");
    like.release(&like);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_csv__schema_is_kept_to),
        cmocka_unit_test(test_jsonl__schema_selects_fields),
        cmocka_unit_test(test_ingest__rows_left_out),
        cmocka_unit_test(test_ingest__files_left_out),
        cmocka_unit_test(test_ingest__types_without_text),
        cmocka_unit_test(test_ingest__types_like),
        cmocka_unit_test(test_ingest__long_records),
        cmocka_unit_test(test_ingest__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
