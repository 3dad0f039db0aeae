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
    PyTypeObject *buffer_type;
    PyTypeObject *job_type;
    PyTypeObject *hub_type;
    PyTypeObject *feed_type;
    PyTypeObject *feed_memory_type;
    PyTypeObject *webdataset_type;
    PyTypeObject *array_record_type;
    PyTypeObject *call_type;
    PyTypeObject *blob_type;
    PyObject *base_error;
    PyObject *error[16]; /* exception classes by status */
};

/* The state of the module that defines the type of `self`. */
struct module_state *state_of(PyObject *self);

/* Make the exception classes and add them to the module. -1 on failure. */
int error_init(PyObject *module, struct module_state *state);

/* Set the exception of `err`, unless one is set; returns NULL. */
PyObject *raise_error(const struct module_state *state, const struct lmn_error *err);

/*
 * A call of the library that may take long: other threads of Python run meanwhile, and Ctrl-C ends
 * it. After long_call_end() nothing of Python may have changed but what the library has called.
 */
struct long_call {
    PyThreadState *thread;
    struct lmn_interrupt before; /* of a call around this one */
    int64_t looked_ns;           /* when signals were looked at */
    PyObject *type, *value, *traceback;
};

void long_call_begin(struct long_call *call);

/* The status of the call; LMN_E_CANCELLED with an exception set when it was interrupted. */
enum lmn_status long_call_end(struct long_call *call, enum lmn_status st);

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

/* A type as the tuple that schema.c describes. NULL on failure. */
PyObject *schema_spec(const struct ArrowSchema *schema);

/* Module functions: types as tuples, to and from capsules. */
PyObject *schema_make(PyObject *module, PyObject *spec);
PyObject *schema_describe(PyObject *module, PyObject *capsule);

/* Module functions: columns as lists of values; see values.c. */
PyObject *array_length(PyObject *module, PyObject *capsule);
PyObject *values_columns(PyObject *module, PyObject *args);
PyObject *values_array(PyObject *module, PyObject *args);
PyObject *values_lists(PyObject *module, PyObject *args);
PyObject *values_plain(PyObject *module, PyObject *args);

/* Module functions: directories of tables. */
PyObject *database_list(PyObject *module, PyObject *args);
PyObject *database_drop(PyObject *module, PyObject *args);
PyObject *database_rename(PyObject *module, PyObject *args);

/* Module functions: files of rows; load.c. */
PyObject *ingest_expand(PyObject *module, PyObject *args);
PyObject *ingest_open(PyObject *module, PyObject *args, PyObject *kwargs);

/* How a source tells of bad input: `self` is called with (part, offset, key, field, message). */
void report_problem(void *self, const struct lmn_problem *problem);
void report_free(void *self);

/* Module function: array_record.c. */
PyObject *array_record_write(PyObject *module, PyObject *args);

/* Module function: evaluate(text, schema, array). */
PyObject *expr_evaluate(PyObject *module, PyObject *args);

/* Module functions: jobs of a table, and serving one. */
PyObject *job_plan(PyObject *module, PyObject *args);
PyObject *job_records(PyObject *module, PyObject *args);
PyObject *job_logs(PyObject *module, PyObject *args);
PyObject *job_peek(PyObject *module, PyObject *args);
PyObject *job_cancel(PyObject *module, PyObject *args);
PyObject *job_discard(PyObject *module, PyObject *args);
PyObject *job_end_workers(PyObject *module, PyObject *unused);
PyObject *worker_serve(PyObject *module, PyObject *args);
PyObject *worker_forked(PyObject *module, PyObject *unused);
PyObject *agent_run(PyObject *module, PyObject *args, PyObject *kwargs);

/* Module functions: payloads of blobs that a function returns. */
PyObject *blobs_begin(PyObject *module, PyObject *args);
PyObject *blobs_write(PyObject *module, PyObject *args);
PyObject *blobs_end(PyObject *module, PyObject *capsule);
PyObject *blobs_drop(PyObject *module, PyObject *capsule);

/* Module functions: functions in C. */
PyObject *c_function(PyObject *module, PyObject *args);
PyObject *c_function_bind(PyObject *module, PyObject *args);
PyObject *c_function_apply(PyObject *module, PyObject *args);
PyObject *c_worker_run(PyObject *module, PyObject *unused);

/* Module functions: environments; pack.c. */
PyObject *pack_scan(PyObject *module, PyObject *args);
PyObject *pack_text(PyObject *module, PyObject *capsule);
PyObject *pack_ship(PyObject *module, PyObject *args);
PyObject *pack_unpack(PyObject *module, PyObject *args);
PyObject *pack_put(PyObject *module, PyObject *args);
PyObject *pack_get(PyObject *module, PyObject *args);
PyObject *pack_list(PyObject *module, PyObject *args);
PyObject *pack_remove(PyObject *module, PyObject *args);

/* Types, one per file. */
PyTypeObject *file_type_new(PyObject *module);
PyTypeObject *writer_type_new(PyObject *module);
PyTypeObject *table_type_new(PyObject *module);
PyTypeObject *buffer_type_new(PyObject *module);
PyTypeObject *job_type_new(PyObject *module);
PyTypeObject *hub_type_new(PyObject *module);
PyTypeObject *feed_type_new(PyObject *module);
PyTypeObject *feed_memory_type_new(PyObject *module);
PyTypeObject *webdataset_type_new(PyObject *module);
PyTypeObject *array_record_type_new(PyObject *module);
PyTypeObject *blob_type_new(PyObject *module);

/* The blob of a row, or None; table_blob.c. */
PyObject *table_blob_open(const struct module_state *state, struct lmn_table *table,
                          const char *column, uint64_t row, bool by_position);
PyTypeObject *call_type_new(PyObject *module);

#endif
