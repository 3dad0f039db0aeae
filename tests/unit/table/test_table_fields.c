/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a table: their ids and parents, keys, blobs, and what may be added to them.
 */
#include "table/table_fields.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "arrays.h"
#include "keyed_rows.h"
#include "stores.h"
#include "table/table.h"

static const struct lmn__pb_schema_field *find(const struct lmn__pb_schema *pb, const char *name)
{
    const struct lmn__pb_schema_field *field = pb->fields.item;

    for (size_t i = 0; i < pb->fields.count; i++) {
        if (lmn__span_equal(field[i].name, name))
            return &field[i];
    }
    check_fail(__FILE__, __LINE__, "no field %s", name);
}

/* Ids rise by one in the order of the tree; parents stand before their children. */
static void test_fields__ids(void **state)
{
    static const int32_t firsts[] = { 0, 100 };
    struct ArrowSchema schema;
    struct lmn_error err = { 0 };

    (void)state;
    sample_schema(&schema);
    for (int k = 0; k < 2; k++) {
        const struct lmn__pb_schema_field *field;
        struct lmn__pb_schema pb;
        struct lmn__schema tree;
        struct lmn__arena arena;

        lmn__arena_init(&arena, test_env(), 0);
        CHECK_STATUS(lmn__fields_from_arrow(&schema, 1, firsts[k], &arena, &pb, &err), LMN_OK,
                     &err);
        field = pb.fields.item;
        for (size_t i = 0; i < pb.fields.count; i++) {
            CHECK_EQ(field[i].id, firsts[k] + (int32_t)i);
            CHECK(field[i].parent_id == -1 ||
                  (field[i].parent_id >= firsts[k] && field[i].parent_id < field[i].id));
        }
        CHECK_EQ(find(&pb, "number")->parent_id, -1);
        CHECK(!find(&pb, "number")->nullable);
        CHECK(find(&pb, "maybe")->nullable);
        CHECK_EQ(find(&pb, "x")->parent_id, find(&pb, "struct")->id);
        CHECK_EQ(find(&pb, "tags")->parent_id, find(&pb, "struct")->id);
        /* The list's item comes after the list, deeper in the tree. */
        CHECK_EQ(find(&pb, "tags")[1].parent_id, find(&pb, "tags")->id);
        CHECK_STATUS(lmn__schema_read(&pb, 1, &arena, &tree, &err), LMN_OK, &err);
        CHECK_EQ(tree.top_count, sample_column_count());
        lmn__arena_deinit(&arena);
    }
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

static void make_column(struct ArrowSchema *schema, const char *name, enum ArrowType type)
{
    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetType(schema, type), 0);
    CHECK_EQ(ArrowSchemaSetName(schema, name), 0);
}

/* "before", a blob "image" with metadata of its own, and a struct "after" of one "inner". */
static void make_blobs(struct ArrowSchema *schema)
{
    struct ArrowBuffer metadata;

    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetFormat(schema, "+s"), 0);
    CHECK_EQ(ArrowSchemaAllocateChildren(schema, 3), 0);
    make_column(schema->children[0], "before", NANOARROW_TYPE_INT64);
    make_column(schema->children[1], "image", NANOARROW_TYPE_LARGE_BINARY);
    CHECK_EQ(ArrowMetadataBuilderInit(&metadata, NULL), 0);
    CHECK_EQ(ArrowMetadataBuilderAppend(&metadata, ArrowCharView("lance-encoding:blob"),
                                        ArrowCharView("true")),
             0);
    CHECK_EQ(ArrowMetadataBuilderAppend(&metadata, ArrowCharView("note"), ArrowCharView("mine")),
             0);
    CHECK_EQ(ArrowSchemaSetMetadata(schema->children[1], (const char *)metadata.data), 0);
    ArrowBufferReset(&metadata);
    ArrowSchemaInit(schema->children[2]);
    CHECK_EQ(ArrowSchemaSetFormat(schema->children[2], "+s"), 0);
    CHECK_EQ(ArrowSchemaSetName(schema->children[2], "after"), 0);
    CHECK_EQ(ArrowSchemaAllocateChildren(schema->children[2], 1), 0);
    make_column(schema->children[2]->children[0], "inner", NANOARROW_TYPE_INT32);
}

static bool has_entry(const struct lmn__pb_schema_field *field, const char *key, const char *value)
{
    const struct lmn__pb_entry *entry = field->metadata.item;

    for (size_t i = 0; i < field->metadata.count; i++) {
        if (lmn__span_equal(entry[i].key, key))
            return lmn__span_equal(entry[i].value, value);
    }
    return false;
}

