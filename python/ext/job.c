/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/c_function.h>
#include <string.h>

#include "hub.h"
#include "job.h"
#include "table.h"
#include "worker.h"

struct job_object {
    PyObject_HEAD struct lmn_job *job;
    PyObject *hub; /* NULL: none */
};

static struct lmn_job *job_of(PyObject *op)
{
    return ((struct job_object *)op)->job;
}

/* The table in an object; NULL and an exception for another. */
static struct lmn_table *table_arg(const struct module_state *state, PyObject *object)
{
    if (Py_TYPE(object) == state->table_type)
        return table_of(object);
    PyErr_SetString(PyExc_TypeError, "a job runs on a table");
    return NULL;
}

/* Job(table, functions, options[, hub]) plans and starts. */
static PyObject *job_start(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    const struct module_state *state = PyType_GetModuleState(type);
    PyObject *table_object, *functions, *options, *hub = NULL;
    struct job_object *self;
    struct lmn_table *table;
    struct job_args job;
    struct lmn_error err;
    enum lmn_status st;

    if (kwargs != NULL && PyDict_Size(kwargs) > 0)
        return PyErr_Format(PyExc_TypeError, "Job() takes no keyword arguments");
    if (!PyArg_ParseTuple(args, "OO!O!|O!", &table_object, &PyList_Type, &functions, &PyDict_Type,
                          &options, state->hub_type, &hub))
        return NULL;
    table = table_arg(state, table_object);
    if (table == NULL || job_args_read(functions, options, &job) < 0)
        return NULL;
    job.options.hub = hub != NULL ? hub_of(hub) : NULL;
    self = (struct job_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) {
        job_args_free(&job);
        return NULL;
    }
    self->hub = Py_XNewRef(hub);
    Py_BEGIN_ALLOW_THREADS
        st = lmn_job_start(table, job.function, job.function_count, &job.options, &self->job, &err);
    Py_END_ALLOW_THREADS
    job_args_free(&job);
    if (st == LMN_OK)
        return (PyObject *)self;
    Py_DECREF(self);
    return raise_error(state, &err);
}

static void job_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);
    struct lmn_job *job = job_of(op);

    Py_BEGIN_ALLOW_THREADS
        lmn_job_free(job);
    Py_END_ALLOW_THREADS
    Py_CLEAR(((struct job_object *)op)->hub);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(op);
    Py_DECREF(type);
}

/* serve(setup, apply): be the only worker, in this thread, until the job ends. */
static PyObject *job_serve(PyObject *op, PyObject *args)
{
    struct worker_context context;
    struct lmn_error err;
    enum lmn_status st;

    worker_context_init(&context);
    if (!PyArg_ParseTuple(args, "OO", &context.setup, &context.apply))
        return NULL;
    context.call_type = state_of(op)->call_type;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_job_serve(job_of(op), &context.ops, &err);
    Py_END_ALLOW_THREADS
    worker_context_clear(&context);
    if (context.raised != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(context.raised), context.raised);
        Py_DECREF(context.raised);
        return NULL;
    }
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

