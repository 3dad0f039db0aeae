/* SPDX-License-Identifier: Apache-2.0 */
#include "format/logical_type.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/proto.h"

enum { TYPE_NAME_BYTES = 120 };

/* Names that stand for one format each; the first of a format is the one that is written. */
static const struct {
    const char *name;
    const char *format;
} plain_types[] = {
    { "null", "n" },          { "bool", "b" },
    { "int8", "c" },          { "uint8", "C" },
    { "int16", "s" },         { "uint16", "S" },
    { "int32", "i" },         { "uint32", "I" },
    { "int64", "l" },         { "uint64", "L" },
    { "halffloat", "e" },     { "float", "f" },
    { "double", "g" },        { "string", "u" },
    { "binary", "z" },        { "large_string", "U" },
    { "large_binary", "Z" },  { "json", "Z" },
    { "blob", "Z" },          { "date32:day", "tdD" },
    { "date64:ms", "tdm" },   { "time32:s", "tts" },
    { "time32:ms", "ttm" },   { "time64:us", "ttu" },
    { "time64:ns", "ttn" },   { "duration:s", "tDs" },
    { "duration:ms", "tDm" }, { "duration:us", "tDu" },
    { "duration:ns", "tDn" }, { "struct", "+s" },
    { "list", "+l" },         { "list.struct", "+l" },
    { "large_list", "+L" },   { "large_list.struct", "+L" },
    { "map", "+m" },
};

enum { PLAIN_TYPE_COUNT = sizeof plain_types / sizeof plain_types[0] };

/* Names nest ("fixed_size_list:fixed_size_list:..."); their length bounds how deep. */
enum { NAME_LEN_MAX = 1024, ZONE_LEN_MAX = 200 };

static enum lmn_status no_memory(struct lmn_error *err)
{
    return lmn__no_memory(err, "a schema", 0);
}

static enum lmn_status unknown_type(struct lmn__span name, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_UNSUPPORTED, "a type that this version does not know: \"%.*s\"",
                    (int)(name.len < 200 ? name.len : 200), (const char *)name.data);
}

/* If `name` begins with `prefix`, *rest_out is what follows. */
static bool after_prefix(struct lmn__span name, const char *prefix, struct lmn__span *rest_out)
{
    size_t len = strlen(prefix);

    if (name.len < len || memcmp(name.data, prefix, len) != 0)
        return false;
    *rest_out = (struct lmn__span){ name.data + len, name.len - len };
    return true;
}

/* Split at the last colon. */
static bool split_last(struct lmn__span name, struct lmn__span *head_out,
                       struct lmn__span *tail_out)
{
    for (size_t i = name.len; i > 0; i--) {
        if (name.data[i - 1] == ':') {
            *head_out = (struct lmn__span){ name.data, i - 1 };
            *tail_out = (struct lmn__span){ name.data + i, name.len - i };
            return true;
        }
    }
    return false;
}

static bool parse_number(struct lmn__span text, long low, long high, long *out)
{
    char digits[24];
    char *end;

    if (text.len == 0 || text.len >= sizeof digits)
        return false;
    memcpy(digits, text.data, text.len);
    digits[text.len] = '\0';
    *out = strtol(digits, &end, 10);
    return *end == '\0' && *out >= low && *out <= high;
}

static enum lmn_status set_format(struct ArrowSchema *schema, const char *format,
                                  struct lmn_error *err)
{
    return ArrowSchemaSetFormat(schema, format) == NANOARROW_OK ? LMN_OK : no_memory(err);
}

static enum lmn_status set_timestamp(struct lmn__span rest, struct ArrowSchema *schema,
                                     struct lmn__span name, struct lmn_error *err)
{
    static const char *const units[] = { "s", "ms", "us", "ns" };
    char format[256];

