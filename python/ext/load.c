/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads whose parts are opened by Python: open(part) gives an Arrow stream, whose rows are then
 * read without the interpreter lock if they are not made in Python. What open() or progress() raise
 * ends the load; the package keeps the exception and raises it again.
 */
#include "table.h"

struct source {
    const char **name;
    PyObject *names; /* keeps the texts alive */
    uint32_t count;
    PyObject *sizes; /* a tuple of numbers */
    PyObject *open;
    PyObject *progress;
    const char *title;
};

static enum lmn_status source_describe(void *self, uint64_t part, struct lmn_load_part *part_out,
                                       struct lmn_error *err)
{
    const struct source *source = self;
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *bytes = PyTuple_GetItem(source->sizes, (Py_ssize_t)part);

    (void)err;
    part_out->name = source->name[part];
    part_out->bytes = bytes != NULL ? PyLong_AsUnsignedLongLong(bytes) : 0;
    PyErr_Clear();
    PyGILState_Release(lock);
    return LMN_OK;
}

static enum lmn_status source_open(void *self, uint64_t part, struct ArrowArrayStream *stream_out,
                                   struct lmn_error *err)
{
    const struct source *source = self;
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *capsule = PyObject_CallFunction(source->open, "K", (unsigned long long)part);
    struct ArrowArrayStream *stream = capsule != NULL ? stream_of(capsule) : NULL;
    enum lmn_status st = LMN_OK;

    if (stream != NULL) {
        *stream_out = *stream;
        stream->release = NULL;
    } else {
        st = lmn_fail(err, LMN_E_INVALID, "%.200s cannot be opened", source->name[part]);
        PyErr_Clear();
    }
    Py_XDECREF(capsule);
    PyGILState_Release(lock);
    return st;
}

static PyObject *progress_tuple(const struct lmn_load_progress *progress)
{
    return Py_BuildValue(
        "(KKKKKKK)", (unsigned long long)progress->part_count,
        (unsigned long long)progress->parts_before, (unsigned long long)progress->parts_done,
        (unsigned long long)progress->rows, (unsigned long long)progress->bytes,
        (unsigned long long)progress->commits, (unsigned long long)progress->rows_committed);
}

/* In the caller's thread, so that Ctrl-C reaches Python. */
static bool source_progress(void *self, const struct lmn_load_progress *progress)
{
    const struct source *source = self;
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *numbers = progress_tuple(progress);
    PyObject *answer = numbers != NULL ? PyObject_CallFunction(source->progress, "(O)", numbers)
                                       : NULL;
    bool go_on = answer != NULL && PyObject_IsTrue(answer) == 1;

    Py_XDECREF(numbers);
    Py_XDECREF(answer);
    PyErr_Clear();
    PyGILState_Release(lock);
    return go_on;
}

static void source_free(struct source *source)
{
    PyMem_Free(source->name);
    Py_XDECREF(source->names);
}

struct load_args {
    struct source source;
    struct lmn_load_source load;
    struct lmn_load_options options;
    struct write_args write;
};

/* (title, names, sizes, open, progress, parallelism, commit_bytes, one_commit, again, **write) */
static int load_args_read(PyObject *args, PyObject *kwargs, struct load_args *out)
{
    struct source *source = &out->source;
    PyObject *names;
    unsigned int parallelism;
    unsigned long long commit_bytes;
    int one_commit, again;

    *out = (struct load_args){ 0 };
    if (!PyArg_ParseTuple(args, "sOO!OOIKpp", &source->title, &names, &PyTuple_Type, &source->sizes,
                          &source->open, &source->progress, &parallelism, &commit_bytes,
                          &one_commit, &again) ||
        read_names(names, &source->name, &source->count, &source->names) < 0)
        return -1;
    if (write_args_read(kwargs, &out->write) < 0) {
        source_free(source);
        return -1;
    }
    out->options.write = out->write.options;
    out->options.parallelism = parallelism;
    out->options.commit_bytes = commit_bytes;
    out->options.one_commit = one_commit != 0;
    out->options.again = again != 0;
    out->options.progress = source_progress;
    out->options.progress_self = source;
    out->load = (struct lmn_load_source){ .self = source,
                                          .name = source->title,
                                          .part_count = source->count,
                                          .describe = source_describe,
                                          .open = source_open };
    return 0;
}

static void load_args_free(struct load_args *args)
{
    write_args_free(&args->write);
    source_free(&args->source);
}

