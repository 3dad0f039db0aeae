/* SPDX-License-Identifier: Apache-2.0 */
/* Plans are capsules; texts are JSON, which the package reads. */
#include <string.h>

#include "core.h"

static const char capsule_name[] = "leman.pack";

static void capsule_free(PyObject *capsule)
{
    lmn_pack_free(PyCapsule_GetPointer(capsule, capsule_name));
}

/* A text for Python; it is freed. File names that are no UTF-8 are replaced by the library. */
static PyObject *text_object(char *text)
{
    PyObject *object = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");

    lmn_text_free(text);
    return object;
}

/* Read a list of (path, kind, flat); the bytes of the paths live as long as the list. */
static int read_paths(PyObject *list, struct lmn_pack_path **path_out, size_t *count_out)
{
    Py_ssize_t count = PyList_Size(list);
    struct lmn_pack_path *path;

    *path_out = NULL;
    if (count < 0)
        return -1;
    path = PyMem_Calloc((size_t)count + 1, sizeof *path);
    if (path == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *path_out = path;
    *count_out = (size_t)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        int kind, flat;

        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "yip", &path[i].path, &kind, &flat))
            return -1;
        path[i].kind = (enum lmn_pack_kind)kind;
        path[i].flat = flat != 0;
    }
    return 0;
}

PyObject *pack_scan(PyObject *module, PyObject *args)
{
    struct lmn_pack_options options = { 0 };
    struct lmn_pack_path *path = NULL;
    struct lmn_pack *pack;
    unsigned long long bytes_max;
    unsigned int threads;
    PyObject *list, *capsule;
    size_t count = 0;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "O!zKI", &PyList_Type, &list, &options.cache_folder, &bytes_max,
                          &threads))
        return NULL;
    options.bytes_max = bytes_max;
    options.threads = threads;
    if (read_paths(list, &path, &count) < 0) {
        PyMem_Free(path);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        st = lmn_pack_scan(NULL, path, count, &options, &pack, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free(path);
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    capsule = PyCapsule_New(pack, capsule_name, capsule_free);
    if (capsule == NULL)
        lmn_pack_free(pack);
    return capsule;
}

PyObject *pack_text(PyObject *module, PyObject *capsule)
{
    struct lmn_pack *pack = PyCapsule_GetPointer(capsule, capsule_name);
    struct lmn_error err;
    enum lmn_status st;
    char *text;

    if (pack == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_pack_text(pack, &text, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return text_object(text);
}

PyObject *pack_ship(PyObject *module, PyObject *args)
{
    struct lmn_store *store = NULL;
    struct lmn_pack *pack;
    PyObject *capsule;
    const char *root;
    struct lmn_error err;
    enum lmn_status st;
    char *text;

    if (!PyArg_ParseTuple(args, "Os", &capsule, &root))
        return NULL;
    pack = PyCapsule_GetPointer(capsule, capsule_name);
    if (pack == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_store_open_local(NULL, root, &store, &err);
        if (st == LMN_OK)
            st = lmn_pack_ship(pack, store, &text, &err);
        lmn_store_release(store);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return text_object(text);
}

/* Read a list of (hash, bytes). */
static int read_archives(PyObject *list, struct lmn_pack_archive **archive_out, size_t *count_out)
{
    Py_ssize_t count = PyList_Size(list);
    struct lmn_pack_archive *archive;

    *archive_out = NULL;
    if (count < 0)
        return -1;
    archive = PyMem_Calloc((size_t)count + 1, sizeof *archive);
    if (archive == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *archive_out = archive;
    *count_out = (size_t)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        unsigned long long bytes;

        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sK", &archive[i].hash, &bytes))
            return -1;
        archive[i].bytes = bytes;
    }
    return 0;
}

PyObject *pack_unpack(PyObject *module, PyObject *args)
{
    struct lmn_pack_archive *archive = NULL;
    struct lmn_store *store = NULL;
    const char *root, *folder;
    PyObject *list;
    size_t count = 0;
    struct lmn_error err;
    enum lmn_status st;
    char *path;

    if (!PyArg_ParseTuple(args, "ssO!", &root, &folder, &PyList_Type, &list))
        return NULL;
    if (read_archives(list, &archive, &count) < 0) {
        PyMem_Free(archive);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        st = lmn_store_open_local(NULL, root, &store, &err);
        if (st == LMN_OK)
            st = lmn_pack_unpack(store, folder, archive, count, &path, &err);
        lmn_store_release(store);
    Py_END_ALLOW_THREADS
    PyMem_Free(archive);
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return text_object(path);
}

PyObject *pack_put(PyObject *module, PyObject *args)
{
    struct lmn_store *store = NULL;
    const char *root, *text;
    char hash[65];
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "ss", &root, &text))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_store_open_local(NULL, root, &store, &err);
        if (st == LMN_OK)
            st = lmn_pack_put(store, text, hash, &err);
        lmn_store_release(store);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return PyUnicode_FromString(hash);
}

PyObject *pack_get(PyObject *module, PyObject *args)
{
    struct lmn_store *store = NULL;
    const char *root, *hash;
    struct lmn_error err;
    enum lmn_status st;
    char *text;

    if (!PyArg_ParseTuple(args, "ss", &root, &hash))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_store_open_local(NULL, root, &store, &err);
        if (st == LMN_OK)
            st = lmn_pack_get(store, hash, &text, &err);
        lmn_store_release(store);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return text_object(text);
}

PyObject *pack_list(PyObject *module, PyObject *args)
{
    struct lmn_store *store = NULL;
    const char *root;
    struct lmn_error err;
    enum lmn_status st;
    char *text;

    if (!PyArg_ParseTuple(args, "s", &root))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_store_open_local(NULL, root, &store, &err);
        if (st == LMN_OK)
            st = lmn_pack_list(store, &text, &err);
        lmn_store_release(store);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return text_object(text);
}

PyObject *pack_remove(PyObject *module, PyObject *args)
{
    struct lmn_store *store = NULL;
    const char *root, *name;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "ss", &root, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_store_open_local(NULL, root, &store, &err);
        if (st == LMN_OK)
            st = lmn_pack_remove(store, name, &err);
        lmn_store_release(store);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    Py_RETURN_NONE;
}
