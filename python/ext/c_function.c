/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/c_function.h>

#include "core.h"

/* c_function(library, name): (version, code) of a function in a shared object. */
PyObject *c_function(PyObject *module, PyObject *args)
{
    struct lmn_c_function *function = NULL;
    const char *library, *name;
    struct lmn_error err;
    enum lmn_status st;
    PyObject *pair;

    if (!PyArg_ParseTuple(args, "ss", &library, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_c_function_open(library, name, &function, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    pair = Py_BuildValue("(sy)", lmn_c_function_version(function), lmn_c_function_code(function));
    lmn_c_function_close(function);
    return pair;
}

/* c_function_bind(library, name, schema): the type that it gives for a struct of inputs, as a
   tuple: the texts of a capsule would lie in the library, which is closed again. */
PyObject *c_function_bind(PyObject *module, PyObject *args)
{
    const struct ArrowSchema *inputs;
    struct lmn_c_function *function = NULL;
    struct ArrowSchema output = { 0 };
    const char *library, *name;
    PyObject *capsule, *spec = NULL;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "ssO", &library, &name, &capsule))
        return NULL;
    inputs = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (inputs == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_c_function_open(library, name, &function, &err);
        if (st == LMN_OK)
            st = lmn_c_function_bind(function, inputs, &output, &err);
    Py_END_ALLOW_THREADS
    if (st == LMN_OK) {
        spec = schema_spec(&output);
        output.release(&output);
    } else {
        raise_error(PyModule_GetState(module), &err);
    }
    lmn_c_function_close(function);
    return spec;
}

/* What a call gave, and the operations that it came from: its release is code of their library. */
struct applied {
    struct ArrowArray output;
    struct lmn_worker_ops ops;
};

static void applied_release(struct ArrowArray *array)
{
    struct applied *applied = array->private_data;

    if (applied->output.release != NULL)
        applied->output.release(&applied->output);
    lmn_c_worker_close(&applied->ops);
    PyMem_Free(applied);
    array->release = NULL;
}

/* The failed rows of a call: [(row, record)]. */
static PyObject *failed_rows(const struct lmn_call_result *result)
{
    PyObject *list = PyList_New(0);

    for (uint64_t i = 0; list != NULL && i < result->error_count; i++) {
        PyObject *pair = Py_BuildValue("(Ks)", (unsigned long long)result->error[i].row,
                                       result->error[i].record);

        if (pair == NULL || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

/* Set the function up and call it once; ops and output stay with *applied. */
static enum lmn_status apply_once(struct applied *applied, const Py_buffer *code,
                                  const struct lmn_call *call, struct lmn_call_result *result_out,
                                  struct lmn_error *err)
{
    struct lmn_worker_ops *ops = &applied->ops;
    enum lmn_status st = lmn_c_worker_open(ops, err);

    if (st == LMN_OK)
        st = ops->setup(ops->context, code->buf, (uint64_t)code->len, err);
    if (st == LMN_OK)
        st = ops->apply(ops->context, call, result_out, err);
    if (st == LMN_OK)
        applied->output = result_out->output;
    return st;
}

/* c_function_apply(code, schema, array, output): (array, [(row, record)]) of one call. */
PyObject *c_function_apply(PyObject *module, PyObject *args)
{
    struct applied *applied = PyMem_Calloc(1, sizeof *applied);
    struct ArrowArray made = { .private_data = applied, .release = applied_release };
    struct lmn_call_result result = { 0 };
    struct lmn_call call = { 0 };
    PyObject *schema, *array, *output, *failed = NULL;
    Py_buffer code = { 0 };
    struct lmn_error err;
    enum lmn_status st = LMN_E_INVALID;

    if (applied == NULL)
        return PyErr_NoMemory();
    if (PyArg_ParseTuple(args, "y*OOO", &code, &schema, &array, &output)) {
        call.schema = PyCapsule_GetPointer(schema, "arrow_schema");
        call.input = PyCapsule_GetPointer(array, "arrow_array");
        call.output = PyCapsule_GetPointer(output, "arrow_schema");
    }
    if (call.schema != NULL && call.input != NULL && call.output != NULL) {
        call.row_count = (uint64_t)call.input->length;
        Py_BEGIN_ALLOW_THREADS
            st = apply_once(applied, &code, &call, &result, &err);
        Py_END_ALLOW_THREADS
        if (st == LMN_OK)
            failed = failed_rows(&result);
        else
            raise_error(PyModule_GetState(module), &err);
    }
    PyBuffer_Release(&code);
    if (failed == NULL) {
        applied_release(&made);
        return NULL;
    }
    made = applied->output;
    made.private_data = applied;
    made.release = applied_release;
    return Py_BuildValue("(NN)", array_capsule(&made), failed);
}

/* c_worker_run(): serve the engine that started this process. */
PyObject *c_worker_run(PyObject *module, PyObject *unused)
{
    struct lmn_error err;
    enum lmn_status st;

    (void)unused;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_c_worker_run(&err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    Py_RETURN_NONE;
}
