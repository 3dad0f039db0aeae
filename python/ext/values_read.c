/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "values.h"

static int is_time(const char *format)
{
    return format[0] == 't' && strchr("dtsD", format[1]) != NULL && format[1] != '\0';
}

/* Dates in days and times of second and millisecond have 4 bytes. */
static int time_width(const char *format)
{
    return strcmp(format, "tdD") == 0 || strcmp(format, "tts") == 0 || strcmp(format, "ttm") == 0
               ? 4
               : 8;
}

/* Types of one letter. */
static int simple_type(char letter, struct value_type *type_out)
{
    static const struct {
        char letter;
        struct value_type type;
    } types[] = {
        { 'n', { VALUE_NULL, 0, 0 } },  { 'b', { VALUE_BOOL, 0, 0 } },
        { 'c', { VALUE_INT, 1, 0 } },   { 'C', { VALUE_UINT, 1, 0 } },
        { 's', { VALUE_INT, 2, 0 } },   { 'S', { VALUE_UINT, 2, 0 } },
        { 'i', { VALUE_INT, 4, 0 } },   { 'I', { VALUE_UINT, 4, 0 } },
        { 'l', { VALUE_INT, 8, 0 } },   { 'L', { VALUE_UINT, 8, 0 } },
        { 'e', { VALUE_BOXED, 2, 0 } }, { 'f', { VALUE_FLOAT, 4, 0 } },
        { 'g', { VALUE_FLOAT, 8, 0 } }, { 'u', { VALUE_TEXT, 4, 0 } },
        { 'U', { VALUE_TEXT, 8, 0 } },  { 'z', { VALUE_BYTES, 4, 0 } },
        { 'Z', { VALUE_BYTES, 8, 0 } },
    };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].letter == letter) {
            *type_out = types[i].type;
            return 0;
        }
    }
    return -1;
}

/* Decimals name their bits last: "d:38,10" has 128, "d:38,10,256" has 256. */
static int decimal_width(const char *format)
{
    const char *bits = strchr(format, ',');

    bits = bits != NULL ? strchr(bits + 1, ',') : NULL;
    return bits != NULL ? atoi(bits + 1) / 8 : 16;
}

static int type_read(const char *format, struct value_type *type_out)
{
    if (format[0] != '\0' && format[1] == '\0')
        return simple_type(format[0], type_out);
    if (strncmp(format, "w:", 2) == 0)
        *type_out = (struct value_type){ VALUE_FIXED_BYTES, atoi(format + 2), 0 };
    else if (strncmp(format, "d:", 2) == 0)
        *type_out = (struct value_type){ VALUE_BOXED, decimal_width(format), 0 };
    else if (is_time(format))
        *type_out = (struct value_type){ VALUE_NUMBER, time_width(format), 0 };
    else if (strcmp(format, "+l") == 0)
        *type_out = (struct value_type){ VALUE_LIST, 4, 0 };
    else if (strcmp(format, "+L") == 0)
        *type_out = (struct value_type){ VALUE_LIST, 8, 0 };
    else if (strncmp(format, "+w:", 3) == 0)
        *type_out = (struct value_type){ VALUE_FIXED_LIST, 0, strtoll(format + 3, NULL, 10) };
    else if (strcmp(format, "+s") == 0)
        *type_out = (struct value_type){ VALUE_STRUCT, 0, 0 };
    else if (strcmp(format, "+m") == 0)
        *type_out = (struct value_type){ VALUE_MAP, 4, 0 };
    else
        return -1;
    return 0;
}

int value_type_of(const struct ArrowSchema *schema, struct value_type *type_out)
{
    int64_t children = 0;

    *type_out = (struct value_type){ 0 };
    if (type_read(schema->format, type_out) < 0) {
        PyErr_Format(PyExc_TypeError, "column \"%s\": values of the type \"%s\" are not supported",
                     schema->name != NULL ? schema->name : "", schema->format);
        return -1;
    }
    if (type_out->kind == VALUE_LIST || type_out->kind == VALUE_FIXED_LIST ||
        type_out->kind == VALUE_MAP)
        children = 1;
    else if (type_out->kind == VALUE_STRUCT)
        children = schema->n_children;
    if (schema->n_children != children || type_out->width < 0 || type_out->count < 0) {
        PyErr_Format(PyExc_ValueError, "column \"%s\": the type \"%s\" is not well formed",
                     schema->name != NULL ? schema->name : "", schema->format);
        return -1;
    }
    return 0;
}

PyObject *value_converter(const char *which, const struct ArrowSchema *schema)
{
    PyObject *module = PyImport_ImportModule("leman.values");
    PyObject *converter = NULL;

    if (module != NULL)
        converter = PyObject_CallMethod(module, which, "s", schema->format);
    Py_XDECREF(module);
    return converter;
}

