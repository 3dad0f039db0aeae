/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

PyObject *table_add_null_columns(PyObject *op, PyObject *capsule)
{
    const struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (schema == NULL)
        return NULL;
    long_call_begin(&call);
    st = lmn_table_add_null_columns(table_of(op), schema, &err);
    st = long_call_end(&call, st);
    return end_write(op, st, &err);
}

PyObject *table_add_columns(PyObject *op, PyObject *pairs)
{
    uint32_t count;
    struct lmn_assignment *column = assignments_read(pairs, &count);
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (column == NULL)
        return NULL;
    long_call_begin(&call);
    st = lmn_table_add_columns(table_of(op), column, count, &err);
    st = long_call_end(&call, st);
    PyMem_Free(column);
    return end_write(op, st, &err);
}

PyObject *table_join_columns(PyObject *op, PyObject *args)
{
    struct ArrowArrayStream *stream;
    PyObject *capsule, *names, *keep;
    const char **on;
    uint32_t on_count;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "OO", &capsule, &names))
        return NULL;
    stream = stream_of(capsule);
    if (stream == NULL || read_names(names, &on, &on_count, &keep) < 0)
        return NULL;
    long_call_begin(&call);
    st = lmn_table_join_columns(table_of(op), stream, on, on_count, &err);
    st = long_call_end(&call, st);
    PyMem_Free(on);
    Py_XDECREF(keep);
    return end_write(op, st, &err);
}

PyObject *table_drop_columns(PyObject *op, PyObject *names)
{
    const char **column;
    PyObject *keep;
    uint32_t count;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (read_names(names, &column, &count, &keep) < 0)
        return NULL;
    long_call_begin(&call);
    st = lmn_table_drop_columns(table_of(op), column, count, &err);
    st = long_call_end(&call, st);
    PyMem_Free(column);
    Py_XDECREF(keep);
    return end_write(op, st, &err);
}

PyObject *table_rename_column(PyObject *op, PyObject *args)
{
    const char *column, *name;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "ss", &column, &name))
        return NULL;
    long_call_begin(&call);
    st = lmn_table_rename_column(table_of(op), column, name, &err);
    st = long_call_end(&call, st);
    return end_write(op, st, &err);
}

PyObject *table_set_read_group(PyObject *op, PyObject *args)
{
    PyObject *names, *keep;
    const char **column;
    uint32_t count;
    unsigned int rows;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "OI", &names, &rows) ||
        read_names(names, &column, &count, &keep) < 0)
        return NULL;
    long_call_begin(&call);
    st = lmn_table_set_read_group(table_of(op), column, count, rows, &err);
    st = long_call_end(&call, st);
    PyMem_Free(column);
    Py_XDECREF(keep);
    return end_write(op, st, &err);
}

PyObject *table_widen_column(PyObject *op, PyObject *args)
{
    const struct ArrowSchema *type;
    const char *column;
    PyObject *capsule;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "sO", &column, &capsule))
        return NULL;
    type = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (type == NULL)
        return NULL;
    long_call_begin(&call);
    st = lmn_table_widen_column(table_of(op), column, type, &err);
    st = long_call_end(&call, st);
    return end_write(op, st, &err);
}
