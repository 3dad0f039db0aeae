/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "table/table.h"

/* Columns with a position come first, by it; the others follow in the order of the schema. */
static int compare_fields(const void *a, const void *b)
{
    const struct lmn__node *left = *(const struct lmn__node *const *)a;
    const struct lmn__node *right = *(const struct lmn__node *const *)b;
    uint32_t i = left->field->primary_key_position - 1, k = right->field->primary_key_position - 1;

    if (i != k)
        return i < k ? -1 : 1;
    return left->field->id < right->field->id ? -1 : 1;
}

static enum lmn_status list_columns(const struct lmn__schema *schema, struct lmn__arena *arena,
                                    struct lmn_name_list *list, struct lmn_error *err)
{
    const struct lmn__node **key = lmn__arena_array(arena, schema->top_count, sizeof *key);

    list->name = lmn__arena_array(arena, schema->top_count, sizeof *list->name);
    if (key == NULL || list->name == NULL)
        return lmn__arena_fail(arena, "a primary key", err);
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next) {
        if (node->field->primary_key)
            key[list->count++] = node;
    }
    if (list->count != 0)
        qsort(key, list->count, sizeof *key, compare_fields);
    for (uint64_t i = 0; i < list->count; i++) {
        list->name[i] = lmn__arena_strndup(arena, key[i]->name, strlen(key[i]->name));
        if (list->name[i] == NULL)
            return lmn__arena_fail(arena, "a primary key", err);
    }
    return LMN_OK;
}

enum lmn_status lmn_table_primary_key(struct lmn_table *table, struct lmn_name_list *list_out,
                                      struct lmn_error *err)
{
    struct lmn__arena *arena = lmn__arena_new(table->env);
    struct lmn__manifest *manifest;
    enum lmn_status st;

    *list_out = (struct lmn_name_list){ 0 };
    if (arena == NULL)
        return lmn__no_memory(err, "a primary key", sizeof *arena);
    list_out->memory = arena;
    manifest = lmn__table_manifest(table);
    st = list_columns(&manifest->schema, arena, list_out, err);
    lmn__manifest_release(manifest);
    if (st != LMN_OK)
        lmn_name_list_free(list_out);
    return st;
}
