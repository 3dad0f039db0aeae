/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of Python values becomes an array column by column: values without children go straight
 * into the buffer, lists are laid end to end and structs taken apart first. What does not fit
 * becomes null and is named by its index; whoever cut the values out of a list or a struct maps
 * that index to the one of the row.
 */
#include <string.h>

#include "values_build.h"

static void made_release(struct ArrowArray *array)
{
    struct made *made = array->private_data;
    PyGILState_STATE lock = PyGILState_Ensure();

    for (int64_t i = 0; i < array->n_children; i++) {
        if (made->child[i].release != NULL)
            made->child[i].release(&made->child[i]);
    }
    for (int i = 0; i < BUFFERS_MAX; i++)
        PyMem_Free((void *)made->buffer[i]);
    PyMem_Free(made->child);
    PyMem_Free(made->child_list);
    PyMem_Free(made);
    array->release = NULL;
    PyGILState_Release(lock);
}

/* An array of `length` rows, all valid, whose children are to be filled in. -1 on failure. */
int made_new(int64_t length, int64_t buffers, int64_t children, struct ArrowArray *array_out)
{
    struct made *made = PyMem_Calloc(1, sizeof *made);

    *array_out = (struct ArrowArray){ 0 };
    if (made == NULL)
        goto no_memory;
    made->child = PyMem_Calloc((size_t)children + 1, sizeof *made->child);
    made->child_list = PyMem_Calloc((size_t)children + 1, sizeof *made->child_list);
    if (made->child == NULL || made->child_list == NULL) {
        PyMem_Free(made->child);
        PyMem_Free(made->child_list);
        PyMem_Free(made);
        goto no_memory;
    }
    for (int64_t i = 0; i < children; i++)
        made->child_list[i] = &made->child[i];
    *array_out = (struct ArrowArray){ .length = length,
                                      .n_buffers = buffers,
                                      .n_children = children,
                                      .buffers = made->buffer,
                                      .children = made->child_list,
                                      .release = made_release,
                                      .private_data = made };
    return 0;
no_memory:
    PyErr_NoMemory();
    return -1;
}

/* A zeroed buffer of the array. NULL: an exception is set. */
void *made_buffer(struct ArrowArray *array, int which, size_t bytes)
{
    void *buffer = PyMem_Calloc(1, bytes + 64);

    ((struct made *)array->private_data)->buffer[which] = buffer;
    if (buffer == NULL)
        PyErr_NoMemory();
    return buffer;
}

/* Make row i null; the bits are made when the first one is. -1 on failure. */
static int set_null(struct ArrowArray *array, int64_t i)
{
    size_t bytes = ((size_t)array->length + 7) / 8;
    uint8_t *bits = (uint8_t *)array->buffers[0];

    if (bits == NULL) {
        bits = made_buffer(array, 0, bytes);
        if (bits == NULL)
            return -1;
        memset(bits, 0xFF, bytes);
    }
    bits[i >> 3] &= (uint8_t)~(1U << (i & 7));
    array->null_count++;
    return 0;
}

/* The text of what is wrong with a value; an exception that is set is its reason. NULL: failed. */
static PyObject *wrong_text(PyObject *value, PyObject *wanted, PyObject *reason)
{
    PyObject *shown = PyObject_Repr(value), *kind = PyType_GetName(Py_TYPE(value));
    PyObject *text = NULL;

    if (shown == NULL) {
        PyErr_Clear();
        shown = PyUnicode_FromString("a value");
    }
    if (shown != NULL && kind != NULL && reason != NULL)
        text = PyUnicode_FromFormat("%.80U (%U) is not of the type %U: %S", shown, kind, wanted,
                                    reason);
    else if (shown != NULL && kind != NULL)
        text = PyUnicode_FromFormat("%.80U (%U) is not of the type %U", shown, kind, wanted);
    Py_XDECREF(shown);
    Py_XDECREF(kind);
    return text;
}

