/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "table.h"

/* add_function_columns(schema, function): columns of a struct, and the JSON text of a function. */
PyObject *table_add_function_columns(PyObject *op, PyObject *args)
{
    const struct ArrowSchema *schema;
    const char *function;
    PyObject *capsule;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "Os", &capsule, &function))
        return NULL;
    schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_add_function_columns(table_of(op), schema, function, &err);
    Py_END_ALLOW_THREADS
    return end_write(op, st, &err);
}

PyObject *table_set_function(PyObject *op, PyObject *args)
{
    const char *column, *function;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "ss", &column, &function))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_set_function(table_of(op), column, function, &err);
    Py_END_ALLOW_THREADS
    return end_write(op, st, &err);
}

PyObject *table_ask_text(PyObject *op, PyObject *args, table_text_fn ask)
{
    const char *column;
    char *text = NULL;
    struct lmn_error err;
    enum lmn_status st;
    PyObject *made;

    if (!PyArg_ParseTuple(args, "s", &column))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = ask(table_of(op), column, &text, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    if (text == NULL)
        Py_RETURN_NONE;
    made = PyUnicode_FromString(text);
    lmn_text_free(text);
    return made;
}

/* function(column): what is recorded, or None. */
PyObject *table_function(PyObject *op, PyObject *args)
{
    return table_ask_text(op, args, lmn_table_function);
}

PyObject *table_cells(PyObject *op, PyObject *args)
{
    struct lmn_cell_counts counts;
    const char *column;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "s", &column))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_cells(table_of(op), column, &counts, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return Py_BuildValue("{s:K,s:K,s:K,s:K}", "pending", (unsigned long long)counts.pending, "ok",
                         (unsigned long long)counts.ok, "failed", (unsigned long long)counts.failed,
                         "stale", (unsigned long long)counts.stale);
}

/* put_function(code): the hash of it. */
PyObject *table_put_function(PyObject *op, PyObject *args)
{
    char hash[65] = "";
    Py_buffer code;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "y*", &code))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_put_function(table_of(op), code.buf, (uint64_t)code.len, hash, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&code);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return PyUnicode_FromString(hash);
}

PyObject *table_get_function(PyObject *op, PyObject *args)
{
    const char *hash;
    char *code = NULL;
    uint64_t len = 0;
    struct lmn_error err;
    enum lmn_status st;
    PyObject *made;

    if (!PyArg_ParseTuple(args, "s", &hash))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_get_function(table_of(op), hash, &code, &len, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    made = PyBytes_FromStringAndSize(code, (Py_ssize_t)len);
    lmn_text_free(code);
    return made;
}

/* errors(column): a stream of the failed cells. */
PyObject *table_errors(PyObject *op, PyObject *args)
{
    struct ArrowArrayStream stream;
    const char *column;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "s", &column))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_errors(table_of(op), column, &stream, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return stream_capsule(&stream);
}
