/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a batch, for libraries that build on it: numbers, lists of numbers of a fixed size,
 * and bytes, each column one run of memory.
 */
#include <stdlib.h>
#include <string.h>

#include "values.h"

/* Where the values of a column lie. */
struct plain {
    const char *kind;   /* the letter of its values' Arrow format */
    int64_t width;      /* values of a list of fixed size; 0: the column is none */
    const char *values; /* NULL: the column is not plain */
    int64_t bytes;
    PyObject *sizes; /* of the rows, for bytes; else NULL */
};

static int width_of(const char *format)
{
    static const char letters[] = "cCsSeiIflLg";
    static const int width[] = { 1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 8 };
    const char *found = format[0] != '\0' && format[1] == '\0' ? strchr(letters, format[0]) : NULL;

    return found != NULL ? width[found - letters] : 0;
}

static int has_nulls(const struct ArrowArray *array)
{
    return array->null_count != 0 && array->buffers[0] != NULL;
}

static int64_t offset_at(const struct ArrowArray *array, int wide, int64_t i)
{
    i += array->offset;
    return wide ? ((const int64_t *)array->buffers[1])[i] : ((const int32_t *)array->buffers[1])[i];
}

/* Bytes of any length: their memory, and how much of it is each row's. -1 on failure. */
static int read_bytes(const struct ArrowArray *array, int wide, struct plain *plain)
{
    int64_t begin = offset_at(array, wide, 0), at = begin;

    plain->sizes = PyList_New((Py_ssize_t)array->length);
    for (int64_t i = 0; plain->sizes != NULL && i < array->length; i++) {
        int64_t end = offset_at(array, wide, i + 1);
        PyObject *size = PyLong_FromLongLong(end - at);

        if (size == NULL || PyList_SetItem(plain->sizes, (Py_ssize_t)i, size) < 0)
            return -1;
        at = end;
    }
    plain->kind = "C";
    plain->values = (const char *)array->buffers[2] + begin;
    plain->bytes = at - begin;
    return plain->sizes != NULL ? 0 : -1;
}

/* Numbers, `width` of them per row. */
static void read_numbers(const struct ArrowSchema *schema, const struct ArrowArray *array,
                         int64_t first, int64_t count, struct plain *plain)
{
    int bytes = width_of(schema->format);

    if (bytes == 0 || schema->dictionary != NULL || has_nulls(array))
        return;
    plain->kind = schema->format;
    plain->values = (const char *)array->buffers[1] + (array->offset + first) * bytes;
    plain->bytes = count * bytes;
}

/* -1 and an exception on failure; a column that is not plain is none. */
static int read_column(const struct ArrowSchema *schema, const struct ArrowArray *array,
                       struct plain *plain)
{
    const char *format = schema->format;

    *plain = (struct plain){ 0 };
    if (array->length == 0 || schema->dictionary != NULL || has_nulls(array))
        return 0;
    if (strcmp(format, "z") == 0 || strcmp(format, "Z") == 0)
        return read_bytes(array, format[0] == 'Z', plain);
    if (strncmp(format, "+w:", 3) == 0) {
        plain->width = strtoll(format + 3, NULL, 10);
        if (plain->width > 0)
            read_numbers(schema->children[0], array->children[0], array->offset * plain->width,
                         array->length * plain->width, plain);
        return 0;
    }
    read_numbers(schema, array, 0, array->length, plain);
    return 0;
}

/*
 * values_plain(schema, array): of each column its name, the letter of its values' Arrow format,
 * their memory, which may be written to, the values of a row of a list of fixed size (or 0), and
 * the sizes of rows of bytes (or None). None: a column is of another type, empty, or has nulls.
 */
PyObject *values_plain(PyObject *module, PyObject *args)
{
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    PyObject *schema_object, *array_object, *columns;

    if (!PyArg_ParseTuple(args, "OO", &schema_object, &array_object) ||
        batch_of(schema_object, array_object, &schema, &array) < 0)
        return NULL;
    columns = PyList_New(0);
    for (int64_t i = 0; columns != NULL && i < array->n_children; i++) {
        struct plain plain = { 0 };
        PyObject *column = NULL;
        int failed = read_column(schema->children[i], array->children[i], &plain);

        if (failed == 0 && (plain.values == NULL || plain.bytes == 0 || array->offset != 0)) {
            Py_XDECREF(plain.sizes);
            Py_DECREF(columns);
            Py_RETURN_NONE;
        }
        if (failed == 0)
            column = Py_BuildValue("(ssNLO)", schema->children[i]->name, plain.kind,
                                   buffer_new(module, array_object, plain.values, plain.bytes, 0),
                                   (long long)plain.width,
                                   plain.sizes != NULL ? plain.sizes : Py_None);
        if (column == NULL || PyList_Append(columns, column) < 0)
            Py_CLEAR(columns);
        Py_XDECREF(column);
        Py_XDECREF(plain.sizes);
    }
    return columns;
}