/* What people call a type. */
static PyObject *type_name(const struct ArrowSchema *schema)
{
    PyObject *module = PyImport_ImportModule("leman.values");
    PyObject *spec = schema_spec(schema);
    PyObject *name = NULL;

    if (module != NULL && spec != NULL)
        name = PyObject_CallMethod(module, "type_name", "(O)", spec);
    Py_XDECREF(module);
    Py_XDECREF(spec);
    return name;
}

/* A value is not of its type: remember that, with the exception that is set, if there is one. */
static int add_wrong(PyObject *wrong, int64_t i, PyObject *value, const struct ArrowSchema *schema)
{
    PyObject *type, *reason, *trace, *wanted, *text = NULL, *entry = NULL;
    int failed;

    PyErr_Fetch(&type, &reason, &trace);
    if (type != NULL && !PyErr_GivenExceptionMatches(type, PyExc_Exception)) {
        PyErr_Restore(type, reason, trace);
        return -1;
    }
    wanted = type_name(schema);
    if (wanted != NULL)
        text = wrong_text(value, wanted, reason);
    if (text != NULL)
        entry = Py_BuildValue("(LN)", (long long)i, text);
    failed = entry == NULL || PyList_Append(wrong, entry) < 0;
    Py_XDECREF(type);
    Py_XDECREF(reason);
    Py_XDECREF(trace);
    Py_XDECREF(wanted);
    Py_XDECREF(entry);
    return failed ? -1 : 0;
}

/* A value is null or wrong. */
int reject(struct ArrowArray *array, PyObject *wrong, int64_t i, PyObject *value,
           const struct ArrowSchema *schema)
{
    if (set_null(array, i) < 0)
        return -1;
    return value == Py_None ? 0 : add_wrong(wrong, i, value, schema);
}

static int put_signed(uint8_t *to, int width, long long number)
{
    const long long high = width == 8 ? INT64_MAX : (1LL << (8 * width - 1)) - 1;

    if (number > high || number < -high - 1) {
        PyErr_Format(PyExc_OverflowError, "it does not fit %d bits", 8 * width);
        return -1;
    }
    memcpy(to, &number, (size_t)width); /* little-endian, as all of Arrow here */
    return 0;
}

static int put_unsigned(uint8_t *to, int width, PyObject *number)
{
    unsigned long long bits = PyLong_AsUnsignedLongLong(number);

    if (PyErr_Occurred())
        return -1;
    if (width < 8 && bits >> (8 * width) != 0) {
        PyErr_Format(PyExc_OverflowError, "it does not fit %d bits", 8 * width);
        return -1;
    }
    memcpy(to, &bits, (size_t)width);
    return 0;
}

/* Ints, and what stands for one: numpy's, and bools not. -1: not a number that fits. */
static int put_int(uint8_t *to, const struct value_type *type, PyObject *value)
{
    PyObject *number;
    long long bits;
    int result;

    if (PyBool_Check(value))
        return -1;
    if (PyLong_Check(value) && type->kind == VALUE_INT) {
        bits = PyLong_AsLongLong(value);
        return bits == -1 && PyErr_Occurred() ? -1 : put_signed(to, type->width, bits);
    }
    if (!PyIndex_Check(value))
        return -1;
    number = PyNumber_Index(value);
    if (number == NULL)
        return -1;
    if (type->kind == VALUE_UINT) {
        result = put_unsigned(to, type->width, number);
    } else {
        bits = PyLong_AsLongLong(number);
        result = bits == -1 && PyErr_Occurred() ? -1 : put_signed(to, type->width, bits);
    }
    Py_DECREF(number);
    return result;
}

static int put_float(uint8_t *to, const struct value_type *type, PyObject *value)
{
    double number;
    float small;

    if (PyUnicode_Check(value) || PyBytes_Check(value) || PyBool_Check(value))
        return -1;
    number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Clear(); /* "must be real number" says less than the message made of it */
        return -1;
    }
    small = (float)number;
    if (type->width == 4)
        memcpy(to, &small, sizeof small);
    else
        memcpy(to, &number, sizeof number);
    return 0;
}