    for (int i = 0; i < 4; i++) {
        char prefix[8];
        struct lmn__span zone;

        snprintf(prefix, sizeof prefix, "%s:", units[i]);
        if (!after_prefix(rest, prefix, &zone) || zone.len > ZONE_LEN_MAX)
            continue;
        if (lmn__span_equal(zone, "-"))
            zone.len = 0;
        snprintf(format, sizeof format, "ts%c:%.*s", "smun"[i], (int)zone.len,
                 (const char *)zone.data);
        return set_format(schema, format, err);
    }
    return unknown_type(name, err);
}

/* "128:precision:scale" */
static enum lmn_status set_decimal(struct lmn__span rest, struct ArrowSchema *schema,
                                   struct lmn__span name, struct lmn_error *err)
{
    struct lmn__span head, scale_text, width_text, precision_text;
    long width, precision, scale;
    char format[64];

    if (!split_last(rest, &head, &scale_text) || !split_last(head, &width_text, &precision_text) ||
        !parse_number(width_text, 128, 256, &width) || (width != 128 && width != 256) ||
        !parse_number(precision_text, 1, width == 128 ? 38 : 76, &precision) ||
        !parse_number(scale_text, -128, 127, &scale))
        return unknown_type(name, err);
    snprintf(format, sizeof format, "d:%ld,%ld", precision, scale);
    if (width == 256)
        snprintf(format, sizeof format, "d:%ld,%ld,256", precision, scale);
    return set_format(schema, format, err);
}

/* bfloat16 items are stored as two bytes that an extension gives their meaning. */
static enum lmn_status set_bfloat16(struct ArrowSchema *item, struct lmn_error *err)
{
    struct ArrowBuffer metadata;
    enum lmn_status st = set_format(item, "w:2", err);

    if (st != LMN_OK)
        return st;
    if (ArrowMetadataBuilderInit(&metadata, NULL) != NANOARROW_OK ||
        ArrowMetadataBuilderAppend(&metadata, ArrowCharView("ARROW:extension:name"),
                                   ArrowCharView("lance.bfloat16")) != NANOARROW_OK ||
        ArrowMetadataBuilderAppend(&metadata, ArrowCharView("ARROW:extension:metadata"),
                                   ArrowCharView("")) != NANOARROW_OK ||
        ArrowSchemaSetMetadata(item, (const char *)metadata.data) != NANOARROW_OK)
        st = no_memory(err);
    ArrowBufferReset(&metadata);
    return st;
}

/* "item type:dimension"; the item type may have colons itself. */
static enum lmn_status set_fixed_list(struct lmn__span rest, struct ArrowSchema *schema,
                                      struct lmn__span name, struct lmn_error *err)
{
    struct lmn__span item, dimension_text;
    struct ArrowSchema *child;
    long dimension;
    char format[32];
    enum lmn_status st;

    if (!split_last(rest, &item, &dimension_text) ||
        !parse_number(dimension_text, 1, INT32_MAX, &dimension))
        return unknown_type(name, err);
    snprintf(format, sizeof format, "+w:%ld", dimension);
    st = set_format(schema, format, err);
    if (st != LMN_OK || lmn__span_equal(item, "struct"))
        return st;
    if (ArrowSchemaAllocateChildren(schema, 1) != NANOARROW_OK)
        return no_memory(err);
    child = schema->children[0];
    ArrowSchemaInit(child);
    if (ArrowSchemaSetName(child, "item") != NANOARROW_OK)
        return no_memory(err);
    child->flags = ARROW_FLAG_NULLABLE;
    if (lmn__span_equal(item, "lance.bfloat16"))
        return set_bfloat16(child, err);
    return lmn__logical_type_to_arrow(item, child, err);
}

/* "value type:index type:ordered" */
static enum lmn_status set_dictionary(struct lmn__span rest, struct ArrowSchema *schema,
                                      struct lmn__span name, struct lmn_error *err)
{
    struct lmn__span head, ordered, value, index;
    enum lmn_status st;

