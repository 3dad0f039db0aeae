/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

struct file_object {
    PyObject_HEAD struct lmn_file *file;
};

static PyObject *file_open(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "root", "path", NULL };
    struct module_state *state = PyType_GetModuleState(type);
    const char *root, *path;
    struct lmn_store *store = NULL;
    struct lmn_file *file = NULL;
    struct file_object *self;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ss", keywords, &root, &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_store_open_local(NULL, root, &store, &err);
        if (st == LMN_OK)
            st = lmn_file_open(store, path, NULL, &file, &err);
        lmn_store_release(store);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state, &err);
    self = (struct file_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) {
        lmn_file_release(file);
        return NULL;
    }
    self->file = file;
    return (PyObject *)self;
}

static void file_dealloc(PyObject *op)
{
    struct file_object *self = (struct file_object *)op;
    PyTypeObject *type = Py_TYPE(op);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    Py_BEGIN_ALLOW_THREADS
        lmn_file_release(self->file);
    Py_END_ALLOW_THREADS
    free_object(op);
    Py_DECREF(type);
}

static PyObject *file_schema(PyObject *op, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "columns", "blob_bytes", NULL };
    struct file_object *self = (struct file_object *)op;
    struct lmn_read_options options = { 0 };
    struct ArrowSchema schema;
    PyObject *columns = Py_None, *keep;
    const char **name;
    int blob_bytes = 0;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op", keywords, &columns, &blob_bytes) ||
        read_names(columns, &name, &options.column_count, &keep) < 0)
        return NULL;
    options.column = name;
    options.blobs = blob_bytes ? LMN_BLOB_BYTES : LMN_BLOB_DESCRIPTORS;
    st = lmn_file_schema(self->file, &options, &schema, &err);
    PyMem_Free(name);
    Py_XDECREF(keep);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return schema_capsule(&schema);
}

static PyObject *file_scan(PyObject *op, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "columns",        "blob_bytes", "row_start",
                                "row_count",      "batch_rows", "batch_bytes",
                                "prefetch_bytes", "threads",    NULL };
    struct file_object *self = (struct file_object *)op;
    struct lmn_read_options options = { 0 };
    struct ArrowArrayStream stream;
    PyObject *columns = Py_None, *keep;
    unsigned long long start = 0, count = UINT64_MAX, batch_bytes = 0, prefetch_bytes = 0;
    unsigned int batch_rows = 0, threads = 0;
    const char **name;
    int blob_bytes = 0;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OpKKIKKI", keywords, &columns, &blob_bytes,
                                     &start, &count, &batch_rows, &batch_bytes, &prefetch_bytes,
                                     &threads) ||
        read_names(columns, &name, &options.column_count, &keep) < 0)
        return NULL;
    options.column = name;
    options.blobs = blob_bytes ? LMN_BLOB_BYTES : LMN_BLOB_DESCRIPTORS;
    options.rows_limited = count != UINT64_MAX;
    options.row_start = start;
    options.row_count = count;
    options.batch_rows_max = batch_rows;
    options.batch_bytes_max = batch_bytes;
    options.prefetch_bytes_max = prefetch_bytes;
    options.threads = threads;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_file_scan(self->file, &options, &stream, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free(name);
    Py_XDECREF(keep);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return stream_capsule(&stream);
}