/* 0 or 1; -1 for what is not a bool of Python or numpy. */
static int bool_of(PyObject *value)
{
    PyObject *name;
    int like;

    if (PyBool_Check(value))
        return value == Py_True;
    name = PyType_GetName(Py_TYPE(value));
    if (name == NULL)
        return -1;
    like = PyUnicode_CompareWithASCIIString(name, "bool") == 0 ||
           PyUnicode_CompareWithASCIIString(name, "bool_") == 0;
    Py_DECREF(name);
    return like ? PyObject_IsTrue(value) : -1;
}

/* Values that leman.values turns into a number or bytes. */
static int put_converted(uint8_t *to, const struct value_type *type, PyObject *converter,
                         PyObject *value)
{
    PyObject *stored = PyObject_CallFunctionObjArgs(converter, value, NULL);
    Py_ssize_t len;
    char *bytes;
    int result = -1;

    if (stored == NULL)
        return -1;
    if (type->kind == VALUE_NUMBER) {
        long long number = PyLong_AsLongLong(stored);

        if (number != -1 || !PyErr_Occurred())
            result = put_signed(to, type->width, number);
    } else if (PyBytes_AsStringAndSize(stored, &bytes, &len) == 0 && len == type->width) {
        memcpy(to, bytes, (size_t)len);
        result = 0;
    }
    Py_DECREF(stored);
    return result;
}

static int put_fixed_bytes(uint8_t *to, int width, PyObject *value)
{
    Py_buffer view;
    int result = -1;

    if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS) < 0) {
        PyErr_Clear();
        return -1;
    }
    if (view.len == width) {
        memcpy(to, view.buf, (size_t)width);
        result = 0;
    } else {
        PyErr_Format(PyExc_ValueError, "it has %zd bytes", view.len);
    }
    PyBuffer_Release(&view);
    return result;
}

static int put_fixed(uint8_t *data, int64_t i, const struct value_type *type, PyObject *converter,
                     PyObject *value)
{
    uint8_t *to = data + i * type->width;
    int bit;

    switch (type->kind) {
    case VALUE_BOOL:
        bit = bool_of(value);
        if (bit > 0)
            data[i >> 3] |= (uint8_t)(1U << (i & 7));
        return bit < 0 ? -1 : 0;
    case VALUE_INT:
    case VALUE_UINT:
        return put_int(to, type, value);
    case VALUE_FLOAT:
        return put_float(to, type, value);
    case VALUE_FIXED_BYTES:
        return put_fixed_bytes(to, type->width, value);
    case VALUE_NUMBER:
    case VALUE_BOXED:
        return put_converted(to, type, converter, value);
    default:
        return -1;
    }
}

static int build_fixed(const struct ArrowSchema *schema, const struct value_type *type,
                       PyObject *list, PyObject *wrong, struct ArrowArray *array)
{
    const int64_t count = array->length;
    size_t bytes = type->kind == VALUE_BOOL ? ((size_t)count + 7) / 8
                                            : (size_t)count * (size_t)type->width;
    uint8_t *data = made_buffer(array, 1, bytes);
    PyObject *converter = NULL;
    int result = -1;

    if (data == NULL)
        return -1;
    if (type->kind == VALUE_NUMBER || type->kind == VALUE_BOXED) {
        converter = value_converter("writer", schema);
        if (converter == NULL)
            return -1;
    }
    for (int64_t i = 0; i < count; i++) {
        PyObject *value = PyList_GetItem(list, (Py_ssize_t)i);

        if ((value == Py_None || put_fixed(data, i, type, converter, value) < 0) &&
            reject(array, wrong, i, value, schema) < 0)
            goto done;
    }
    result = 0;
done:
    Py_XDECREF(converter);
    return result;
}

