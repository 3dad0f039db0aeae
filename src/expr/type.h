/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type.h - the type of an expression's value, and how such values lie in memory while they are
 * computed.
 */
#ifndef LMN_EXPR_TYPE_H
#define LMN_EXPR_TYPE_H

#include <stdbool.h>

#include <leman/arrow_abi.h>

#include "base/arena.h"
#include "expr/syntax.h"

enum lmn__kind {
    LMN__KIND_NULL,
    LMN__KIND_BOOL,
    LMN__KIND_I8,
    LMN__KIND_I16,
    LMN__KIND_I32,
    LMN__KIND_I64,
    LMN__KIND_U8,
    LMN__KIND_U16,
    LMN__KIND_U32,
    LMN__KIND_U64,
    LMN__KIND_F16,
    LMN__KIND_F32,
    LMN__KIND_F64,
    LMN__KIND_DECIMAL, /* of `width` 16 or 32 bytes */
    LMN__KIND_STRING,
    LMN__KIND_BINARY,
    LMN__KIND_FIXED_BINARY,
    LMN__KIND_DATE32,
    LMN__KIND_DATE64,
    LMN__KIND_TIME32,
    LMN__KIND_TIME64,
    LMN__KIND_TIMESTAMP,
    LMN__KIND_DURATION,
    LMN__KIND_INTERVAL, /* months, days and nanoseconds */
    LMN__KIND_LIST,     /* also of fixed size, and maps */
    LMN__KIND_STRUCT
};

enum lmn__unit { LMN__UNIT_S, LMN__UNIT_MS, LMN__UNIT_US, LMN__UNIT_NS };

struct lmn__type {
    enum lmn__kind kind;
    enum lmn__unit unit;              /* TIME32 to DURATION */
    bool large;                       /* STRING, BINARY: 64-bit offsets */
    int32_t width;                    /* FIXED_BINARY, DECIMAL: bytes of a value */
    int32_t precision, scale;         /* DECIMAL */
    const char *zone;                 /* TIMESTAMP: NULL without */
    const struct ArrowSchema *schema; /* LIST, STRUCT: borrowed; NULL for a list as written */
};

/*
 * How values lie in memory while they are computed: halves as floats, decimals as 256-bit
 * integers, strings and binaries as spans, nested values as slots of an Arrow array.
 */
enum lmn__form {
    LMN__FORM_NULL,
    LMN__FORM_BITS,
    LMN__FORM_I8,
    LMN__FORM_I16,
    LMN__FORM_I32,
    LMN__FORM_I64,
    LMN__FORM_U8,
    LMN__FORM_U16,
    LMN__FORM_U32,
    LMN__FORM_U64,
    LMN__FORM_F32,
    LMN__FORM_F64,
    LMN__FORM_WIDE,
    LMN__FORM_SPAN,
    LMN__FORM_SLOT,
    LMN__FORM_INTERVAL
};

/* The number forms with their C types, for kernels that are written once. */
#define LMN__INTEGER_FORMS(X)                                                                      \
    X(I8, int8_t)                                                                                  \
    X(I16, int16_t)                                                                                \
    X(I32, int32_t)                                                                                \
    X(I64, int64_t)                                                                                \
    X(U8, uint8_t)                                                                                 \
    X(U16, uint16_t)                                                                               \
    X(U32, uint32_t)                                                                               \
    X(U64, uint64_t)
#define LMN__FLOAT_FORMS(X)                                                                        \
    X(F32, float)                                                                                  \
    X(F64, double)

/* Has the integer type T numbers below zero? */
#define LMN__IS_SIGNED(T) ((T) - 1 < (T)1)

static inline struct lmn__type lmn__type_plain(enum lmn__kind kind)
{
    return (struct lmn__type){ .kind = kind };
}

enum lmn__form lmn__type_form(const struct lmn__type *type);

/* Bytes of one value in its form; 0 for bits and nulls. */
uint32_t lmn__form_bytes(enum lmn__form form);

static inline bool lmn__type_is_integer(const struct lmn__type *type)
{
    return type->kind >= LMN__KIND_I8 && type->kind <= LMN__KIND_U64;
}

static inline bool lmn__type_is_float(const struct lmn__type *type)
{
    return type->kind >= LMN__KIND_F16 && type->kind <= LMN__KIND_F64;
}

static inline bool lmn__type_is_number(const struct lmn__type *type)
{
    return type->kind >= LMN__KIND_I8 && type->kind <= LMN__KIND_DECIMAL;
}

static inline bool lmn__type_is_unsigned(const struct lmn__type *type)
{
    return type->kind >= LMN__KIND_U8 && type->kind <= LMN__KIND_U64;
}

static inline bool lmn__type_is_bytes(const struct lmn__type *type)
{
    return type->kind >= LMN__KIND_STRING && type->kind <= LMN__KIND_FIXED_BINARY;
}

/* DATE32 to DURATION. */
static inline bool lmn__type_is_time(const struct lmn__type *type)
{
    return type->kind >= LMN__KIND_DATE32 && type->kind <= LMN__KIND_DURATION;
}

/* Do values of both have the same meaning in the same form? 32 or 64-bit offsets do not count. */
bool lmn__type_same(const struct lmn__type *a, const struct lmn__type *b);

/*
 * The type of a column, or of the values of a dictionary. The schema must live on.
 *
 * LMN_E_UNSUPPORTED  a type that is not evaluated: unions, run-end encoding
 */
LMN_MUST_USE enum lmn_status lmn__type_from_schema(const struct ArrowSchema *schema,
                                                   struct lmn__type *type_out,
                                                   struct lmn_error *err);

/* The Arrow type of results; the caller releases it. */
LMN_MUST_USE enum lmn_status lmn__type_to_schema(const struct lmn__type *type,
                                                 struct ArrowSchema *schema_out,
                                                 struct lmn_error *err);

/* Neither dictionaries nor views inside: results of nested types hold none. */
bool lmn__type_is_plain(const struct lmn__type *type);

/* The type of a name in a cast; false when there is none of that name. */
bool lmn__type_from_name(const struct lmn__type_name *name, struct lmn__type *type_out);

enum { LMN__TYPE_TEXT_BYTES = 80 };

/* For messages, e.g. "timestamp[us, UTC]". Returns `text_out`. */
const char *lmn__type_text(const struct lmn__type *type, char text_out[LMN__TYPE_TEXT_BYTES]);

/* Units per second: 1, 1000, ... */
int64_t lmn__unit_rate(enum lmn__unit unit);

#endif
