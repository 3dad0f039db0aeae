/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/nulls.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrow/view.h"

/* The fields from the column down to the one that is looked at. */
struct place {
    const struct place *parent; /* NULL: the column */
    const struct ArrowSchema *schema;
    enum lmn__null_kind kind;
};

static bool has_format(const struct ArrowSchema *schema, const char *format)
{
    return strcmp(schema->format, format) == 0;
}

static bool is_fixed_list(const struct ArrowSchema *schema)
{
    return strncmp(schema->format, "+w:", 3) == 0;
}

/* Items of fixed-size lists of plain values have no declaration of their own in Lance. */
static bool is_wanted(const struct place *place)
{
    const struct ArrowSchema *schema = place->schema;
    bool is_struct = has_format(schema, "+s");
    bool nullable = (schema->flags & ARROW_FLAG_NULLABLE) != 0;

    if (place->kind == LMN__NULLS_OF_STRUCTS)
        return is_struct && (nullable || place->parent != NULL);
    return !nullable && place->parent != NULL &&
           (is_struct || !is_fixed_list(place->parent->schema));
}

static bool is_possible(const struct place *place)
{
    bool possible = is_wanted(place);

    for (int64_t i = 0; i < place->schema->n_children && !possible; i++) {
        const struct place child = { place, place->schema->children[i], place->kind };

        possible = is_possible(&child);
    }
    return possible;
}

static size_t put_path(const struct place *place, char *path, size_t bytes)
{
    size_t len = place->parent != NULL ? put_path(place->parent, path, bytes) : 0;
    const char *name = place->schema->name != NULL ? place->schema->name : "";
    int more = snprintf(path + len, bytes - len, "%s%s", len != 0 ? "." : "", name);

    len += more > 0 ? (size_t)more : 0;
    return len < bytes ? len : bytes - 1;
}

static bool find(const struct place *place, const struct ArrowArray *array, uint64_t first,
                 uint64_t count, char *path_out);

/* In what belongs to slots [first, first + count), of which none is null. */
static bool find_below(const struct place *place, const struct ArrowArray *array, uint64_t first,
                       uint64_t count, char *path_out)
{
    const struct ArrowSchema *schema = place->schema;
    uint64_t begin = (uint64_t)array->offset + first, end = begin + count;
    bool found = false;

    if (is_fixed_list(schema)) {
        uint64_t size = strtoull(schema->format + 3, NULL, 10);

        begin *= size;
        end *= size;
    } else if (!has_format(schema, "+s")) {
        uint32_t width = has_format(schema, "+L") ? 8 : 4;

        begin = lmn__view_offset(array, width, first);
        end = lmn__view_offset(array, width, first + count);
    }
    for (int64_t i = 0; i < schema->n_children && !found; i++) {
        const struct place child = { place, schema->children[i], place->kind };

        found = is_possible(&child) &&
                find(&child, array->children[i], begin, end - begin, path_out);
    }
    return found;
}

static bool find(const struct place *place, const struct ArrowArray *array, uint64_t first,
                 uint64_t count, char *path_out)
{
    uint64_t end = first + count, next;
    bool found = false;

    if (lmn__view_validity(array) == NULL)
        return find_below(place, array, first, count, path_out);
    for (uint64_t i = first; i < end && !found; i = next) {
        bool null = lmn__view_is_null(array, i);

        for (next = i + 1; next < end && lmn__view_is_null(array, next) == null;)
            next++;
        if (!null) {
            found = find_below(place, array, i, next - i, path_out);
        } else if (is_wanted(place)) {
            put_path(place, path_out, LMN__NULL_PATH_BYTES);
            found = true;
        }
    }
    return found;
}

bool lmn__nulls_possible(const struct ArrowSchema *column, enum lmn__null_kind kind)
{
    const struct place place = { NULL, column, kind };

    return is_possible(&place);
}

bool lmn__nulls_find(const struct ArrowSchema *column, const struct ArrowArray *array,
                     enum lmn__null_kind kind, uint64_t first, uint64_t count,
                     char path_out[LMN__NULL_PATH_BYTES])
{
    const struct place place = { NULL, column, kind };

    return is_possible(&place) && find(&place, array, first, count, path_out);
}
