/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/c_function.h>

#include <stdio.h>
#include <string.h>

#include "worker.h"

/*
 * The exception that is set, as an error: the message of a FunctionError as it is, others with
 * their type. A ConflictError says that another process has to do it. An interrupt is kept, to be
 * raised where the serving was called.
 */
static enum lmn_status fail_raised(struct worker_context *context, struct lmn_error *err)
{
    PyObject *type, *value, *trace, *text, *name;
    const char *message = NULL;
    enum lmn_status st = LMN_E_UDF;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value == NULL)
        return lmn_fail(err, LMN_E_UDF, "the function failed without an exception");
    if (trace != NULL)
        PyException_SetTraceback(value, trace);
    if (!PyErr_GivenExceptionMatches(type, PyExc_Exception)) {
        Py_XDECREF(context->raised);
        context->raised = Py_NewRef(value);
    }
    text = PyObject_Str(value);
    name = PyType_GetName((PyTypeObject *)type);
    if (text != NULL)
        message = PyUnicode_AsUTF8AndSize(text, NULL);
    if (name != NULL && PyUnicode_CompareWithASCIIString(name, "FunctionError") == 0)
        lmn_fail(err, LMN_E_UDF, "%s", message != NULL ? message : "");
    else if (name != NULL && PyUnicode_CompareWithASCIIString(name, "ConflictError") == 0)
        st = lmn_fail(err, LMN_E_CONFLICT, "%s", message != NULL ? message : "");
    else
        lmn_fail(err, LMN_E_UDF, "%s: %s",
                 name != NULL ? PyUnicode_AsUTF8AndSize(name, NULL) : "an exception",
                 message != NULL ? message : "");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return st;
}

/* A function in C runs without the interpreter, and asks for its calls as one call each. */
static enum lmn_status setup_c(struct worker_context *context, const void *function, uint64_t len,
                               struct lmn_error *err)
{
    enum lmn_status st = context->c.setup == NULL ? lmn_c_worker_open(&context->c, err) : LMN_OK;

    return st == LMN_OK ? context->c.setup(context->c.context, function, len, err) : st;
}

static enum lmn_status op_setup(void *op, const void *function, uint64_t len, struct lmn_error *err)
{
    struct worker_context *context = op;
    PyGILState_STATE lock;
    PyObject *code, *done = NULL;
    enum lmn_status st = LMN_OK;

    context->in_c = lmn_c_function_is_code(function, len);
    context->ops.asks = !context->in_c;
    if (context->in_c)
        return setup_c(context, function, len, err);
    lock = PyGILState_Ensure();
    code = PyBytes_FromStringAndSize(function, (Py_ssize_t)len);
    if (code != NULL)
        done = PyObject_CallFunctionObjArgs(context->setup, code, NULL);
    if (done == NULL)
        st = fail_raised(context, err);
    Py_XDECREF(code);
    Py_XDECREF(done);
    PyGILState_Release(lock);
    return st;
}

/* A schema that a capsule may own. */
static PyObject *copied_schema(const struct ArrowSchema *schema)
{
    PyObject *spec = schema_spec(schema);
    PyObject *capsule = spec != NULL ? schema_make(NULL, spec) : NULL;

    Py_XDECREF(spec);
    return capsule;
}

/* The ids of the rows, as bytes of 64-bit numbers. */
static PyObject *row_ids(const struct lmn_call *call)
{
    return PyBytes_FromStringAndSize((const char *)call->row_id,
                                     (Py_ssize_t)(call->row_count * sizeof *call->row_id));
}

/* Call `apply`; NULL and an exception on failure. */
static PyObject *call_apply(struct worker_context *context, const struct lmn_call *call)
{
    PyObject *schema = copied_schema(call->schema);
    PyObject *output = copied_schema(call->output);
    PyObject *ids = row_ids(call);
    PyObject *port = call_new(context->call_type, call);
    PyObject *keeping = keeping_begin(&context->keeping, call);
    PyObject *array = NULL, *made = NULL;

    if (schema != NULL && output != NULL && ids != NULL && port != NULL && keeping != NULL)
        array = array_capsule(call->input);
    if (array != NULL)
        made = PyObject_CallFunctionObjArgs(context->apply, schema, array, ids, output, port,
                                            keeping, NULL);
    if (port != NULL)
        call_end(port);
    context->keeping.call = NULL;
    Py_XDECREF(keeping);
    Py_XDECREF(port);
    Py_XDECREF(schema);
    Py_XDECREF(output);
    Py_XDECREF(ids);
    Py_XDECREF(array);
    return made;
}

