/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every value has a hash of its own, and a row's number is the hash of those of its columns:
 *
 *   seed  of                                        hashed
 *   0     text, binary of any kind, decimal         the bytes
 *         whole numbers, booleans, dates, times     8 bytes
 *         floats                                    8 bytes, as a double; all NaN are the same
 *   1     null                                      nothing
 *   2     lists of values of whole bytes            the bytes of the items
 *   3     the same with nulls among the items       these, nulls as zeros; then a byte 0 or 1 each
 *   4     other lists                               the hashes of the items
 *   5     structs, rows                             the hashes of the fields
 *
 * Of a blob its sketch counts (format/blob.h).
 *
 * Numbers have 8 bytes so that a column that was made wider keeps its fingerprints; in lists they
 * keep their own size, because vectors and pixels are many. A value of a dictionary counts as
 * itself; maps are lists of structs.
 *
 * Hashes are made for whole columns, so that nothing is allocated per row.
 */
#include "table/fingerprint.h"

#include <math.h>
#include <nanoarrow/nanoarrow.h>

#include "arrow/layout.h"
#include "arrow/schema.h"
#include "arrow/view.h"
#include "base/hash.h"
#include "base/math.h"
#include "format/blob.h"
#include "format/schema_write.h"
#include "table/ledger.h"
#include "table/table_fields.h"

enum { SEED_VALUE, SEED_NULL, SEED_ITEMS, SEED_ITEMS_AND_NULLS, SEED_LIST, SEED_STRUCT };

/* Rows that are put together at a time where hashes of several columns meet. */
enum { BLOCK_ROWS = 512, PATH_MAX_DEPTH = 60 };

/* A type, as far as its values' bytes need it. */
enum number_kind { NUMBER_NONE, NUMBER_SIGNED, NUMBER_UNSIGNED, NUMBER_FLOAT };

struct type {
    const struct lmn__layout *layout;
    enum number_kind number;
    bool blob;          /* whole ones, whose sketches count */
    struct type *child; /* as many as the layout has */
};

/* A column: the way to it from the batch, and its type. */
struct source {
    uint32_t depth;
    int64_t child[PATH_MAX_DEPTH];
    struct type type;
};

struct lmn__fingerprint {
    struct lmn__arena arena;
    struct lmn_env *env; /* counted */
    uint32_t count;
    struct source *source;
};

static uint64_t hash_null(void)
{
    return lmn__hash64_seeded("", 0, SEED_NULL);
}

static enum lmn_status hash_values(struct lmn_env *env, const struct type *type,
                                   const struct ArrowArray *array, uint64_t first, uint64_t count,
                                   uint64_t *out, struct lmn_error *err);

static void set_nulls(const struct ArrowArray *array, uint64_t first, uint64_t count, uint64_t *out)
{
    const uint8_t *validity = lmn__view_validity(array);
    uint64_t null = hash_null();

    for (uint64_t i = 0; validity != NULL && i < count; i++) {
        if (!lmn__bit_get(validity, (uint64_t)array->offset + first + i))
            out[i] = null;
    }
}

static uint64_t hash_u64(uint64_t value)
{
    return lmn__hash64_seeded(&value, sizeof value, SEED_VALUE);
}

static uint64_t load_signed(const uint8_t *at, uint32_t width)
{
    uint32_t shift = 64 - 8 * width;

    return (uint64_t)((int64_t)(lmn__load_uint(at, width) << shift) >> shift);
}

