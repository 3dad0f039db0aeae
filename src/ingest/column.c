/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/column.h"

#include <math.h>
#include <stdlib.h>

#include <nanoarrow/nanoarrow.h>

#include "arrow/layout.h"
#include "base/utf8.h"
#include "ingest/text.h"
#include "ingest/text_dictionary.h"

enum { SHOWN_BYTES = 60 };

static int64_t unit_nanos(enum ArrowTimeUnit unit)
{
    static const int64_t nanos[] = { 1000000000, 1000000, 1000, 1 };

    return nanos[unit];
}

/* Kind and parameters of a type; false for types that text cannot fill. */
static bool set_kind(const struct ArrowSchemaView *view, struct lmn__column *column)
{
    column->bits = (uint32_t)view->layout.element_size_bits[1];
    switch (view->type) {
    case NANOARROW_TYPE_NA:
        column->kind = LMN__COLUMN_NULL;
        return true;
    case NANOARROW_TYPE_BOOL:
        column->kind = LMN__COLUMN_BOOL;
        return true;
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_INT64:
        column->kind = LMN__COLUMN_INT;
        return true;
    case NANOARROW_TYPE_UINT8:
    case NANOARROW_TYPE_UINT16:
    case NANOARROW_TYPE_UINT32:
    case NANOARROW_TYPE_UINT64:
        column->kind = LMN__COLUMN_UINT;
        return true;
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        column->kind = LMN__COLUMN_FLOAT;
        return true;
    case NANOARROW_TYPE_DECIMAL128:
        column->kind = LMN__COLUMN_DECIMAL;
        column->precision = view->decimal_precision;
        column->scale = view->decimal_scale;
        return true;
    case NANOARROW_TYPE_DATE32:
    case NANOARROW_TYPE_DATE64:
        column->kind = LMN__COLUMN_DATE;
        return true;
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
        column->kind = LMN__COLUMN_TIME;
        column->unit_nanos = unit_nanos(view->time_unit);
        return true;
    case NANOARROW_TYPE_TIMESTAMP:
        column->kind = LMN__COLUMN_TIMESTAMP;
        column->unit_nanos = unit_nanos(view->time_unit);
        column->zoned = view->timezone != NULL && view->timezone[0] != '\0';
        return true;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
        column->kind = LMN__COLUMN_TEXT;
        return true;
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
        column->kind = LMN__COLUMN_BINARY;
        return true;
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
    case NANOARROW_TYPE_MAP:
        column->is_map = view->type == NANOARROW_TYPE_MAP;
        column->kind = LMN__COLUMN_LIST;
        return true;
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        column->kind = LMN__COLUMN_FIXED_LIST;
        return true;
    case NANOARROW_TYPE_STRUCT:
        column->kind = LMN__COLUMN_STRUCT;
        return true;
    default:
        return false;
    }
}

static enum lmn_status column_fill(const struct ArrowSchema *schema, struct lmn__builder *builder,
                                   struct lmn__arena *arena, struct lmn__column *column,
                                   struct lmn_error *err)
{
    struct ArrowSchemaView view;
    enum lmn_status st = LMN_OK;

    column->name = schema->name != NULL ? schema->name : "";
    column->builder = builder;
    column->nullable = (schema->flags & ARROW_FLAG_NULLABLE) != 0;
    if (ArrowSchemaViewInit(&view, schema->dictionary != NULL ? schema->dictionary : schema,
                            NULL) != NANOARROW_OK ||
        !set_kind(&view, column) ||
        (schema->dictionary != NULL && column->kind != LMN__COLUMN_TEXT)) {
        char type[128];

        ArrowSchemaToString(schema, type, sizeof type, true);
        return lmn_fail(err, LMN_E_UNSUPPORTED, "field \"%.100s\": text cannot fill the type %s",
                        column->name, type);
    }
    column->type = view.type == NANOARROW_TYPE_NA ? "null" : ArrowTypeString(view.type);
    if (schema->dictionary != NULL) {
        column->dictionary = lmn__arena_alloc(arena, sizeof *column->dictionary);
        if (column->dictionary == NULL)
            return lmn__arena_fail(arena, "columns", err);
        column->dictionary->builder = builder;
        column->dictionary->arena = arena;
        return LMN_OK;
    }
    column->child_count = (uint32_t)schema->n_children;
    column->child = lmn__arena_array(arena, column->child_count, sizeof *column->child);
    if (column->child == NULL)
        return lmn__arena_fail(arena, "columns", err);
    for (uint32_t i = 0; st == LMN_OK && i < column->child_count; i++)
        st = column_fill(schema->children[i], &builder->child[i], arena, &column->child[i], err);
    return st;
}

