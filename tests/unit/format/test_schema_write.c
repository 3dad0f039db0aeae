/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow types as fields of files: names and keys that nobody could read, or find, are refused.
 */
#include "format/schema_write.h"

#include <leman/leman.h>
#include <nanoarrow/nanoarrow.h>

#include "arrays.h"
#include "check.h"
#include "stores.h"

/* Columns "id" of int64 and "pair", a struct of "x" and "y". */
static void make_schema(struct ArrowSchema *schema)
{
    static const char *const name[] = { "x", "y" };
    struct ArrowSchema *pair;

    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, 2), 0);
    CHECK_EQ(ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_INT64), 0);
    CHECK_EQ(ArrowSchemaSetName(schema->children[0], "id"), 0);
    pair = schema->children[1];
    CHECK_EQ(ArrowSchemaSetTypeStruct(pair, 2), 0);
    CHECK_EQ(ArrowSchemaSetName(pair, "pair"), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(ArrowSchemaSetType(pair->children[i], NANOARROW_TYPE_DOUBLE), 0);
        CHECK_EQ(ArrowSchemaSetName(pair->children[i], name[i]), 0);
    }
}

/* No file is made of the type, and no pages or tail; the message ends so. */
static void check_refused(const struct ArrowSchema *schema, const char *message)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_file_writer *writer;
    struct lmn_tail *tail;
    struct lmn_error err;

    CHECK_STATUS(lmn_file_writer_open(store, "a.lance", schema, NULL, &writer, &err), LMN_E_INVALID,
                 &err);
    CHECK_HAS(err.message, message);
    CHECK(writer == NULL);
    CHECK_STATUS(lmn_tail_new(test_env(), schema, NULL, &tail, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, message);
    lmn_store_release(store);
}

static void test_schema__names_are_utf8(void **state)
{
    struct ArrowSchema schema;

    (void)state;
    make_schema(&schema);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], "a\xff"), 0);
    check_refused(&schema, "the name of a column is not UTF-8: \"a\\xff\"");
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], "\xc3\xa4"), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[1]->children[1], "\xed\xa0\x80"), 0);
    check_refused(&schema, "field \"pair\": the name of a field is not UTF-8: \"\\xed\\xa0\\x80\"");
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

static void test_schema__names_are_there_once(void **state)
{
    struct ArrowSchema schema;

    (void)state;
    make_schema(&schema);
    CHECK_EQ(ArrowSchemaSetName(schema.children[1], "id"), 0);
    check_refused(&schema, "column \"id\" is there twice");
    CHECK_EQ(ArrowSchemaSetName(schema.children[1], "pair"), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[1]->children[0], "y"), 0);
    check_refused(&schema, "field \"pair\": field \"y\" is there twice");
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

/* A zone of 200 bytes is read again, one of more would not be. */
static void test_schema__time_zones(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_file_writer *writer;
    struct ArrowSchema schema;
    struct lmn_file *file;
    struct lmn_error err;
    char format[4 + 201 + 1];

    (void)state;
    make_schema(&schema);
    CHECK_EQ(ArrowSchemaSetFormat(schema.children[0], "tsu:Europe/Z\xfcrich"), 0);
    check_refused(&schema, "field \"id\": its type is not UTF-8: "
                           "\"timestamp:us:Europe/Z\\xfcrich\"");
    memset(format, 'a', sizeof format);
    memcpy(format, "tsu:", 4);
    format[sizeof format - 1] = '\0';
    CHECK_EQ(ArrowSchemaSetFormat(schema.children[0], format), 0);
    check_refused(&schema, "field \"id\": a time zone of 201 bytes");
    format[sizeof format - 2] = '\0';
    CHECK_EQ(ArrowSchemaSetFormat(schema.children[0], format), 0);
    CHECK_STATUS(lmn_file_writer_open(store, "a", &schema, NULL, &writer, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_file_writer_finish(writer, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_file_open(store, "a", NULL, &file, &err), LMN_OK, &err);
    lmn_file_release(file);
    lmn_store_release(store);
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

static void set_entry(struct ArrowSchema *schema, struct ArrowStringView key, const char *value)
{
    struct ArrowBuffer metadata;

    CHECK_EQ(ArrowMetadataBuilderInit(&metadata, NULL), 0);
    CHECK_EQ(ArrowMetadataBuilderAppend(&metadata, key, ArrowCharView(value)), 0);
    CHECK_EQ(ArrowSchemaSetMetadata(schema, (const char *)metadata.data), 0);
    ArrowBufferReset(&metadata);
}

/* Values are bytes, and a NUL is a character. */
static void test_schema__keys_of_metadata_are_utf8(void **state)
{
    const struct ArrowStringView nul = { "a\0b", 3 };
    struct ArrowSchema schema;
    struct lmn__pb_schema pb;
    struct lmn__arena arena;
    struct lmn_error err;

    (void)state;
    make_schema(&schema);
    set_entry(&schema, ArrowCharView("k\xc0"), "v");
    check_refused(&schema, "a key of metadata is not UTF-8: \"k\\xc0\"");
    set_entry(&schema, nul, "\xff");
    set_entry(schema.children[1]->children[0], ArrowCharView("\x80"), "v");
    check_refused(&schema,
                  "field \"pair\": field \"x\": a key of metadata is not UTF-8: \"\\x80\"");
    set_entry(schema.children[1]->children[0], ArrowCharView("k"), "v");
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(lmn__schema_from_arrow(&schema, 1, &arena, &pb, &err), LMN_OK, &err);
    lmn__arena_deinit(&arena);
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema__names_are_utf8),
        cmocka_unit_test(test_schema__names_are_there_once),
        cmocka_unit_test(test_schema__time_zones),
        cmocka_unit_test(test_schema__keys_of_metadata_are_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