/* A float of 2, 4 or 8 bytes as the bits of a double. */
static uint64_t load_float(const uint8_t *at, uint32_t width)
{
    double value;
    float narrow;
    uint64_t bits;

    if (width == 8) {
        memcpy(&value, at, sizeof value);
    } else if (width == 4) {
        memcpy(&narrow, at, sizeof narrow);
        value = (double)narrow;
    } else {
        value = (double)ArrowHalfFloatToFloat(lmn__load_u16(at));
    }
    if (isnan(value))
        return UINT64_C(0x7ff8000000000000);
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void hash_fixed(const struct type *type, const struct ArrowArray *array, uint64_t first,
                       uint64_t count, uint64_t *out)
{
    uint32_t width = type->layout->bits / 8;
    const uint8_t *data = array->buffers[1], *at = data;

    first += (uint64_t)array->offset;
    if (width != 0 && data != NULL)
        at = data + first * width;
    for (uint64_t i = 0; i < count; i++, at += width) {
        if (type->layout->bits == 1)
            out[i] = hash_u64(lmn__bit_get(data, first + i));
        else if (type->number == NUMBER_UNSIGNED)
            out[i] = hash_u64(lmn__load_uint(at, width));
        else if (type->number == NUMBER_SIGNED)
            out[i] = hash_u64(load_signed(at, width));
        else if (type->number == NUMBER_FLOAT)
            out[i] = hash_u64(load_float(at, width));
        else
            out[i] = lmn__hash64_seeded(width != 0 ? at : (const uint8_t *)"", width, SEED_VALUE);
    }
}

static void hash_texts(const struct type *type, const struct ArrowArray *array, uint64_t first,
                       uint64_t count, uint64_t *out)
{
    for (uint64_t i = 0; i < count; i++) {
        struct lmn__span bytes = lmn__view_bytes(type->layout, array, first + i);

        out[i] = lmn__hash64_seeded(bytes.len != 0 ? bytes.data : (const uint8_t *)"", bytes.len,
                                    SEED_VALUE);
    }
}

/* The same for blobs that are there as a whole. */
static enum lmn_status hash_blobs(struct lmn_env *env, const struct type *type,
                                  const struct ArrowArray *array, uint64_t first, uint64_t count,
                                  uint64_t *out, struct lmn_error *err)
{
    uint8_t *sketch = lmn__alloc(env, LMN__SKETCH_BYTES);

    if (sketch == NULL)
        return lmn__no_memory(err, "the sketch of a blob", LMN__SKETCH_BYTES);
    for (uint64_t i = 0; i < count; i++) {
        struct lmn__span bytes = lmn__view_bytes(type->layout, array, first + i);

        if (bytes.len <= LMN__SKETCH_WHOLE_MAX) {
            hash_texts(type, array, first + i, 1, out + i);
            continue;
        }
        lmn__store_u64(sketch, bytes.len);
        for (int k = 0; k < LMN__SKETCH_PARTS; k++)
            memcpy(sketch + 8 + k * LMN__SKETCH_PART, bytes.data + lmn__sketch_at(bytes.len, k),
                   LMN__SKETCH_PART);
        out[i] = lmn__hash64_seeded(sketch, LMN__SKETCH_BYTES, SEED_VALUE);
    }
    lmn__free(env, sketch);
    return LMN_OK;
}

/* Where the items of list `i` begin; of list `i + 1`, where those of list `i` end. */
static uint64_t items_at(const struct lmn__layout *layout, const struct ArrowArray *array,
                         uint64_t i)
{
    if (layout->kind == LMN__LAYOUT_FIXED_LIST)
        return ((uint64_t)array->offset + i) * layout->dimension;
    return array->length == 0 ? 0 : lmn__view_offset(array, layout->bits / 8, i);
}

/* A list with nulls among its items. */
static enum lmn_status hash_items_and_nulls(struct lmn_env *env, const struct ArrowArray *items,
                                            uint32_t width, uint64_t first, uint64_t count,
                                            uint64_t *out, struct lmn_error *err)
{
    const uint8_t *from = (const uint8_t *)items->buffers[1] +
                          ((uint64_t)items->offset + first) * width;
    uint8_t *bytes = lmn__calloc(env, count, width + 1);

    if (bytes == NULL)
        return lmn__no_memory(err, "a fingerprint", count * (width + 1));
    for (uint64_t i = 0; i < count; i++) {
        if (lmn__view_is_null(items, first + i))
            continue;
        memcpy(bytes + i * width, from + i * width, width);
        bytes[count * width + i] = 1;
    }
    *out = lmn__hash64_seeded(bytes, count * (width + 1), SEED_ITEMS_AND_NULLS);
    lmn__free(env, bytes);
    return LMN_OK;
}

/* Lists of values of `width` bytes. */
static enum lmn_status hash_plain_lists(struct lmn_env *env, const struct type *type,
                                        const struct ArrowArray *array, uint64_t first,
                                        uint64_t count, uint64_t *out, struct lmn_error *err)
{
    const struct ArrowArray *items = array->children[0];
    const uint8_t *validity = lmn__view_validity(items), *data = items->buffers[1];
    uint32_t width = type->layout->child[0]->bits / 8;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint64_t from = items_at(type->layout, array, first + i);
        uint64_t len = items_at(type->layout, array, first + i + 1) - from;

        if (len == 0 || lmn__view_is_null(array, first + i))
            out[i] = lmn__hash64_seeded("", 0, SEED_ITEMS);
        else if (validity != NULL &&
                 lmn__bits_count(validity, (uint64_t)items->offset + from, len) != len)
            st = hash_items_and_nulls(env, items, width, from, len, &out[i], err);
        else
            out[i] = lmn__hash64_seeded(data + ((uint64_t)items->offset + from) * width,
                                        len * width, SEED_ITEMS);
    }
    return st;
}