static const char *state_name(enum lmn_job_state state)
{
    static const char *const names[] = { "planning", "waiting",     "running", "stopping",
                                         "done",     "done_failed", "stopped", "failed" };

    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

/* An exception of the error's class, not raised; None for none. */
static PyObject *error_object(const struct module_state *state, const struct lmn_error *err)
{
    PyObject *type, *value, *trace;

    if (err->status == LMN_OK)
        Py_RETURN_NONE;
    raise_error(state, err);
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

static int put(PyObject *dict, const char *name, PyObject *value)
{
    int failed = value == NULL ? -1 : PyDict_SetItemString(dict, name, value);

    Py_XDECREF(value);
    return failed;
}

static int put_count(PyObject *dict, const char *name, uint64_t count)
{
    return put(dict, name, PyLong_FromUnsignedLongLong(count));
}

static int put_text(PyObject *dict, const char *name, const char *text)
{
    return put(dict, name, PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"));
}

static int put_counts(PyObject *dict, const struct lmn_job_status *status)
{
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        { "rows_planned", status->rows_planned },
        { "rows_resumed", status->rows_resumed },
        { "rows_computed", status->rows_computed },
        { "rows_checkpointed", status->rows_checkpointed },
        { "rows_committed", status->rows_committed },
        { "rows_failed", status->rows_failed },
        { "bytes_written", status->bytes_written },
        { "workers", status->workers },
        { "workers_ready", status->workers_ready },
        { "worker_deaths", status->worker_deaths },
        { "memory_bytes", status->memory_bytes },
        { "elapsed_ms", status->elapsed_ms },
        { "read_ms", status->read_ms },
        { "call_ms", status->call_ms },
        { "write_ms", status->write_ms },
        { "wait_ms", status->wait_ms },
        { "log_lines", status->log_lines },
        { "log_lines_dropped", status->log_lines_dropped },
        { "eta_ms", status->eta_ms },
        { "eta_low_ms", status->eta_low_ms },
        { "eta_high_ms", status->eta_high_ms },
        { "checkpoint_age_ms", status->checkpoint_age_ms },
        { "commit_age_ms", status->commit_age_ms },
        { "version", status->version },
        { "calls", status->calls },
        { "tokens", status->tokens },
    };

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (put_count(dict, counts[i].name, counts[i].count) < 0)
            return -1;
    }
    return 0;
}

static int put_rates(PyObject *dict, const struct lmn_job_status *status)
{
    const struct {
        const char *name;
        double rate;
    } rates[] = {
        { "rate", status->rate },
        { "rate_recent", status->rate_recent },
        { "read_rate", status->read_rate },
        { "write_rate", status->write_rate },
    };

    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        if (put(dict, rates[i].name, PyFloat_FromDouble(rates[i].rate)) < 0)
            return -1;
    }
    return put_text(dict, "verdict", status->verdict);
}

static PyObject *job_status(PyObject *op, PyObject *unused)
{
    struct lmn_job_status status;
    PyObject *dict;

    (void)unused;
    Py_BEGIN_ALLOW_THREADS
        lmn_job_status(job_of(op), &status);
    Py_END_ALLOW_THREADS
    dict = PyDict_New();
    if (dict == NULL)
        return NULL;
    if (put_text(dict, "state", state_name(status.state)) < 0 ||
        put_text(dict, "id", status.id) < 0 || put_text(dict, "message", status.message) < 0 ||
        put(dict, "error", error_object(state_of(op), &status.error)) < 0 ||
        put_counts(dict, &status) < 0 || put_rates(dict, &status) < 0 ||
        put(dict, "cost", PyFloat_FromDouble(status.cost)) < 0) {
        Py_DECREF(dict);
        return NULL;
    }
    return dict;
}

static PyObject *job_wait(PyObject *op, PyObject *args)
{
    unsigned long long timeout_ms;
    bool ended;

    if (!PyArg_ParseTuple(args, "K", &timeout_ms))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        ended = lmn_job_wait(job_of(op), timeout_ms);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(ended);
}