static int64_t read_int(const uint8_t *data, int width, int64_t i)
{
    switch (width) {
    case 1:
        return ((const int8_t *)data)[i];
    case 2:
        return ((const int16_t *)data)[i];
    case 4:
        return ((const int32_t *)data)[i];
    default:
        return ((const int64_t *)data)[i];
    }
}

static uint64_t read_uint(const uint8_t *data, int width, int64_t i)
{
    switch (width) {
    case 1:
        return data[i];
    case 2:
        return ((const uint16_t *)data)[i];
    case 4:
        return ((const uint32_t *)data)[i];
    default:
        return ((const uint64_t *)data)[i];
    }
}

/* An array on its way to values. */
struct reading {
    const struct value_type *type;
    const struct ArrowArray *array;
    const uint8_t *data;    /* of fixed width, or the bytes that offsets point into */
    const uint8_t *offsets; /* text and bytes */
    PyObject *converter;    /* VALUE_NUMBER, VALUE_BOXED */
};

static PyObject *read_sized(const struct reading *in, int64_t i)
{
    int64_t from = read_int(in->offsets, in->type->width, i);
    int64_t len = read_int(in->offsets, in->type->width, i + 1) - from;
    const char *bytes = (const char *)in->data + from;

    if (in->type->kind == VALUE_TEXT)
        return PyUnicode_FromStringAndSize(bytes, (Py_ssize_t)len);
    return PyBytes_FromStringAndSize(bytes, (Py_ssize_t)len);
}

static PyObject *read_converted(const struct reading *in, int64_t i)
{
    const char *bytes = (const char *)in->data + i * in->type->width;
    PyObject *stored, *value;

    stored = in->type->kind == VALUE_NUMBER
                 ? PyLong_FromLongLong(read_int(in->data, in->type->width, i))
                 : PyBytes_FromStringAndSize(bytes, in->type->width);
    if (stored == NULL)
        return NULL;
    value = PyObject_CallFunctionObjArgs(in->converter, stored, NULL);
    Py_DECREF(stored);
    return value;
}

/* A value that is not null and has no children; i counts with the offset. */
static PyObject *read_flat(const struct reading *in, int64_t i)
{
    const struct value_type *type = in->type;

    switch (type->kind) {
    case VALUE_BOOL:
        return PyBool_FromLong(in->data[i >> 3] >> (i & 7) & 1);
    case VALUE_INT:
        return PyLong_FromLongLong(read_int(in->data, type->width, i));
    case VALUE_UINT:
        return PyLong_FromUnsignedLongLong(read_uint(in->data, type->width, i));
    case VALUE_FLOAT:
        return PyFloat_FromDouble(type->width == 4 ? (double)((const float *)in->data)[i]
                                                   : ((const double *)in->data)[i]);
    case VALUE_FIXED_BYTES:
        return PyBytes_FromStringAndSize((const char *)in->data + i * type->width, type->width);
    case VALUE_TEXT:
    case VALUE_BYTES:
        return read_sized(in, i);
    case VALUE_NUMBER:
    case VALUE_BOXED:
        return read_converted(in, i);
    default:
        return Py_NewRef(Py_None);
    }
}

static PyObject *read_flat_column(const struct ArrowSchema *schema, const struct value_type *type,
                                  const struct ArrowArray *array, int64_t start, int64_t count)
{
    const int sized = type->kind == VALUE_TEXT || type->kind == VALUE_BYTES;
    const uint8_t *valid = array->n_buffers > 0 ? array->buffers[0] : NULL;
    struct reading in = { .type = type, .array = array };
    PyObject *list = PyList_New((Py_ssize_t)count);

    if (sized)
        in.offsets = array->buffers[1];
    if (type->kind != VALUE_NULL)
        in.data = array->buffers[sized ? 2 : 1];
    if (list != NULL && (type->kind == VALUE_NUMBER || type->kind == VALUE_BOXED)) {
        in.converter = value_converter("reader", schema);
        if (in.converter == NULL)
            Py_CLEAR(list);
    }
    start += array->offset;
    for (int64_t i = 0; list != NULL && i < count; i++) {
        PyObject *value = type->kind != VALUE_NULL && value_is_valid(valid, start + i)
                              ? read_flat(&in, start + i)
                              : Py_NewRef(Py_None);

        if (value == NULL)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, (Py_ssize_t)i, value);
    }
    Py_XDECREF(in.converter);
    return list;
}

/* Where the items of row i, counted with the offset, begin in the child. */
static int64_t item_start(const struct value_type *type, const struct ArrowArray *array, int64_t i)
{
    if (type->kind == VALUE_FIXED_LIST)
        return i * type->count;
    return read_int(array->buffers[1], type->width, i);
}

