/* SPDX-License-Identifier: Apache-2.0 */
#include "table/wider.h"

#include <nanoarrow/nanoarrow.h>

/* Numbers as sign, digits and, for floats, exponent. */
struct number {
    bool is_signed;
    bool is_float;
    int bits; /* of whole numbers that are all held, without the sign */
};

static bool number_of(enum ArrowType type, struct number *number_out)
{
    static const struct {
        enum ArrowType type;
        struct number number;
    } numbers[] = {
        { NANOARROW_TYPE_INT8, { true, false, 7 } },
        { NANOARROW_TYPE_INT16, { true, false, 15 } },
        { NANOARROW_TYPE_INT32, { true, false, 31 } },
        { NANOARROW_TYPE_INT64, { true, false, 63 } },
        { NANOARROW_TYPE_UINT8, { false, false, 8 } },
        { NANOARROW_TYPE_UINT16, { false, false, 16 } },
        { NANOARROW_TYPE_UINT32, { false, false, 32 } },
        { NANOARROW_TYPE_UINT64, { false, false, 64 } },
        { NANOARROW_TYPE_HALF_FLOAT, { true, true, 11 } },
        { NANOARROW_TYPE_FLOAT, { true, true, 24 } },
        { NANOARROW_TYPE_DOUBLE, { true, true, 53 } },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].type == type) {
            *number_out = numbers[i].number;
            return true;
        }
    }
    return false;
}

static bool is_wider_number(enum ArrowType from, enum ArrowType to)
{
    struct number a, b;

    if (!number_of(from, &a) || !number_of(to, &b) || from == to)
        return false;
    if ((a.is_signed && !b.is_signed) || (a.is_float && !b.is_float))
        return false;
    return a.bits <= b.bits;
}

static bool is_wider_decimal(const struct ArrowSchemaView *from, const struct ArrowSchemaView *to)
{
    int32_t scale = to->decimal_scale - from->decimal_scale;
    int32_t precision = to->decimal_precision - from->decimal_precision;

    if ((to->type != NANOARROW_TYPE_DECIMAL128 && to->type != NANOARROW_TYPE_DECIMAL256) ||
        (from->type == NANOARROW_TYPE_DECIMAL256 && to->type == NANOARROW_TYPE_DECIMAL128))
        return false;
    return scale >= 0 && precision >= scale && (precision > 0 || to->type != from->type);
}

static bool same_zone(const struct ArrowSchemaView *from, const struct ArrowSchemaView *to)
{
    return strcmp(from->timezone != NULL ? from->timezone : "",
                  to->timezone != NULL ? to->timezone : "") == 0;
}

static bool is_wider_time(const struct ArrowSchemaView *from, const struct ArrowSchemaView *to)
{
    bool finer = to->time_unit > from->time_unit;

    switch (from->type) {
    case NANOARROW_TYPE_DATE32:
        return to->type == NANOARROW_TYPE_DATE64 ||
               (to->type == NANOARROW_TYPE_TIMESTAMP && same_zone(from, to) &&
                to->time_unit <= NANOARROW_TIME_UNIT_MILLI);
    case NANOARROW_TYPE_TIME32:
        return finer && (to->type == NANOARROW_TYPE_TIME32 || to->type == NANOARROW_TYPE_TIME64);
    case NANOARROW_TYPE_TIMESTAMP:
        return finer && to->type == from->type && same_zone(from, to);
    case NANOARROW_TYPE_TIME64:
    case NANOARROW_TYPE_DURATION:
        return finer && to->type == from->type;
    default:
        return false;
    }
}

bool lmn__type_is_same(const struct ArrowSchema *from, const struct ArrowSchema *to)
{
    bool same = to->format != NULL && strcmp(from->format, to->format) == 0 &&
                from->n_children == to->n_children &&
                (from->dictionary == NULL) == (to->dictionary == NULL);

    for (int64_t i = 0; same && i < from->n_children; i++)
        same = lmn__type_is_same(from->children[i], to->children[i]);
    return same &&
           (from->dictionary == NULL || lmn__type_is_same(from->dictionary, to->dictionary));
}

/* Fields of structs go by their names. */
static bool same_names(const struct ArrowSchema *from, const struct ArrowSchema *to)
{
    for (int64_t i = 0; strcmp(from->format, "+s") == 0 && i < from->n_children; i++) {
        const char *a = from->children[i]->name, *b = to->children[i]->name;

        if (a == NULL || b == NULL || strcmp(a, b) != 0)
            return false;
    }
    return true;
}

/* Structs and lists of the same kind, in which something is wider and all else the same. */
static bool is_wider_nested(const struct ArrowSchema *from, const struct ArrowSchema *to)
{
    bool wider = false;

    if (strcmp(from->format, to->format) != 0 || from->n_children != to->n_children ||
        !same_names(from, to))
        return false;
    for (int64_t i = 0; i < from->n_children; i++) {
        if (lmn__type_is_same(from->children[i], to->children[i]))
            continue;
        if (!lmn__type_is_wider(from->children[i], to->children[i]))
            return false;
        wider = true;
    }
    return wider;
}

bool lmn__type_is_null(const struct ArrowSchema *type)
{
    return type->format != NULL && strcmp(type->format, "n") == 0 && type->dictionary == NULL;
}

bool lmn__type_is_wider(const struct ArrowSchema *from, const struct ArrowSchema *to)
{
    struct ArrowSchemaView a = { 0 }, b = { 0 };

    if (lmn__type_is_null(from))
        return ArrowSchemaViewInit(&b, to, NULL) == NANOARROW_OK && !lmn__type_is_null(to);
    if (from->dictionary != NULL || to->dictionary != NULL || to->format == NULL ||
        ArrowSchemaViewInit(&a, from, NULL) != NANOARROW_OK ||
        ArrowSchemaViewInit(&b, to, NULL) != NANOARROW_OK)
        return false;
    switch (a.type) {
    case NANOARROW_TYPE_STRING:
        return b.type == NANOARROW_TYPE_LARGE_STRING;
    case NANOARROW_TYPE_BINARY:
        return b.type == NANOARROW_TYPE_LARGE_BINARY;
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        return is_wider_decimal(&a, &b);
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
    case NANOARROW_TYPE_STRUCT:
    case NANOARROW_TYPE_MAP:
        return is_wider_nested(from, to);
    default:
        return is_wider_number(a.type, b.type) || is_wider_time(&a, &b);
    }
}