static PyObject *job_stop(PyObject *op, PyObject *args)
{
    int now = 0;

    if (!PyArg_ParseTuple(args, "|p", &now))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        lmn_job_stop(job_of(op), now);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef job_methods[] = {
    { "serve", job_serve, METH_VARARGS, "Run the functions in this thread until the job ends." },
    { "status", job_status, METH_NOARGS, "How it stands, as a dict." },
    { "wait", job_wait, METH_VARARGS, "Wait for milliseconds; True when the job has ended." },
    { "stop", job_stop, METH_VARARGS, "Checkpoint and end; or kill what runs." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot job_slots[] = {
    { Py_tp_doc, "A job that runs." },
    { Py_tp_new, job_start },
    { Py_tp_dealloc, job_dealloc },
    { Py_tp_methods, job_methods },
    { 0, NULL },
};

static PyType_Spec job_spec = { "leman._core.Job", sizeof(struct job_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, job_slots };

PyTypeObject *job_type_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &job_spec, NULL);
}

/* A text of the library; it is freed. */
static PyObject *text_take(char *text)
{
    PyObject *made = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");

    lmn_text_free(text);
    return made;
}

/* job_plan(table, functions, options): a JSON object. */
PyObject *job_plan(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    PyObject *table_object, *functions, *options;
    struct lmn_table *table;
    struct job_args job;
    char *text = NULL;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "OO!O!", &table_object, &PyList_Type, &functions, &PyDict_Type,
                          &options))
        return NULL;
    table = table_arg(state, table_object);
    if (table == NULL || job_args_read(functions, options, &job) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_job_plan(table, job.function, job.function_count, &job.options, &text, &err);
    Py_END_ALLOW_THREADS
    job_args_free(&job);
    return st == LMN_OK ? text_take(text) : raise_error(state, &err);
}

/* job_records(table, id or None): a JSON array. */
PyObject *job_records(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    PyObject *table_object;
    struct lmn_table *table;
    const char *id;
    char *text = NULL;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "Oz", &table_object, &id))
        return NULL;
    table = table_arg(state, table_object);
    if (table == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_job_records(table, id, &text, &err);
    Py_END_ALLOW_THREADS
    return st == LMN_OK ? text_take(text) : raise_error(state, &err);
}

/* job_logs(table, id, worker or None, row or None): a JSON array. */
PyObject *job_logs(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    PyObject *table_object, *worker, *row;
    struct lmn_job_log_options options = { 0 };
    struct lmn_table *table;
    const char *id;
    char *text = NULL;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "OsOO", &table_object, &id, &worker, &row))
        return NULL;
    table = table_arg(state, table_object);
    if (table == NULL)
        return NULL;
    options.one_worker = worker != Py_None;
    options.one_row = row != Py_None;
    if (options.one_worker)
        options.worker = PyLong_AsUnsignedLongLong(worker);
    if (options.one_row && !PyErr_Occurred())
        options.row = PyLong_AsUnsignedLongLong(row);
    if (PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_job_logs(table, id, &options, &text, &err);
    Py_END_ALLOW_THREADS
    return st == LMN_OK ? text_take(text) : raise_error(state, &err);
}

/* job_peek(table, id, column or None, rows): a pair of capsules. */
PyObject *job_peek(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    PyObject *table_object;
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_table *table;
    const char *id, *column;
    unsigned long long rows;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "OszK", &table_object, &id, &column, &rows))
        return NULL;
    table = table_arg(state, table_object);
    if (table == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_job_peek(table, id, column, rows, &schema, &array, &err);
    Py_END_ALLOW_THREADS
    return st == LMN_OK ? pair_capsules(&schema, &array) : raise_error(state, &err);
}

/* A call of a table and the id of a job. */
static PyObject *call_by_id(PyObject *module, PyObject *args,
                            enum lmn_status (*call)(struct lmn_table *, const char *,
                                                    struct lmn_error *))
{
    const struct module_state *state = PyModule_GetState(module);
    PyObject *table_object;
    struct lmn_table *table;
    const char *id;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "Os", &table_object, &id))
        return NULL;
    table = table_arg(state, table_object);
    if (table == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = call(table, id, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state, &err);
    Py_RETURN_NONE;
}

PyObject *job_cancel(PyObject *module, PyObject *args)
{
    return call_by_id(module, args, lmn_job_cancel);
}

PyObject *job_discard(PyObject *module, PyObject *args)
{
    return call_by_id(module, args, lmn_job_discard);
}

PyObject *job_end_workers(PyObject *module, PyObject *unused)
{
    uint32_t count;

    (void)module;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
        count = lmn_job_end_workers();
    Py_END_ALLOW_THREADS
    return PyLong_FromUnsignedLong(count);
}
