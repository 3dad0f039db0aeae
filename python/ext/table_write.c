/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "table.h"

/* Append and overwrite: the rows of a stream, and options. */
static PyObject *write_rows(PyObject *op, PyObject *args, PyObject *kwargs, bool append)
{
    struct ArrowArrayStream *stream;
    struct write_args write;
    PyObject *capsule;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "O", &capsule))
        return NULL;
    stream = stream_of(capsule);
    if (stream == NULL || write_args_read(kwargs, &write) < 0)
        return NULL;
    long_call_begin(&call);
    if (append)
        st = lmn_table_append(table_of(op), stream, &write.options, &err);
    else
        st = lmn_table_overwrite(table_of(op), stream, &write.options, &err);
    st = long_call_end(&call, st);
    write_args_free(&write);
    return end_write(op, st, &err);
}

PyObject *table_append(PyObject *op, PyObject *args, PyObject *kwargs)
{
    return write_rows(op, args, kwargs, true);
}

PyObject *table_overwrite(PyObject *op, PyObject *args, PyObject *kwargs)
{
    return write_rows(op, args, kwargs, false);
}

PyObject *table_delete(PyObject *op, PyObject *args)
{
    const char *where;
    uint64_t count;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "s", &where))
        return NULL;
    long_call_begin(&call);
    st = lmn_table_delete(table_of(op), where, &count, &err);
    st = long_call_end(&call, st);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return PyLong_FromUnsignedLongLong(count);
}

struct lmn_assignment *assignments_read(PyObject *pairs, uint32_t *count_out)
{
    Py_ssize_t count = PyTuple_Size(pairs);
    struct lmn_assignment *assignment;

    if (count < 0)
        return NULL;
    assignment = PyMem_Malloc(((size_t)count + 1) * sizeof *assignment);
    if (assignment == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PyTuple_GetItem(pairs, i);

        if (!PyTuple_Check(pair)) {
            PyErr_SetString(PyExc_TypeError, "assignments are pairs of column and expression");
        } else if (PyArg_ParseTuple(pair, "ss", &assignment[i].column, &assignment[i].expression)) {
            continue;
        }
        PyMem_Free(assignment);
        return NULL;
    }
    *count_out = (uint32_t)count;
    return assignment;
}

PyObject *table_update(PyObject *op, PyObject *args)
{
    struct lmn_assignment *assignment;
    const char *where;
    PyObject *pairs;
    uint32_t assignment_count;
    uint64_t count;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "zO", &where, &pairs))
        return NULL;
    assignment = assignments_read(pairs, &assignment_count);
    if (assignment == NULL)
        return NULL;
    long_call_begin(&call);
    st = lmn_table_update(table_of(op), where, assignment, assignment_count, &count, &err);
    st = long_call_end(&call, st);
    PyMem_Free(assignment);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return PyLong_FromUnsignedLongLong(count);
}

/* The numbers of enum lmn_merge_action by name; -1 and an exception for another name. */
static int read_action(const char *name, enum lmn_merge_action *action_out)
{
    static const char *const names[] = { "skip", "update", "insert", "delete", "fail" };

    for (int i = 0; i < 5; i++) {
        if (strcmp(name, names[i]) == 0) {
            *action_out = (enum lmn_merge_action)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "a merge has no action \"%s\"", name);
    return -1;
}

/* merge(stream, on, matched, matched_where, not_matched, not_in_source, not_in_source_where) */
PyObject *table_merge(PyObject *op, PyObject *args, PyObject *kwargs)
{
    struct lmn_merge_options options = { 0 };
    struct lmn_merge_result result;
    struct ArrowArrayStream *stream;
    const char **on = NULL, *matched, *not_matched, *not_in_source;
    struct write_args write = { 0 };
    PyObject *capsule, *names, *keep = NULL;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "OOszssz", &capsule, &names, &matched, &options.matched_where,
                          &not_matched, &not_in_source, &options.not_in_source_where) ||
        read_action(matched, &options.matched) < 0 ||
        read_action(not_matched, &options.not_matched) < 0 ||
        read_action(not_in_source, &options.not_in_source) < 0)
        return NULL;
    stream = stream_of(capsule);
    if (stream == NULL || read_names(names, &on, &options.on_count, &keep) < 0)
        return NULL;
    if (write_args_read(kwargs, &write) < 0) {
        PyMem_Free(on);
        Py_XDECREF(keep);
        return NULL;
    }
    options.on = on;
    options.write = write.options;
    long_call_begin(&call);
    st = lmn_table_merge(table_of(op), stream, &options, &result, &err);
    st = long_call_end(&call, st);
    write_args_free(&write);
    PyMem_Free(on);
    Py_XDECREF(keep);
    if (PyErr_Occurred())
        return NULL;
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return Py_BuildValue("(KKKK)", (unsigned long long)result.inserted,
                         (unsigned long long)result.updated, (unsigned long long)result.deleted,
                         (unsigned long long)result.skipped);
}
