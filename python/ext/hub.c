/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/hub.h>

#include "hub.h"

struct hub_object {
    PyObject_HEAD struct lmn_hub *hub;
};

struct lmn_hub *hub_of(PyObject *object)
{
    return ((struct hub_object *)object)->hub;
}

/* Hub(address, token, machine) listens. */
static PyObject *hub_open(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    const struct module_state *state = PyType_GetModuleState(type);
    struct lmn_hub_options options = { 0 };
    struct hub_object *self;
    struct lmn_error err;
    enum lmn_status st;

    if (kwargs != NULL && PyDict_Size(kwargs) > 0)
        return PyErr_Format(PyExc_TypeError, "Hub() takes no keyword arguments");
    if (!PyArg_ParseTuple(args, "zsz", &options.address, &options.token, &options.machine))
        return NULL;
    self = (struct hub_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_hub_open(&options, &self->hub, &err);
    Py_END_ALLOW_THREADS
    if (st == LMN_OK)
        return (PyObject *)self;
    Py_DECREF(self);
    return raise_error(state, &err);
}

static void hub_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    lmn_hub_close(((struct hub_object *)op)->hub);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(op);
    Py_DECREF(type);
}

static PyObject *hub_port(PyObject *op, void *unused)
{
    (void)unused;
    return PyLong_FromLong(lmn_hub_port(((struct hub_object *)op)->hub));
}

static PyObject *hub_root(PyObject *op, void *unused)
{
    (void)unused;
    return PyUnicode_DecodeFSDefault(lmn_hub_root(((struct hub_object *)op)->hub));
}

static PyObject *hub_explain(PyObject *op, PyObject *args)
{
    const char *why;

    if (!PyArg_ParseTuple(args, "s", &why))
        return NULL;
    lmn_hub_explain(((struct hub_object *)op)->hub, why);
    Py_RETURN_NONE;
}

static PyMethodDef hub_methods[] = {
    { "explain", hub_explain, METH_VARARGS, "Say why workers do not come." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef hub_members[] = {
    { "port", hub_port, NULL, "The port it listens at.", NULL },
    { "root", hub_root, NULL, "The folder of the table whose job it serves.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot hub_slots[] = {
    { Py_tp_doc, "Where workers of other machines connect." },
    { Py_tp_new, hub_open },
    { Py_tp_dealloc, hub_dealloc },
    { Py_tp_methods, hub_methods },
    { Py_tp_getset, hub_members },
    { 0, NULL },
};

static PyType_Spec hub_spec = { "leman._core.Hub", sizeof(struct hub_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, hub_slots };

PyTypeObject *hub_type_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &hub_spec, NULL);
}

/* agent_run(host=, port=, token=, node=, machine=, root=, job=, worker=, threads=) blocks. */
PyObject *agent_run(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "host", "port", "token",  "node",    "machine",
                             "root", "job",  "worker", "threads", NULL };
    struct lmn_agent_options options = { 0 };
    const char **worker;
    uint32_t count;
    PyObject *command, *held;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$sHsssssOI", names, &options.host,
                                     &options.port, &options.token, &options.node, &options.machine,
                                     &options.root, &options.job, &command, &options.threads))
        return NULL;
    if (read_names(command, &worker, &count, &held) < 0)
        return NULL;
    if (worker != NULL)
        worker[count] = NULL;
    options.worker = (const char *const *)worker;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_agent_run(&options, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free(worker);
    Py_XDECREF(held);
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    Py_RETURN_NONE;
}