enum lmn_status lmn__column_make(const struct ArrowSchema *schema, struct lmn_env *env,
                                 struct lmn__arena *arena, struct lmn__column **column_out,
                                 struct lmn_error *err)
{
    struct lmn__column *column = lmn__arena_alloc(arena, sizeof *column);
    struct lmn__builder *builder = lmn__arena_alloc(arena, sizeof *builder);
    const struct lmn__layout *layout;
    enum lmn_status st;

    *column_out = NULL;
    if (column == NULL || builder == NULL)
        return lmn__arena_fail(arena, "columns", err);
    st = lmn__layout_from_schema(schema, arena, &layout, err);
    if (st == LMN_OK)
        st = lmn__builder_init(builder, env, layout, err);
    if (st != LMN_OK)
        return st;
    st = column_fill(schema, builder, arena, column, err);
    if (st == LMN_OK)
        *column_out = column;
    else
        lmn__builder_deinit(builder);
    return st;
}

enum lmn_status lmn__column_put_null(struct lmn__column *column, struct lmn_error *err)
{
    enum lmn_status st;

    if (!column->nullable)
        return lmn_fail(err, LMN_E_INVALID, "field \"%.100s\" has no place for a null",
                        column->name);
    st = lmn__builder_add_null(column->builder, 1, err);
    return st != LMN_OK ? st : lmn__builder_put_empty(column->builder, 1, err);
}

void lmn__column_set_guessed(struct lmn__column *column)
{
    column->guessed = true;
    for (uint32_t i = 0; i < column->child_count; i++)
        lmn__column_set_guessed(&column->child[i]);
}

const char *lmn__column_advice(const struct lmn__column *column)
{
    return column->guessed ? ": give a schema" : "";
}

static enum lmn_status no_fit(const struct lmn__column *column, struct lmn__span text,
                              struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_INVALID, "field \"%.100s\" of type %s has no place for \"%.*s\"%s%s",
                    column->name, column->type,
                    (int)(text.len < SHOWN_BYTES ? text.len : SHOWN_BYTES),
                    text.len != 0 ? (const char *)text.data : "",
                    text.len > SHOWN_BYTES ? "..." : "", lmn__column_advice(column));
}

static enum lmn_status put_bytes(struct lmn__builder *builder, const void *value, uint32_t bytes,
                                 struct lmn_error *err)
{
    uint8_t *at;
    enum lmn_status st = lmn__builder_add_valid(builder, 1, err);

    if (st == LMN_OK)
        st = lmn__builder_extend(builder, 1, &at, err);
    if (st == LMN_OK)
        memcpy(at, value, bytes);
    return st;
}

/* `value` in the width of the column; false when it does not fit. */
static bool int_fits(const struct lmn__column *column, int64_t value)
{
    int64_t limit = INT64_MAX >> (64 - column->bits);

    return value <= limit && value >= -limit - 1;
}

/* nanoseconds = seconds * 1e9 + nanos in units of the column; false when it does not fit. */
static bool to_unit(const struct lmn__column *column, int64_t seconds, uint32_t nanos,
                    int64_t *value_out)
{
    int64_t per_second = 1000000000 / column->unit_nanos;

    return nanos % column->unit_nanos == 0 &&
           !__builtin_mul_overflow(seconds, per_second, value_out) &&
           !__builtin_add_overflow(*value_out, (int64_t)(nanos / column->unit_nanos), value_out);
}

static bool parse_timestamp(const struct lmn__column *column, struct lmn__span text,
                            int64_t *value_out)
{
    struct lmn__moment moment = { 0 };
    int32_t days;

    if (!column->zoned && lmn__text_date(text, &days))
        moment.seconds = (int64_t)days * 86400;
    else if (!lmn__text_moment(text, &moment) || moment.zoned != column->zoned)
        return false;
    return to_unit(column, moment.seconds, moment.nanos, value_out);
}

static bool parse_time(const struct lmn__column *column, struct lmn__span text, int64_t *value_out)
{
    int64_t nanos;

    return lmn__text_time(text, &nanos) &&
           to_unit(column, nanos / 1000000000, (uint32_t)(nanos % 1000000000), value_out);
}

