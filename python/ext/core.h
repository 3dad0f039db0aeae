/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core.h - what the files of the extension module share.
 *
 * The extension holds no policy: it parses arguments, releases the interpreter lock around one
 * library call, turns a status into an exception and wraps the result. Data crosses as Arrow
 * capsules and buffers, never as rows.
 */
#ifndef LEMAN_PYTHON_CORE_H
#define LEMAN_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <leman/leman.h>

struct module_state {
    PyTypeObject *file_type;
    PyTypeObject *writer_type;
    PyTypeObject *table_type;
    PyObject *base_error;
    PyObject *error[16]; /* exception classes by status */
};

/* The state of the module that defines the type of `self`. */
struct module_state *state_of(PyObject *self);

/* Make the exception classes and add them to the module. -1 on failure. */
int error_init(PyObject *module, struct module_state *state);

/* Set the exception of `err`; returns NULL. */
PyObject *raise_error(const struct module_state *state, const struct lmn_error *err);

/*
 * Read a sequence of strings into an array that PyMem_Free() frees; the strings live as long as
 * *keep_out. None gives NULL. -1 on failure.
 */
int read_names(PyObject *names, const char ***name_out, uint32_t *count_out, PyObject **keep_out);

/* A list of texts; the names are freed. NULL on failure. */
PyObject *name_list(struct lmn_name_list *list);

/* Capsules of the Arrow PyCapsule interface; they take over what is given. NULL on failure. */
PyObject *schema_capsule(struct ArrowSchema *schema);
PyObject *array_capsule(struct ArrowArray *array);
PyObject *stream_capsule(struct ArrowArrayStream *stream);

/* Schema and array as a pair, the way __arrow_c_array__ hands them over. */
PyObject *pair_capsules(struct ArrowSchema *schema, struct ArrowArray *array);

/* The stream in a capsule that has not been used; NULL and an exception otherwise. */
struct ArrowArrayStream *stream_of(PyObject *capsule);

/* Module function: the schema of a stream, as a capsule. */
PyObject *stream_schema(PyObject *module, PyObject *capsule);

/* Module functions: directories of tables. */
PyObject *database_list(PyObject *module, PyObject *args);
PyObject *database_drop(PyObject *module, PyObject *args);
PyObject *database_rename(PyObject *module, PyObject *args);

/* Module function: evaluate(text, schema, array). */
PyObject *expr_evaluate(PyObject *module, PyObject *args);

/* Types, one per file. */
PyTypeObject *file_type_new(PyObject *module);
PyTypeObject *writer_type_new(PyObject *module);
PyTypeObject *table_type_new(PyObject *module);

#endif
