/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fingerprints of rows: the vectors of docs/format/ledger.md, values that are equal in whatever
 * form they come, and values that are not.
 */
#include "table/fingerprint.h"

#include <math.h>
#include <nanoarrow/nanoarrow.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "check.h"

enum { ROWS = 600 };

/* The numbers of the column "x" of an array of that type, from its second slot on. */
static void take(const struct ArrowSchema *column, struct ArrowArray *array, uint64_t first,
                 uint64_t count, uint64_t *number)
{
    const char *const name[] = { "x" };
    struct ArrowSchema schema, *children[] = { &schema };
    struct ArrowSchema type = { .format = "+s", .n_children = 1, .children = children };
    struct ArrowArray *columns[] = { array };
    const void *buffers[1] = { NULL };
    struct ArrowArray batch = { .length = (int64_t)count,
                                .offset = (int64_t)first,
                                .n_buffers = 1,
                                .n_children = 1,
                                .buffers = buffers,
                                .children = columns };
    struct lmn__fingerprint *fingerprint;
    struct lmn_error err = { 0 };

    schema = *column;
    schema.name = "x";
    CHECK_STATUS(lmn__fingerprint_new(test_env(), &type, name, 1, &fingerprint, &err), LMN_OK,
                 &err);
    CHECK_STATUS(lmn__fingerprint_rows(fingerprint, &batch, number, &err), LMN_OK, &err);
    lmn__fingerprint_free(fingerprint);
}

