/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Null structs are refused for tables of version 2.0 alone, by a message that says what to do.
 */
#include "table/old_version.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "check.h"

/* A column "s" of one null struct. */
static void make_null(struct ArrowSchema *schema, struct ArrowArray *array)
{
    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetName(schema, "s"), 0);
    CHECK_EQ(ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_INT64), 0);
    CHECK_EQ(ArrowArrayInitFromSchema(array, schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(array), 0);
    CHECK_EQ(ArrowArrayAppendNull(array, 1), 0);
    CHECK_EQ(ArrowArrayFinishBuildingDefault(array, NULL), 0);
}

static void test_old_version__null_structs(void **state)
{
    const struct lmn__manifest old = { .format_minor = 0 }, later = { .format_minor = 1 };
    struct lmn_error err = { 0 };
    struct ArrowSchema schema;
    struct ArrowArray array;

    (void)state;
    make_null(&schema, &array);
    CHECK_OK(lmn__old_version_check(&later, &schema, &array, 0, 1, &err));
    CHECK_OK(lmn__old_version_check(NULL, &schema, &array, 0, 1, &err));
    CHECK_OK(lmn__old_version_check(&old, &schema, &array, 0, 0, &err));
    CHECK_EQ(lmn__old_version_check(&old, &schema, &array, 0, 1, &err), LMN_E_UNSUPPORTED);
    CHECK_HAS(err.message, "column \"s\" would have a null struct");
    CHECK_HAS(err.message, "`leman upgrade`");
    array.release(&array);
    schema.release(&schema);
}

static void test_old_version__null_columns(void **state)
{
    const struct lmn__manifest old = { .format_minor = 0 }, later = { .format_minor = 2 };
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_OK(lmn__old_version_check_null(&later, "s", &err));
    CHECK_OK(lmn__old_version_check_null(NULL, "s", &err));
    CHECK_EQ(lmn__old_version_check_null(&old, "s", &err), LMN_E_UNSUPPORTED);
    CHECK_HAS(err.message, "column \"s\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old_version__null_structs),
        cmocka_unit_test(test_old_version__null_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