/* Lists, and maps as lists of their entries. */
static PyObject *read_lists(const struct ArrowSchema *schema, const struct value_type *type,
                            const struct ArrowArray *array, int64_t start, int64_t count)
{
    const uint8_t *valid = array->buffers[0];
    int64_t first, last;
    PyObject *list, *items;

    start += array->offset;
    first = count > 0 ? item_start(type, array, start) : 0;
    last = count > 0 ? item_start(type, array, start + count) : 0;
    items = values_read(schema->children[0], array->children[0], first, last - first);
    list = items != NULL ? PyList_New((Py_ssize_t)count) : NULL;
    for (int64_t i = 0; list != NULL && i < count; i++) {
        int64_t from = item_start(type, array, start + i) - first;
        int64_t to = item_start(type, array, start + i + 1) - first;
        PyObject *value = value_is_valid(valid, start + i)
                              ? PyList_GetSlice(items, (Py_ssize_t)from, (Py_ssize_t)to)
                              : Py_NewRef(Py_None);

        if (value == NULL)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, (Py_ssize_t)i, value);
    }
    Py_XDECREF(items);
    return list;
}

/* A row of structs, as a dict. */
static PyObject *struct_value(PyObject *columns, PyObject *names, int64_t i)
{
    PyObject *dict = PyDict_New();

    for (Py_ssize_t c = 0; dict != NULL && c < PyTuple_Size(names); c++) {
        PyObject *value = PyList_GetItem(PyTuple_GetItem(columns, c), (Py_ssize_t)i);

        if (value == NULL || PyDict_SetItem(dict, PyTuple_GetItem(names, c), value) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

/* Each field as a list, and its name. -1 on failure. */
static int read_fields(const struct ArrowSchema *schema, const struct ArrowArray *array,
                       int64_t start, int64_t count, PyObject *columns, PyObject *names)
{
    for (int64_t c = 0; c < schema->n_children; c++) {
        const struct ArrowSchema *child = schema->children[c];
        PyObject *column = values_read(child, array->children[c], start, count);
        PyObject *name = PyUnicode_InternFromString(child->name != NULL ? child->name : "");

        if (column != NULL)
            PyTuple_SetItem(columns, (Py_ssize_t)c, column);
        if (name != NULL)
            PyTuple_SetItem(names, (Py_ssize_t)c, name);
        if (column == NULL || name == NULL)
            return -1;
    }
    return 0;
}

static PyObject *read_structs(const struct ArrowSchema *schema, const struct ArrowArray *array,
                              int64_t start, int64_t count)
{
    const uint8_t *valid = array->n_buffers > 0 ? array->buffers[0] : NULL;
    PyObject *columns = PyTuple_New((Py_ssize_t)schema->n_children);
    PyObject *names = PyTuple_New((Py_ssize_t)schema->n_children);
    PyObject *list = NULL;

    start += array->offset;
    if (columns != NULL && names != NULL &&
        read_fields(schema, array, start, count, columns, names) == 0)
        list = PyList_New((Py_ssize_t)count);
    for (int64_t i = 0; list != NULL && i < count; i++) {
        PyObject *value = value_is_valid(valid, start + i) ? struct_value(columns, names, i)
                                                           : Py_NewRef(Py_None);

        if (value == NULL)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, (Py_ssize_t)i, value);
    }
    Py_XDECREF(columns);
    Py_XDECREF(names);
    return list;
}

/* Values of a dictionary, by index. */
static PyObject *read_dictionary(const struct ArrowSchema *schema, const struct value_type *type,
                                 const struct ArrowArray *array, int64_t start, int64_t count)
{
    PyObject *indices = read_flat_column(schema, type, array, start, count);
    PyObject *words = values_read(schema->dictionary, array->dictionary, 0,
                                  array->dictionary->length);
    PyObject *list = indices != NULL && words != NULL ? PyList_New((Py_ssize_t)count) : NULL;

    for (Py_ssize_t i = 0; list != NULL && i < (Py_ssize_t)count; i++) {
        PyObject *index = PyList_GetItem(indices, i);
        PyObject *value = Py_None;

        if (index != Py_None)
            value = PyList_GetItem(words, PyLong_AsSsize_t(index));
        if (value == NULL)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, Py_NewRef(value));
    }
    Py_XDECREF(indices);
    Py_XDECREF(words);
    return list;
}

PyObject *values_read(const struct ArrowSchema *schema, const struct ArrowArray *array,
                      int64_t start, int64_t count)
{
    struct value_type type;

    if (value_type_of(schema, &type) < 0)
        return NULL;
    if (schema->dictionary != NULL && array->dictionary != NULL)
        return read_dictionary(schema, &type, array, start, count);
    switch (type.kind) {
    case VALUE_LIST:
    case VALUE_FIXED_LIST:
    case VALUE_MAP:
        return read_lists(schema, &type, array, start, count);
    case VALUE_STRUCT:
        return read_structs(schema, array, start, count);
    default:
        return read_flat_column(schema, &type, array, start, count);
    }
}
