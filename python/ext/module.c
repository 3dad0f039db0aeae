/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

struct module_state *state_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

static int module_exec(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);

    if (error_init(module, state) < 0)
        return -1;
    state->file_type = file_type_new(module);
    if (state->file_type == NULL || PyModule_AddType(module, state->file_type) < 0)
        return -1;
    state->writer_type = writer_type_new(module);
    if (state->writer_type == NULL || PyModule_AddType(module, state->writer_type) < 0)
        return -1;
    state->table_type = table_type_new(module);
    if (state->table_type == NULL || PyModule_AddType(module, state->table_type) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", lmn_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct module_state *state = PyModule_GetState(module);

    Py_VISIT(state->file_type);
    Py_VISIT(state->writer_type);
    Py_VISIT(state->table_type);
    Py_VISIT(state->base_error);
    for (int i = 0; i < 16; i++)
        Py_VISIT(state->error[i]);
    return 0;
}

static int module_clear(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);

    Py_CLEAR(state->file_type);
    Py_CLEAR(state->writer_type);
    Py_CLEAR(state->table_type);
    Py_CLEAR(state->base_error);
    for (int i = 0; i < 16; i++)
        Py_CLEAR(state->error[i]);
    return 0;
}

static PyMethodDef module_methods[] = {
    { "stream_schema", stream_schema, METH_O, "The schema of a stream, as a capsule." },
    { "database_list", database_list, METH_VARARGS, "The names of the tables in a directory." },
    { "database_drop", database_drop, METH_VARARGS, "Remove a table." },
    { "database_rename", database_rename, METH_VARARGS, "Give a table another name." },
    { "evaluate", expr_evaluate, METH_VARARGS, "An expression for each row of a batch." },
    { NULL, NULL, 0, NULL },
};

static PyModuleDef_Slot module_slots[] = {
    { Py_mod_exec, module_exec },
    { 0, NULL },
};

static struct PyModuleDef module_def = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "leman._core",
    .m_doc = "The C library, for the package leman.",
    .m_size = sizeof(struct module_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
