/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

int read_names(PyObject *names, const char ***name_out, uint32_t *count_out, PyObject **keep_out)
{
    Py_ssize_t count;

    *name_out = NULL;
    *count_out = 0;
    *keep_out = NULL;
    if (names == NULL || names == Py_None)
        return 0;
    if (PyUnicode_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "columns is a list of names, not one string");
        return -1;
    }
    *keep_out = PySequence_Tuple(names);
    if (*keep_out == NULL)
        return -1;
    count = PyTuple_Size(*keep_out);
    *name_out = PyMem_Malloc(((size_t)count + 1) * sizeof **name_out);
    if (*name_out == NULL) {
        PyErr_NoMemory();
        goto fail;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GetItem(*keep_out, i);

        if (!PyUnicode_Check(name)) {
            PyErr_Format(PyExc_TypeError, "column names are strings, not %R", name);
            goto fail;
        }
        (*name_out)[i] = PyUnicode_AsUTF8AndSize(name, NULL);
        if ((*name_out)[i] == NULL)
            goto fail;
    }
    *count_out = (uint32_t)count;
    return 0;
fail:
    PyMem_Free(*name_out);
    Py_CLEAR(*keep_out);
    *name_out = NULL;
    return -1;
}

PyObject *name_list(struct lmn_name_list *list)
{
    PyObject *names = PyList_New((Py_ssize_t)list->count);

    for (uint64_t i = 0; names != NULL && i < list->count; i++) {
        PyObject *name = PyUnicode_DecodeFSDefault(list->name[i]);

        if (name == NULL)
            Py_CLEAR(names);
        else
            PyList_SetItem(names, (Py_ssize_t)i, name);
    }
    lmn_name_list_free(list);
    return names;
}
