/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

static void schema_destroy(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");

    if (schema->release != NULL)
        schema->release(schema);
    PyMem_Free(schema);
}

static void array_destroy(PyObject *capsule)
{
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");

    if (array->release != NULL)
        array->release(array);
    PyMem_Free(array);
}

static void stream_destroy(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");

    if (stream->release != NULL)
        stream->release(stream);
    PyMem_Free(stream);
}

PyObject *schema_capsule(struct ArrowSchema *schema)
{
    struct ArrowSchema *moved = PyMem_Malloc(sizeof *moved);
    PyObject *capsule;

    if (moved == NULL) {
        schema->release(schema);
        return PyErr_NoMemory();
    }
    *moved = *schema;
    schema->release = NULL;
    capsule = PyCapsule_New(moved, "arrow_schema", schema_destroy);
    if (capsule == NULL) {
        moved->release(moved);
        PyMem_Free(moved);
    }
    return capsule;
}

PyObject *array_capsule(struct ArrowArray *array)
{
    struct ArrowArray *moved = PyMem_Malloc(sizeof *moved);
    PyObject *capsule;

    if (moved == NULL) {
        array->release(array);
        return PyErr_NoMemory();
    }
    *moved = *array;
    array->release = NULL;
    capsule = PyCapsule_New(moved, "arrow_array", array_destroy);
    if (capsule == NULL) {
        moved->release(moved);
        PyMem_Free(moved);
    }
    return capsule;
}

PyObject *stream_capsule(struct ArrowArrayStream *stream)
{
    struct ArrowArrayStream *moved = PyMem_Malloc(sizeof *moved);
    PyObject *capsule;

    if (moved == NULL) {
        stream->release(stream);
        return PyErr_NoMemory();
    }
    *moved = *stream;
    stream->release = NULL;
    capsule = PyCapsule_New(moved, "arrow_array_stream", stream_destroy);
    if (capsule == NULL) {
        moved->release(moved);
        PyMem_Free(moved);
    }
    return capsule;
}

PyObject *pair_capsules(struct ArrowSchema *schema, struct ArrowArray *array)
{
    PyObject *first = schema_capsule(schema);
    PyObject *second = array_capsule(array);
    PyObject *pair = NULL;

    if (first != NULL && second != NULL)
        pair = PyTuple_Pack(2, first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return pair;
}

struct ArrowArrayStream *stream_of(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");

    if (stream != NULL && stream->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the stream of rows has been used already");
        return NULL;
    }
    return stream;
}

PyObject *stream_schema(PyObject *module, PyObject *capsule)
{
    struct ArrowArrayStream *stream = stream_of(capsule);
    struct ArrowSchema schema;
    const char *reason;

    (void)module;
    if (stream == NULL)
        return NULL;
    if (stream->get_schema(stream, &schema) == 0)
        return schema_capsule(&schema);
    if (PyErr_Occurred())
        return NULL;
    reason = stream->get_last_error(stream);
    return PyErr_Format(PyExc_ValueError, "the stream has no schema: %s",
                        reason != NULL ? reason : "no reason given");
}