PyObject *table_load(PyObject *op, PyObject *args, PyObject *kwargs)
{
    struct load_args load;
    struct lmn_load_progress result;
    struct lmn_error err;
    enum lmn_status st;

    if (load_args_read(args, kwargs, &load) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_load(table_of(op), &load.load, &load.options, &result, &err);
    Py_END_ALLOW_THREADS
    load_args_free(&load);
    return st != LMN_OK ? raise_error(state_of(op), &err) : progress_tuple(&result);
}

/* load_stage(): as load(), and nothing is committed; (numbers, text). */
PyObject *table_load_stage(PyObject *op, PyObject *args, PyObject *kwargs)
{
    struct load_args load;
    struct lmn_load_progress result;
    struct lmn_error err;
    PyObject *answer;
    char *staged;
    enum lmn_status st;

    if (load_args_read(args, kwargs, &load) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_load_stage(table_of(op), &load.load, &load.options, &staged, &result, &err);
    Py_END_ALLOW_THREADS
    load_args_free(&load);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    answer = Py_BuildValue("(Ns)", progress_tuple(&result), staged);
    lmn_text_free(staged);
    return answer;
}

/* load_commit(texts, **write): what load_stage() has written becomes rows. */
PyObject *table_load_commit(PyObject *op, PyObject *args, PyObject *kwargs)
{
    struct write_args write;
    const char **staged;
    uint32_t count;
    PyObject *texts, *held;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "O", &texts) || read_names(texts, &staged, &count, &held) < 0)
        return NULL;
    if (write_args_read(kwargs, &write) < 0) {
        PyMem_Free(staged);
        Py_XDECREF(held);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_load_commit(table_of(op), staged, count, &write.options, &err);
    Py_END_ALLOW_THREADS
    write_args_free(&write);
    PyMem_Free(staged);
    Py_XDECREF(held);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

PyObject *table_load_new(PyObject *type, PyObject *args, PyObject *kwargs)
{
    struct load_args load;
    struct lmn_load_progress result;
    struct lmn_store *store = NULL;
    struct lmn_table *table = NULL;
    const char *root, *name;
    PyObject *rest, *wrapped, *numbers;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "szO!", &root, &name, &PyTuple_Type, &rest) ||
        load_args_read(rest, kwargs, &load) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = open_table_store(root, name, &store, &err);
        if (st == LMN_OK)
            st = lmn_table_load_new(store, &load.load, &load.options, &table, &result, &err);
        lmn_store_release(store);
    Py_END_ALLOW_THREADS
    load_args_free(&load);
    if (st != LMN_OK)
        return raise_error(PyType_GetModuleState((PyTypeObject *)type), &err);
    wrapped = table_wrap((PyTypeObject *)type, table);
    numbers = progress_tuple(&result);
    return Py_BuildValue("(NN)", wrapped, numbers);
}

/* expand(pattern, ending): the files that a pattern stands for. */
PyObject *ingest_expand(PyObject *module, PyObject *args)
{
    struct lmn_name_list list;
    const char *pattern, *ending;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "sz", &pattern, &ending))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_ingest_expand(NULL, pattern, ending, &list, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return name_list(&list);
}

/* open_rows(path, format, ...): rows of Arrow IPC, CSV or JSON lines, as a capsule. */
PyObject *ingest_open(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "path",      "format", "delimiter", "no_header",
                                "null_text", "report", "schema",    NULL };
    struct lmn_ingest_options options = { 0 };
    struct ArrowArrayStream stream;
    const char *path, *delimiter = NULL;
    PyObject *report = Py_None, *schema = Py_None;
    int no_header = 0;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|zzpzOO", keywords, &path, &options.format,
                                     &delimiter, &no_header, &options.null_text, &report, &schema))
        return NULL;
    if (schema != Py_None) {
        options.schema = PyCapsule_GetPointer(schema, "arrow_schema");
        if (options.schema == NULL)
            return NULL;
    }
    if (report != Py_None) {
        options.bad = LMN_BAD_SKIP;
        options.report = report_problem;
        options.report_self = Py_NewRef(report);
        options.report_free = report_free;
    }
    options.delimiter = delimiter != NULL ? delimiter[0] : '\0';
    options.no_header = no_header != 0;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_ingest_open(NULL, path, &options, &stream, &err);
    Py_END_ALLOW_THREADS
    if (st == LMN_OK)
        return stream_capsule(&stream);
    Py_XDECREF((PyObject *)options.report_self);
    return raise_error(PyModule_GetState(module), &err);
}
