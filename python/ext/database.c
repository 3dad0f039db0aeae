/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

PyObject *database_list(PyObject *module, PyObject *args)
{
    struct lmn_name_list list;
    const char *root;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "s", &root))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_database_list(NULL, root, &list, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return name_list(&list);
}

PyObject *database_drop(PyObject *module, PyObject *args)
{
    const char *root, *name;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "ss", &root, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_database_drop(NULL, root, name, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    Py_RETURN_NONE;
}

PyObject *database_rename(PyObject *module, PyObject *args)
{
    const char *root, *from, *to;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "sss", &root, &from, &to))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_database_rename(NULL, root, from, to, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    Py_RETURN_NONE;
}
