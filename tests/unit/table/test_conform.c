/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that come in against the columns of a table: order, missing ones, unknown ones, types.
 */
#include "table/conform.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "arrays.h"
#include "check.h"
#include "table/table_fields.h"

enum { NUMBER = 0, MAYBE = 1, WORD = 3, IMAGE = 5 };

/* The columns of the sample type as those of a table. */
struct fixture {
    struct lmn__arena arena;
    struct lmn__pb_schema pb;
    struct lmn__schema schema; /* points into pb */
    struct ArrowSchema all;    /* the same as an Arrow type */
};

static void setup(struct fixture *fixture)
{
    struct lmn_error err = { 0 };

    lmn__arena_init(&fixture->arena, test_env(), 0);
    sample_schema(&fixture->all);
    CHECK_STATUS(lmn__fields_from_arrow(&fixture->all, 1, 0, &fixture->arena, &fixture->pb, &err),
                 LMN_OK, &err);
    CHECK_STATUS(lmn__schema_read(&fixture->pb, 1, &fixture->arena, &fixture->schema, &err), LMN_OK,
                 &err);
}

static void teardown(struct fixture *fixture)
{
    fixture->all.release(&fixture->all);
    lmn__arena_deinit(&fixture->arena);
    CHECK_EQ(live_allocations(), 0);
}

/* Some columns of the sample type, in that order. */
static void pick(const struct fixture *fixture, const int *column, int count,
                 struct ArrowSchema *schema_out)
{
    ArrowSchemaInit(schema_out);
    CHECK_EQ(ArrowSchemaSetFormat(schema_out, "+s"), 0);
    CHECK_EQ(ArrowSchemaAllocateChildren(schema_out, count), 0);
    for (int i = 0; i < count; i++)
        CHECK_EQ(ArrowSchemaDeepCopy(fixture->all.children[column[i]], schema_out->children[i]), 0);
}

static void test_conform__puts_columns_in_order(void **state)
{
    static const int given[] = { WORD, NUMBER, IMAGE };
    static const int64_t child[] = { 1, 0, 2 };
    static const char *const name[] = { "number", "word", "image" };
    const void *no_buffer[1] = { NULL };
    struct ArrowArray column[3] = { { .length = 9 }, { .length = 9 }, { .length = 9 } };
    struct ArrowArray *columns[] = { &column[0], &column[1], &column[2] }, view;
    const struct ArrowArray batch = { .length = 5,
                                      .offset = 2,
                                      .n_buffers = 1,
                                      .n_children = 3,
                                      .buffers = no_buffer,
                                      .children = columns };
    struct fixture fixture;
    struct ArrowSchema schema;
    struct lmn__conform conform;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture);
    pick(&fixture, given, 3, &schema);
    CHECK_STATUS(lmn__conform_init(&conform, test_env(), &fixture.schema, &schema, false, &err),
                 LMN_OK, &err);
    CHECK_EQ(conform.column_count, 3);
    CHECK_EQ(conform.schema.n_children, 3);
    CHECK_EQ(conform.fields.count, 3);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(conform.child[i], child[i]);
        CHECK_STR(conform.column[i]->name, name[i]);
        CHECK_STR(conform.schema.children[i]->name, name[i]);
    }
    CHECK_STATUS(lmn__conform_batch(&conform, &batch, &view, &err), LMN_OK, &err);
    CHECK(view.length == 5 && view.offset == 2 && view.n_children == 3);
    for (int i = 0; i < 3; i++)
        CHECK(view.children[i] == columns[child[i]]);
    lmn__conform_deinit(&conform);
    schema.release(&schema);
    teardown(&fixture);
}

/* Every column with all that is below it. */
static void test_conform__all_columns(void **state)
{
    struct fixture fixture;
    struct lmn__conform conform;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture);
    CHECK_STATUS(
        lmn__conform_init(&conform, test_env(), &fixture.schema, &fixture.all, false, &err), LMN_OK,
        &err);
    CHECK_EQ(conform.column_count, sample_column_count());
    CHECK_EQ(conform.fields.count, fixture.schema.node_count);
    lmn__conform_deinit(&conform);
    teardown(&fixture);
}

/* What a change of the rows' type makes of it. */
struct refusal {
    const char *part; /* of the message */
    int column[3];
    int count;
    const char *name;    /* of the last one */
    enum ArrowType type; /* of the last one */
    const char *format;  /* of the rows themselves */
};

static const struct refusal refusals[] = {
    { "\"number\", which has no nulls, is missing", { MAYBE, WORD }, 2, NULL, 0, NULL },
    { "\"other\" is not in the table", { NUMBER, WORD }, 2, "other", 0, NULL },
    { "\"number\" is there twice", { NUMBER, MAYBE, NUMBER }, 3, NULL, 0, NULL },
    { "column \"maybe\"", { NUMBER, MAYBE }, 2, NULL, NANOARROW_TYPE_INT64, NULL },
    { "column \"word\"", { NUMBER, WORD }, 2, NULL, NANOARROW_TYPE_LARGE_STRING, NULL },
    { "not of type \"i\"", { NUMBER }, 1, NULL, 0, "i" },
};

