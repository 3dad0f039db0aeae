/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call in progress, as the Python side of a worker sees it: what it may ask of the job. It is
 * good until the call is over, and its methods may be used from any thread until then.
 */
#include "core.h"

#include <structmember.h>

#include "worker.h"

struct call_object {
    PyObject_HEAD const struct lmn_call *call; /* NULL: it is over */
    char metered, paid;
    PyObject *blobs;
};

/* The call; NULL and an exception when it is over. */
static const struct lmn_call *call_of(PyObject *op)
{
    const struct lmn_call *call = ((struct call_object *)op)->call;

    if (call == NULL)
        PyErr_SetString(PyExc_RuntimeError, "the call is over");
    return call;
}

PyObject *call_new(PyTypeObject *type, const struct lmn_call *call)
{
    struct call_object *self = (struct call_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(
        type, 0);

    if (self == NULL)
        return NULL;
    self->call = call;
    self->metered = call->metered;
    self->paid = call->paid;
    self->blobs = blobs_capsule(call->blobs);
    if (self->blobs == NULL) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

void call_end(PyObject *op)
{
    ((struct call_object *)op)->call = NULL;
    blobs_end_use(((struct call_object *)op)->blobs);
}

static void call_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    Py_XDECREF(((struct call_object *)op)->blobs);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(op);
    Py_DECREF(type);
}

/* permit(calls, tokens, done, charged, used, pause_ms) -> (calls, wait_ms, tokens_each, ended) */
static PyObject *call_permit(PyObject *op, PyObject *args)
{
    const struct lmn_call *call = call_of(op);
    unsigned long long calls, tokens, done, charged, used, pause_ms;
    struct lmn_permit_ask ask;
    struct lmn_permit permit;
    struct lmn_error err;
    enum lmn_status st;

    if (call == NULL ||
        !PyArg_ParseTuple(args, "KKKKKK", &calls, &tokens, &done, &charged, &used, &pause_ms))
        return NULL;
    ask = (struct lmn_permit_ask){ calls, tokens, done, charged, used, pause_ms };
    Py_BEGIN_ALLOW_THREADS
        st = lmn_call_permit(call, &ask, &permit, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return Py_BuildValue("KKKN", (unsigned long long)permit.calls,
                         (unsigned long long)permit.wait_ms, (unsigned long long)permit.tokens_each,
                         PyBool_FromLong(permit.ended));
}

/* used(calls, tokens, cost) */
static PyObject *call_used(PyObject *op, PyObject *args)
{
    const struct lmn_call *call = call_of(op);
    unsigned long long calls, tokens;
    double cost;

    if (call == NULL || !PyArg_ParseTuple(args, "KKd", &calls, &tokens, &cost))
        return NULL;
    lmn_call_used(call, calls, tokens, cost);
    Py_RETURN_NONE;
}

static PyObject *call_stops(PyObject *op, PyObject *unused)
{
    const struct lmn_call *call = call_of(op);

    (void)unused;
    return call != NULL ? PyBool_FromLong(lmn_call_stops(call)) : NULL;
}

/* rows_fit(rows) */
static PyObject *call_rows_fit(PyObject *op, PyObject *args)
{
    const struct lmn_call *call = call_of(op);
    unsigned long long rows;

    if (call == NULL || !PyArg_ParseTuple(args, "K", &rows))
        return NULL;
    lmn_call_rows_fit(call, rows);
    Py_RETURN_NONE;
}

/* keep(row, array): the capsule of a struct array of one row, which stays as it is. */
static PyObject *call_keep(PyObject *op, PyObject *args)
{
    const struct lmn_call *call = call_of(op);
    const struct ArrowArray *array;
    unsigned long long row;
    PyObject *capsule;
    struct lmn_error err;
    enum lmn_status st;

    if (call == NULL || !PyArg_ParseTuple(args, "KO", &row, &capsule))
        return NULL;
    array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_call_keep(call, row, array, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

static PyObject *call_keep_sync(PyObject *op, PyObject *unused)
{
    const struct lmn_call *call = call_of(op);
    struct lmn_error err;
    enum lmn_status st;

    (void)unused;
    if (call == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_call_keep_sync(call, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

/* blob(column, row): the blob of a row of the call, or None */
static PyObject *call_blob(PyObject *op, PyObject *args)
{
    const struct lmn_call *call = call_of(op);
    const char *column;
    unsigned long long row;

    if (call == NULL || !PyArg_ParseTuple(args, "sK", &column, &row))
        return NULL;
    if (row >= call->row_count) {
        PyErr_Format(PyExc_ValueError, "row %llu of a call of %llu rows", row,
                     (unsigned long long)call->row_count);
        return NULL;
    }
    return table_blob_open(state_of(op), call->table, column, call->row_id[row], false);
}

static PyMethodDef call_methods[] = {
    { "blob", call_blob, METH_VARARGS, "The blob of a row of the call." },
    { "permit", call_permit, METH_VARARGS, "Ask for calls that the job's limits have to allow." },
    { "used", call_used, METH_VARARGS, "Count calls, tokens and cost." },
    { "stops", call_stops, METH_NOARGS, "Is the job to stop after what runs?" },
    { "rows_fit", call_rows_fit, METH_VARARGS, "Say how many rows a call may have." },
    { "keep", call_keep, METH_VARARGS, "Keep the result of a row." },
    { "keep_sync", call_keep_sync, METH_NOARGS, "Make what is kept durable." },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef call_members[] = {
    { "metered", T_BOOL, offsetof(struct call_object, metered), READONLY,
      "Calls have to be asked for." },
    { "paid", T_BOOL, offsetof(struct call_object, paid), READONLY,
      "Each result has to be kept before the next call." },
    { "blobs", T_OBJECT, offsetof(struct call_object, blobs), READONLY,
      "Where payloads of blobs are written, a capsule; None: no column holds any." },
    { NULL, 0, 0, 0, NULL },
};

static PyType_Slot call_slots[] = {
    { Py_tp_doc, "A call in progress." },
    { Py_tp_dealloc, call_dealloc },
    { Py_tp_methods, call_methods },
    { Py_tp_members, call_members },
    { 0, NULL },
};

static PyType_Spec call_spec = { "leman._core.Call", sizeof(struct call_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                     Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 call_slots };

PyTypeObject *call_type_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &call_spec, NULL);
}