/* Dates, times and integers: all are integers of 8 to 64 bits. */
static bool parse_integer(const struct lmn__column *column, struct lmn__span text,
                          int64_t *value_out)
{
    uint64_t value;
    int32_t days;

    switch (column->kind) {
    case LMN__COLUMN_INT:
        return (lmn__text_int(text, value_out) || lmn__text_whole(text, value_out)) &&
               int_fits(column, *value_out);
    case LMN__COLUMN_UINT:
        if (!lmn__text_uint(text, &value) &&
            (!lmn__text_whole(text, (int64_t *)&value) || (int64_t)value < 0))
            return false;
        if (column->bits < 64 && value >> column->bits != 0)
            return false;
        *value_out = (int64_t)value;
        return true;
    case LMN__COLUMN_DATE:
        if (!lmn__text_date(text, &days))
            return false;
        *value_out = column->bits == 32 ? days : (int64_t)days * 86400000;
        return true;
    case LMN__COLUMN_TIME:
        return parse_time(column, text, value_out);
    default:
        return parse_timestamp(column, text, value_out);
    }
}

static enum lmn_status put_float(struct lmn__column *column, struct lmn__span text,
                                 struct lmn_error *err)
{
    double value;
    float single;

    if (!lmn__text_float(text, &value))
        return no_fit(column, text, err);
    single = (float)value;
    if (column->bits == 32 && isinf(single) && !isinf(value))
        return no_fit(column, text, err);
    return column->bits == 32 ? put_bytes(column->builder, &single, 4, err)
                              : put_bytes(column->builder, &value, 8, err);
}

static enum lmn_status put_bool(struct lmn__column *column, struct lmn__span text,
                                struct lmn_error *err)
{
    uint8_t bit;
    bool value;
    enum lmn_status st;

    if (!lmn__text_bool(text, &value))
        return no_fit(column, text, err);
    bit = value;
    st = lmn__builder_add_valid(column->builder, 1, err);
    return st != LMN_OK ? st : lmn__builder_put_bits(column->builder, &bit, 0, 1, err);
}

enum lmn_status lmn__column_add_bytes(struct lmn__column *column, size_t len, uint8_t **data_out,
                                      struct lmn_error *err)
{
    struct lmn__builder *builder = column->builder;
    uint32_t width = builder->layout->bits / 8;
    uint8_t *offset;
    uint64_t base;
    enum lmn_status st = lmn__builder_add_valid(builder, 1, err);

    if (st == LMN_OK)
        st = lmn__builder_extend_variable(builder, 1, len, &offset, data_out, &base, err);
    if (st == LMN_OK)
        lmn__store_uint(offset, width, base + len);
    return st;
}

static enum lmn_status put_text(struct lmn__column *column, struct lmn__span text,
                                struct lmn_error *err)
{
    uint8_t *data;
    enum lmn_status st;

    if (column->dictionary != NULL)
        return lmn__text_dictionary_put(column->dictionary, text, err);
    st = lmn__column_add_bytes(column, text.len, &data, err);
    if (st == LMN_OK && text.len != 0)
        memcpy(data, text.data, text.len);
    return st;
}

