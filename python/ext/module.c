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
    state->buffer_type = buffer_type_new(module);
    if (state->buffer_type == NULL || PyModule_AddType(module, state->buffer_type) < 0)
        return -1;
    state->job_type = job_type_new(module);
    if (state->job_type == NULL || PyModule_AddType(module, state->job_type) < 0)
        return -1;
    state->hub_type = hub_type_new(module);
    if (state->hub_type == NULL || PyModule_AddType(module, state->hub_type) < 0)
        return -1;
    state->feed_type = feed_type_new(module);
    if (state->feed_type == NULL || PyModule_AddType(module, state->feed_type) < 0)
        return -1;
    state->feed_memory_type = feed_memory_type_new(module);
    if (state->feed_memory_type == NULL || PyModule_AddType(module, state->feed_memory_type) < 0)
        return -1;
    state->webdataset_type = webdataset_type_new(module);
    if (state->webdataset_type == NULL || PyModule_AddType(module, state->webdataset_type) < 0)
        return -1;
    state->array_record_type = array_record_type_new(module);
    if (state->array_record_type == NULL || PyModule_AddType(module, state->array_record_type) < 0)
        return -1;
    state->blob_type = blob_type_new(module);
    if (state->blob_type == NULL || PyModule_AddType(module, state->blob_type) < 0)
        return -1;
    state->call_type = call_type_new(module);
    if (state->call_type == NULL || PyModule_AddType(module, state->call_type) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", lmn_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct module_state *state = PyModule_GetState(module);

    Py_VISIT(state->file_type);
    Py_VISIT(state->writer_type);
    Py_VISIT(state->table_type);
    Py_VISIT(state->buffer_type);
    Py_VISIT(state->job_type);
    Py_VISIT(state->hub_type);
    Py_VISIT(state->feed_type);
    Py_VISIT(state->feed_memory_type);
    Py_VISIT(state->webdataset_type);
    Py_VISIT(state->array_record_type);
    Py_VISIT(state->call_type);
    Py_VISIT(state->blob_type);
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
    Py_CLEAR(state->buffer_type);
    Py_CLEAR(state->job_type);
    Py_CLEAR(state->hub_type);
    Py_CLEAR(state->feed_type);
    Py_CLEAR(state->feed_memory_type);
    Py_CLEAR(state->webdataset_type);
    Py_CLEAR(state->array_record_type);
    Py_CLEAR(state->call_type);
    Py_CLEAR(state->blob_type);
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
    { "expand", ingest_expand, METH_VARARGS, "The files that a pattern stands for." },
    { "open_rows", (PyCFunction)(void (*)(void))ingest_open, METH_VARARGS | METH_KEYWORDS,
      "The rows of a file, as a stream." },
    { "write_array_record", array_record_write, METH_VARARGS, "Write a file of records." },
    { "evaluate", expr_evaluate, METH_VARARGS, "An expression for each row of a batch." },
    { "schema_make", schema_make, METH_O, "A type, given as a tuple, as a capsule." },
    { "schema_describe", schema_describe, METH_O, "The type in a capsule, as a tuple." },
    { "array_length", array_length, METH_O, "The number of rows in a capsule." },
    { "values_columns", values_columns, METH_VARARGS, "The columns of a batch, as lists." },
    { "values_array", values_array, METH_VARARGS, "Values as a batch: (array, what is wrong)." },
    { "values_lists", values_lists, METH_VARARGS, "A column of lists of numbers, by its buffers." },
    { "values_plain", values_plain, METH_VARARGS, "The memory of a batch, column by column." },
    { "job_plan", job_plan, METH_VARARGS, "What a job would do, as JSON." },
    { "job_records", job_records, METH_VARARGS, "The jobs of a table, as JSON." },
    { "job_peek", job_peek, METH_VARARGS, "Rows of a job that are in no version yet." },
    { "job_logs", job_logs, METH_VARARGS, "What the functions of a job have printed, as JSON." },
    { "job_cancel", job_cancel, METH_VARARGS, "Ask a job to stop." },
    { "job_discard", job_discard, METH_VARARGS, "Drop what a job has not committed." },
    { "job_end_workers", job_end_workers, METH_NOARGS, "End the workers that wait for a job." },
    { "blobs_begin", blobs_begin, METH_VARARGS, "Begin the payload of a blob." },
    { "blobs_write", blobs_write, METH_VARARGS, "Write bytes of it." },
    { "blobs_end", blobs_end, METH_O, "End it: what stands for it in the result." },
    { "blobs_drop", blobs_drop, METH_O, "Forget it." },
    { "c_function", c_function, METH_VARARGS, "Version and code of a function in C." },
    { "c_function_bind", c_function_bind, METH_VARARGS, "The type that it gives." },
    { "c_function_apply", c_function_apply, METH_VARARGS, "What it makes of some rows." },
    { "c_worker_run", c_worker_run, METH_NOARGS, "Run functions in C for an engine." },
    { "worker_serve", worker_serve, METH_VARARGS, "Run functions for an engine." },
    { "worker_forked", worker_forked, METH_NOARGS, "This process is a fork of a worker." },
    { "pack_scan", pack_scan, METH_VARARGS, "Plan to ship some paths; a capsule." },
    { "pack_text", pack_text, METH_O, "A plan, as JSON." },
    { "pack_ship", pack_ship, METH_VARARGS, "Ship what a store lacks of a plan, as JSON." },
    { "pack_unpack", pack_unpack, METH_VARARGS, "The folder that archives were made of." },
    { "pack_put", pack_put, METH_VARARGS, "Keep a text among the environments; its hash." },
    { "pack_get", pack_get, METH_VARARGS, "The text of a hash." },
    { "pack_list", pack_list, METH_VARARGS, "What lies among the environments, as JSON." },
    { "pack_remove", pack_remove, METH_VARARGS, "Take one of them away." },
    { "agent_run", (PyCFunction)(void (*)(void))agent_run, METH_VARARGS | METH_KEYWORDS,
      "Run workers for a job on another machine." },
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
