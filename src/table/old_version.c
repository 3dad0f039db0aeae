/* SPDX-License-Identifier: Apache-2.0 */
#include "table/old_version.h"

#include <stdio.h>

#include "arrow/view.h"
#include "base/error.h"
#include "base/math.h"

/* Where a null is looked for: "info.place". */
struct path {
    const struct path *parent;
    const char *name;
};

static bool has_format(const struct ArrowSchema *schema, const char *format)
{
    return strcmp(schema->format, format) == 0;
}

static bool has_struct(const struct ArrowSchema *schema)
{
    bool found = has_format(schema, "+s");

    for (int64_t i = 0; i < schema->n_children && !found; i++)
        found = has_struct(schema->children[i]);
    return found;
}

static size_t path_text(const struct path *path, char *text, size_t bytes)
{
    size_t len = path->parent != NULL ? path_text(path->parent, text, bytes) : 0;
    int more = snprintf(text + len, bytes - len, "%s%s", len != 0 ? "." : "", path->name);

    return lmn__min_u64(len + (more > 0 ? (size_t)more : 0), bytes - 1);
}

static enum lmn_status refuse(const struct path *path, struct lmn_error *err)
{
    char text[120];

    path_text(path, text, sizeof text);
    return lmn_fail(err, LMN_E_UNSUPPORTED,
                    "column \"%s\" would have a null struct, for which tables of file version 2.0 "
                    "have no place; `leman upgrade` rewrites the table as 2.1",
                    text);
}

static enum lmn_status check(const struct path *parent, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, uint64_t first, uint64_t count,
                             struct lmn_error *err);

/* Items of lists that are null are nobody's. */
static enum lmn_status check_items(const struct path *path, const struct ArrowSchema *schema,
                                   const struct ArrowArray *array, uint64_t first, uint64_t count,
                                   struct lmn_error *err)
{
    uint32_t width = has_format(schema, "+l") ? 4 : 8;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = first, next; st == LMN_OK && i < first + count; i = next) {
        uint64_t begin = lmn__view_offset(array, width, i);

        next = i + 1;
        if (lmn__view_is_null(array, i))
            continue;
        while (next < first + count && !lmn__view_is_null(array, next))
            next++;
        st = check(path, schema->children[0], array->children[0], begin,
                   lmn__view_offset(array, width, next) - begin, err);
    }
    return st;
}

static enum lmn_status check(const struct path *parent, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, uint64_t first, uint64_t count,
                             struct lmn_error *err)
{
    const struct path path = { parent, schema->name != NULL ? schema->name : "" };
    enum lmn_status st = LMN_OK;

    if (!has_struct(schema))
        return LMN_OK;
    if (has_format(schema, "+l") || has_format(schema, "+L"))
        return check_items(&path, schema, array, first, count, err);
    if (!has_format(schema, "+s"))
        return LMN_OK;
    for (uint64_t i = first; lmn__view_validity(array) != NULL && i < first + count; i++) {
        if (!lmn__view_is_null(array, i))
            continue;
        /* Columns without nulls are told as such by who writes them. */
        return parent != NULL || (schema->flags & ARROW_FLAG_NULLABLE) != 0 ? refuse(&path, err)
                                                                            : LMN_OK;
    }
    for (int64_t i = 0; st == LMN_OK && i < schema->n_children; i++)
        st = check(&path, schema->children[i], array->children[i], (uint64_t)array->offset + first,
                   count, err);
    return st;
}

enum lmn_status lmn__old_version_check(const struct lmn__manifest *manifest,
                                       const struct ArrowSchema *column,
                                       const struct ArrowArray *array, uint64_t first,
                                       uint64_t count, struct lmn_error *err)
{
    if (manifest == NULL || manifest->format_minor != 0)
        return LMN_OK;
    return check(NULL, column, array, first, count, err);
}

enum lmn_status lmn__old_version_check_null(const struct lmn__manifest *manifest,
                                            const char *column, struct lmn_error *err)
{
    const struct path path = { NULL, column };

    return manifest != NULL && manifest->format_minor == 0 ? refuse(&path, err) : LMN_OK;
}