/* A column under construction. */
struct column {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

static void column_init(struct column *column, enum ArrowType type)
{
    ArrowSchemaInit(&column->schema);
    CHECK_EQ(ArrowSchemaSetType(&column->schema, type), 0);
    CHECK_EQ(ArrowArrayInitFromSchema(&column->array, &column->schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(&column->array), 0);
}

/* Finish the column, take its numbers and release it. */
static void column_take(struct column *column, uint64_t count, uint64_t *number)
{
    CHECK_EQ(ArrowArrayFinishBuildingDefault(&column->array, NULL), 0);
    CHECK_EQ(column->array.length, count);
    take(&column->schema, &column->array, 0, count, number);
    column->array.release(&column->array);
    column->schema.release(&column->schema);
}

static void ints(enum ArrowType type, uint64_t *number)
{
    struct column column;

    column_init(&column, type);
    CHECK_EQ(ArrowArrayAppendInt(&column.array, 0), 0);
    CHECK_EQ(ArrowArrayAppendInt(&column.array, 7), 0);
    CHECK_EQ(ArrowArrayAppendInt(&column.array, 100), 0);
    CHECK_EQ(ArrowArrayAppendNull(&column.array, 1), 0);
    column_take(&column, 4, number);
}

static void test_fingerprint__numbers_of_any_width(void **state)
{
    static const enum ArrowType other[] = { NANOARROW_TYPE_INT8,   NANOARROW_TYPE_UINT8,
                                            NANOARROW_TYPE_INT16,  NANOARROW_TYPE_UINT16,
                                            NANOARROW_TYPE_INT32,  NANOARROW_TYPE_UINT32,
                                            NANOARROW_TYPE_UINT64, NANOARROW_TYPE_DATE32 };
    uint64_t number[4], same[4];

    (void)state;
    ints(NANOARROW_TYPE_INT64, number);
    CHECK(number[0] != number[1] && number[1] != number[2] && number[0] != number[3]);
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        ints(other[i], same);
        CHECK_BYTES(same, number, sizeof number);
    }
}

static void floats(enum ArrowType type, uint64_t *number)
{
    struct column column;

    column_init(&column, type);
    CHECK_EQ(ArrowArrayAppendDouble(&column.array, 0.0), 0);
    CHECK_EQ(ArrowArrayAppendDouble(&column.array, -1.5), 0);
    CHECK_EQ(ArrowArrayAppendDouble(&column.array, (double)NAN), 0);
    CHECK_EQ(ArrowArrayAppendDouble(&column.array, -(double)NAN), 0);
    column_take(&column, 4, number);
}

static void test_fingerprint__floats(void **state)
{
    uint64_t wide[4], narrow[4], half[4];

    (void)state;
    floats(NANOARROW_TYPE_DOUBLE, wide);
    floats(NANOARROW_TYPE_FLOAT, narrow);
    floats(NANOARROW_TYPE_HALF_FLOAT, half);
    CHECK_BYTES(narrow, wide, sizeof wide);
    CHECK_BYTES(half, wide, sizeof wide);
    CHECK_EQ(wide[2], wide[3]);
    CHECK(wide[0] != wide[1] && wide[1] != wide[2]);
}

static void texts(enum ArrowType type, uint64_t *number)
{
    static const char longer[] = "a text that is longer than what a view holds itself";
    struct column column;

    column_init(&column, type);
    CHECK_EQ(ArrowArrayAppendString(&column.array, ArrowCharView("")), 0);
    CHECK_EQ(ArrowArrayAppendString(&column.array, ArrowCharView("short")), 0);
    CHECK_EQ(ArrowArrayAppendNull(&column.array, 1), 0);
    CHECK_EQ(ArrowArrayAppendString(&column.array, ArrowCharView(longer)), 0);
    column_take(&column, 4, number);
}

static void test_fingerprint__texts(void **state)
{
    uint64_t number[4], same[4];

    (void)state;
    texts(NANOARROW_TYPE_STRING, number);
    CHECK(number[0] != number[1] && number[0] != number[2] && number[1] != number[3]);
    texts(NANOARROW_TYPE_LARGE_STRING, same);
    CHECK_BYTES(same, number, sizeof number);
    texts(NANOARROW_TYPE_STRING_VIEW, same);
    CHECK_BYTES(same, number, sizeof number);
}

/* Lists { }, { 1, 2 }, { 1, null }, null of a list type with int32 items. */
static void lists(enum ArrowType type, uint64_t *number)
{
    struct column column;
    struct ArrowArray *item;

    ArrowSchemaInit(&column.schema);
    CHECK_EQ(ArrowSchemaSetType(&column.schema, type), 0);
    CHECK_EQ(ArrowSchemaSetType(column.schema.children[0], NANOARROW_TYPE_INT32), 0);
    CHECK_EQ(ArrowArrayInitFromSchema(&column.array, &column.schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(&column.array), 0);
    item = column.array.children[0];
    CHECK_EQ(ArrowArrayFinishElement(&column.array), 0);
    CHECK_EQ(ArrowArrayAppendInt(item, 1), 0);
    CHECK_EQ(ArrowArrayAppendInt(item, 2), 0);
    CHECK_EQ(ArrowArrayFinishElement(&column.array), 0);
    CHECK_EQ(ArrowArrayAppendInt(item, 1), 0);
    CHECK_EQ(ArrowArrayAppendNull(item, 1), 0);
    CHECK_EQ(ArrowArrayFinishElement(&column.array), 0);
    CHECK_EQ(ArrowArrayAppendNull(&column.array, 1), 0);
    column_take(&column, 4, number);
}

static void test_fingerprint__lists(void **state)
{
    uint64_t number[4], same[4];

    (void)state;
    lists(NANOARROW_TYPE_LIST, number);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < i; k++)
            CHECK(number[i] != number[k]);
    }
    lists(NANOARROW_TYPE_LARGE_LIST, same);
    CHECK_BYTES(same, number, sizeof number);
}

/* The numbers of every column of the sample do not depend on where its rows lie. */
static void test_fingerprint__slices(void **state)
{
    struct sample sample;
    struct lmn_error err = { 0 };
    uint64_t *whole = calloc(ROWS, sizeof *whole), *part = calloc(ROWS, sizeof *part);

    (void)state;
    sample_init(&sample, ROWS, 5);
    for (int i = -1; i < sample_column_count(); i++) {
        const char *const one = i < 0 ? NULL : sample_column_name(i);
        const char *all[64];
        uint32_t count = i < 0 ? (uint32_t)sample_column_count() : 1;
        struct lmn__fingerprint *fingerprint;
        struct ArrowArray slice = sample.rows;
        uint64_t distinct = 0;

        for (uint32_t k = 0; k < count; k++)
            all[k] = i < 0 ? sample_column_name((int)k) : one;
        CHECK_STATUS(
            lmn__fingerprint_new(test_env(), &sample.schema, all, count, &fingerprint, &err),
            LMN_OK, &err);
        CHECK_STATUS(lmn__fingerprint_rows(fingerprint, &sample.rows, whole, &err), LMN_OK, &err);
        for (int64_t at = 1; at < ROWS; at += 77) {
            slice.offset = at;
            slice.length = ROWS - at;
            CHECK_STATUS(lmn__fingerprint_rows(fingerprint, &slice, part, &err), LMN_OK, &err);
            CHECK_BYTES(part, whole + at, (size_t)(ROWS - at) * sizeof *whole);
        }
        for (int k = 1; k < ROWS; k++)
            distinct += whole[k] != whole[k - 1];
        CHECK(distinct > (i < 0 ? ROWS - 2 : ROWS / 10));
        lmn__fingerprint_free(fingerprint);
    }
    sample_deinit(&sample);
    free(whole);
    free(part);
    CHECK_EQ(live_allocations(), 0);
}