    if (!split_last(rest, &head, &ordered) || !split_last(head, &value, &index))
        return unknown_type(name, err);
    st = lmn__logical_type_to_arrow(index, schema, err);
    if (st != LMN_OK)
        return st;
    if (strchr("cCsSiIlL", schema->format[0]) == NULL)
        return unknown_type(name, err);
    if (ArrowSchemaAllocateDictionary(schema) != NANOARROW_OK)
        return no_memory(err);
    ArrowSchemaInit(schema->dictionary);
    schema->dictionary->flags = ARROW_FLAG_NULLABLE;
    return lmn__logical_type_to_arrow(value, schema->dictionary, err);
}

enum lmn_status lmn__logical_type_to_arrow(struct lmn__span name, struct ArrowSchema *schema,
                                           struct lmn_error *err)
{
    struct lmn__span rest;
    long width;
    char format[32];

    if (name.len > NAME_LEN_MAX)
        return unknown_type(name, err);
    for (int i = 0; i < PLAIN_TYPE_COUNT; i++) {
        if (lmn__span_equal(name, plain_types[i].name))
            return set_format(schema, plain_types[i].format, err);
    }
    if (after_prefix(name, "timestamp:", &rest))
        return set_timestamp(rest, schema, name, err);
    if (after_prefix(name, "decimal:", &rest))
        return set_decimal(rest, schema, name, err);
    if (after_prefix(name, "fixed_size_list:", &rest))
        return set_fixed_list(rest, schema, name, err);
    if (after_prefix(name, "dict:", &rest))
        return set_dictionary(rest, schema, name, err);
    if (after_prefix(name, "fixed_size_binary:", &rest) &&
        parse_number(rest, 0, INT32_MAX, &width)) {
        snprintf(format, sizeof format, "w:%ld", width);
        return set_format(schema, format, err);
    }
    return unknown_type(name, err);
}

static enum lmn_status no_name(const struct ArrowSchema *schema, struct lmn_error *err)
{
    char name[TYPE_NAME_BYTES];

    ArrowSchemaToString(schema, name, sizeof name, false);
    return lmn_fail(err, LMN_E_UNSUPPORTED, "Lance has no place for the Arrow type %s", name);
}

static bool is_bfloat16(const struct ArrowSchema *item)
{
    struct ArrowStringView name = { NULL, 0 };

    ArrowMetadataGetValue(item->metadata, ArrowCharView("ARROW:extension:name"), &name);
    return name.size_bytes == 14 && memcmp(name.data, "lance.bfloat16", 14) == 0;
}

static enum lmn_status fixed_list_from_arrow(const struct ArrowSchema *schema, int32_t dimension,
                                             struct lmn__buf *buf, struct lmn_error *err)
{
    const struct ArrowSchema *item = schema->children[0];
    enum lmn_status st = LMN_OK;

    if (dimension < 1)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "fixed-size lists of no items");
    lmn__buf_printf(buf, "fixed_size_list:");
    if (is_bfloat16(item))
        lmn__buf_printf(buf, "lance.bfloat16");
    else if (strchr("uUzZ", item->format[0]) != NULL || item->dictionary != NULL)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "Lance has no place for fixed-size lists of strings or dictionaries");
    else if (item->format[0] == '+' && item->format[1] != 'w' && item->format[1] != 's')
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "Lance has no place for fixed-size lists of lists or maps");
    else if (strncmp(item->format, "+w", 2) == 0 && strcmp(item->children[0]->format, "+s") == 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "Lance has no place for structs inside of two fixed-size lists");
    else
        st = lmn__logical_type_from_arrow(item, buf, err);
    lmn__buf_printf(buf, ":%d", dimension);
    return st;
}

/* Names with parameters. */
static enum lmn_status parametric_from_arrow(const struct ArrowSchema *schema,
                                             const struct ArrowSchemaView *view,
                                             struct lmn__buf *buf, struct lmn_error *err)
{
    static const char *const units[] = { "s", "ms", "us", "ns" };

