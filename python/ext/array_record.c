/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

struct array_record_object {
    PyObject_HEAD struct lmn_array_record *record;
};

static struct lmn_array_record *record_of(PyObject *op)
{
    return ((struct array_record_object *)op)->record;
}

static PyObject *array_record_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct array_record_object *self;
    struct lmn_array_record *record;
    const char *path;
    struct lmn_error err;
    enum lmn_status st;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "s", &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_array_record_open(NULL, path, &record, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyType_GetModuleState(type), &err);
    self = (struct array_record_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL)
        lmn_array_record_close(record);
    else
        self->record = record;
    return (PyObject *)self;
}

static void array_record_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    lmn_array_record_close(record_of(op));
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(op);
    Py_DECREF(type);
}

/* (records, groups, records of a group, options) */
static PyObject *array_record_info(PyObject *op, PyObject *unused)
{
    struct lmn_array_record_info info;

    (void)unused;
    lmn_array_record_info(record_of(op), &info);
    return Py_BuildValue("(KKKs)", (unsigned long long)info.record_count,
                         (unsigned long long)info.group_count, (unsigned long long)info.group_size,
                         info.options);
}

/* stream(column, parallelism, report): None fails at a group that cannot be read */
static PyObject *array_record_stream(PyObject *op, PyObject *args)
{
    struct lmn_array_record_read_options options = { 0 };
    struct ArrowArrayStream stream;
    PyObject *report = Py_None;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "sI|O", &options.column, &options.parallelism, &report))
        return NULL;
    if (report != Py_None) {
        options.bad = LMN_BAD_SKIP;
        options.report = report_problem;
        options.report_self = Py_NewRef(report);
        options.report_free = report_free;
    }
    Py_BEGIN_ALLOW_THREADS
        st = lmn_array_record_stream(record_of(op), &options, &stream, &err);
    Py_END_ALLOW_THREADS
    if (st == LMN_OK)
        return stream_capsule(&stream);
    Py_XDECREF((PyObject *)options.report_self);
    return raise_error(state_of(op), &err);
}

/* take(numbers): an array of large binaries; the numbers are a buffer of uint64 */
static PyObject *array_record_take(PyObject *op, PyObject *numbers)
{
    struct ArrowArray array;
    Py_buffer view;
    struct lmn_error err;
    enum lmn_status st;

    if (PyObject_GetBuffer(numbers, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_array_record_take(record_of(op), view.buf, (uint64_t)view.len / 8, NULL, &array,
                                   &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return array_capsule(&array);
}

/* write_array_record(path, stream, column, options, sync): the number of records */
PyObject *array_record_write(PyObject *module, PyObject *args)
{
    struct lmn_array_record_write_options options = { 0 };
    struct ArrowArrayStream *stream;
    PyObject *capsule;
    const char *path;
    uint64_t count;
    int sync;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "sOzzp", &path, &capsule, &options.column, &options.options, &sync))
        return NULL;
    stream = stream_of(capsule);
    if (stream == NULL)
        return NULL;
    options.unsynced = sync == 0;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_array_record_write(NULL, path, stream, &options, &count, &err);
    Py_END_ALLOW_THREADS
    if (PyErr_Occurred())
        return NULL;
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return PyLong_FromUnsignedLongLong(count);
}

static PyMethodDef array_record_methods[] = {
    { "info", array_record_info, METH_NOARGS, "Records, groups, group size, options." },
    { "stream", array_record_stream, METH_VARARGS, "All records, as a stream." },
    { "take", array_record_take, METH_O, "Records by number, as an array." },
    { NULL, NULL, 0, NULL },
};

PyTypeObject *array_record_type_new(PyObject *module)
{
    PyType_Slot slots[] = {
        { Py_tp_new, array_record_new },
        { Py_tp_dealloc, array_record_dealloc },
        { Py_tp_methods, array_record_methods },
        { Py_tp_doc, "A file of records." },
        { 0, NULL },
    };
    PyType_Spec spec = { .name = "leman._core.ArrayRecord",
                         .basicsize = sizeof(struct array_record_object),
                         .flags = Py_TPFLAGS_DEFAULT,
                         .slots = slots };

    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