static enum lmn_status hash_lists(struct lmn_env *env, const struct type *type,
                                  const struct ArrowArray *array, uint64_t first, uint64_t count,
                                  uint64_t *out, struct lmn_error *err)
{
    const struct lmn__layout *layout = type->layout, *item = layout->child[0];
    uint64_t begin, end, *hash;
    enum lmn_status st;

    if (item->kind == LMN__LAYOUT_FIXED && item->bits >= 8)
        return hash_plain_lists(env, type, array, first, count, out, err);
    begin = items_at(layout, array, first);
    end = items_at(layout, array, first + count);
    hash = lmn__calloc(env, end - begin, sizeof *hash);
    if (hash == NULL)
        return lmn__no_memory(err, "a fingerprint", (end - begin) * sizeof *hash);
    st = hash_values(env, &type->child[0], array->children[0], begin, end - begin, hash, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint64_t from = items_at(layout, array, first + i);
        uint64_t len = items_at(layout, array, first + i + 1) - from;

        out[i] = lmn__hash64_seeded(hash + (from - begin), len * sizeof *hash, SEED_LIST);
    }
    lmn__free(env, hash);
    return st;
}

static enum lmn_status hash_structs(struct lmn_env *env, const struct type *type,
                                    const struct ArrowArray *array, uint64_t first, uint64_t count,
                                    uint64_t *out, struct lmn_error *err)
{
    uint32_t fields = type->layout->child_count;
    uint64_t *row = lmn__calloc(env, BLOCK_ROWS * ((size_t)fields + 1), sizeof *row);
    uint64_t *column = row != NULL ? row + BLOCK_ROWS * (size_t)fields : NULL;
    enum lmn_status st = LMN_OK;

    if (row == NULL)
        return lmn__no_memory(err, "a fingerprint", BLOCK_ROWS * (fields + 1) * sizeof *row);
    for (uint64_t at = 0; st == LMN_OK && at < count; at += BLOCK_ROWS) {
        uint64_t rows = lmn__min_u64(count - at, BLOCK_ROWS);

        for (uint32_t k = 0; st == LMN_OK && k < fields; k++) {
            st = hash_values(env, &type->child[k], array->children[k],
                             (uint64_t)array->offset + first + at, rows, column, err);
            for (uint64_t i = 0; i < rows; i++)
                row[i * fields + k] = column[i];
        }
        for (uint64_t i = 0; i < rows; i++)
            out[at + i] = lmn__hash64_seeded(row + i * fields, fields * sizeof *row, SEED_STRUCT);
    }
    lmn__free(env, row);
    return st;
}

/* Every value of the dictionary is hashed once, unless there are fewer slots than values. */
static enum lmn_status hash_indices(struct lmn_env *env, const struct type *type,
                                    const struct ArrowArray *array, uint64_t first, uint64_t count,
                                    uint64_t *out, struct lmn_error *err)
{
    uint32_t width = type->layout->bits / 8;
    const uint8_t *index = (const uint8_t *)array->buffers[1] +
                           ((uint64_t)array->offset + first) * width;
    uint64_t values = (uint64_t)array->dictionary->length, *hash = NULL;
    enum lmn_status st = LMN_OK;

    if (values <= count) {
        hash = lmn__calloc(env, values, sizeof *hash);
        if (hash == NULL)
            return lmn__no_memory(err, "a fingerprint", values * sizeof *hash);
        st = hash_values(env, &type->child[0], array->dictionary, 0, values, hash, err);
    }
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint64_t value = lmn__load_uint(index + i * width, width);

        /* What stands under a null need not be an index. */
        if (value >= values)
            out[i] = hash_null();
        else if (hash != NULL)
            out[i] = hash[value];
        else
            st = hash_values(env, &type->child[0], array->dictionary, value, 1, &out[i], err);
    }
    lmn__free(env, hash);
    return st;
}

