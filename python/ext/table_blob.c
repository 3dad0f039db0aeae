/* SPDX-License-Identifier: Apache-2.0 */
/* One blob of a table: its size, and reads of ranges. */
#include "core.h"

#include <leman/table_blob.h>

struct blob_object {
    PyObject_HEAD struct lmn_table_blob *blob;
};

PyObject *table_blob_open(const struct module_state *state, struct lmn_table *table,
                          const char *column, uint64_t row, bool by_position)
{
    struct lmn_table_blob *blob;
    struct blob_object *self;
    struct lmn_error err;
    enum lmn_status st;

    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_blob_open(table, column, row, by_position, &blob, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state, &err);
    if (blob == NULL)
        Py_RETURN_NONE;
    self = (struct blob_object *)((allocfunc)PyType_GetSlot(state->blob_type, Py_tp_alloc))(
        state->blob_type, 0);
    if (self == NULL)
        lmn_table_blob_close(blob);
    else
        self->blob = blob;
    return (PyObject *)self;
}

static void blob_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    lmn_table_blob_close(((struct blob_object *)op)->blob);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(op);
    Py_DECREF(type);
}

static PyObject *blob_size(PyObject *op, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(lmn_table_blob_bytes(((struct blob_object *)op)->blob));
}

/* read(offset, buffer): fill the buffer */
static PyObject *blob_read(PyObject *op, PyObject *args)
{
    unsigned long long offset;
    struct lmn_error err;
    enum lmn_status st;
    Py_buffer view;

    if (!PyArg_ParseTuple(args, "Kw*", &offset, &view))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_blob_read(((struct blob_object *)op)->blob, offset, view.buf,
                                 (size_t)view.len, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

static PyMethodDef blob_methods[] = {
    { "read", blob_read, METH_VARARGS, "Read bytes from an offset on into a buffer." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef blob_members[] = {
    { "size", blob_size, NULL, "Its size in bytes.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyTypeObject *blob_type_new(PyObject *module)
{
    PyType_Slot slots[] = {
        { Py_tp_doc, "One blob of a table." },
        { Py_tp_dealloc, blob_dealloc },
        { Py_tp_methods, blob_methods },
        { Py_tp_getset, blob_members },
        { 0, NULL },
    };
    PyType_Spec spec = { .name = "leman._core.Blob",
                         .basicsize = sizeof(struct blob_object),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         .slots = slots };

    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