static void test_conform__refused(void **state)
{
    struct fixture fixture;

    (void)state;
    setup(&fixture);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *one = &refusals[i];
        struct ArrowSchema schema;
        struct lmn__conform conform;
        struct lmn_error err = { 0 };

        pick(&fixture, one->column, one->count, &schema);
        if (one->name != NULL)
            CHECK_EQ(ArrowSchemaSetName(schema.children[one->count - 1], one->name), 0);
        if (one->type != 0)
            CHECK_EQ(ArrowSchemaSetType(schema.children[one->count - 1], one->type), 0);
        if (one->format != NULL)
            CHECK_EQ(ArrowSchemaSetFormat(&schema, one->format), 0);
        CHECK_STATUS(lmn__conform_init(&conform, test_env(), &fixture.schema, &schema, false, &err),
                     LMN_E_INVALID, &err);
        CHECK_HAS(err.message, one->part);
        schema.release(&schema);
    }
    teardown(&fixture);
}

/* Updates may leave out any column, but not all of them. */
static void test_conform__partial(void **state)
{
    static const int column[] = { WORD };
    struct fixture fixture;
    struct ArrowSchema schema;
    struct lmn__conform conform;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture);
    pick(&fixture, column, 1, &schema);
    CHECK_STATUS(lmn__conform_init(&conform, test_env(), &fixture.schema, &schema, true, &err),
                 LMN_OK, &err);
    CHECK_EQ(conform.column_count, 1);
    lmn__conform_deinit(&conform);
    schema.release(&schema);
    pick(&fixture, column, 0, &schema);
    CHECK_STATUS(lmn__conform_init(&conform, test_env(), &fixture.schema, &schema, true, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "the rows have no columns");
    schema.release(&schema);
    teardown(&fixture);
}

/* Views look otherwise in memory: who has them makes strings of them before (arrow/plain.h). */
static void test_conform__views(void **state)
{
    static const int column[] = { NUMBER, WORD, IMAGE };
    struct fixture fixture;
    struct ArrowSchema schema;
    struct lmn__conform conform;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture);
    pick(&fixture, column, 3, &schema);
    CHECK_EQ(ArrowSchemaSetType(schema.children[1], NANOARROW_TYPE_STRING_VIEW), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[2], NANOARROW_TYPE_BINARY_VIEW), 0);
    CHECK_STATUS(lmn__conform_init(&conform, test_env(), &fixture.schema, &schema, false, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "\"word\" is of type string_view, not string");
    schema.release(&schema);
    teardown(&fixture);
}

static void test_conform__null_rows(void **state)
{
    static const int column[] = { NUMBER };
    const uint8_t validity = 0xfb; /* slot 2 is null */
    const void *buffers[] = { &validity };
    struct ArrowArray numbers = { .length = 5 }, *columns[] = { &numbers }, view;
    struct ArrowArray batch = { .length = 2,
                                .null_count = 1,
                                .n_buffers = 1,
                                .n_children = 1,
                                .buffers = buffers,
                                .children = columns };
    struct fixture fixture;
    struct ArrowSchema schema;
    struct lmn__conform conform;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture);
    pick(&fixture, column, 1, &schema);
    CHECK_OK(lmn__conform_init(&conform, test_env(), &fixture.schema, &schema, false, &err));
    CHECK_STATUS(lmn__conform_batch(&conform, &batch, &view, &err), LMN_OK, &err);
    batch.offset = 1;
    CHECK_STATUS(lmn__conform_batch(&conform, &batch, &view, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "row 1 of a batch is null");
    CHECK_EQ(view.n_children, 0);
    lmn__conform_deinit(&conform);
    schema.release(&schema);
    teardown(&fixture);
}

static void test_conform__faults(void **state)
{
    struct fixture fixture;
    bool fired = true;

    (void)state;
    setup(&fixture);
    for (uint64_t nth = 1; fired; nth++) {
        int64_t alive = live_allocations();
        struct lmn__conform conform;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__conform_init(&conform, test_env(), &fixture.schema, &fixture.all, false, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK_STATUS(st, fired ? LMN_E_NO_MEMORY : LMN_OK, &err);
        if (st == LMN_OK)
            lmn__conform_deinit(&conform);
        CHECK_EQ(live_allocations(), alive);
    }
    teardown(&fixture);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_conform__puts_columns_in_order),
        cmocka_unit_test(test_conform__all_columns),
        cmocka_unit_test(test_conform__refused),
        cmocka_unit_test(test_conform__partial),
        cmocka_unit_test(test_conform__views),
        cmocka_unit_test(test_conform__null_rows),
        cmocka_unit_test(test_conform__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