static void clear_errors(struct worker_context *context)
{
    Py_CLEAR(context->kept);
    PyMem_Free(context->error);
    context->error = NULL;
}

/* The records of failed rows, a list of pairs, which stays alive with the context. */
static int take_errors(struct worker_context *context, PyObject *pairs,
                       struct lmn_call_result *result_out)
{
    Py_ssize_t count = PyList_Size(pairs);

    if (count < 0)
        return -1;
    clear_errors(context);
    context->error = PyMem_Calloc((size_t)count + 1, sizeof *context->error);
    if (context->error == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    context->kept = Py_NewRef(pairs);
    for (Py_ssize_t i = 0; i < count; i++) {
        unsigned long long row;

        if (!PyArg_ParseTuple(PyList_GetItem(pairs, i), "Ks", &row, &context->error[i].record))
            return -1;
        context->error[i].row = row;
    }
    result_out->error = context->error;
    result_out->error_count = (uint64_t)count;
    return 0;
}

static int take_result(struct worker_context *context, PyObject *made,
                       struct lmn_call_result *result_out)
{
    struct ArrowArray *array;
    unsigned long long left = 0;
    PyObject *capsule, *pairs;
    int kept = 0;

    if (!PyArg_ParseTuple(made, "OO!|Kp", &capsule, &PyList_Type, &pairs, &left, &kept))
        return -1;
    array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array == NULL || take_errors(context, pairs, result_out) < 0)
        return -1;
    result_out->output = *array;
    result_out->rows_left = left;
    result_out->kept = kept;
    array->release = NULL;
    return 0;
}

static enum lmn_status op_apply(void *op, const struct lmn_call *call,
                                struct lmn_call_result *result_out, struct lmn_error *err)
{
    struct worker_context *context = op;
    PyGILState_STATE lock;
    enum lmn_status st = LMN_OK;
    PyObject *made;

    *result_out = (struct lmn_call_result){ 0 };
    if (context->in_c)
        return context->c.apply(context->c.context, call, result_out, err);
    lock = PyGILState_Ensure();
    made = call_apply(context, call);
    if (made == NULL || take_result(context, made, result_out) < 0)
        st = fail_raised(context, err);
    Py_XDECREF(made);
    PyGILState_Release(lock);
    return st;
}

void worker_context_init(struct worker_context *context)
{
    *context = (struct worker_context){
        .ops = { .setup = op_setup, .apply = op_apply, .context = context, .asks = true }
    };
}

void worker_context_clear(struct worker_context *context)
{
    lmn_c_worker_close(&context->c);
    clear_errors(context);
    keeping_clear(&context->keeping);
}

/* worker_serve(fd, setup, apply): until the engine closes. */
PyObject *worker_serve(PyObject *module, PyObject *args)
{
    struct worker_context context;
    struct lmn_error err;
    enum lmn_status st;
    int fd;

    worker_context_init(&context);
    if (!PyArg_ParseTuple(args, "iOO", &fd, &context.setup, &context.apply))
        return NULL;
    context.call_type = ((struct module_state *)PyModule_GetState(module))->call_type;
    setvbuf(stdout, NULL, _IOLBF, 0); /* what a function in C prints is heard before it crashes */
    Py_BEGIN_ALLOW_THREADS
        st = lmn_worker_serve(fd, &context.ops, &err);
    Py_END_ALLOW_THREADS
    worker_context_clear(&context);
    if (context.raised != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(context.raised), context.raised);
        Py_DECREF(context.raised);
        return NULL;
    }
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    Py_RETURN_NONE;
}
