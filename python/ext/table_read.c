/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

/* What to read, and what keeps its texts alive. */
struct scan_args {
    struct lmn_scan_options options;
    const char **column;
    PyObject *keep;
    Py_buffer fragments;
};

static void scan_args_free(struct scan_args *args)
{
    PyMem_Free(args->column);
    Py_CLEAR(args->keep);
    if (args->fragments.obj != NULL)
        PyBuffer_Release(&args->fragments);
}

/* Fragment ids come as a buffer of 64-bit numbers. */
static int read_fragments(PyObject *fragments, struct scan_args *args)
{
    if (fragments == Py_None)
        return 0;
    if (PyObject_GetBuffer(fragments, &args->fragments, PyBUF_C_CONTIGUOUS) < 0)
        return -1;
    if (args->fragments.len % 8 != 0) {
        PyErr_SetString(PyExc_ValueError, "fragments is a buffer of 64-bit numbers");
        return -1;
    }
    args->options.fragment = args->fragments.buf;
    args->options.fragment_count = (uint64_t)args->fragments.len / 8;
    return 0;
}

/* Read the keyword arguments of a read; the caller calls scan_args_free(). -1 on failure. */
static int scan_args_read(PyObject *kwargs, struct scan_args *args_out)
{
    static char *keywords[] = { "columns",    "where",          "limit",
                                "offset",     "with_row_id",    "blob_bytes",
                                "batch_rows", "batch_bytes",    "with_row_address",
                                "fragments",  "prefetch_bytes", "threads",
                                NULL };
    struct lmn_scan_options *options = &args_out->options;
    unsigned long long limit = UINT64_MAX, offset = 0, batch_bytes = 0, prefetch_bytes = 0;
    PyObject *columns = Py_None, *fragments = Py_None, *none = PyTuple_New(0);
    int row_id = 0, row_address = 0, blob_bytes = 0, ok;

    *args_out = (struct scan_args){ 0 };
    if (none == NULL)
        return -1;
    ok = PyArg_ParseTupleAndKeywords(none, kwargs, "|OzKKppIKpOKI", keywords, &columns,
                                     &options->where, &limit, &offset, &row_id, &blob_bytes,
                                     &options->batch_rows_max, &batch_bytes, &row_address,
                                     &fragments, &prefetch_bytes, &options->threads);
    Py_DECREF(none);
    if (!ok || read_names(columns, &args_out->column, &options->column_count, &args_out->keep) < 0)
        return -1;
    options->column = args_out->column;
    options->limited = limit != UINT64_MAX;
    options->limit = limit;
    options->offset = offset;
    options->with_row_id = row_id;
    options->with_row_address = row_address;
    options->blobs = blob_bytes ? LMN_BLOB_BYTES : LMN_BLOB_DESCRIPTORS;
    options->batch_bytes_max = batch_bytes;
    options->prefetch_bytes_max = prefetch_bytes;
    if (read_fragments(fragments, args_out) < 0) {
        scan_args_free(args_out);
        return -1;
    }
    return 0;
}

PyObject *table_scan(PyObject *op, PyObject *args, PyObject *kwargs)
{
    struct ArrowArrayStream stream;
    struct scan_args scan;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "") || scan_args_read(kwargs, &scan) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_scan(table_of(op), &scan.options, &stream, &err);
    Py_END_ALLOW_THREADS
    scan_args_free(&scan);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return stream_capsule(&stream);
}

/* Of a call that was interrupted when it had them. */
static void release_rows(struct ArrowSchema *schema, struct ArrowArray *array)
{
    if (schema->release != NULL)
        schema->release(schema);
    if (array->release != NULL)
        array->release(array);
}

PyObject *table_next(PyObject *op, PyObject *capsule)
{
    struct ArrowArrayStream *stream = stream_of(capsule);
    struct ArrowSchema schema = { 0 };
    struct ArrowArray array = { 0 };
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (stream == NULL)
        return NULL;
    long_call_begin(&call);
    st = lmn_table_scan_next(stream, &array, &err);
    st = long_call_end(&call, st);
    if (st != LMN_OK) {
        release_rows(&schema, &array);
        return raise_error(state_of(op), &err);
    }
    if (array.release == NULL)
        Py_RETURN_NONE;
    if (stream->get_schema(stream, &schema) != 0) {
        array.release(&array);
        return PyErr_NoMemory();
    }
    return pair_capsules(&schema, &array);
}

/* Rows by position or by id: a buffer of 64-bit numbers, and what to read of them. */
static PyObject *take_rows(PyObject *op, PyObject *args, PyObject *kwargs, bool by_id)
{
    struct ArrowSchema schema = { 0 };
    struct ArrowArray array = { 0 };
    struct scan_args scan;
    Py_buffer rows;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "y*", &rows))
        return NULL;
    if (rows.len % 8 != 0) {
        PyErr_SetString(PyExc_ValueError, "rows is a buffer of 64-bit numbers");
        PyBuffer_Release(&rows);
        return NULL;
    }
    if (scan_args_read(kwargs, &scan) < 0) {
        PyBuffer_Release(&rows);
        return NULL;
    }
    long_call_begin(&call);
    if (by_id)
        st = lmn_table_take_ids(table_of(op), rows.buf, (uint64_t)rows.len / 8, &scan.options,
                                &schema, &array, &err);
    else
        st = lmn_table_take(table_of(op), rows.buf, (uint64_t)rows.len / 8, &scan.options, &schema,
                            &array, &err);
    st = long_call_end(&call, st);
    scan_args_free(&scan);
    PyBuffer_Release(&rows);
    if (st != LMN_OK) {
        release_rows(&schema, &array);
        return raise_error(state_of(op), &err);
    }
    return pair_capsules(&schema, &array);
}

PyObject *table_take(PyObject *op, PyObject *args, PyObject *kwargs)
{
    return take_rows(op, args, kwargs, false);
}

PyObject *table_take_ids(PyObject *op, PyObject *args, PyObject *kwargs)
{
    return take_rows(op, args, kwargs, true);
}

PyObject *table_count(PyObject *op, PyObject *args)
{
    const char *where = NULL;
    uint64_t count;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "|z", &where))
        return NULL;
    long_call_begin(&call);
    st = lmn_table_count(table_of(op), where, &count, &err);
    st = long_call_end(&call, st);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return PyLong_FromUnsignedLongLong(count);
}
