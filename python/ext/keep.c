/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value of one row is a kind and bytes: None, booleans, 64-bit numbers, texts and bytes as they
 * are, everything else pickled. What cannot be pickled, or not be read again, is computed again.
 */
#include <string.h>

#include "keep.h"

enum kind {
    KIND_NONE,
    KIND_FALSE,
    KIND_TRUE,
    KIND_INT,
    KIND_FLOAT,
    KIND_TEXT,
    KIND_BYTES,
    KIND_PICKLE
};

static const char *const KEEPING = "leman.keeping";

static int forked; /* under the interpreter lock */

/* worker_forked(): this process is a fork of a function; what it shares is its parent's. */
PyObject *worker_forked(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    forked = 1;
    Py_RETURN_NONE;
}

/* A fork that comes back from the function has nothing more to do: its parent answers. */
static void end_fork(void)
{
    PyObject *os = PyImport_ImportModule("os");

    Py_XDECREF(os != NULL ? PyObject_CallMethod(os, "_exit", "i", 0) : NULL);
    Py_FatalError("a fork of a worker cannot end");
}

static struct keeping *keeping_of(PyObject *capsule)
{
    struct keeping *keeping = PyCapsule_GetPointer(capsule, KEEPING);

    if (forked)
        end_fork();
    if (keeping != NULL && keeping->call == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "no call is in progress");
        return NULL;
    }
    return keeping;
}

static void put(struct keeping *keeping, enum kind kind, const void *data, size_t len)
{
    const struct lmn_call *call = keeping->call;

    call->keep(call->keeper, keeping->row, (uint32_t)kind, data, len);
}

/* A value of another type; false: it is not kept. */
static int put_pickled(struct keeping *keeping, PyObject *value)
{
    PyObject *bytes = PyObject_CallFunctionObjArgs(keeping->dumps, value, NULL);
    char *data;
    Py_ssize_t len;
    int done = bytes != NULL && PyBytes_AsStringAndSize(bytes, &data, &len) == 0;

    if (done)
        put(keeping, KIND_PICKLE, data, (size_t)len);
    PyErr_Clear();
    Py_XDECREF(bytes);
    return done;
}

static int put_plain(struct keeping *keeping, PyObject *value)
{
    const char *text;
    Py_ssize_t len;

    if (value == Py_None || PyBool_Check(value)) {
        put(keeping,
            value == Py_None   ? KIND_NONE
            : value == Py_True ? KIND_TRUE
                               : KIND_FALSE,
            "", 0);
    } else if (PyLong_CheckExact(value)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);

        if (overflow)
            return 0;
        put(keeping, KIND_INT, &number, sizeof number);
    } else if (PyFloat_CheckExact(value)) {
        double number = PyFloat_AsDouble(value);

        put(keeping, KIND_FLOAT, &number, sizeof number);
    } else if (PyUnicode_CheckExact(value)) {
        text = PyUnicode_AsUTF8AndSize(value, &len);
        if (text == NULL) {
            PyErr_Clear(); /* half a surrogate pair */
            return 0;
        }
        put(keeping, KIND_TEXT, text, (size_t)len);
    } else if (PyBytes_CheckExact(value)) {
        put(keeping, KIND_BYTES, PyBytes_AsString(value), (size_t)PyBytes_Size(value));
    } else {
        return 0;
    }
    return 1;
}

/* keep(value): the row in progress has this value, and the next one begins. Returns the value. */
static PyObject *keep_value(PyObject *capsule, PyObject *value)
{
    struct keeping *keeping = keeping_of(capsule);

    if (keeping == NULL)
        return NULL;
    if (!put_plain(keeping, value) && !put_pickled(keeping, value))
        keeping->call->begin(keeping->call->keeper, keeping->row + 1);
    keeping->row++;
    return Py_NewRef(value);
}

/* begin(row): this row is computed from here on. */
static PyObject *begin_row(PyObject *capsule, PyObject *row)
{
    struct keeping *keeping = keeping_of(capsule);
    uint64_t number;

    if (keeping == NULL)
        return NULL;
    number = PyLong_AsUnsignedLongLong(row);
    if (PyErr_Occurred())
        return NULL;
    keeping->row = number;
    keeping->call->begin(keeping->call->keeper, number);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    { "begin", begin_row, METH_O, "This row is computed from here on." },
    { "keep", keep_value, METH_O, "The row in progress has this value; returns it." },
};