int grow(struct growing *out, const char *bytes, size_t len)
{
    if (len > out->room - out->len) {
        size_t room = (out->len + len) * 2 + 256;
        char *moved = PyMem_Realloc(out->bytes, room);

        if (moved == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        out->bytes = moved;
        out->room = room;
    }
    if (len > 0)
        memcpy(out->bytes + out->len, bytes, len);
    out->len += len;
    return 0;
}

/* 1: appended, 0: not text or bytes, -1: failed. */
static int append_sized(struct growing *out, const struct value_type *type, PyObject *value)
{
    Py_ssize_t len;
    const char *text;
    Py_buffer view;
    int failed;

    if (type->kind == VALUE_TEXT) {
        text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &len) : NULL;
        if (text == NULL)
            return 0;
        return grow(out, text, (size_t)len) < 0 ? -1 : 1;
    }
    if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS) < 0) {
        PyErr_Clear();
        return 0;
    }
    failed = grow(out, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return failed < 0 ? -1 : 1;
}

void put_offset(uint8_t *offsets, int width, int64_t i, size_t value)
{
    if (width == 4)
        ((int32_t *)offsets)[i] = (int32_t)value;
    else
        ((int64_t *)offsets)[i] = (int64_t)value;
}

int too_long(const struct ArrowSchema *schema)
{
    PyErr_Format(PyExc_ValueError,
                 "column \"%s\": one batch holds more than 2 GiB, more than its type allows; "
                 "a smaller batch_size helps, or large_string, large_binary, large_list",
                 schema->name != NULL ? schema->name : "");
    return -1;
}

static int build_sized(const struct ArrowSchema *schema, const struct value_type *type,
                       PyObject *list, PyObject *wrong, struct ArrowArray *array)
{
    const int64_t count = array->length;
    uint8_t *offsets = made_buffer(array, 1, ((size_t)count + 1) * (size_t)type->width);
    struct growing out = { 0 };
    int result = -1;

    if (offsets == NULL)
        return -1;
    for (int64_t i = 0; i < count; i++) {
        PyObject *value = PyList_GetItem(list, (Py_ssize_t)i);
        int put = value == Py_None ? 0 : append_sized(&out, type, value);

        if (put < 0 || (put == 0 && reject(array, wrong, i, value, schema) < 0))
            goto done;
        if (type->width == 4 && out.len > INT32_MAX) {
            too_long(schema);
            goto done;
        }
        put_offset(offsets, type->width, i + 1, out.len);
    }
    result = 0;
done:
    if (out.bytes == NULL)
        return result == 0 && made_buffer(array, 2, 0) == NULL ? -1 : result;
    ((struct made *)array->private_data)->buffer[2] = out.bytes;
    return result;
}

/* A new reference to a field of a value, by name or position; NULL where it has none. */
static PyObject *field_of(PyObject *value, const char *name, Py_ssize_t at, Py_ssize_t count)
{
    if (PyDict_Check(value)) {
        PyObject *item = PyDict_GetItemString(value, name);

        if (item == NULL)
            PyErr_Format(PyExc_KeyError, "it has no \"%s\"", name);
        return Py_XNewRef(item);
    }
    if (PyTuple_Check(value)) {
        if (PyTuple_Size(value) == count)
            return Py_NewRef(PyTuple_GetItem(value, at));
        PyErr_Format(PyExc_ValueError, "it has %zd fields, not %zd", PyTuple_Size(value), count);
        return NULL;
    }
    return PyObject_GetAttrString(value, name);
}

