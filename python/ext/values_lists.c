/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of values: their items are laid end to end and built as one array. Rows that are arrays of
 * the very type, as numpy's, are copied as bytes; the first that is not sends all rows the other
 * way.
 */
#include <string.h>

#include "values_build.h"

/* Wrong items of the lists: (index of the item, text) become (index of the row, text). */
static int map_wrong(PyObject *inner, const int64_t *starts, int64_t count, PyObject *wrong)
{
    for (Py_ssize_t w = 0; w < PyList_Size(inner); w++) {
        long long item;
        PyObject *text, *entry;
        int64_t low = 0, high = count;
        int failed;

        if (!PyArg_ParseTuple(PyList_GetItem(inner, w), "LO", &item, &text))
            return -1;
        while (high - low > 1) {
            int64_t middle = low + (high - low) / 2;

            if (starts[middle] <= item)
                low = middle;
            else
                high = middle;
        }
        entry = Py_BuildValue("(LN)", (long long)low,
                              PyUnicode_FromFormat("item %lld: %U", item - starts[low], text));
        failed = entry == NULL || PyList_Append(wrong, entry) < 0;
        Py_XDECREF(entry);
        if (failed)
            return -1;
    }
    return 0;
}

static const char *buffer_format(const struct ArrowSchema *item)
{
    static const char *const names[][2] = {
        { "c", "b" }, { "C", "B" }, { "s", "h" }, { "S", "H" }, { "i", "i" }, { "I", "I" },
        { "l", "l" }, { "L", "L" }, { "e", "e" }, { "f", "f" }, { "g", "d" },
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(item->format, names[i][0]) == 0)
            return names[i][1];
    }
    return NULL;
}

/*
 * Lists that are arrays of the very type, as numpy's, are copied whole. 1: appended; 0: it is
 * another value; -1: failed.
 */
static int append_view(struct growing *out, const char *format, PyObject *value)
{
    Py_buffer view;
    int same, failed;

    if (format == NULL || PyList_Check(value) || PyTuple_Check(value) || PyBytes_Check(value) ||
        !PyObject_CheckBuffer(value))
        return 0;
    if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return 0;
    }
    same = view.ndim == 1 && view.format != NULL && strcmp(view.format, format) == 0;
    failed = same ? grow(out, view.buf, (size_t)view.len) : 0;
    PyBuffer_Release(&view);
    return failed < 0 ? -1 : same;
}

/* Lists on their way into an array. */
struct lists {
    const struct ArrowSchema *schema;
    const struct value_type *type;
    PyObject *list, *wrong;
    int64_t *starts; /* of each row among the items; one more than rows */
};

static int lists_reject(const struct lists *in, struct ArrowArray *array, int64_t i,
                        PyObject *value)
{
    return reject(array, in->wrong, i, value, in->schema);
}

/* Where the items of row i end, after `count` of them; a fixed-size list that has another number
   is wrong. Returns 1 when it is right. */
static int lists_fit(const struct lists *in, int64_t i, int64_t count)
{
    if (in->type->kind == VALUE_FIXED_LIST && count != in->type->count) {
        PyErr_Format(PyExc_ValueError, "it has %lld items, not %lld", (long long)count,
                     (long long)in->type->count);
        return 0;
    }
    in->starts[i + 1] = in->starts[i] + count;
    return 1;
}

static void pad_null(const struct lists *in, int64_t i)
{
    in->starts[i + 1] = in->starts[i] + (in->type->kind == VALUE_FIXED_LIST ? in->type->count : 0);
}

/* 1: all rows are arrays of the type, and `out` holds their items; 0: not; -1: failed. */
static int lists_from_views(const struct lists *in, struct ArrowArray *array, int item_bytes,
                            struct growing *out)
{
    const char *format = buffer_format(in->schema->children[0]);

    for (int64_t i = 0; i < array->length; i++) {
        PyObject *value = PyList_GetItem(in->list, (Py_ssize_t)i);
        size_t before = out->len;
        int put = value == Py_None ? 1 : append_view(out, format, value);

        if (put <= 0)
            return put;
        if (value != Py_None && lists_fit(in, i, (int64_t)(out->len - before) / item_bytes))
            continue;
        out->len = before;
        if (lists_reject(in, array, i, value) < 0)
            return -1;
        pad_null(in, i);
        while (out->len < (size_t)(in->starts[i + 1] * item_bytes)) {
            if (grow(out, "", 1) < 0)
                return -1;
        }
    }
    return 1;
}