/* The hashes of slots [first, first + count). */
static enum lmn_status hash_values(struct lmn_env *env, const struct type *type,
                                   const struct ArrowArray *array, uint64_t first, uint64_t count,
                                   uint64_t *out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (count == 0)
        return LMN_OK;
    switch (type->layout->kind) {
    case LMN__LAYOUT_NULL:
        for (uint64_t i = 0; i < count; i++)
            out[i] = hash_null();
        return LMN_OK;
    case LMN__LAYOUT_FIXED:
        hash_fixed(type, array, first, count, out);
        break;
    case LMN__LAYOUT_VARIABLE:
        if (type->blob)
            st = hash_blobs(env, type, array, first, count, out, err);
        else
            hash_texts(type, array, first, count, out);
        break;
    case LMN__LAYOUT_LIST:
    case LMN__LAYOUT_FIXED_LIST:
        st = hash_lists(env, type, array, first, count, out, err);
        break;
    case LMN__LAYOUT_STRUCT:
        st = hash_structs(env, type, array, first, count, out, err);
        break;
    case LMN__LAYOUT_DICTIONARY:
        st = hash_indices(env, type, array, first, count, out, err);
        break;
    }
    if (st == LMN_OK)
        set_nulls(array, first, count, out);
    return st;
}

/* The hashes of a column, null below a struct that is null. */
static enum lmn_status hash_source(const struct lmn__fingerprint *fingerprint,
                                   const struct source *source, const struct ArrowArray *batch,
                                   uint64_t first, uint64_t count, uint64_t *out,
                                   struct lmn_error *err)
{
    const struct ArrowArray *way[PATH_MAX_DEPTH];
    uint64_t at[PATH_MAX_DEPTH];
    const struct ArrowArray *array = batch;
    enum lmn_status st;

    for (uint32_t i = 0; i < source->depth; i++) {
        first += (uint64_t)array->offset;
        array = array->children[source->child[i]];
        way[i] = array;
        at[i] = first;
    }
    st = hash_values(fingerprint->env, &source->type, array, first, count, out, err);
    for (uint32_t i = 0; st == LMN_OK && i + 1 < source->depth; i++)
        set_nulls(way[i], at[i], count, out);
    return st;
}

enum lmn_status lmn__fingerprint_rows(const struct lmn__fingerprint *fingerprint,
                                      const struct ArrowArray *batch, uint64_t *number_out,
                                      struct lmn_error *err)
{
    uint32_t columns = fingerprint->count;
    uint64_t rows = (uint64_t)batch->length;
    uint64_t *row = lmn__calloc(fingerprint->env, BLOCK_ROWS * ((size_t)columns + 1), sizeof *row);
    enum lmn_status st = LMN_OK;

    if (row == NULL)
        return lmn__no_memory(err, "a fingerprint", BLOCK_ROWS * (columns + 1) * sizeof *row);
    for (uint64_t at = 0; st == LMN_OK && at < rows; at += BLOCK_ROWS) {
        uint64_t count = lmn__min_u64(rows - at, BLOCK_ROWS), *hash = row + BLOCK_ROWS * columns;

        for (uint32_t k = 0; st == LMN_OK && k < columns; k++) {
            st = hash_source(fingerprint, &fingerprint->source[k], batch, at, count, hash, err);
            for (uint64_t i = 0; i < count; i++)
                row[i * columns + k] = hash[i];
        }
        for (uint64_t i = 0; i < count; i++)
            number_out[at + i] = lmn__hash64_seeded(row + i * columns, columns * sizeof *row,
                                                    SEED_STRUCT);
    }
    lmn__free(fingerprint->env, row);
    return st;
}

static enum number_kind number_of(const struct ArrowSchema *schema)
{
    struct ArrowSchemaView view;

    if (schema->dictionary != NULL || ArrowSchemaViewInit(&view, schema, NULL) != NANOARROW_OK)
        return NUMBER_NONE;
    switch (view.storage_type) {
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_INT64:
        return NUMBER_SIGNED;
    case NANOARROW_TYPE_UINT8:
    case NANOARROW_TYPE_UINT16:
    case NANOARROW_TYPE_UINT32:
    case NANOARROW_TYPE_UINT64:
        return NUMBER_UNSIGNED;
    case NANOARROW_TYPE_HALF_FLOAT:
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        return NUMBER_FLOAT;
    default:
        return NUMBER_NONE;
    }
}

/* The type of `schema`, whose layout is there: depth is bounded by it. */
static enum lmn_status type_init(struct type *type, const struct ArrowSchema *schema,
                                 const struct lmn__layout *layout, struct lmn__arena *arena,
                                 struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    type->layout = layout;
    type->number = number_of(schema);
    type->blob = lmn__arrow_is_blob(schema) && layout->kind == LMN__LAYOUT_VARIABLE;
    type->child = lmn__arena_array(arena, layout->child_count, sizeof *type->child);
    if (type->child == NULL)
        return lmn__arena_fail(arena, "a fingerprint", err);
    for (uint32_t i = 0; st == LMN_OK && i < layout->child_count; i++)
        st = type_init(&type->child[i],
                       schema->dictionary != NULL ? schema->dictionary : schema->children[i],
                       layout->child[i], arena, err);
    return st;
}

