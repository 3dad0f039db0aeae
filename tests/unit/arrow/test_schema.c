/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/schema.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "arrays.h"
#include "check.h"

static void make(struct ArrowSchema *schema, const char *name, const char *format)
{
    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetFormat(schema, format), 0);
    CHECK_EQ(ArrowSchemaSetName(schema, name), 0);
}

/* Does a column of type `given` fit one of type `wanted`? */
static enum lmn_status check_formats(const char *given, const char *wanted, struct lmn_error *err)
{
    struct ArrowSchema has, wants;
    enum lmn_status st;

    make(&has, "given", given);
    make(&wants, "wanted", wanted);
    st = lmn__arrow_type_check(&has, &wants, err);
    has.release(&has);
    wants.release(&wants);
    return st;
}

static void test_schema__types_that_fit(void **state)
{
    static const char *const same[] = { "i", "u", "tsu:UTC", "w:4", "d:10,2" };
    struct lmn_error err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        CHECK_STATUS(check_formats(same[i], same[i], &err), LMN_OK, &err);
    CHECK_STATUS(check_formats("d:10,2,128", "d:10,2", &err), LMN_OK, &err);
    CHECK_STATUS(check_formats("d:10,2", "d:10,2,128", &err), LMN_OK, &err);
}

static void test_schema__types_that_differ(void **state)
{
    static const struct {
        const char *given, *wanted;
    } pair[] = {
        { "i", "l" },
        { "i", "I" },
        { "u", "U" },
        { "u", "z" },
        { "tsu:UTC", "tsu:" },
        { "tsu:", "tsn:" },
        { "w:4", "w:5" },
        { "d:10,2", "d:10,3" },
        { "vu", "u" },
        { "vz", "z" },
        { "u", "vu" },
        { "tdD", "i" },
        { "d:9,2", "d:9,2,256" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof pair / sizeof pair[0]; i++) {
        struct lmn_error err = { 0 };

        CHECK_STATUS(check_formats(pair[i].given, pair[i].wanted, &err), LMN_E_INVALID, &err);
        CHECK_HAS(err.message, "\"wanted\" is of type");
    }
}

static void test_schema__nested(void **state)
{
    struct ArrowSchema given, wanted;
    struct lmn_error err = { 0 };

    (void)state;
    sample_schema(&given);
    sample_schema(&wanted);
    CHECK_STATUS(lmn__arrow_type_check(&given, &wanted, &err), LMN_OK, &err);
    /* Nullability, metadata and names of a list's items do not matter. */
    given.children[0]->flags = ARROW_FLAG_NULLABLE;
    CHECK_EQ(ArrowSchemaSetMetadata(given.children[1], "\1\0\0\0\1\0\0\0k\1\0\0\0v"), 0);
    CHECK_EQ(ArrowSchemaSetName(given.children[8]->children[0], "element"), 0);
    CHECK_STATUS(lmn__arrow_type_check(&given, &wanted, &err), LMN_OK, &err);
    CHECK_EQ(ArrowSchemaSetName(given.children[10]->children[1], "labels"), 0);
    CHECK_STATUS(lmn__arrow_type_check(&given, &wanted, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "field 1 of \"struct\" is \"labels\", not \"tags\"");
    CHECK_EQ(ArrowSchemaSetName(given.children[10]->children[1], "tags"), 0);
    CHECK_EQ(ArrowSchemaSetType(given.children[11]->dictionary, NANOARROW_TYPE_LARGE_STRING), 0);
    CHECK_STATUS(lmn__arrow_type_check(&given, &wanted, &err), LMN_E_INVALID, &err);
    given.release(&given);
    sample_schema(&given);
    /* An index of a dictionary is no number. */
    CHECK_STATUS(lmn__arrow_type_check(given.children[11], wanted.children[1], &err), LMN_E_INVALID,
                 &err);
    CHECK_EQ(ArrowSchemaSetType(given.children[1], NANOARROW_TYPE_INT16), 0);
    CHECK_STATUS(lmn__arrow_type_check(given.children[1], wanted.children[11], &err), LMN_E_INVALID,
                 &err);
    given.release(&given);
    wanted.release(&wanted);
}

static void test_schema__copy(void **state)
{
    struct ArrowSchema schema, copy;
    struct lmn_error err = { 0 };
    bool fired = true;

    (void)state;
    sample_schema(&schema);
    for (uint64_t nth = 1; fired; nth++) {
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__arrow_schema_copy(&schema, &copy, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK_STATUS(st, fired ? LMN_E_NO_MEMORY : LMN_OK, &err);
        if (fired)
            CHECK(copy.release == NULL);
    }
    schema.release(&schema);
    sample_schema(&schema);
    CHECK_STATUS(lmn__arrow_type_check(&schema, &copy, &err), LMN_OK, &err);
    CHECK_EQ(copy.children[0]->flags, schema.children[0]->flags);
    for (int i = 0; i < sample_column_count(); i++)
        CHECK_STR(copy.children[i]->name, sample_column_name(i));
    copy.release(&copy);
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

static void test_schema__child(void **state)
{
    struct ArrowSchema schema;
    int64_t index = -1;

    (void)state;
    sample_schema(&schema);
    for (int i = 0; i < sample_column_count(); i++) {
        CHECK(lmn__arrow_child(&schema, sample_column_name(i), &index) == schema.children[i]);
        CHECK_EQ(index, i);
    }
    CHECK(lmn__arrow_child(&schema, "none", NULL) == NULL);
    CHECK_EQ(ArrowSchemaSetName(schema.children[4], "number"), 0);
    CHECK(lmn__arrow_child(&schema, "number", &index) == schema.children[0]);
    CHECK_EQ(index, 0);
    /* A child without a name has the empty one. */
    CHECK_EQ(ArrowSchemaSetName(schema.children[3], NULL), 0);
    CHECK(lmn__arrow_child(&schema, "", NULL) == schema.children[3]);
    schema.release(&schema);
}

/* The type of nulls has its name also inside of others; names of fields are left alone. */
static void test_schema__text_of_nulls(void **state)
{
    static const char expected[] = "struct<na: list<item: null>, x: null>";
    struct ArrowSchema schema;
    char text[64];

    (void)state;
    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(&schema, 2), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0], NANOARROW_TYPE_LIST), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], "na"), 0);
    CHECK_EQ(ArrowSchemaSetFormat(schema.children[0]->children[0], "n"), 0);
    CHECK_EQ(ArrowSchemaSetFormat(schema.children[1], "n"), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[1], "x"), 0);
    for (size_t bytes = 1; bytes <= sizeof text; bytes++) {
        lmn__arrow_type_text(&schema, text, bytes);
        CHECK(strlen(text) < bytes);
    }
    CHECK_STR(text, expected);
    lmn__arrow_type_text(schema.children[1], text, sizeof text);
    CHECK_STR(text, "null");
    schema.release(&schema);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_schema__types_that_fit),
        cmocka_unit_test(test_schema__types_that_differ),
        cmocka_unit_test(test_schema__nested),
        cmocka_unit_test(test_schema__copy),
        cmocka_unit_test(test_schema__child),
        cmocka_unit_test(test_schema__text_of_nulls),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