/* A field inside a struct, in another order and with the whole beside it. */
static void test_fingerprint__paths(void **state)
{
    const char *const path[] = { "struct.x", "number" }, *const turned[] = { "number", "struct.x" };
    const char *const wrong[] = { "struct.nothing" }, *const below[] = { "number.x" };
    struct lmn__fingerprint *fingerprint;
    struct sample sample;
    struct lmn_error err = { 0 };
    uint64_t one[ROWS], two[ROWS];

    (void)state;
    sample_init(&sample, ROWS, 5);
    CHECK_OK(lmn__fingerprint_new(test_env(), &sample.schema, path, 2, &fingerprint, &err));
    CHECK_OK(lmn__fingerprint_rows(fingerprint, &sample.rows, one, &err));
    lmn__fingerprint_free(fingerprint);
    CHECK_OK(lmn__fingerprint_new(test_env(), &sample.schema, turned, 2, &fingerprint, &err));
    CHECK_OK(lmn__fingerprint_rows(fingerprint, &sample.rows, two, &err));
    lmn__fingerprint_free(fingerprint);
    for (int i = 0; i < ROWS; i++)
        CHECK(one[i] != two[i]);
    CHECK_STATUS(lmn__fingerprint_new(test_env(), &sample.schema, wrong, 1, &fingerprint, &err),
                 LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "struct.nothing");
    CHECK_STATUS(lmn__fingerprint_new(test_env(), &sample.schema, below, 1, &fingerprint, &err),
                 LMN_E_NOT_FOUND, &err);
    sample_deinit(&sample);
}

static void test_fingerprint__faults(void **state)
{
    const char *const all[] = { "number", "text", "lists", "struct", "dictionary" };
    struct sample sample;
    uint64_t number[ROWS];

    (void)state;
    sample_init(&sample, ROWS, 5);
    for (uint64_t nth = 1;; nth++) {
        struct lmn__fingerprint *fingerprint;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__fingerprint_new(test_env(), &sample.schema, all, 5, &fingerprint, &err);
        if (st == LMN_OK)
            st = lmn__fingerprint_rows(fingerprint, &sample.rows, number, &err);
        lmn__fingerprint_free(fingerprint);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_OK(st);
            break;
        }
        CHECK_EQ(st, LMN_E_NO_MEMORY);
    }
    fault_disarm();
    sample_deinit(&sample);
}

/* What docs/format/ledger.md gives. */
static void test_fingerprint__vectors(void **state)
{
    uint64_t number[4];

    (void)state;
    ints(NANOARROW_TYPE_INT32, number);
    CHECK_EQ(number[1], 0x2558c15cff40f068);
    CHECK_EQ(number[3], 0x503c12dbbac81e38);
    floats(NANOARROW_TYPE_FLOAT, number);
    CHECK_EQ(number[1], 0xb2472a1eb01bcf20);
    CHECK_EQ(number[2], 0x5d2418bcc83a934d);
    texts(NANOARROW_TYPE_STRING, number);
    CHECK_EQ(number[0], 0x3471bddc905b36ed);
    CHECK_EQ(number[1], 0x58f8536a35614b70);
    lists(NANOARROW_TYPE_LIST, number);
    CHECK_EQ(number[1], 0x47d607478155c22b);
    CHECK_EQ(number[2], 0xb465067415fdc73d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fingerprint__numbers_of_any_width),
        cmocka_unit_test(test_fingerprint__floats),
        cmocka_unit_test(test_fingerprint__texts),
        cmocka_unit_test(test_fingerprint__lists),
        cmocka_unit_test(test_fingerprint__slices),
        cmocka_unit_test(test_fingerprint__paths),
        cmocka_unit_test(test_fingerprint__faults),
        cmocka_unit_test(test_fingerprint__vectors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