/* The child whose name is the longest beginning of `path` that ends at a dot or at its end. */
static const struct ArrowSchema *find_child(const struct ArrowSchema *schema, const char **path,
                                            int64_t *index_out)
{
    const struct ArrowSchema *found = NULL;
    size_t best = 0;

    for (int64_t i = 0; i < schema->n_children; i++) {
        const char *name = schema->children[i]->name != NULL ? schema->children[i]->name : "";
        size_t len = strlen(name);

        if (strncmp(name, *path, len) != 0 || ((*path)[len] != '\0' && (*path)[len] != '.') ||
            (found != NULL && len <= best))
            continue;
        found = schema->children[i];
        best = len;
        *index_out = i;
    }
    if (found != NULL)
        *path = (*path)[best] == '.' ? *path + best + 1 : NULL;
    return found;
}

static enum lmn_status source_init(struct source *source, const struct ArrowSchema *schema,
                                   const char *column, struct lmn__arena *arena,
                                   struct lmn_error *err)
{
    const struct lmn__layout *layout;
    const char *path = column;
    enum lmn_status st;

    while (path != NULL) {
        if (source->depth == PATH_MAX_DEPTH || strcmp(schema->format, "+s") != 0)
            schema = NULL;
        else
            schema = find_child(schema, &path, &source->child[source->depth++]);
        if (schema == NULL)
            return lmn_fail(err, LMN_E_NOT_FOUND, "no column \"%.100s\" to take a fingerprint of",
                            column);
    }
    st = lmn__layout_from_schema(schema, arena, &layout, err);
    return st == LMN_OK ? type_init(&source->type, schema, layout, arena, err) : st;
}

enum lmn_status lmn__fingerprint_new(struct lmn_env *env, const struct ArrowSchema *schema,
                                     const char *const *column, uint32_t column_count,
                                     struct lmn__fingerprint **fingerprint_out,
                                     struct lmn_error *err)
{
    struct lmn__fingerprint *fingerprint = lmn__calloc(env, 1, sizeof *fingerprint);
    enum lmn_status st = LMN_OK;

    *fingerprint_out = NULL;
    if (fingerprint == NULL)
        return lmn__no_memory(err, "a fingerprint", sizeof *fingerprint);
    fingerprint->env = lmn_env_acquire(env);
    fingerprint->count = column_count;
    lmn__arena_init(&fingerprint->arena, env, 0);
    fingerprint->source = lmn__arena_array(&fingerprint->arena, column_count,
                                           sizeof *fingerprint->source);
    if (fingerprint->source == NULL)
        st = lmn__arena_fail(&fingerprint->arena, "a fingerprint", err);
    for (uint32_t i = 0; st == LMN_OK && i < column_count; i++)
        st = source_init(&fingerprint->source[i], schema, column[i], &fingerprint->arena, err);
    if (st == LMN_OK)
        *fingerprint_out = fingerprint;
    else
        lmn__fingerprint_free(fingerprint);
    return st;
}

void lmn__fingerprint_free(struct lmn__fingerprint *fingerprint)
{
    struct lmn_env *env;

    if (fingerprint == NULL)
        return;
    env = fingerprint->env;
    lmn__arena_deinit(&fingerprint->arena);
    lmn__free(env, fingerprint);
    lmn_env_release(env);
}

enum lmn_status lmn__fingerprint_columns(const struct lmn__manifest *manifest,
                                         const char *const *input, uint32_t input_count,
                                         struct lmn__arena *arena, const char *const **column_out,
                                         struct lmn_error *err)
{
    const char **column = lmn__arena_array(arena, input_count, sizeof *column);

    *column_out = column;
    if (column == NULL)
        return lmn__arena_fail(arena, "a list of columns", err);
    for (uint32_t i = 0; i < input_count; i++) {
        const struct lmn__node *node, *ledger;
        enum lmn_status st = lmn__fields_find(manifest, input[i], &node, err);

        if (st != LMN_OK)
            return st;
        while (node->parent != NULL)
            node = node->parent;
        ledger = lmn__ledger_of(&manifest->schema, node);
        column[i] = ledger != NULL ? ledger->name : input[i];
    }
    return LMN_OK;
}
