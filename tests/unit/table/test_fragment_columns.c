/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of a fragment whose structs and lists of structs lie in several files, and fragments
 * that do not fit their files. What pylance makes is read in test_scan.c.
 */
#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include <leman/leman.h>

#include "arrow/view.h"
#include "check.h"
#include "stores.h"
#include "table/fragment_columns.h"

enum { ROWS = 10 };

/*
 * The table's schema. Field ids are the places in this list.
 *
 *     id: int64   info: struct<x, y, z: int32>   items: list<struct<p, q: int32>>
 */
static struct lmn__pb_schema_field field[10];
enum { ID, INFO, X, Y, Z, ITEMS, ITEM, P, Q, FIELD_COUNT };

static struct lmn__span span(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static void set_field(int id, int parent, const char *name, const char *type)
{
    field[id] = (struct lmn__pb_schema_field){ .id = id,
                                               .parent_id = parent,
                                               .name = span(name),
                                               .logical_type = span(type),
                                               .nullable = true };
}

static int make_fields(void **state)
{
    (void)state;
    set_field(ID, -1, "id", "int64");
    set_field(INFO, -1, "info", "struct");
    set_field(X, INFO, "x", "int32");
    set_field(Y, INFO, "y", "int32");
    set_field(Z, INFO, "z", "int32");
    set_field(ITEMS, -1, "items", "list");
    set_field(ITEM, ITEMS, "item", "struct");
    set_field(P, ITEM, "p", "int32");
    set_field(Q, ITEM, "q", "int32");
    return 0;
}

static int32_t info_value(int row, int which)
{
    return row + 100 * which;
}

static int32_t item_value(int row, int k, int which)
{
    return row * 10 + k + 1000 * which;
}

static void set_child(struct ArrowSchema *schema, int64_t index, const char *name,
                      enum ArrowType type)
{
    ArrowSchemaInit(schema->children[index]);
    CHECK_EQ(ArrowSchemaSetType(schema->children[index], type), 0);
    CHECK_EQ(ArrowSchemaSetName(schema->children[index], name), 0);
}

static void set_struct(struct ArrowSchema *schema, const char *name, int64_t count)
{
    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, count), 0);
    CHECK_EQ(ArrowSchemaSetName(schema, name), 0);
}

/* id, renamed{<which>}, list<renamed{<which>}>: names in files do not matter. */
static void file_schema(struct ArrowSchema *schema)
{
    set_struct(schema, "", 3);
    set_child(schema, 0, "number", NANOARROW_TYPE_INT64);
    set_struct(schema->children[1], "old info", 1);
    set_child(schema->children[1], 0, "old", NANOARROW_TYPE_INT32);
    ArrowSchemaInit(schema->children[2]);
    CHECK_EQ(ArrowSchemaSetType(schema->children[2], NANOARROW_TYPE_LIST), 0);
    CHECK_EQ(ArrowSchemaSetName(schema->children[2], "old.items"), 0);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema->children[2]->children[0], 1), 0);
    set_child(schema->children[2]->children[0], 0, "old", NANOARROW_TYPE_INT32);
}

static void append_row(struct ArrowArray *array, int row, int which, int more)
{
    struct ArrowArray *info = array->children[1], *items = array->children[2];

    CHECK_EQ(ArrowArrayAppendInt(array->children[0], row), 0);
    if (row % 5 == 4) {
        CHECK_EQ(ArrowArrayAppendNull(info, 1), 0);
    } else {
        CHECK_EQ(ArrowArrayAppendInt(info->children[0], info_value(row, which)), 0);
        CHECK_EQ(ArrowArrayFinishElement(info), 0);
    }
    for (int k = 0; k < row % 3 + more; k++) {
        struct ArrowArray *item = items->children[0];

        CHECK_EQ(ArrowArrayAppendInt(item->children[0], item_value(row, k, which)), 0);
        CHECK_EQ(ArrowArrayFinishElement(item), 0);
    }
    CHECK_EQ(ArrowArrayFinishElement(items), 0);
    CHECK_EQ(ArrowArrayFinishElement(array), 0);
}

