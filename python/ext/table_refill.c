/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/table_refill.h>

#include "table.h"

enum { SAMPLES_MAX = 1000 };

typedef enum lmn_status (*refill_fn)(struct lmn_table *table, const char *const *column,
                                     uint32_t count, struct lmn_error *err);

static PyObject *change_refills(PyObject *op, PyObject *columns, refill_fn change)
{
    const char **names;
    uint32_t count;
    PyObject *held;
    struct lmn_error err;
    enum lmn_status st;

    if (read_names(columns, &names, &count, &held) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = change(table_of(op), names, count, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free(names);
    Py_XDECREF(held);
    return end_write(op, st, &err);
}

PyObject *table_refill_swap(PyObject *op, PyObject *columns)
{
    return change_refills(op, columns, lmn_table_refill_swap);
}

PyObject *table_refill_discard(PyObject *op, PyObject *columns)
{
    return change_refills(op, columns, lmn_table_refill_discard);
}

/* refill_name(column): the name of its refill, or None. */
PyObject *table_refill_name(PyObject *op, PyObject *args)
{
    return table_ask_text(op, args, lmn_table_refill_name);
}

/* refill_indices(column): the names of its indices, as JSON. */
PyObject *table_refill_indices(PyObject *op, PyObject *args)
{
    return table_ask_text(op, args, lmn_table_refill_indices);
}

/* refill_compare(column, samples): counts, and the ids of some rows that differ. */
PyObject *table_refill_compare(PyObject *op, PyObject *args)
{
    static const char *const form = "{s:K,s:K,s:K,s:K,s:K,s:N}";
    struct lmn_refill_comparison counts;
    uint64_t id[SAMPLES_MAX];
    unsigned int max;
    uint32_t count = 0;
    const char *column;
    PyObject *ids;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "sI", &column, &max))
        return NULL;
    if (max > SAMPLES_MAX) {
        PyErr_Format(PyExc_ValueError, "at most %d rows are shown, not %u", SAMPLES_MAX, max);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_refill_compare(table_of(op), column, id, max, &count, &counts, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    ids = PyList_New((Py_ssize_t)count);
    for (uint32_t i = 0; ids != NULL && i < count; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(id[i]);

        if (number == NULL)
            Py_CLEAR(ids);
        else
            PyList_SetItem(ids, (Py_ssize_t)i, number);
    }
    if (ids == NULL)
        return NULL;
    return Py_BuildValue(form, "equal", (unsigned long long)counts.equal, "changed",
                         (unsigned long long)counts.changed, "newly_null",
                         (unsigned long long)counts.newly_null, "failed",
                         (unsigned long long)counts.failed, "pending",
                         (unsigned long long)counts.pending, "row_ids", ids);
}
