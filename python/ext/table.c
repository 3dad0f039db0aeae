/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "table.h"

/* "version", "tag", "timestamp_us" and "branch"; -1 on failure. */
static int read_version(PyObject *kwargs, struct lmn_table_options *options_out)
{
    static char *keywords[] = { "version", "tag", "timestamp_us", "branch", NULL };
    unsigned long long version = 0;
    long long timestamp_us = 0;
    PyObject *none = PyTuple_New(0);
    int ok;

    *options_out = (struct lmn_table_options){ 0 };
    if (none == NULL)
        return -1;
    ok = PyArg_ParseTupleAndKeywords(none, kwargs, "|KzLz", keywords, &version, &options_out->tag,
                                     &timestamp_us, &options_out->branch);
    Py_DECREF(none);
    options_out->version = version;
    options_out->timestamp_us = timestamp_us;
    return ok ? 0 : -1;
}

PyObject *table_wrap(PyTypeObject *type, struct lmn_table *table)
{
    struct table_object *self =
        (struct table_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);

    if (self == NULL) {
        lmn_table_release(table);
        return NULL;
    }
    self->table = table;
    return (PyObject *)self;
}

enum lmn_status open_table_store(const char *root, const char *name, struct lmn_store **store_out,
                                 struct lmn_error *err)
{
    if (name == NULL)
        return lmn_store_open_local(NULL, root, store_out, err);
    return lmn_database_store(NULL, root, name, store_out, err);
}

static PyObject *table_open(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct lmn_table_options options;
    struct lmn_store *store = NULL;
    struct lmn_table *table = NULL;
    const char *root, *name;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "sz", &root, &name) || read_version(kwargs, &options) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = open_table_store(root, name, &store, &err);
        if (st == LMN_OK)
            st = lmn_table_open(store, &options, &table, &err);
        lmn_store_release(store);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyType_GetModuleState(type), &err);
    return table_wrap(type, table);
}

static void table_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);
    struct lmn_table *table = table_of(op);

    Py_BEGIN_ALLOW_THREADS
        lmn_table_release(table);
    Py_END_ALLOW_THREADS((freefunc)PyType_GetSlot(type, Py_tp_free))
    (op);
    Py_DECREF(type);
}

int write_args_read(PyObject *kwargs, struct write_args *args_out)
{
    static char *keywords[] = {
        "data_version",   "page_bytes",  "zstd_level", "fragment_rows", "fragment_bytes",
        "stable_row_ids", "primary_key", "message",    "sync",          NULL
    };
    struct lmn_write_options *options = &args_out->options;
    unsigned long long page_bytes = 0, rows = 0, bytes = 0;
    int stable = 1, sync = 1, ok;
    PyObject *primary_key = Py_None, *none = PyTuple_New(0);

    *args_out = (struct write_args){ 0 };
    if (none == NULL)
        return -1;
    ok = PyArg_ParseTupleAndKeywords(none, kwargs, "|zKiKKpOzp", keywords, &options->encode.version,
                                     &page_bytes, &options->encode.zstd_level, &rows, &bytes,
                                     &stable, &primary_key, &options->message, &sync);
    Py_DECREF(none);
    if (!ok ||
        read_names(primary_key, &args_out->key, &options->primary_key_count, &args_out->keep) < 0)
        return -1;
    options->encode.page_bytes_max = page_bytes;
    options->fragment_rows_max = rows;
    options->fragment_bytes_max = bytes;
    options->unstable_row_ids = !stable;
    options->primary_key = args_out->key;
    options->unsynced = !sync;
    return 0;
}

void write_args_free(struct write_args *args)
{
    PyMem_Free(args->key);
    Py_CLEAR(args->keep);
}

PyObject *end_write(PyObject *op, enum lmn_status st, const struct lmn_error *err)
{
    if (PyErr_Occurred())
        return NULL;
    if (st != LMN_OK)
        return raise_error(state_of(op), err);
    Py_RETURN_NONE;
}