static int base64_digit(uint8_t c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

static enum lmn_status put_base64(struct lmn__column *column, struct lmn__span text,
                                  struct lmn_error *err)
{
    size_t padding = 0, len;
    uint32_t bits = 0;
    uint8_t *data;
    enum lmn_status st;

    while (padding < 2 && padding < text.len && text.data[text.len - 1 - padding] == '=')
        padding++;
    if (text.len % 4 != 0)
        return no_fit(column, text, err);
    for (size_t i = 0; i < text.len - padding; i++) {
        if (base64_digit(text.data[i]) < 0)
            return no_fit(column, text, err);
    }
    len = text.len / 4 * 3 - padding;
    st = lmn__column_add_bytes(column, len, &data, err);
    for (size_t i = 0, done = 0; st == LMN_OK && i < text.len; i++) {
        int digit = base64_digit(text.data[i]);

        bits = bits << 6 | (digit > 0 ? (uint32_t)digit : 0);
        for (int k = 2; i % 4 == 3 && k >= 0; k--) {
            if (done < len)
                data[done++] = (uint8_t)(bits >> (8 * k));
        }
    }
    return st;
}

static enum lmn_status put_decimal(struct lmn__column *column, struct lmn__span text,
                                   struct lmn_error *err)
{
    __int128 value;

    if (!lmn__text_decimal(text, column->precision, column->scale, &value))
        return no_fit(column, text, err);
    return put_bytes(column->builder, &value, sizeof value, err);
}

enum lmn_status lmn__column_put_text(struct lmn__column *column, struct lmn__span text,
                                     struct lmn_error *err)
{
    int64_t value;

    if (column->kind != LMN__COLUMN_TEXT && column->kind != LMN__COLUMN_BINARY)
        text = lmn__text_trim(text);
    switch (column->kind) {
    case LMN__COLUMN_BOOL:
        return put_bool(column, text, err);
    case LMN__COLUMN_FLOAT:
        return put_float(column, text, err);
    case LMN__COLUMN_DECIMAL:
        return put_decimal(column, text, err);
    case LMN__COLUMN_TEXT:
        return put_text(column, text, err);
    case LMN__COLUMN_BINARY:
        return put_base64(column, text, err);
    case LMN__COLUMN_INT:
    case LMN__COLUMN_UINT:
    case LMN__COLUMN_DATE:
    case LMN__COLUMN_TIME:
    case LMN__COLUMN_TIMESTAMP:
        if (!parse_integer(column, text, &value))
            return no_fit(column, text, err);
        return put_bytes(column->builder, &value, column->bits / 8, err);
    default:
        return no_fit(column, text, err);
    }
}

enum lmn_status lmn__column_open(struct lmn__column *column, struct lmn_error *err)
{
    struct lmn__builder *builder = column->builder;
    uint32_t width = builder->layout->bits / 8;
    uint8_t *at;
    enum lmn_status st = lmn__builder_add_valid(builder, 1, err);

    if (st != LMN_OK || column->kind != LMN__COLUMN_LIST)
        return st;
    st = lmn__vec_extend(&builder->offsets, builder->env->pool, width, &at, err);
    if (st == LMN_OK)
        lmn__store_uint(at, width, builder->child[0].length);
    return st;
}

enum lmn_status lmn__column_close(struct lmn__column *column, uint64_t items, struct lmn_error *err)
{
    if (column->kind == LMN__COLUMN_FIXED_LIST && items != column->builder->layout->dimension)
        return lmn_fail(err, LMN_E_INVALID, "field \"%.100s\" holds lists of %u items, not of %llu",
                        column->name, column->builder->layout->dimension,
                        (unsigned long long)items);
    return LMN_OK;
}

/* Value i of a column of texts, or of one whose values, or indices, have all the same size. */
static struct lmn__span value_at(const struct lmn__column *column, uint64_t i)
{
    const struct lmn__builder *builder = column->builder;
    uint32_t width = builder->layout->bits / 8;
    uint64_t from, to;

    if (builder->layout->kind != LMN__LAYOUT_VARIABLE)
        return (struct lmn__span){ builder->values.data + i * width, width };
    from = lmn__load_uint(builder->offsets.data + i * width, width);
    to = lmn__load_uint(builder->offsets.data + (i + 1) * width, width);
    return (struct lmn__span){ builder->values.data + from, to - from };
}

static int compare_values(const void *a, const void *b)
{
    const struct lmn__span *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = len != 0 ? memcmp(x->data, y->data, len) : 0;

    return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

enum lmn_status lmn__column_check_keys(const struct lmn__column *map, uint64_t from,
                                       struct lmn_error *err)
{
    const struct lmn__column *key = &map->child[0].child[0];
    uint64_t count = key->builder->length - from;
    struct lmn__span *value;
    enum lmn_status st = LMN_OK;

    if (count < 2 || key->builder->layout->bits < 8) /* no key, or true and false */
        return LMN_OK;
    value = lmn__calloc(key->builder->env, count, sizeof *value);
    if (value == NULL)
        return lmn__no_memory(err, "the keys of a map", count * sizeof *value);
    for (uint64_t i = 0; i < count; i++)
        value[i] = value_at(key, from + i);
    qsort(value, count, sizeof *value, compare_values);
    for (uint64_t i = 1; st == LMN_OK && i < count; i++) {
        if (compare_values(&value[i - 1], &value[i]) == 0)
            st = lmn_fail(err, LMN_E_INVALID, "field \"%.100s\" has a key twice", map->name);
    }
    lmn__free(key->builder->env, value);
    return st;
}