/* In 2.2 a blob is a struct of four fields in the manifest; those behind it are numbered on. */
static void test_fields__blobs(void **state)
{
    static const struct {
        const char *name, *type;
        int32_t id, parent;
    } expected[] = {
        { "before", "int64", 10, -1 },      { "image", "struct", 11, -1 },
        { "data", "large_binary", 12, 11 }, { "uri", "string", 13, 11 },
        { "position", "uint64", 14, 11 },   { "size", "uint64", 15, 11 },
        { "after", "struct", 16, -1 },      { "inner", "int32", 17, 16 },
    };
    const struct lmn__pb_schema_field *field;
    struct ArrowSchema schema;
    struct lmn__pb_schema pb;
    struct lmn__arena arena;
    struct lmn_error err = { 0 };

    (void)state;
    make_blobs(&schema);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(lmn__fields_from_arrow(&schema, 2, 10, &arena, &pb, &err), LMN_OK, &err);
    CHECK_EQ(pb.fields.count, 8);
    field = pb.fields.item;
    for (size_t i = 0; i < 8; i++) {
        CHECK(lmn__span_equal(field[i].name, expected[i].name));
        CHECK(lmn__span_equal(field[i].logical_type, expected[i].type));
        CHECK_EQ(field[i].id, expected[i].id);
        CHECK_EQ(field[i].parent_id, expected[i].parent);
    }
    CHECK(has_entry(&field[1], "ARROW:extension:name", "lance.blob.v2"));
    CHECK(has_entry(&field[1], "note", "mine"));
    CHECK(!has_entry(&field[1], "lance-encoding:blob", "true"));
    /* In 2.1 it is a column of bytes with a mark. */
    CHECK_STATUS(lmn__fields_from_arrow(&schema, 1, 0, &arena, &pb, &err), LMN_OK, &err);
    CHECK_EQ(pb.fields.count, 4);
    CHECK(has_entry(find(&pb, "image"), "lance-encoding:blob", "true"));
    lmn__arena_deinit(&arena);
    schema.release(&schema);
}

