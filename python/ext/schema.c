/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow types as tuples, so that the package knows and makes types without another library:
 *
 *     (format, name, nullable, metadata, children, dictionary)
 *
 * with the format letters of the Arrow C data interface, metadata a dict of bytes, children a
 * tuple of such tuples and dictionary one of them or None.
 */
#include <string.h>

#include "core.h"

enum { DEPTH_MAX = 64, METADATA_BYTES_MAX = 1 << 24 };

/* A made schema owns its texts and children. */
struct made {
    char *format, *name, *metadata;
    struct ArrowSchema *child;
    struct ArrowSchema **child_list;
    struct ArrowSchema *dictionary;
};

static void made_release(struct ArrowSchema *schema)
{
    struct made *made = schema->private_data;
    PyGILState_STATE lock = PyGILState_Ensure();

    for (int64_t i = 0; i < schema->n_children; i++) {
        if (made->child[i].release != NULL)
            made->child[i].release(&made->child[i]);
    }
    if (made->dictionary != NULL && made->dictionary->release != NULL)
        made->dictionary->release(made->dictionary);
    PyMem_Free(made->format);
    PyMem_Free(made->name);
    PyMem_Free(made->metadata);
    PyMem_Free(made->child);
    PyMem_Free(made->child_list);
    PyMem_Free(made->dictionary);
    PyMem_Free(made);
    schema->release = NULL;
    PyGILState_Release(lock);
}

