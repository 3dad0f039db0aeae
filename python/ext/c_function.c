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
