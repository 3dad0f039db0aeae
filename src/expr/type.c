/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/type.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <string.h>

/* What a kind is in Arrow, in memory, and in messages. */
static const struct {
    enum lmn__kind kind;
    enum ArrowType arrow;
    enum lmn__form form;
    const char *text;
} kinds[] = {
    { LMN__KIND_NULL, NANOARROW_TYPE_NA, LMN__FORM_NULL, "null" },
    { LMN__KIND_BOOL, NANOARROW_TYPE_BOOL, LMN__FORM_BITS, "boolean" },
    { LMN__KIND_I8, NANOARROW_TYPE_INT8, LMN__FORM_I8, "int8" },
    { LMN__KIND_I16, NANOARROW_TYPE_INT16, LMN__FORM_I16, "int16" },
    { LMN__KIND_I32, NANOARROW_TYPE_INT32, LMN__FORM_I32, "int32" },
    { LMN__KIND_I64, NANOARROW_TYPE_INT64, LMN__FORM_I64, "int64" },
    { LMN__KIND_U8, NANOARROW_TYPE_UINT8, LMN__FORM_U8, "uint8" },
    { LMN__KIND_U16, NANOARROW_TYPE_UINT16, LMN__FORM_U16, "uint16" },
    { LMN__KIND_U32, NANOARROW_TYPE_UINT32, LMN__FORM_U32, "uint32" },
    { LMN__KIND_U64, NANOARROW_TYPE_UINT64, LMN__FORM_U64, "uint64" },
    { LMN__KIND_F16, NANOARROW_TYPE_HALF_FLOAT, LMN__FORM_F32, "halffloat" },
    { LMN__KIND_F32, NANOARROW_TYPE_FLOAT, LMN__FORM_F32, "float" },
    { LMN__KIND_F64, NANOARROW_TYPE_DOUBLE, LMN__FORM_F64, "double" },
    { LMN__KIND_DECIMAL, NANOARROW_TYPE_DECIMAL128, LMN__FORM_WIDE, "decimal" },
    { LMN__KIND_STRING, NANOARROW_TYPE_STRING, LMN__FORM_SPAN, "string" },
    { LMN__KIND_BINARY, NANOARROW_TYPE_BINARY, LMN__FORM_SPAN, "binary" },
    { LMN__KIND_FIXED_BINARY, NANOARROW_TYPE_FIXED_SIZE_BINARY, LMN__FORM_SPAN, "binary" },
    { LMN__KIND_DATE32, NANOARROW_TYPE_DATE32, LMN__FORM_I32, "date32" },
    { LMN__KIND_DATE64, NANOARROW_TYPE_DATE64, LMN__FORM_I64, "date64" },
    { LMN__KIND_TIME32, NANOARROW_TYPE_TIME32, LMN__FORM_I32, "time32" },
    { LMN__KIND_TIME64, NANOARROW_TYPE_TIME64, LMN__FORM_I64, "time64" },
    { LMN__KIND_TIMESTAMP, NANOARROW_TYPE_TIMESTAMP, LMN__FORM_I64, "timestamp" },
    { LMN__KIND_DURATION, NANOARROW_TYPE_DURATION, LMN__FORM_I64, "duration" },
    { LMN__KIND_INTERVAL, NANOARROW_TYPE_INTERVAL_MONTH_DAY_NANO, LMN__FORM_INTERVAL, "interval" },
    { LMN__KIND_LIST, NANOARROW_TYPE_LIST, LMN__FORM_SLOT, "list" },
    { LMN__KIND_STRUCT, NANOARROW_TYPE_STRUCT, LMN__FORM_SLOT, "struct" },
};

static const char unit_texts[][3] = { "s", "ms", "us", "ns" };

enum lmn__form lmn__type_form(const struct lmn__type *type)
{
    return kinds[type->kind].form;
}

uint32_t lmn__form_bytes(enum lmn__form form)
{
    static const uint8_t bytes[] = { 0, 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 32, 16, 8, 16 };

    return bytes[form];
}

int64_t lmn__unit_rate(enum lmn__unit unit)
{
    static const int64_t rates[] = { 1, 1000, 1000000, 1000000000 };

    return rates[unit];
}

