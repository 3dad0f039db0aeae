/* SPDX-License-Identifier: Apache-2.0 */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "arrow/child_names.h"
#include "check.h"

enum { CHILDREN = 1000 };

static void make_schema(struct ArrowSchema *schema, int64_t count)
{
    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, count), NANOARROW_OK);
    for (int64_t i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof name, "c%d", (int)(i / 2)); /* each twice */
        CHECK_EQ(ArrowSchemaSetType(schema->children[i], NANOARROW_TYPE_BOOL), NANOARROW_OK);
        CHECK_EQ(ArrowSchemaSetName(schema->children[i], name), NANOARROW_OK);
    }
}

static void test_child_names__first_of_each_name(void **state)
{
    struct lmn__child_names names;
    struct ArrowSchema schema;
    struct lmn__arena arena;

    (void)state;
    make_schema(&schema, CHILDREN);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_OK(lmn__child_names_init(&names, &schema, &arena, NULL));
    for (int64_t i = 0; i < CHILDREN; i++)
        CHECK_EQ(lmn__child_names_find(&names, schema.children[i]->name), i / 2 * 2);
    CHECK_EQ(lmn__child_names_find(&names, "c"), -1);
    CHECK_EQ(lmn__child_names_find(&names, ""), -1);
    lmn__arena_deinit(&arena);
    schema.release(&schema);
}

static void test_child_names__none_and_unnamed(void **state)
{
    struct lmn__child_names names;
    struct ArrowSchema schema;
    struct lmn__arena arena;

    (void)state;
    make_schema(&schema, 0);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_OK(lmn__child_names_init(&names, &schema, &arena, NULL));
    CHECK_EQ(lmn__child_names_find(&names, "a"), -1);
    schema.release(&schema);
    make_schema(&schema, 1);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], NULL), NANOARROW_OK);
    CHECK_OK(lmn__child_names_init(&names, &schema, &arena, NULL));
    CHECK_EQ(lmn__child_names_find(&names, ""), 0);
    lmn__arena_deinit(&arena);
    schema.release(&schema);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_child_names__first_of_each_name),
        cmocka_unit_test(test_child_names__none_and_unnamed),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