static PyObject *table_create(PyObject *type, PyObject *args, PyObject *kwargs)
{
    struct ArrowArrayStream *stream;
    struct write_args write;
    struct lmn_store *store = NULL;
    struct lmn_table *table = NULL;
    PyObject *capsule;
    const char *root, *name;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "szO", &root, &name, &capsule))
        return NULL;
    stream = stream_of(capsule);
    if (stream == NULL || write_args_read(kwargs, &write) < 0)
        return NULL;
    long_call_begin(&call);
    st = open_table_store(root, name, &store, &err);
    if (st == LMN_OK)
        st = lmn_table_create(store, stream, &write.options, &table, &err);
    lmn_store_release(store);
    st = long_call_end(&call, st);
    write_args_free(&write);
    if (st != LMN_OK) {
        lmn_table_release(table);
        return raise_error(PyType_GetModuleState((PyTypeObject *)type), &err);
    }
    return table_wrap((PyTypeObject *)type, table);
}

static PyObject *table_schema(PyObject *op, PyObject *unused)
{
    struct ArrowSchema schema;
    struct lmn_error err;

    (void)unused;
    if (lmn_table_schema(table_of(op), &schema, &err) != LMN_OK)
        return raise_error(state_of(op), &err);
    return schema_capsule(&schema);
}

/* blob(column, row, by_position): a blob, or None */
static PyObject *table_blob(PyObject *op, PyObject *args)
{
    const char *column;
    unsigned long long row;
    int by_position;

    if (!PyArg_ParseTuple(args, "sKp", &column, &row, &by_position))
        return NULL;
    return table_blob_open(state_of(op), table_of(op), column, row, by_position != 0);
}

static PyObject *table_primary_key(PyObject *op, PyObject *unused)
{
    struct lmn_name_list list;
    struct lmn_error err;

    (void)unused;
    if (lmn_table_primary_key(table_of(op), &list, &err) != LMN_OK)
        return raise_error(state_of(op), &err);
    return name_list(&list);
}