/* The same type all the way down; names of list items do not count. */
static bool same_schema(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
    bool names = strcmp(a->format, "+s") == 0;

    if (strcmp(a->format, b->format) != 0 || a->n_children != b->n_children ||
        (a->dictionary == NULL) != (b->dictionary == NULL))
        return false;
    for (int64_t i = 0; i < a->n_children; i++) {
        const struct ArrowSchema *c = a->children[i], *d = b->children[i];

        if (!same_schema(c, d) || (names && strcmp(c->name, d->name) != 0))
            return false;
    }
    return a->dictionary == NULL || same_schema(a->dictionary, b->dictionary);
}

bool lmn__type_same(const struct lmn__type *a, const struct lmn__type *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LMN__KIND_DECIMAL:
        return a->scale == b->scale && a->precision == b->precision && a->width == b->width;
    case LMN__KIND_TIMESTAMP:
        return a->unit == b->unit && (a->zone == NULL) == (b->zone == NULL);
    case LMN__KIND_TIME32:
    case LMN__KIND_TIME64:
    case LMN__KIND_DURATION:
        return a->unit == b->unit;
    case LMN__KIND_FIXED_BINARY:
        return a->width == b->width;
    case LMN__KIND_LIST:
    case LMN__KIND_STRUCT:
        /* A list that is written in the text has no schema. */
        return a->schema != NULL && b->schema != NULL && same_schema(a->schema, b->schema);
    default:
        return true;
    }
}

