/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads of blobs that a function returns: written while it is called, through a capsule that is
 * of no use afterwards.
 */
#include "worker.h"

static const char capsule_name[] = "leman.blobs", used_name[] = "leman.blobs (used)";

PyObject *blobs_capsule(struct lmn_blobs *blobs)
{
    return blobs != NULL ? PyCapsule_New(blobs, capsule_name, NULL) : Py_NewRef(Py_None);
}

void blobs_end_use(PyObject *capsule)
{
    if (capsule != NULL && capsule != Py_None)
        (void)PyCapsule_SetName(capsule, used_name);
}

static struct lmn_blobs *blobs_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, capsule_name);
}

/* blobs_begin(capsule, size): -1 is a size that is not known. */
PyObject *blobs_begin(PyObject *module, PyObject *args)
{
    struct lmn_blobs *blobs;
    struct lmn_error err;
    enum lmn_status st;
    PyObject *capsule;
    long long size;

    if (!PyArg_ParseTuple(args, "OL", &capsule, &size))
        return NULL;
    blobs = blobs_of(capsule);
    if (blobs == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_blobs_begin(blobs, size < 0 ? LMN_BLOB_SIZE_UNKNOWN : (uint64_t)size, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    Py_RETURN_NONE;
}

/* blobs_write(capsule, bytes) */
PyObject *blobs_write(PyObject *module, PyObject *args)
{
    struct lmn_blobs *blobs;
    struct lmn_error err;
    enum lmn_status st;
    PyObject *capsule;
    Py_buffer view;

    if (!PyArg_ParseTuple(args, "Oy*", &capsule, &view))
        return NULL;
    blobs = blobs_of(capsule);
    if (blobs == NULL) {
        PyBuffer_Release(&view);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        st = lmn_blobs_write(blobs, view.buf, (size_t)view.len, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    Py_RETURN_NONE;
}

/* blobs_end(capsule): (position, size), which stand for it in the result. */
PyObject *blobs_end(PyObject *module, PyObject *capsule)
{
    struct lmn_blobs *blobs = blobs_of(capsule);
    uint64_t position, bytes;
    struct lmn_error err;
    enum lmn_status st;

    if (blobs == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_blobs_end(blobs, &position, &bytes, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return Py_BuildValue("(KK)", (unsigned long long)position, (unsigned long long)bytes);
}

/* blobs_drop(capsule) */
PyObject *blobs_drop(PyObject *module, PyObject *capsule)
{
    struct lmn_blobs *blobs = blobs_of(capsule);

    (void)module;
    if (blobs == NULL)
        return NULL;
    lmn_blobs_drop(blobs);
    Py_RETURN_NONE;
}
