/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core.h"

struct webdataset_object {
    PyObject_HEAD struct lmn_webdataset *dataset;
};

void report_problem(void *self, const struct lmn_problem *problem)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *key = PyUnicode_DecodeUTF8(problem->key, (Py_ssize_t)strlen(problem->key), "replace");
    PyObject *answer = key != NULL ? PyObject_CallFunction(self, "sKOss", problem->part,
                                                           (unsigned long long)problem->offset, key,
                                                           problem->field, problem->message)
                                   : NULL;

    Py_XDECREF(key);
    Py_XDECREF(answer);
    PyErr_Clear();
    PyGILState_Release(lock);
}

void report_free(void *self)
{
    PyGILState_STATE lock = PyGILState_Ensure();

    Py_DECREF((PyObject *)self);
    PyGILState_Release(lock);
}

/* A list of (name, field, schema capsule or None, optional). */
static struct lmn_webdataset_column *read_columns(PyObject *list, uint32_t *count_out)
{
    Py_ssize_t count = PyList_Size(list);
    struct lmn_webdataset_column *column;

    if (count < 0)
        return NULL;
    column = PyMem_Calloc((size_t)count + 1, sizeof *column);
    if (column == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *capsule;
        int optional;

        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "zsOp", &column[i].name, &column[i].field,
                              &capsule, &optional))
            goto failed;
        column[i].optional = optional != 0;
        if (capsule != Py_None) {
            column[i].type = PyCapsule_GetPointer(capsule, "arrow_schema");
            if (column[i].type == NULL)
                goto failed;
        }
    }
    *count_out = (uint32_t)count;
    return column;
failed:
    PyMem_Free(column);
    return NULL;
}

static enum lmn_bad_input read_bad(const char *text)
{
    return strcmp(text, "skip") == 0   ? LMN_BAD_SKIP
           : strcmp(text, "null") == 0 ? LMN_BAD_NULL
                                       : LMN_BAD_FAIL;
}

/* WebDataset(shards, columns, references, bad, report, sample_rows, group_size) */
static PyObject *webdataset_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct lmn_webdataset_options options = { 0 };
    struct lmn_webdataset_column *column;
    struct webdataset_object *self;
    PyObject *shards, *columns, *report, *keep = NULL;
    const char **shard = NULL, *bad;
    uint32_t shard_count;
    int references;
    struct lmn_error err;
    enum lmn_status st;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OO!psOII", &shards, &PyList_Type, &columns, &references, &bad,
                          &report, &options.sample_rows_max, &options.group_size) ||
        read_names(shards, &shard, &shard_count, &keep) < 0)
        return NULL;
    column = read_columns(columns, &options.column_count);
    self = column != NULL
               ? (struct webdataset_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0)
               : NULL;
    if (self != NULL) {
        options.column = column;
        options.references = references != 0;
        options.bad = read_bad(bad);
        options.report = report_problem;
        options.report_free = report_free;
        options.report_self = Py_NewRef(report);
        Py_BEGIN_ALLOW_THREADS
            st = lmn_webdataset_open(NULL, shard, shard_count, &options, &self->dataset, &err);
        Py_END_ALLOW_THREADS
        if (st != LMN_OK) {
            Py_CLEAR(self);
            raise_error(PyType_GetModuleState(type), &err);
        }
    }
    PyMem_Free(column);
    PyMem_Free(shard);
    Py_XDECREF(keep);
    return (PyObject *)self;
}

static void webdataset_dealloc(PyObject *op)
{
    struct webdataset_object *self = (struct webdataset_object *)op;
    PyTypeObject *type = Py_TYPE(op);

    lmn_webdataset_close(self->dataset);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(op);
    Py_DECREF(type);
}

static PyObject *webdataset_shard(PyObject *op, PyObject *number)
{
    struct ArrowArrayStream stream;
    unsigned long long shard = PyLong_AsUnsignedLongLong(number);
    struct lmn_error err;
    enum lmn_status st;

    if (PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_webdataset_shard(((struct webdataset_object *)op)->dataset, shard, &stream, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return stream_capsule(&stream);
}

static PyMethodDef webdataset_methods[] = {
    { "shard", webdataset_shard, METH_O, "The rows of a shard, as a stream." },
    { NULL, NULL, 0, NULL },
};

PyTypeObject *webdataset_type_new(PyObject *module)
{
    PyType_Slot slots[] = {
        { Py_tp_new, webdataset_new },
        { Py_tp_dealloc, webdataset_dealloc },
        { Py_tp_methods, webdataset_methods },
        { Py_tp_doc, "Shards of samples." },
        { 0, NULL },
    };
    PyType_Spec spec = { .name = "leman._core.WebDataset",
                         .basicsize = sizeof(struct webdataset_object),
                         .flags = Py_TPFLAGS_DEFAULT,
                         .slots = slots };

    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