static bool kind_of(const struct ArrowSchemaView *view, struct lmn__type *type)
{
    switch (view->type) {
    case NANOARROW_TYPE_LARGE_STRING:
        type->large = true;
        type->kind = LMN__KIND_STRING;
        return true;
    case NANOARROW_TYPE_STRING_VIEW:
        type->kind = LMN__KIND_STRING;
        return true;
    case NANOARROW_TYPE_LARGE_BINARY:
        type->large = true;
        type->kind = LMN__KIND_BINARY;
        return true;
    case NANOARROW_TYPE_BINARY_VIEW:
        type->kind = LMN__KIND_BINARY;
        return true;
    case NANOARROW_TYPE_DECIMAL256:
        type->kind = LMN__KIND_DECIMAL;
        return true;
    case NANOARROW_TYPE_LARGE_LIST:
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
    case NANOARROW_TYPE_MAP:
        type->kind = LMN__KIND_LIST;
        return true;
    default:
        break;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].arrow == view->type) {
            type->kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

enum lmn_status lmn__type_from_schema(const struct ArrowSchema *schema, struct lmn__type *type_out,
                                      struct lmn_error *err)
{
    const char *name = schema->name != NULL ? schema->name : "";
    struct ArrowSchemaView view;
    struct ArrowError reason;

    *type_out = (struct lmn__type){ 0 };
    if (schema->dictionary != NULL)
        return lmn__type_from_schema(schema->dictionary, type_out, err);
    type_out->schema = schema;
    /* Arrow has fixed-size binaries of no bytes, nanoarrow has not. */
    if (strcmp(schema->format, "w:0") == 0) {
        type_out->kind = LMN__KIND_FIXED_BINARY;
        return LMN_OK;
    }
    if (ArrowSchemaViewInit(&view, schema, &reason) != NANOARROW_OK)
        return lmn_fail(err, LMN_E_INVALID, "column \"%s\" has a bad Arrow type: %s", name,
                        reason.message);
    if (!kind_of(&view, type_out))
        return lmn_fail(err, LMN_E_UNSUPPORTED, "column \"%s\" of type %s is not evaluated", name,
                        ArrowTypeString(view.type));
    type_out->unit = (enum lmn__unit)view.time_unit;
    if (type_out->kind == LMN__KIND_FIXED_BINARY)
        type_out->width = view.fixed_size;
    if (type_out->kind == LMN__KIND_DECIMAL) {
        type_out->width = view.decimal_bitwidth / 8;
        type_out->precision = view.decimal_precision;
        type_out->scale = view.decimal_scale;
    }
    if (type_out->kind == LMN__KIND_TIMESTAMP && view.timezone != NULL && view.timezone[0] != '\0')
        type_out->zone = view.timezone;
    return LMN_OK;
}

static ArrowErrorCode set_type(const struct lmn__type *type, struct ArrowSchema *schema)
{
    enum ArrowType arrow = kinds[type->kind].arrow;

    switch (type->kind) {
    case LMN__KIND_STRING:
        return ArrowSchemaSetType(schema, type->large ? NANOARROW_TYPE_LARGE_STRING : arrow);
    case LMN__KIND_BINARY:
        return ArrowSchemaSetType(schema, type->large ? NANOARROW_TYPE_LARGE_BINARY : arrow);
    case LMN__KIND_FIXED_BINARY:
        if (type->width == 0)
            return ArrowSchemaSetFormat(schema, "w:0");
        return ArrowSchemaSetTypeFixedSize(schema, arrow, type->width);
    case LMN__KIND_DECIMAL:
        return ArrowSchemaSetTypeDecimal(schema,
                                         type->width == 32 ? NANOARROW_TYPE_DECIMAL256 : arrow,
                                         type->precision, type->scale);
    case LMN__KIND_TIME32:
    case LMN__KIND_TIME64:
    case LMN__KIND_TIMESTAMP:
    case LMN__KIND_DURATION:
        return ArrowSchemaSetTypeDateTime(schema, arrow, (enum ArrowTimeUnit)type->unit,
                                          type->zone);
    default:
        return ArrowSchemaSetType(schema, arrow);
    }
}

enum lmn_status lmn__type_to_schema(const struct lmn__type *type, struct ArrowSchema *schema_out,
                                    struct lmn_error *err)
{
    ArrowErrorCode code;

    *schema_out = (struct ArrowSchema){ 0 };
    if (lmn__type_form(type) == LMN__FORM_SLOT) {
        code = ArrowSchemaDeepCopy(type->schema, schema_out);
    } else {
        ArrowSchemaInit(schema_out);
        code = set_type(type, schema_out);
    }
    if (code == NANOARROW_OK)
        code = ArrowSchemaSetName(schema_out, "");
    if (code == NANOARROW_OK)
        return LMN_OK;
    if (schema_out->release != NULL)
        schema_out->release(schema_out);
    *schema_out = (struct ArrowSchema){ 0 };
    return lmn__no_memory(err, "a type", sizeof *schema_out);
}

static bool is_plain(const struct ArrowSchema *schema)
{
    if (schema->dictionary != NULL || schema->format[0] == 'v')
        return false;
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (!is_plain(schema->children[i]))
            return false;
    }
    return true;
}

bool lmn__type_is_plain(const struct lmn__type *type)
{
    return lmn__type_form(type) != LMN__FORM_SLOT || is_plain(type->schema);
}

static bool named_decimal(const struct lmn__type_name *name, struct lmn__type *type)
{
    int32_t precision = name->number_count > 0 ? name->number[0] : 38;
    int32_t scale = name->number_count > 1 ? name->number[1] : name->number_count == 0 ? 10 : 0;

    if (precision < 1 || precision > 76 || scale > precision || scale < -precision)
        return false;
    *type = (struct lmn__type){ .kind = LMN__KIND_DECIMAL,
                                .precision = precision,
                                .scale = scale,
                                .width = precision > 38 ? 32 : 16 };
    return true;
}

/*
 * time and timestamp, whose number is that of the digits of a second. A timestamp without one has
 * microseconds, as in Lance's filters.
 */
static bool named_time(const struct lmn__type_name *name, bool is_time, struct lmn__type *type)
{
    int32_t digits = name->number_count > 0 ? name->number[0] : is_time ? 9 : 6;

    if (name->number_count > 1 || digits < 0 || digits > 9 || digits % 3 != 0)
        return false;
    *type = (struct lmn__type){ .unit = (enum lmn__unit)(digits / 3),
                                .kind = !is_time      ? LMN__KIND_TIMESTAMP
                                        : digits <= 3 ? LMN__KIND_TIME32
                                                      : LMN__KIND_TIME64 };
    return true;
}

