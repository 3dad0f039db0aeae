/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

struct writer_object {
    PyObject_HEAD struct lmn_file_writer *writer; /* NULL: finished or aborted */
    bool busy;                                    /* a thread is in it, without the GIL */
};

static PyObject *writer_open(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "root",       "path", "schema",  "version", "page_bytes",
                                "zstd_level", "sync", "replace", "threads", NULL };
    struct module_state *state = PyType_GetModuleState(type);
    struct lmn_file_writer_options options = { 0 };
    struct lmn_file_writer *writer = NULL;
    struct lmn_store *store = NULL;
    struct writer_object *self;
    const char *root, *path, *version = NULL;
    unsigned long long page_bytes = 0;
    int sync = 1, replace = 0;
    PyObject *capsule;
    struct ArrowSchema *schema;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ssO|zKippI", keywords, &root, &path, &capsule,
                                     &version, &page_bytes, &options.encode.zstd_level, &sync,
                                     &replace, &options.threads))
        return NULL;
    schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema == NULL)
        return NULL;
    options.encode.version = version;
    options.encode.page_bytes_max = page_bytes;
    options.unsynced = !sync;
    options.replace = replace;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_store_open_local(NULL, root, &store, &err);
        if (st == LMN_OK)
            st = lmn_file_writer_open(store, path, schema, &options, &writer, &err);
        lmn_store_release(store);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state, &err);
    self = (struct writer_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) {
        lmn_file_writer_abort(writer);
        return NULL;
    }
    self->writer = writer;
    return (PyObject *)self;
}

static int check_free(const struct writer_object *self)
{
    if (!self->busy)
        return 1;
    PyErr_SetString(PyExc_RuntimeError, "another thread is using the writer");
    return 0;
}

static PyObject *writer_abort(PyObject *op, PyObject *unused)
{
    struct writer_object *self = (struct writer_object *)op;
    struct lmn_file_writer *writer = self->writer;

    (void)unused;
    if (!check_free(self))
        return NULL;
    self->writer = NULL;
    Py_BEGIN_ALLOW_THREADS
        lmn_file_writer_abort(writer);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static void writer_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    Py_DECREF(writer_abort(op, NULL));
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(op);
    Py_DECREF(type);
}

static int check_open(const struct writer_object *self)
{
    if (self->writer != NULL)
        return check_free(self);
    PyErr_SetString(PyExc_ValueError, "the file is finished");
    return 0;
}

static PyObject *writer_check(PyObject *op, PyObject *capsule)
{
    struct writer_object *self = (struct writer_object *)op;
    struct ArrowSchema *schema;
    struct lmn_error err;

    if (!check_open(self))
        return NULL;
    schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema == NULL)
        return NULL;
    if (lmn_file_writer_check_schema(self->writer, schema, &err) != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

static PyObject *writer_write(PyObject *op, PyObject *capsule)
{
    struct writer_object *self = (struct writer_object *)op;
    struct ArrowArray *array;
    struct lmn_error err;
    enum lmn_status st;

    if (!check_open(self))
        return NULL;
    array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array == NULL)
        return NULL;
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_file_writer_write(self->writer, array, &err);
    Py_END_ALLOW_THREADS
    self->busy = false;
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

static PyObject *writer_finish(PyObject *op, PyObject *unused)
{
    struct writer_object *self = (struct writer_object *)op;
    struct lmn_file_writer *writer = self->writer;
    uint64_t bytes;
    struct lmn_error err;
    enum lmn_status st;

    (void)unused;
    if (!check_open(self))
        return NULL;
    self->writer = NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_file_writer_finish(writer, &bytes, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return PyLong_FromUnsignedLongLong(bytes);
}

/* All batches of a stream; the producer takes the interpreter lock itself where it needs it. */
static PyObject *writer_write_stream(PyObject *op, PyObject *capsule)
{
    struct writer_object *self = (struct writer_object *)op;
    struct ArrowArrayStream *stream;
    struct ArrowArray array;
    struct lmn_error err;
    enum lmn_status st = LMN_OK;
    const char *reason;
    int rc = 0;

    if (!check_open(self))
        return NULL;
    stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream == NULL)
        return NULL;
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS
        while (st == LMN_OK && (rc = stream->get_next(stream, &array)) == 0 &&
               array.release != NULL) {
            st = lmn_file_writer_write(self->writer, &array, &err);
            array.release(&array);
        }
    Py_END_ALLOW_THREADS
    self->busy = false;
    if (PyErr_Occurred())
        return NULL;
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    if (rc != 0) {
        reason = stream->get_last_error(stream);
        return PyErr_Format(state_of(op)->base_error, "the data ended with an error: %s",
                            reason != NULL ? reason : "no reason given");
    }
    Py_RETURN_NONE;
}

static PyObject *writer_row_count(PyObject *op, void *closure)
{
    struct writer_object *self = (struct writer_object *)op;

    (void)closure;
    if (!check_open(self))
        return NULL;
    return PyLong_FromUnsignedLongLong(lmn_file_writer_row_count(self->writer));
}

static PyMethodDef writer_methods[] = {
    { "check", writer_check, METH_O, "Fail unless rows of this schema can be written." },
    { "write", writer_write, METH_O, "Append a batch, given as a capsule." },
    { "write_stream", writer_write_stream, METH_O, "Append all batches of a stream." },
    { "finish", writer_finish, METH_NOARGS, "Write what is left; the size of the file." },
    { "abort", writer_abort, METH_NOARGS, "Leave nothing behind." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef writer_getset[] = {
    { "num_rows", writer_row_count, NULL, "Rows given so far.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot writer_slots[] = {
    { Py_tp_doc, "A Lance data file while it is written." },
    { Py_tp_new, writer_open },
    { Py_tp_dealloc, writer_dealloc },
    { Py_tp_methods, writer_methods },
    { Py_tp_getset, writer_getset },
    { 0, NULL },
};

static PyType_Spec writer_spec = { "leman._core.Writer", sizeof(struct writer_object), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, writer_slots };

PyTypeObject *writer_type_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &writer_spec, NULL);
}