    switch (view->type) {
    case NANOARROW_TYPE_TIMESTAMP:
        if (strlen(view->timezone) > ZONE_LEN_MAX)
            return lmn_fail(err, LMN_E_INVALID, "a time zone of %zu bytes, more than %d",
                            strlen(view->timezone), ZONE_LEN_MAX);
        lmn__buf_printf(buf, "timestamp:%s:%s", units[view->time_unit],
                        view->timezone[0] != '\0' ? view->timezone : "-");
        return LMN_OK;
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        lmn__buf_printf(buf, "decimal:%d:%d:%d", view->decimal_bitwidth, view->decimal_precision,
                        view->decimal_scale);
        return LMN_OK;
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        lmn__buf_printf(buf, "fixed_size_binary:%d", view->fixed_size);
        return LMN_OK;
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        return fixed_list_from_arrow(schema, view->fixed_size, buf, err);
    case NANOARROW_TYPE_STRING_VIEW:
        lmn__buf_printf(buf, "string");
        return LMN_OK;
    case NANOARROW_TYPE_BINARY_VIEW:
        lmn__buf_printf(buf, "binary");
        return LMN_OK;
    default:
        return no_name(schema, err);
    }
}

static enum lmn_status dictionary_from_arrow(const struct ArrowSchema *schema, struct lmn__buf *buf,
                                             struct lmn_error *err)
{
    const struct ArrowSchema *value = schema->dictionary;
    struct ArrowSchema index = *schema;
    enum lmn_status st;

    /* Lance keeps no word of whether the values are in order. */
    index.dictionary = NULL;
    index.flags &= ~ARROW_FLAG_DICTIONARY_ORDERED;
    if (value->dictionary != NULL || value->format[0] == '+' || value->format[0] == 't' ||
        value->format[0] == 'd' || value->format[0] == 'w' || value->format[0] == 'n')
        return no_name(schema, err);
    lmn__buf_printf(buf, "dict:");
    st = lmn__logical_type_from_arrow(value, buf, err);
    lmn__buf_printf(buf, ":");
    if (st == LMN_OK)
        st = lmn__logical_type_from_arrow(&index, buf, err);
    lmn__buf_printf(buf, ":false");
    return st;
}

static enum lmn_status name_from_arrow(const struct ArrowSchema *schema, struct lmn__buf *buf,
                                       struct lmn_error *err)
{
    struct ArrowSchemaView view;
    struct ArrowError reason;

    if (ArrowSchemaViewInit(&view, schema, &reason) != NANOARROW_OK)
        return lmn_fail(err, LMN_E_INVALID, "a bad Arrow type: %s", reason.message);
    if (schema->dictionary != NULL)
        return dictionary_from_arrow(schema, buf, err);
    if (view.type == NANOARROW_TYPE_MAP && (schema->flags & ARROW_FLAG_MAP_KEYS_SORTED))
        return lmn_fail(err, LMN_E_UNSUPPORTED, "Lance has no place for maps with sorted keys");
    for (int i = 0; i < PLAIN_TYPE_COUNT; i++) {
        if (strcmp(schema->format, plain_types[i].format) != 0)
            continue;
        lmn__buf_printf(buf, "%s", plain_types[i].name);
        if ((view.type == NANOARROW_TYPE_LIST || view.type == NANOARROW_TYPE_LARGE_LIST) &&
            strcmp(schema->children[0]->format, "+s") == 0)
            lmn__buf_printf(buf, ".struct");
        return lmn__buf_status(buf, "a type's name", err);
    }
    return parametric_from_arrow(schema, &view, buf, err);
}

/* What could not be read again is not written. */
enum lmn_status lmn__logical_type_from_arrow(const struct ArrowSchema *schema, struct lmn__buf *buf,
                                             struct lmn_error *err)
{
    enum lmn_status st = name_from_arrow(schema, buf, err);

    return st == LMN_OK && buf->len > NAME_LEN_MAX
               ? lmn_fail(err, LMN_E_UNSUPPORTED, "a type whose name has %zu bytes, more than %d",
                          buf->len, NAME_LEN_MAX)
               : st;
}