/* File number `which` (0 or 1); `more` items in every list. */
static void write_file(struct lmn_store *store, const char *path, int which, int rows, int more)
{
    struct lmn_file_writer *writer;
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err = { 0 };

    file_schema(&schema);
    CHECK_EQ(ArrowArrayInitFromSchema(&array, &schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(&array), 0);
    for (int i = 0; i < rows; i++)
        append_row(&array, i, which, more);
    CHECK_EQ(ArrowArrayFinishBuildingDefault(&array, NULL), 0);
    CHECK_STATUS(lmn_file_writer_open(store, path, &schema, NULL, &writer, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_file_writer_write(writer, &array, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_file_writer_finish(writer, NULL, &err), LMN_OK, &err);
    array.release(&array);
    schema.release(&schema);
}

/* What is read: two files, of which a test may change what they claim to have. */
struct fixture {
    struct lmn_store *store;
    struct lmn__file_set *files;
    struct lmn__manifest manifest;
    struct lmn__pb_schema schema;
    uint64_t fields[2][4], columns[2][4];
    struct lmn__pb_data_file file[2];
    struct lmn__pb_fragment fragment;
    struct lmn__projection projection;
};

static void fixture_init(struct fixture *fixture)
{
    static const int id[2][4] = { { ID, INFO, X, P }, { INFO, Y, ITEMS, Q } };
    static const int column[2][4] = { { 0, -1, 1, 2 }, { -1, 1, -1, 2 } };
    struct lmn_error err = { 0 };

    memset(fixture, 0, sizeof *fixture);
    fixture->store = test_store_memory();
    write_file(fixture->store, "data/0.lance", 0, ROWS, 0);
    write_file(fixture->store, "data/1.lance", 1, ROWS, 0);
    write_file(fixture->store, "data/short.lance", 1, ROWS - 1, 0);
    write_file(fixture->store, "data/long.lance", 1, ROWS, 1);
    CHECK_OK(lmn__file_set_new(fixture->store, 8, &fixture->files, &err));
    fixture->manifest.env = test_env();
    lmn__arena_init(&fixture->manifest.arena, test_env(), 0);
    fixture->schema.fields = (struct lmn__pb_list){ field, FIELD_COUNT };
    CHECK_STATUS(lmn__schema_read(&fixture->schema, 1, &fixture->manifest.arena,
                                  &fixture->manifest.schema, &err),
                 LMN_OK, &err);
    for (int f = 0; f < 2; f++) {
        for (int i = 0; i < 4; i++) {
            fixture->fields[f][i] = (uint64_t)id[f][i];
            fixture->columns[f][i] = (uint64_t)(int64_t)column[f][i];
        }
        fixture->file[f] = (struct lmn__pb_data_file){
            .path = span(f == 0 ? "0.lance" : "1.lance"),
            .fields = { fixture->fields[f], 4 },
            .columns = { fixture->columns[f], 4 },
            .major = 2,
            .minor = 1,
        };
    }
    fixture->fragment =
        (struct lmn__pb_fragment){ .id = 7, .row_count = ROWS, .files = { fixture->file, 2 } };
    CHECK_OK(lmn__projection_init(&fixture->projection, test_env(), &fixture->manifest.schema, NULL,
                                  0, false, &err));
}

static void fixture_deinit(struct fixture *fixture)
{
    lmn__projection_deinit(&fixture->projection);
    lmn__arena_deinit(&fixture->manifest.arena);
    lmn__file_set_free(fixture->files);
    lmn_store_release(fixture->store);
    CHECK_EQ(live_allocations(), 0);
}

static enum lmn_status read_rows(struct fixture *fixture, const struct lmn__row_range *range,
                                 uint64_t range_count, struct ArrowArray *array_out,
                                 struct lmn_error *err)
{
    struct lmn__fragment_columns *columns;
    struct lmn__scratch scratch;
    enum lmn_status st = lmn__fragment_columns_open(fixture->files, &fixture->manifest,
                                                    &fixture->fragment, &fixture->projection,
                                                    &columns, err);

    *array_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    lmn__scratch_init(&scratch, test_env());
    st = lmn__fragment_columns_read(columns, &scratch, range, range_count, array_out, err);
    lmn__scratch_deinit(&scratch);
    lmn__fragment_columns_close(columns);
    return st;
}

static int32_t int_at(const struct ArrowArray *array, uint64_t i)
{
    return ((const int32_t *)array->buffers[1])[i];
}

static void check_row(const struct ArrowArray *array, uint64_t i, int row)
{
    const struct ArrowArray *info = array->children[1], *items = array->children[2];
    uint64_t from = lmn__view_offset(items, 4, i);

    CHECK_EQ(((const int64_t *)array->children[0]->buffers[1])[i], row);
    CHECK_EQ(lmn__view_is_null(info, i), row % 5 == 4);
    if (row % 5 != 4) {
        CHECK_EQ(int_at(info->children[0], i), info_value(row, 0));
        CHECK_EQ(int_at(info->children[1], i), info_value(row, 1));
    }
    CHECK(lmn__view_is_null(info->children[2], i));
    CHECK_EQ(lmn__view_offset(items, 4, i + 1) - from, row % 3);
    for (int k = 0; k < row % 3; k++) {
        const struct ArrowArray *item = items->children[0];

        CHECK_EQ(int_at(item->children[0], from + (uint64_t)k), item_value(row, k, 0));
        CHECK_EQ(int_at(item->children[1], from + (uint64_t)k), item_value(row, k, 1));
    }
}

/* Structs and lists of structs from two files, a field that none has; ranges of rows. */
static void test_fragment_columns__merged(void **state)
{
    const struct lmn__row_range all = { 0, ROWS }, some[] = { { 1, 2 }, { 4, 1 }, { 8, 2 } };
    const int expected[] = { 1, 2, 4, 8, 9 };
    struct fixture fixture;
    struct ArrowArray array;
    struct lmn_error err = { 0 };

    (void)state;
    fixture_init(&fixture);
    CHECK_STATUS(read_rows(&fixture, &all, 1, &array, &err), LMN_OK, &err);
    CHECK_EQ(array.length, ROWS);
    for (int i = 0; i < ROWS; i++)
        check_row(&array, (uint64_t)i, i);
    array.release(&array);
    CHECK_STATUS(read_rows(&fixture, some, 3, &array, &err), LMN_OK, &err);
    CHECK_EQ(array.length, 5);
    for (uint64_t i = 0; i < 5; i++)
        check_row(&array, i, expected[i]);
    array.release(&array);
    fixture_deinit(&fixture);
}

/* A field whose column is dead is null, and so is a struct without a field that is alive. */
static void test_fragment_columns__tombstones(void **state)
{
    const struct lmn__row_range all = { 0, ROWS };
    struct fixture fixture;
    struct ArrowArray array;
    struct lmn_error err = { 0 };

    (void)state;
    fixture_init(&fixture);
    fixture.fields[0][2] = fixture.fields[1][1] = (uint64_t)(int64_t)-2;
    fixture.fields[0][0] = (uint64_t)(int64_t)-2;
    CHECK_STATUS(read_rows(&fixture, &all, 1, &array, &err), LMN_OK, &err);
    CHECK_EQ(array.length, ROWS);
    CHECK_EQ(array.null_count, 0);
    CHECK_EQ(array.children[0]->null_count, ROWS);
    CHECK_EQ(array.children[1]->null_count, ROWS);
    CHECK_EQ(array.children[2]->null_count, 0);
    array.release(&array);
    fixture.fragment.files.count = 0;
    CHECK_STATUS(read_rows(&fixture, &all, 1, &array, &err), LMN_OK, &err);
    CHECK_EQ(array.length, ROWS);
    CHECK_EQ(array.null_count, 0);
    CHECK_EQ(array.children[2]->null_count, ROWS);
    array.release(&array);
    fixture_deinit(&fixture);
}

static void check_corrupt(struct fixture *fixture, const char *text)
{
    const struct lmn__row_range all = { 0, ROWS };
    struct ArrowArray array;
    struct lmn_error err = { 0 };

    CHECK_STATUS(read_rows(fixture, &all, 1, &array, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, text);
    CHECK(array.release == NULL);
    fixture_deinit(fixture);
    fixture_init(fixture);
}

/* Manifests that do not fit their files are refused before anything is handed out. */
static void test_fragment_columns__corrupt(void **state)
{
    struct fixture fixture;

    (void)state;
    fixture_init(&fixture);
    fixture.file[1].path = span("short.lance");
    check_corrupt(&fixture, "9 rows in a file of fragment 7, which has 10");
    fixture.file[1].path = span("long.lance");
    check_corrupt(&fixture, "9 items in one and 19");
    fixture.columns[0][0] = 3;
    check_corrupt(&fixture, "should be column 3");
    fixture.columns[0][2] = (uint64_t)(int64_t)-1;
    check_corrupt(&fixture, "should be column -1");
    fixture.columns[0][0] = 1;
    check_corrupt(&fixture, "two fields of fragment 7 in one column");
    fixture.columns[0][0] = 1, fixture.columns[0][2] = 0;
    check_corrupt(&fixture, "not of the types");
    fixture.columns[1][1] = 2, fixture.columns[1][3] = 1;
    check_corrupt(&fixture, "not of the types");
    fixture_deinit(&fixture);
    set_field(ID, -1, "id", "int32");
    fixture_init(&fixture);
    set_field(ID, -1, "id", "int64");
    check_corrupt(&fixture, "not of the types");
    fixture_deinit(&fixture);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_fragment_columns__merged),
        cmocka_unit_test(test_fragment_columns__tombstones),
        cmocka_unit_test(test_fragment_columns__corrupt),
    };

    return cmocka_run_group_tests(cases, make_fields, NULL);
}