static char *copy_text(const char *text, size_t len)
{
    char *copy = PyMem_Malloc(len + 1);

    if (copy == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

/* Put a length and bytes behind each other; returns where the next goes. */
static char *put_sized(char *to, const char *bytes, Py_ssize_t len)
{
    int32_t size = (int32_t)len;

    memcpy(to, &size, sizeof size);
    memcpy(to + sizeof size, bytes, (size_t)len);
    return to + sizeof size + len;
}

/* The bytes of a dict of bytes, as the interface lays metadata out. NULL: an exception is set. */
static char *metadata_pack(PyObject *dict)
{
    size_t total = 2 * sizeof(int32_t);
    Py_ssize_t at = 0, key_len, value_len;
    char *packed, *to, *key_bytes, *value_bytes;
    PyObject *key, *value;
    int32_t count = 0;

    while (PyDict_Next(dict, &at, &key, &value)) {
        if (PyBytes_AsStringAndSize(key, &key_bytes, &key_len) < 0 ||
            PyBytes_AsStringAndSize(value, &value_bytes, &value_len) < 0)
            return NULL;
        total += 2 * sizeof(int32_t) + (size_t)key_len + (size_t)value_len;
        count++;
    }
    if (total > METADATA_BYTES_MAX) {
        PyErr_Format(PyExc_ValueError, "metadata of %zu bytes is too long", total);
        return NULL;
    }
    packed = PyMem_Calloc(1, total);
    if (packed == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(packed, &count, sizeof count);
    to = packed + sizeof count;
    at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        PyBytes_AsStringAndSize(key, &key_bytes, &key_len);
        PyBytes_AsStringAndSize(value, &value_bytes, &value_len);
        to = put_sized(put_sized(to, key_bytes, key_len), value_bytes, value_len);
    }
    return packed;
}

static int make(PyObject *spec, int depth, struct ArrowSchema *schema_out);

static int make_children(PyObject *children, int depth, struct ArrowSchema *schema,
                         struct made *made)
{
    Py_ssize_t count = PyTuple_Size(children);

    if (count < 0)
        return -1;
    made->child = PyMem_Calloc((size_t)count + 1, sizeof *made->child);
    made->child_list = PyMem_Calloc((size_t)count + 1, sizeof *made->child_list);
    if (made->child == NULL || made->child_list == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    schema->children = made->child_list;
    for (Py_ssize_t i = 0; i < count; i++) {
        made->child_list[i] = &made->child[i];
        if (make(PyTuple_GetItem(children, i), depth + 1, &made->child[i]) < 0)
            return -1;
        schema->n_children = i + 1;
    }
    return 0;
}

/* The members of `schema`, whose private data is there; whatever is set is freed by its release. */
static int make_members(PyObject *spec, int depth, struct ArrowSchema *schema, struct made *made)
{
    PyObject *metadata, *children, *dictionary;
    const char *format, *name;
    int nullable;

    if (!PyArg_ParseTuple(spec, "sspOO!O", &format, &name, &nullable, &metadata, &PyTuple_Type,
                          &children, &dictionary))
        return -1;
    made->format = copy_text(format, strlen(format));
    made->name = copy_text(name, strlen(name));
    if (made->format == NULL || made->name == NULL)
        return -1;
    schema->format = made->format;
    schema->name = made->name;
    schema->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
    if (PyDict_Check(metadata) && PyDict_Size(metadata) > 0) {
        made->metadata = metadata_pack(metadata);
        if (made->metadata == NULL)
            return -1;
        schema->metadata = made->metadata;
    }
    if (dictionary != Py_None) {
        made->dictionary = PyMem_Calloc(1, sizeof *made->dictionary);
        if (made->dictionary == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        if (make(dictionary, depth + 1, made->dictionary) < 0)
            return -1;
        schema->dictionary = made->dictionary;
    }
    return make_children(children, depth, schema, made);
}

static int make(PyObject *spec, int depth, struct ArrowSchema *schema_out)
{
    struct made *made;

    *schema_out = (struct ArrowSchema){ 0 };
    if (!PyTuple_Check(spec) || depth > DEPTH_MAX) {
        PyErr_Format(PyExc_TypeError, "a type is a tuple of six, not %R", spec);
        return -1;
    }
    made = PyMem_Calloc(1, sizeof *made);
    if (made == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    schema_out->private_data = made;
    schema_out->release = made_release;
    if (make_members(spec, depth, schema_out, made) < 0) {
        made_release(schema_out);
        return -1;
    }
    return 0;
}

PyObject *schema_make(PyObject *module, PyObject *spec)
{
    struct ArrowSchema schema;

    (void)module;
    if (make(spec, 0, &schema) < 0)
        return NULL;
    return schema_capsule(&schema);
}

/* The next sized bytes of metadata; NULL on failure. */
static PyObject *take_sized(const char **at)
{
    int32_t size;

    memcpy(&size, *at, sizeof size);
    *at += sizeof size;
    if (size < 0 || size > METADATA_BYTES_MAX)
        return PyErr_Format(PyExc_ValueError, "metadata names a text of %d bytes", size);
    *at += size;
    return PyBytes_FromStringAndSize(*at - size, size);
}

static PyObject *metadata_dict(const char *packed)
{
    PyObject *dict = PyDict_New();
    int32_t count = 0;

    if (dict == NULL || packed == NULL)
        return dict;
    memcpy(&count, packed, sizeof count);
    packed += sizeof count;
    for (int32_t i = 0; i < count; i++) {
        PyObject *key = take_sized(&packed);
        PyObject *value = key != NULL ? take_sized(&packed) : NULL;
        int failed = value == NULL || PyDict_SetItem(dict, key, value) < 0;

        Py_XDECREF(key);
        Py_XDECREF(value);
        if (failed) {
            Py_DECREF(dict);
            return NULL;
        }
    }
    return dict;
}

static PyObject *describe(const struct ArrowSchema *schema, int depth)
{
    PyObject *children, *dictionary, *metadata;

    if (depth > DEPTH_MAX)
        return PyErr_Format(PyExc_ValueError, "a type is nested more than %d deep", DEPTH_MAX);
    children = PyTuple_New((Py_ssize_t)schema->n_children);
    for (int64_t i = 0; children != NULL && i < schema->n_children; i++) {
        PyObject *child = describe(schema->children[i], depth + 1);

        if (child == NULL)
            Py_CLEAR(children);
        else
            PyTuple_SetItem(children, (Py_ssize_t)i, child);
    }
    if (children == NULL)
        return NULL;
    dictionary = schema->dictionary != NULL ? describe(schema->dictionary, depth + 1)
                                            : Py_NewRef(Py_None);
    metadata = metadata_dict(schema->metadata);
    if (dictionary == NULL || metadata == NULL) {
        Py_DECREF(children);
        Py_XDECREF(dictionary);
        Py_XDECREF(metadata);
        return NULL;
    }
    return Py_BuildValue("(ssONNN)", schema->format, schema->name != NULL ? schema->name : "",
                         schema->flags & ARROW_FLAG_NULLABLE ? Py_True : Py_False, metadata,
                         children, dictionary);
}

PyObject *schema_spec(const struct ArrowSchema *schema)
{
    return describe(schema, 0);
}

PyObject *schema_describe(PyObject *module, PyObject *capsule)
{
    const struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");

    (void)module;
    return schema != NULL ? schema_spec(schema) : NULL;
}