/* The functions that Python sees. -1 on failure. */
static int make_functions(struct keeping *keeping)
{
    PyObject *capsule, *pickle;

    if (keeping->keep != NULL)
        return 0;
    keeping_clear(keeping);
    capsule = PyCapsule_New(keeping, KEEPING, NULL);
    pickle = PyImport_ImportModule("pickle");
    if (capsule != NULL && pickle != NULL) {
        keeping->dumps = PyObject_GetAttrString(pickle, "dumps");
        keeping->loads = PyObject_GetAttrString(pickle, "loads");
        keeping->begin = PyCFunction_NewEx(&methods[0], capsule, NULL);
        if (keeping->dumps != NULL && keeping->loads != NULL && keeping->begin != NULL)
            keeping->keep = PyCFunction_NewEx(&methods[1], capsule, NULL);
    }
    Py_XDECREF(capsule);
    Py_XDECREF(pickle);
    return keeping->keep != NULL ? 0 : -1;
}

/* The value of bytes that were kept. NULL and an exception: they cannot be read. */
static PyObject *value_of(const struct keeping *keeping, const struct lmn_saved_row *saved)
{
    PyObject *bytes, *value;
    long long number;
    double real;

    switch (saved->kind) {
    case KIND_NONE:
        return Py_NewRef(Py_None);
    case KIND_FALSE:
    case KIND_TRUE:
        return PyBool_FromLong(saved->kind == KIND_TRUE);
    case KIND_TEXT:
        return PyUnicode_DecodeUTF8(saved->data, (Py_ssize_t)saved->len, NULL);
    case KIND_BYTES:
        return PyBytes_FromStringAndSize(saved->data, (Py_ssize_t)saved->len);
    case KIND_PICKLE:
        bytes = PyBytes_FromStringAndSize(saved->data, (Py_ssize_t)saved->len);
        value = bytes != NULL ? PyObject_CallFunctionObjArgs(keeping->loads, bytes, NULL) : NULL;
        Py_XDECREF(bytes);
        return value;
    case KIND_INT:
    case KIND_FLOAT:
        if (saved->len != sizeof number)
            break;
        memcpy(&number, saved->data, sizeof number);
        memcpy(&real, saved->data, sizeof real);
        return saved->kind == KIND_INT ? PyLong_FromLongLong(number) : PyFloat_FromDouble(real);
    default:
        break;
    }
    return PyErr_Format(PyExc_ValueError, "a row that was kept as kind %u", saved->kind);
}

/* Rows that need not be computed: row -> value. NULL on failure. */
static PyObject *read_kept(const struct keeping *keeping)
{
    PyObject *rows = PyDict_New();

    for (uint64_t i = 0; rows != NULL && i < keeping->call->saved_count; i++) {
        PyObject *row = PyLong_FromUnsignedLongLong(keeping->call->saved[i].row);
        PyObject *value = row != NULL ? value_of(keeping, &keeping->call->saved[i]) : NULL;

        if (value == NULL)
            PyErr_Clear();
        else if (PyDict_SetItem(rows, row, value) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
        Py_XDECREF(value);
    }
    return rows;
}

PyObject *keeping_begin(struct keeping *keeping, const struct lmn_call *call)
{
    PyObject *rows, *made;

    if (call->keep == NULL)
        return Py_NewRef(Py_None);
    if (make_functions(keeping) < 0)
        return NULL;
    keeping->call = call;
    keeping->row = 0;
    rows = read_kept(keeping);
    made = rows != NULL ? PyTuple_Pack(3, rows, keeping->begin, keeping->keep) : NULL;
    Py_XDECREF(rows);
    return made;
}

void keeping_clear(struct keeping *keeping)
{
    keeping->call = NULL;
    Py_CLEAR(keeping->begin);
    Py_CLEAR(keeping->keep);
    Py_CLEAR(keeping->dumps);
    Py_CLEAR(keeping->loads);
}