/* Take row i apart into one list per field; 0: it is null or wrong. -1 on failure. */
static int struct_take(const struct ArrowSchema *schema, PyObject *value, PyObject *columns,
                       int64_t i)
{
    Py_ssize_t count = (Py_ssize_t)schema->n_children;

    if (value == Py_None)
        return 0;
    if (PyDict_Check(value) && PyDict_Size(value) > count) {
        PyErr_Format(PyExc_ValueError, "it has %zd keys, not %zd", PyDict_Size(value), count);
        return 0;
    }
    for (Py_ssize_t c = 0; c < count; c++) {
        const char *name = schema->children[c]->name;
        PyObject *item = field_of(value, name != NULL ? name : "", c, count);

        if (item == NULL) {
            for (Py_ssize_t d = 0; d < c; d++)
                PyList_SetItem(PyTuple_GetItem(columns, d), (Py_ssize_t)i, Py_NewRef(Py_None));
            return 0;
        }
        PyList_SetItem(PyTuple_GetItem(columns, c), (Py_ssize_t)i, item);
    }
    return 1;
}

/* One list of Nones per field. */
static PyObject *empty_columns(Py_ssize_t fields, Py_ssize_t rows)
{
    PyObject *columns = PyTuple_New(fields);

    for (Py_ssize_t c = 0; columns != NULL && c < fields; c++) {
        PyObject *column = PyList_New(rows);

        if (column == NULL) {
            Py_CLEAR(columns);
            break;
        }
        for (Py_ssize_t i = 0; i < rows; i++)
            PyList_SetItem(column, i, Py_NewRef(Py_None));
        PyTuple_SetItem(columns, c, column);
    }
    return columns;
}

static int build_structs(const struct ArrowSchema *schema, PyObject *list, PyObject *wrong,
                         struct ArrowArray *array)
{
    PyObject *columns = empty_columns((Py_ssize_t)schema->n_children, (Py_ssize_t)array->length);
    int result = -1;

    if (columns == NULL)
        return -1;
    for (int64_t i = 0; i < array->length; i++) {
        PyObject *value = PyList_GetItem(list, (Py_ssize_t)i);
        int taken = struct_take(schema, value, columns, i);

        if (taken < 0 || (taken == 0 && reject(array, wrong, i, value, schema) < 0))
            goto done;
    }
    for (int64_t c = 0; c < schema->n_children; c++) {
        PyObject *column = PyTuple_GetItem(columns, (Py_ssize_t)c);

        if (values_build(schema->children[c], column, wrong, array->children[c]) < 0)
            goto done;
    }
    result = 0;
done:
    Py_DECREF(columns);
    return result;
}

/* Buffers that an array of the type has. */
static int buffer_count(const struct value_type *type)
{
    switch (type->kind) {
    case VALUE_NULL:
        return 0;
    case VALUE_FIXED_LIST:
    case VALUE_STRUCT:
        return 1;
    case VALUE_TEXT:
    case VALUE_BYTES:
        return 3;
    default:
        return 2;
    }
}

static int build(const struct ArrowSchema *schema, const struct value_type *type, PyObject *list,
                 PyObject *wrong, struct ArrowArray *array)
{
    switch (type->kind) {
    case VALUE_NULL:
        array->null_count = array->length;
        return 0;
    case VALUE_TEXT:
    case VALUE_BYTES:
        return build_sized(schema, type, list, wrong, array);
    case VALUE_LIST:
    case VALUE_FIXED_LIST:
    case VALUE_MAP:
        return build_lists(schema, type, list, wrong, array);
    case VALUE_STRUCT:
        return build_structs(schema, list, wrong, array);
    default:
        return build_fixed(schema, type, list, wrong, array);
    }
}

int values_build(const struct ArrowSchema *schema, PyObject *list, PyObject *wrong,
                 struct ArrowArray *array_out)
{
    struct value_type type;

    *array_out = (struct ArrowArray){ 0 };
    if (value_type_of(schema, &type) < 0)
        return -1;
    if (schema->dictionary != NULL) {
        PyErr_Format(PyExc_TypeError,
                     "column \"%s\": functions do not give dictionaries; "
                     "declare the type of their values",
                     schema->name);
        return -1;
    }
    if (made_new(PyList_Size(list), buffer_count(&type), schema->n_children, array_out) < 0)
        return -1;
    if (build(schema, &type, list, wrong, array_out) < 0) {
        array_out->release(array_out);
        return -1;
    }
    return 0;
}