static PyObject *table_refresh(PyObject *op, PyObject *unused)
{
    struct lmn_error err;
    enum lmn_status st;

    (void)unused;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_refresh(table_of(op), &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

static PyObject *table_checkout(PyObject *op, PyObject *args, PyObject *kwargs)
{
    struct lmn_table_options options;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "") || read_version(kwargs, &options) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_checkout(table_of(op), &options, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

static PyObject *table_info(PyObject *op, PyObject *unused)
{
    struct lmn_table_info info;
    struct lmn_error err;
    enum lmn_status st;

    (void)unused;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_info(table_of(op), &info, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:s,s:O}", "version", (unsigned long long)info.version,
        "num_rows", (unsigned long long)info.row_count, "num_deleted_rows",
        (unsigned long long)info.deleted_count, "num_fragments",
        (unsigned long long)info.fragment_count, "num_files", (unsigned long long)info.file_count,
        "data_bytes", (unsigned long long)info.data_bytes, "data_version", info.file_version,
        "stable_row_ids", info.stable_row_ids ? Py_True : Py_False);
}

static PyObject *table_version(PyObject *op, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(lmn_table_version(table_of(op)));
}

/* METH_VARARGS | METH_KEYWORDS functions have a type of their own. */
#define WITH_KEYWORDS(function)                                                                    \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef table_methods[] = {
    { "create", (PyCFunction)(void (*)(void))table_create,
      METH_VARARGS | METH_KEYWORDS | METH_CLASS, "Make a table of the rows of a stream." },
    { "load_new", (PyCFunction)(void (*)(void))table_load_new,
      METH_VARARGS | METH_KEYWORDS | METH_CLASS, "Make a table of the parts of a source." },
    { "schema", table_schema, METH_NOARGS, "The Arrow type of the rows, as a capsule." },
    { "refresh", table_refresh, METH_NOARGS, "Move to the newest version." },
    { "checkout", WITH_KEYWORDS(table_checkout), "Move to another version." },
    { "info", table_info, METH_NOARGS, "What the version is made of." },
    { "primary_key", table_primary_key, METH_NOARGS, "The columns of the primary key." },
    { "scan", WITH_KEYWORDS(table_scan), "A stream of batches, as a capsule." },
    { "next", table_next, METH_O,
      "The next batch of a stream of scan(), as a pair of capsules; None at the end." },
    { "blob", table_blob, METH_VARARGS, "The blob of a row, by id or position." },
    { "take", WITH_KEYWORDS(table_take), "Rows by position, as a pair of capsules." },
    { "take_ids", WITH_KEYWORDS(table_take_ids), "Rows by row id, as a pair of capsules." },
    { "count", table_count, METH_VARARGS, "How many rows match." },
    { "append", WITH_KEYWORDS(table_append), "Append the rows of a stream." },
    { "load", WITH_KEYWORDS(table_load), "Append the parts of a source." },
    { "load_stage", WITH_KEYWORDS(table_load_stage), "Write them, and commit nothing." },
    { "load_commit", WITH_KEYWORDS(table_load_commit), "Append what was staged, as one commit." },
    { "overwrite", WITH_KEYWORDS(table_overwrite), "Replace rows and schema." },
    { "delete", table_delete, METH_VARARGS, "Delete rows; their number." },
    { "update", table_update, METH_VARARGS, "Set columns of rows; their number." },
    { "merge", WITH_KEYWORDS(table_merge),
      "Join rows by key: (inserted, updated, deleted, skipped)." },
    { "add_null_columns", table_add_null_columns, METH_O, "Add columns of nulls." },
    { "add_columns", table_add_columns, METH_O, "Add columns computed by expressions." },
    { "join_columns", table_join_columns, METH_VARARGS, "Add the columns of a stream." },
    { "drop_columns", table_drop_columns, METH_O, "Drop columns." },
    { "rename_column", table_rename_column, METH_VARARGS, "Give a column another name." },
    { "set_read_group", table_set_read_group, METH_VARARGS, "Rows a feed reads together." },
    { "widen_column", table_widen_column, METH_VARARGS, "Give a column a wider type." },
    { "add_function_columns", table_add_function_columns, METH_VARARGS,
      "Add empty columns that a function fills." },
    { "set_function", table_set_function, METH_VARARGS, "Record another function." },
    { "function", table_function, METH_VARARGS, "What is recorded of a column's function." },
    { "cells", table_cells, METH_VARARGS, "The cells of a column by state." },
    { "put_function", table_put_function, METH_VARARGS, "Store code; its hash." },
    { "get_function", table_get_function, METH_VARARGS, "Stored code by its hash." },
    { "errors", table_errors, METH_VARARGS, "Failed cells, as a stream." },
    { "refill_name", table_refill_name, METH_VARARGS, "The name of a column's refill, or None." },
    { "refill_indices", table_refill_indices, METH_VARARGS, "Names of indices, as JSON." },
    { "refill_compare", table_refill_compare, METH_VARARGS, "A column beside its refill." },
    { "refill_swap", table_refill_swap, METH_O, "Put refills in their columns' places." },
    { "refill_discard", table_refill_discard, METH_O, "Drop refills." },
    { "versions", table_versions, METH_NOARGS, "All versions, as dicts." },
    { "tags", table_tags, METH_NOARGS, "All tags: (name, branch, version) each." },
    { "branches", table_branches, METH_NOARGS, "All branches: (name, parent, newest) each." },
    { "tag", table_tag, METH_VARARGS, "Name a version." },
    { "untag", table_untag, METH_VARARGS, "Take a name away." },
    { "restore", table_restore, METH_VARARGS, "Make an earlier version the newest." },
    { "compact", table_compact, METH_VARARGS, "Join small fragments, drop deleted rows." },
    { "cleanup", table_cleanup, METH_VARARGS, "Remove old versions and their files." },
    { "upgrade", table_upgrade, METH_NOARGS, "Rewrite files of version 2.0 as 2.1." },
    { "verify", table_verify, METH_NOARGS, "Read everything; say what is wrong." },
    { "diff", table_diff, METH_VARARGS, "Changed rows between two versions, as a stream." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef table_getset[] = {
    { "version", table_version, NULL, "The version that the table stands at.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot table_slots[] = {
    { Py_tp_doc, "A table at one of its versions." },
    { Py_tp_new, table_open },
    { Py_tp_dealloc, table_dealloc },
    { Py_tp_methods, table_methods },
    { Py_tp_getset, table_getset },
    { 0, NULL },
};

static PyType_Spec table_spec = { "leman._core.Table", sizeof(struct table_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, table_slots };

PyTypeObject *table_type_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &table_spec, NULL);
}