/* Append the items of row i to `items`; what is not a list becomes null. */
static int lists_add(const struct lists *in, struct ArrowArray *array, int64_t i, PyObject *items)
{
    PyObject *value = PyList_GetItem(in->list, (Py_ssize_t)i);
    PyObject *row = NULL;

    if (value != Py_None && !PyUnicode_Check(value) && !PyBytes_Check(value)) {
        row = PyDict_Check(value) && in->type->kind == VALUE_MAP ? PyDict_Items(value)
              : PyDict_Check(value)                              ? NULL
                                                                 : PySequence_List(value);
        if (row == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Clear();
    }
    if (row != NULL && lists_fit(in, i, PyList_Size(row))) {
        int failed = PyList_SetSlice(items, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, row);

        Py_DECREF(row);
        return failed;
    }
    Py_XDECREF(row);
    if (lists_reject(in, array, i, value) < 0)
        return -1;
    pad_null(in, i);
    for (int64_t n = in->starts[i]; n < in->starts[i + 1]; n++) {
        if (PyList_Append(items, Py_None) < 0)
            return -1;
    }
    return 0;
}

static int lists_from_values(const struct lists *in, struct ArrowArray *array)
{
    PyObject *items = PyList_New(0), *inner = PyList_New(0);
    int result = -1;

    if (items == NULL || inner == NULL)
        goto done;
    for (int64_t i = 0; i < array->length; i++) {
        if (lists_add(in, array, i, items) < 0)
            goto done;
    }
    if (values_build(in->schema->children[0], items, inner, array->children[0]) == 0)
        result = map_wrong(inner, in->starts, array->length, in->wrong);
done:
    Py_XDECREF(items);
    Py_XDECREF(inner);
    return result;
}

/* Rows that were found wrong or null by the pass over views are looked at again by the other. */
static void forget_nulls(struct ArrowArray *array)
{
    struct made *made = array->private_data;

    PyMem_Free((void *)made->buffer[0]);
    made->buffer[0] = NULL;
    array->null_count = 0;
}

static int build_items(const struct lists *in, struct ArrowArray *array)
{
    struct growing out = { 0 };
    struct value_type item;
    Py_ssize_t wrong_before = PyList_Size(in->wrong);
    int put;

    if (value_type_of(in->schema->children[0], &item) < 0)
        return -1;
    put = buffer_format(in->schema->children[0]) != NULL
              ? lists_from_views(in, array, item.width, &out)
              : 0;
    if (put == 1) {
        struct ArrowArray *child = array->children[0];

        if (made_new(in->starts[array->length], 2, 0, child) == 0) {
            ((struct made *)child->private_data)->buffer[1] = out.bytes;
            return out.bytes != NULL || made_buffer(child, 1, 0) != NULL ? 0 : -1;
        }
        put = -1;
    }
    PyMem_Free(out.bytes);
    if (put < 0)
        return -1;
    forget_nulls(array);
    if (PyList_SetSlice(in->wrong, wrong_before, PY_SSIZE_T_MAX, NULL) < 0)
        return -1;
    return lists_from_values(in, array);
}

int build_lists(const struct ArrowSchema *schema, const struct value_type *type, PyObject *list,
                PyObject *wrong, struct ArrowArray *array)
{
    const int64_t count = array->length;
    struct lists in = { schema, type, list, wrong, NULL };
    uint8_t *offsets;
    int result = -1;

    in.starts = PyMem_Calloc((size_t)count + 1, sizeof *in.starts);
    if (in.starts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (build_items(&in, array) < 0)
        goto done;
    if (type->kind != VALUE_FIXED_LIST) {
        if (type->width == 4 && in.starts[count] > INT32_MAX) {
            too_long(schema);
            goto done;
        }
        offsets = made_buffer(array, 1, ((size_t)count + 1) * (size_t)type->width);
        if (offsets == NULL)
            goto done;
        for (int64_t i = 0; i <= count; i++)
            put_offset(offsets, type->width, i, (size_t)in.starts[i]);
    }
    result = 0;
done:
    PyMem_Free(in.starts);
    return result;
}
