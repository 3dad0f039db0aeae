/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core.h"

static const struct {
    enum lmn_status status;
    const char *name;
    const char *text;
} classes[] = {
#define CLASS(suffix, value, text, python) { LMN_##suffix, python, text },
    LMN_STATUS_TABLE(CLASS)
#undef CLASS
};

enum { CLASS_COUNT = sizeof classes / sizeof classes[0] };

/* The built-in exception that callers may already expect for a status. */
static PyObject *builtin_of(enum lmn_status status)
{
    switch (status) {
    case LMN_E_INVALID:
        return PyExc_ValueError;
    case LMN_E_NOT_FOUND:
        return PyExc_LookupError;
    case LMN_E_IO:
        return PyExc_OSError;
    case LMN_E_NO_MEMORY:
        return PyExc_MemoryError;
    default:
        return NULL;
    }
}

static PyObject *make_class(const struct module_state *state, const char *name, const char *text,
                            PyObject *builtin)
{
    PyObject *bases, *made;
    char full[64];

    PyOS_snprintf(full, sizeof full, "leman.%s", name);
    bases = builtin != NULL ? PyTuple_Pack(2, state->base_error, builtin)
                            : PyTuple_Pack(1, state->base_error);
    if (bases == NULL)
        return NULL;
    made = PyErr_NewExceptionWithDoc(full, text, bases, NULL);
    Py_DECREF(bases);
    return made;
}

int error_init(PyObject *module, struct module_state *state)
{
    state->base_error = PyErr_NewExceptionWithDoc("leman.LemanError", "Any error of leman.",
                                                  PyExc_Exception, NULL);
    if (state->base_error == NULL ||
        PyModule_AddObjectRef(module, "LemanError", state->base_error) < 0)
        return -1;
    for (int i = 0; i < CLASS_COUNT; i++) {
        PyObject *made = make_class(state, classes[i].name, classes[i].text,
                                    builtin_of(classes[i].status));

        state->error[classes[i].status] = made;
        if (made == NULL || PyModule_AddObjectRef(module, classes[i].name, made) < 0)
            return -1;
    }
    return 0;
}

/* The number that the system gave as its reason; OSError has a place for it. */
static int set_errno(PyObject *error, int os_errno)
{
    PyObject *number;
    int rc;

    if (os_errno == 0 || !PyObject_TypeCheck(error, (PyTypeObject *)PyExc_OSError))
        return 0;
    number = PyLong_FromLong(os_errno);
    rc = number != NULL ? PyObject_SetAttrString(error, "errno", number) : -1;
    Py_XDECREF(number);
    return rc;
}

PyObject *raise_error(const struct module_state *state, const struct lmn_error *err)
{
    PyObject *type = err->status < 16 ? state->error[err->status] : NULL;
    PyObject *text, *error = NULL;

    if (PyErr_Occurred())
        return NULL;
    if (type == NULL)
        type = state->base_error;
    /* A message may quote bytes of a damaged file, or cut a name in the middle of a character. */
    text = PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
    if (text != NULL)
        error = PyObject_CallFunctionObjArgs(type, text, NULL);
    if (error != NULL && set_errno(error, err->os_errno) == 0)
        PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_XDECREF(text);
    return NULL;
}