static void test_fields__primary_key(void **state)
{
    static const char *const key[] = { "word", "number" }, *const unknown[] = { "number", "x" },
                             *const twice[] = { "word", "number", "word" };
    struct ArrowSchema schema;
    struct lmn__pb_schema pb;
    struct lmn__arena arena;
    struct lmn_error err = { 0 };

    (void)state;
    sample_schema(&schema);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_OK(lmn__fields_from_arrow(&schema, 1, 0, &arena, &pb, &err));
    CHECK_STATUS(lmn__fields_set_key(&pb, key, 2, &err), LMN_OK, &err);
    CHECK(find(&pb, "word")->primary_key && find(&pb, "word")->primary_key_position == 1);
    CHECK(find(&pb, "number")->primary_key && find(&pb, "number")->primary_key_position == 2);
    CHECK(!find(&pb, "word")->nullable && !find(&pb, "number")->nullable);
    CHECK(!find(&pb, "maybe")->primary_key);
    /* Keys are columns on top level. */
    CHECK_STATUS(lmn__fields_set_key(&pb, unknown, 2, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "\"x\"");
    CHECK_STATUS(lmn__fields_set_key(&pb, twice, 3, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "\"word\"");
    lmn__arena_deinit(&arena);
    schema.release(&schema);
}

/* A table of sample rows at its newest version. */
struct fixture {
    struct lmn_store *store;
    struct lmn_table *table;
    struct lmn__manifest *manifest;
    struct lmn__arena arena;
};

static void setup(struct fixture *fixture)
{
    static const struct keyed_row row[] = { { 1, 10, "a" } };

    fixture->store = test_store_memory();
    fixture->table = keyed_table(fixture->store, row, 1, NULL);
    fixture->manifest = lmn__table_manifest(fixture->table);
    lmn__arena_init(&fixture->arena, test_env(), 0);
}

static void teardown(struct fixture *fixture)
{
    lmn__arena_deinit(&fixture->arena);
    lmn__manifest_release(fixture->manifest);
    lmn_table_release(fixture->table);
    lmn_store_release(fixture->store);
    CHECK_EQ(live_allocations(), 0);
}

/* Ids are never used again: not after a column went, as long as a file or the manifest knows. */
static void test_fields__next_id(void **state)
{
    static const char *const dropped[] = { "name" };
    struct fixture fixture;
    struct lmn__manifest copy;
    struct lmn_error err = { 0 };
    int32_t id;

    (void)state;
    setup(&fixture);
    CHECK_OK(lmn__fields_next_id(fixture.manifest, &id, &err));
    CHECK_EQ(id, 3);
    CHECK_STATUS(lmn_table_drop_columns(fixture.table, dropped, 1, &err), LMN_OK, &err);
    lmn__manifest_release(fixture.manifest);
    fixture.manifest = lmn__table_manifest(fixture.table);
    CHECK_EQ(fixture.manifest->schema.top_count, 2);
    CHECK_OK(lmn__fields_next_id(fixture.manifest, &id, &err));
    CHECK_EQ(id, 3);
    copy = *fixture.manifest;
    copy.pb.has_field_id_max = true;
    copy.pb.field_id_max = 41;
    CHECK_OK(lmn__fields_next_id(&copy, &id, &err));
    CHECK_EQ(id, 42);
    copy.pb.field_id_max = INT32_MAX;
    CHECK_STATUS(lmn__fields_next_id(&copy, &id, &err), LMN_E_UNSUPPORTED, &err);
    teardown(&fixture);
}

static void test_fields__added(void **state)
{
    struct fixture fixture;
    struct ArrowSchema schema;
    struct lmn__pb_schema pb;
    struct lmn__pb_list all;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture);
    make_blobs(&schema);
    CHECK_STATUS(lmn__fields_of_added(fixture.manifest, &schema, &fixture.arena, &pb, &err), LMN_OK,
                 &err);
    CHECK_EQ(find(&pb, "before")->id, 3);
    CHECK_EQ(find(&pb, "inner")->parent_id, find(&pb, "after")->id);
    CHECK_OK(lmn__fields_append(fixture.manifest, &pb.fields, &fixture.arena, &all, &err));
    CHECK_EQ(all.count, 3 + pb.fields.count);
    CHECK(lmn__span_equal(((struct lmn__pb_schema_field *)all.item)[3].name, "before"));
    CHECK_EQ(ArrowSchemaSetName(schema.children[1], "value"), 0);
    CHECK_STATUS(lmn__fields_of_added(fixture.manifest, &schema, &fixture.arena, &pb, &err),
                 LMN_E_EXISTS, &err);
    CHECK_HAS(err.message, "\"value\" is there already");
    CHECK_EQ(ArrowSchemaSetName(schema.children[1], "before"), 0);
    CHECK_STATUS(lmn__fields_of_added(fixture.manifest, &schema, &fixture.arena, &pb, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "\"before\" is to be added twice");
    CHECK_EQ(ArrowSchemaSetName(schema.children[1], ""), 0);
    CHECK_STATUS(lmn__fields_of_added(fixture.manifest, &schema, &fixture.arena, &pb, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "column 1 to add has no name");
    CHECK_STATUS(
        lmn__fields_of_added(fixture.manifest, schema.children[0], &fixture.arena, &pb, &err),
        LMN_E_INVALID, &err);
    schema.release(&schema);
    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(&schema, 0), 0);
    CHECK_STATUS(lmn__fields_of_added(fixture.manifest, &schema, &fixture.arena, &pb, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "no columns to add");
    schema.release(&schema);
    teardown(&fixture);
}

static void test_fields__find(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table;
    struct lmn__manifest *manifest;
    const struct lmn__node *node;
    struct ArrowArrayStream stream;
    struct sample sample;
    struct lmn_error err = { 0 };

    (void)state;
    sample_init(&sample, 3, 1);
    sample_stream(&sample, 0, 3, 3, &stream);
    CHECK_OK(lmn_table_create(store, &stream, NULL, &table, &err));
    manifest = lmn__table_manifest(table);
    CHECK_STATUS(lmn__fields_find(manifest, "maybe", &node, &err), LMN_OK, &err);
    CHECK_STR(node->name, "maybe");
    CHECK_STATUS(lmn__fields_find(manifest, "struct.tags", &node, &err), LMN_OK, &err);
    CHECK_STR(node->name, "tags");
    CHECK_STR(node->parent->name, "struct");
    CHECK_STATUS(lmn__fields_find(manifest, "struct.none", &node, &err), LMN_E_NOT_FOUND, &err);
    CHECK(node == NULL);
    CHECK_STATUS(lmn__fields_find(manifest, "none", &node, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "number");
    lmn__manifest_release(manifest);
    lmn_table_release(table);
    lmn_store_release(store);
    sample_deinit(&sample);
    CHECK_EQ(live_allocations(), 0);
}

static void test_fields__faults(void **state)
{
    struct fixture fixture;
    struct ArrowSchema schema;
    bool fired = true;

    (void)state;
    setup(&fixture);
    make_blobs(&schema);
    for (uint64_t nth = 1; fired; nth++) {
        struct lmn__arena arena;
        struct lmn__pb_schema pb;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        lmn__arena_init(&arena, test_env(), 0);
        fault_arm(FAULT_ALLOC, nth);
        st = lmn__fields_of_added(fixture.manifest, &schema, &arena, &pb, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK_STATUS(st, fired ? LMN_E_NO_MEMORY : LMN_OK, &err);
        lmn__arena_deinit(&arena);
    }
    schema.release(&schema);
    teardown(&fixture);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_fields__ids),         cmocka_unit_test(test_fields__blobs),
        cmocka_unit_test(test_fields__primary_key), cmocka_unit_test(test_fields__next_id),
        cmocka_unit_test(test_fields__added),       cmocka_unit_test(test_fields__find),
        cmocka_unit_test(test_fields__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
