/* SPDX-License-Identifier: Apache-2.0 */
#include "table/field_names.h"

#include <string.h>

#include "table/table_fields.h"

const struct lmn__node *lmn__field_of_id(const struct lmn__schema *schema, int32_t id)
{
    for (uint32_t i = 0; id >= 0 && i < schema->node_count; i++) {
        if (schema->node[i].field->id == id)
            return &schema->node[i];
    }
    return NULL;
}

const char *lmn__field_path(const struct lmn__node *node, struct lmn__arena *arena)
{
    size_t bytes = 0, at;
    char *path;

    for (const struct lmn__node *up = node; up != NULL; up = up->parent)
        bytes += strlen(up->name) + 1;
    path = lmn__arena_alloc(arena, bytes);
    if (path == NULL)
        return NULL;
    at = bytes;
    for (const struct lmn__node *up = node; up != NULL; up = up->parent) {
        size_t len = strlen(up->name);

        path[--at] = up == node ? '\0' : '.';
        at -= len;
        memcpy(path + at, up->name, len);
    }
    return path;
}

/* The name that a field has in `to`; the one given where it has the same, or none. */
static enum lmn_status follow(const struct lmn__manifest *from, const struct lmn__manifest *to,
                              const char *name, struct lmn__arena *arena, const char **name_out,
                              struct lmn_error *err)
{
    const struct lmn__node *before, *now = NULL;
    enum lmn_status st = lmn__fields_find(from, name, &before, err);
    const char *old, *path;

    *name_out = name;
    if (st == LMN_E_NO_MEMORY)
        return st;
    if (st == LMN_OK)
        now = lmn__field_of_id(&to->schema, before->field->id);
    if (now == NULL)
        return LMN_OK;
    old = lmn__field_path(before, arena);
    path = lmn__field_path(now, arena);
    if (old == NULL || path == NULL)
        return lmn__arena_fail(arena, "names of columns", err);
    if (strcmp(old, path) != 0)
        *name_out = path;
    return LMN_OK;
}

enum lmn_status lmn__field_names_follow(const struct lmn__manifest *from,
                                        const struct lmn__manifest *to, const char *const *name,
                                        uint32_t count, struct lmn__arena *arena,
                                        const char *const **name_out, struct lmn_error *err)
{
    const char **followed;
    enum lmn_status st = LMN_OK;

    *name_out = name;
    if (from == to || count == 0)
        return LMN_OK;
    followed = lmn__arena_array(arena, count, sizeof *followed);
    if (followed == NULL)
        return lmn__arena_fail(arena, "names of columns", err);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = follow(from, to, name[i], arena, &followed[i], err);
    *name_out = followed;
    return st;
}
