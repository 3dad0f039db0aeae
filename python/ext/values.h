/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.h - Arrow arrays as Python values, and back, for functions that see one row at a time.
 *
 * Columns become lists, one item per row, None for a null: a column at a time, so that a function
 * runs over them by map() and nothing is dispatched per value.
 */
#ifndef LEMAN_PYTHON_VALUES_H
#define LEMAN_PYTHON_VALUES_H

#include "core.h"

enum value_kind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_UINT,
    VALUE_FLOAT,
    VALUE_TEXT,
    VALUE_BYTES,
    VALUE_FIXED_BYTES,
    VALUE_LIST,
    VALUE_FIXED_LIST,
    VALUE_STRUCT,
    VALUE_MAP,
    VALUE_NUMBER, /* stored as a signed number; leman.values converts it: dates and times */
    VALUE_BOXED   /* stored as fixed bytes; leman.values converts them: decimals, half floats */
};

/* A type as its format letters say. */
struct value_type {
    enum value_kind kind;
    int width;     /* bytes per value; of an offset, for text, bytes, lists and maps */
    int64_t count; /* items of a fixed-size list */
};

/* The batch of two capsules: a struct array. -1 on failure. */
int batch_of(PyObject *schema, PyObject *array, const struct ArrowSchema **schema_out,
             const struct ArrowArray **array_out);

/* Memory of an array, which its capsule `owner` keeps. */
PyObject *buffer_new(PyObject *module, PyObject *owner, const void *bytes, int64_t len,
                     int read_only);

/* -1 and an exception: a type that functions cannot take or give. */
int value_type_of(const struct ArrowSchema *schema, struct value_type *type_out);

/* What leman.values converts values of `schema` by: "reader" or "writer". NULL on failure. */
PyObject *value_converter(const char *which, const struct ArrowSchema *schema);

/* Is row `i` of `array`, counted with its offset, not null? */
static inline int value_is_valid(const uint8_t *bits, int64_t i)
{
    return bits == NULL || (bits[i >> 3] >> (i & 7) & 1);
}

/* Rows [start, start + count) of an array as a list; start counts from the array's offset. */
PyObject *values_read(const struct ArrowSchema *schema, const struct ArrowArray *array,
                      int64_t start, int64_t count);

/*
 * The items of `list` as an array that its release() frees, from any thread. A value of another
 * type becomes null and adds (index, what is wrong) to the list `wrong`. -1 on failure.
 */
int values_build(const struct ArrowSchema *schema, PyObject *list, PyObject *wrong,
                 struct ArrowArray *array_out);

#endif