static PyObject *file_next(PyObject *op, PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    struct ArrowSchema schema = { 0 };
    struct ArrowArray array = { 0 };
    struct lmn_error err;
    enum lmn_status st;

    if (stream == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_file_scan_next(stream, &array, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    if (array.release == NULL)
        Py_RETURN_NONE;
    if (stream->get_schema(stream, &schema) != 0) {
        array.release(&array);
        return PyErr_NoMemory();
    }
    return pair_capsules(&schema, &array);
}

static PyObject *file_take(PyObject *op, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "rows", "columns", "blob_bytes", NULL };
    struct file_object *self = (struct file_object *)op;
    struct lmn_read_options options = { 0 };
    struct ArrowSchema schema = { 0 };
    struct ArrowArray array = { 0 };
    PyObject *columns = Py_None, *keep;
    const char **name;
    Py_buffer rows;
    int blob_bytes = 0;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*|Op", keywords, &rows, &columns, &blob_bytes))
        return NULL;
    if (rows.len % 8 != 0) {
        PyErr_SetString(PyExc_ValueError, "rows is a buffer of 64-bit numbers");
        PyBuffer_Release(&rows);
        return NULL;
    }
    if (read_names(columns, &name, &options.column_count, &keep) < 0) {
        PyBuffer_Release(&rows);
        return NULL;
    }
    options.column = name;
    options.blobs = blob_bytes ? LMN_BLOB_BYTES : LMN_BLOB_DESCRIPTORS;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_file_schema(self->file, &options, &schema, &err);
        if (st == LMN_OK) {
            st = lmn_file_take(self->file, rows.buf, (uint64_t)rows.len / 8, &options, &array,
                               &err);
            if (st != LMN_OK)
                schema.release(&schema);
        }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&rows);
    PyMem_Free(name);
    Py_XDECREF(keep);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return pair_capsules(&schema, &array);
}

/* Where a blob is: (bytes, position, kind, path), or None for a null. */
static PyObject *file_blob(PyObject *op, PyObject *args)
{
    struct file_object *self = (struct file_object *)op;
    unsigned long long row;
    const char *column;
    struct lmn_blob blob;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "sK", &column, &row))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_file_blob(self->file, column, row, &blob, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    if (blob.is_null)
        Py_RETURN_NONE;
    return Py_BuildValue("KKIs", (unsigned long long)blob.bytes, (unsigned long long)blob.position,
                         blob.kind, blob.path);
}

static PyObject *file_read_blob(PyObject *op, PyObject *args)
{
    struct file_object *self = (struct file_object *)op;
    unsigned long long bytes, position, offset;
    struct lmn_blob blob = { 0 };
    const char *path;
    Py_buffer into;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "(KKIs)Kw*", &bytes, &position, &blob.kind, &path, &offset, &into))
        return NULL;
    blob.bytes = bytes;
    blob.position = position;
    PyOS_snprintf(blob.path, sizeof blob.path, "%s", path);
    Py_BEGIN_ALLOW_THREADS
        st = lmn_file_read_blob(self->file, &blob, offset, into.buf, (size_t)into.len, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&into);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

static PyObject *file_row_count(PyObject *op, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(lmn_file_row_count(((struct file_object *)op)->file));
}

static PyObject *file_bytes(PyObject *op, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(lmn_file_bytes(((struct file_object *)op)->file));
}

static PyObject *file_version(PyObject *op, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(lmn_file_version(((struct file_object *)op)->file));
}

static PyMethodDef file_methods[] = {
    { "schema", (PyCFunction)(void (*)(void))file_schema, METH_VARARGS | METH_KEYWORDS,
      "The Arrow type of a read, as a capsule." },
    { "scan", (PyCFunction)(void (*)(void))file_scan, METH_VARARGS | METH_KEYWORDS,
      "A stream of batches, as a capsule." },
    { "next", file_next, METH_O,
      "The next batch of a stream of scan(), as a pair of capsules; None at the end." },
    { "take", (PyCFunction)(void (*)(void))file_take, METH_VARARGS | METH_KEYWORDS,
      "Rows by number, as a pair of capsules." },
    { "blob", file_blob, METH_VARARGS, "Where a blob is." },
    { "read_blob", file_read_blob, METH_VARARGS, "Fill a buffer from a blob." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef file_getset[] = {
    { "num_rows", file_row_count, NULL, "Number of rows.", NULL },
    { "nbytes", file_bytes, NULL, "Size in bytes.", NULL },
    { "version", file_version, NULL, "File version.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot file_slots[] = {
    { Py_tp_doc, "An open Lance data file." },
    { Py_tp_new, file_open },
    { Py_tp_dealloc, file_dealloc },
    { Py_tp_methods, file_methods },
    { Py_tp_getset, file_getset },
    { 0, NULL },
};

static PyType_Spec file_spec = { "leman._core.File", sizeof(struct file_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, file_slots };

PyTypeObject *file_type_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &file_spec, NULL);
}