bool lmn__type_from_name(const struct lmn__type_name *name, struct lmn__type *type_out)
{
    static const struct {
        const char *word;
        enum lmn__kind kind;
    } words[] = {
        { "boolean", LMN__KIND_BOOL },
        { "bool", LMN__KIND_BOOL },
        { "tinyint", LMN__KIND_I8 },
        { "int8", LMN__KIND_I8 },
        { "smallint", LMN__KIND_I16 },
        { "int16", LMN__KIND_I16 },
        { "int", LMN__KIND_I32 },
        { "integer", LMN__KIND_I32 },
        { "int32", LMN__KIND_I32 },
        { "bigint", LMN__KIND_I64 },
        { "int64", LMN__KIND_I64 },
        { "long", LMN__KIND_I64 },
        { "tinyint unsigned", LMN__KIND_U8 },
        { "uint8", LMN__KIND_U8 },
        { "smallint unsigned", LMN__KIND_U16 },
        { "uint16", LMN__KIND_U16 },
        { "int unsigned", LMN__KIND_U32 },
        { "integer unsigned", LMN__KIND_U32 },
        { "uint32", LMN__KIND_U32 },
        { "bigint unsigned", LMN__KIND_U64 },
        { "uint64", LMN__KIND_U64 },
        { "float16", LMN__KIND_F16 },
        { "halffloat", LMN__KIND_F16 },
        { "half", LMN__KIND_F16 },
        { "float", LMN__KIND_F32 },
        { "float32", LMN__KIND_F32 },
        { "real", LMN__KIND_F32 },
        { "double", LMN__KIND_F64 },
        { "double precision", LMN__KIND_F64 },
        { "float64", LMN__KIND_F64 },
        { "string", LMN__KIND_STRING },
        { "varchar", LMN__KIND_STRING },
        { "text", LMN__KIND_STRING },
        { "utf8", LMN__KIND_STRING },
        { "char", LMN__KIND_STRING },
        { "character varying", LMN__KIND_STRING },
        { "binary", LMN__KIND_BINARY },
        { "bytea", LMN__KIND_BINARY },
        { "varbinary", LMN__KIND_BINARY },
        { "date", LMN__KIND_DATE32 },
        { "date32", LMN__KIND_DATE32 },
        { "date64", LMN__KIND_DATE64 },
        { "interval", LMN__KIND_INTERVAL },
    };

    if (strcmp(name->word, "decimal") == 0 || strcmp(name->word, "numeric") == 0)
        return named_decimal(name, type_out);
    if (strcmp(name->word, "timestamp") == 0 || strcmp(name->word, "datetime") == 0)
        return named_time(name, false, type_out);
    if (strcmp(name->word, "time") == 0)
        return named_time(name, true, type_out);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(name->word, words[i].word) == 0) {
            *type_out = lmn__type_plain(words[i].kind);
            return name->number_count == 0;
        }
    }
    return false;
}

const char *lmn__type_text(const struct lmn__type *type, char text_out[LMN__TYPE_TEXT_BYTES])
{
    const char *text = kinds[type->kind].text;

    switch (type->kind) {
    case LMN__KIND_DECIMAL:
        snprintf(text_out, LMN__TYPE_TEXT_BYTES, "%s(%d, %d)", text, type->precision, type->scale);
        break;
    case LMN__KIND_TIMESTAMP:
        snprintf(text_out, LMN__TYPE_TEXT_BYTES, "%s[%s%s%.40s]", text, unit_texts[type->unit],
                 type->zone != NULL ? ", " : "", type->zone != NULL ? type->zone : "");
        break;
    case LMN__KIND_TIME32:
    case LMN__KIND_TIME64:
    case LMN__KIND_DURATION:
        snprintf(text_out, LMN__TYPE_TEXT_BYTES, "%s[%s]", text, unit_texts[type->unit]);
        break;
    case LMN__KIND_FIXED_BINARY:
        snprintf(text_out, LMN__TYPE_TEXT_BYTES, "%s[%d]", text, type->width);
        break;
    default:
        snprintf(text_out, LMN__TYPE_TEXT_BYTES, "%s", text);
    }
    return text_out;
}
