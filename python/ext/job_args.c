/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions and options of a job, from dicts whose keys are the members of the structs. A key that
 * no member has is refused, so that a misspelt one is not lost.
 */
#include <stddef.h>
#include <string.h>

#include "job.h"

enum member_kind {
    MEMBER_TEXT,
    MEMBER_TEXTS,
    MEMBER_BYTES,
    MEMBER_U64,
    MEMBER_U32,
    MEMBER_DOUBLE,
    MEMBER_BOOL
};

struct member {
    const char *name;
    enum member_kind kind;
    size_t at;
    size_t count_at; /* of texts and bytes: where their number goes; 0: ended by NULL */
};

#define FUNCTION(name) offsetof(struct lmn_job_function, name)
#define OPTION(name)   offsetof(struct lmn_job_options, name)

static const struct member function_members[] = {
    { "name", MEMBER_TEXT, FUNCTION(name), 0 },
    { "version", MEMBER_TEXT, FUNCTION(version), 0 },
    { "output", MEMBER_TEXTS, FUNCTION(output), FUNCTION(output_count) },
    { "input", MEMBER_TEXTS, FUNCTION(input), FUNCTION(input_count) },
    { "code", MEMBER_BYTES, FUNCTION(code), FUNCTION(code_len) },
    { "cpus", MEMBER_DOUBLE, FUNCTION(cpus), 0 },
    { "gpus", MEMBER_DOUBLE, FUNCTION(gpus), 0 },
    { "memory_bytes", MEMBER_U64, FUNCTION(memory_bytes), 0 },
    { "batch_rows", MEMBER_U32, FUNCTION(batch_rows), 0 },
    { "checkpoint_rows", MEMBER_U64, FUNCTION(checkpoint_rows), 0 },
    { "call_timeout_ms", MEMBER_U32, FUNCTION(call_timeout_ms), 0 },
    { "setup_timeout_ms", MEMBER_U32, FUNCTION(setup_timeout_ms), 0 },
    { "failed_count_max", MEMBER_U64, FUNCTION(failed_count_max), 0 },
    { "failed_fraction_max", MEMBER_DOUBLE, FUNCTION(failed_fraction_max), 0 },
    { "failed_limited", MEMBER_BOOL, FUNCTION(failed_limited), 0 },
    { "failed_unlimited", MEMBER_BOOL, FUNCTION(failed_unlimited), 0 },
    { "requests_max", MEMBER_U64, FUNCTION(requests_max), 0 },
    { "requests_window_ms", MEMBER_U64, FUNCTION(requests_window_ms), 0 },
    { "tokens_max", MEMBER_U64, FUNCTION(tokens_max), 0 },
    { "tokens_window_ms", MEMBER_U64, FUNCTION(tokens_window_ms), 0 },
    { "paid", MEMBER_BOOL, FUNCTION(paid), 0 },
    { "lazy_blobs", MEMBER_BOOL, FUNCTION(lazy_blobs), 0 },
    { "parallel_setup", MEMBER_BOOL, FUNCTION(parallel_setup), 0 },
    { "refill", MEMBER_BOOL, FUNCTION(refill), 0 },
    { "new_rows", MEMBER_BOOL, FUNCTION(new_rows), 0 },
    { NULL, MEMBER_TEXT, 0, 0 },
};

static const struct member option_members[] = {
    { "id", MEMBER_TEXT, OPTION(id), 0 },
    { "where", MEMBER_TEXT, OPTION(where), 0 },
    { "recompute", MEMBER_BOOL, OPTION(recompute), 0 },
    { "leave_failed", MEMBER_BOOL, OPTION(leave_failed), 0 },
    { "newest", MEMBER_BOOL, OPTION(newest), 0 },
    { "limited", MEMBER_BOOL, OPTION(limited), 0 },
    { "rows_max", MEMBER_U64, OPTION(rows_max), 0 },
    { "concurrency", MEMBER_U32, OPTION(concurrency), 0 },
    { "in_process", MEMBER_BOOL, OPTION(in_process), 0 },
    { "threads", MEMBER_U32, OPTION(threads), 0 },
    { "commit_granularity", MEMBER_U32, OPTION(commit_granularity), 0 },
    { "first_commit", MEMBER_U32, OPTION(first_commit), 0 },
    { "deadline_ms", MEMBER_U64, OPTION(deadline_ms), 0 },
    { "wait_ms", MEMBER_U64, OPTION(wait_ms), 0 },
    { "worker_restarts_max", MEMBER_U32, OPTION(worker_restarts_max), 0 },
    { "worker", MEMBER_TEXTS, OPTION(worker), 0 },
    { "worker_env", MEMBER_TEXTS, OPTION(worker_env), 0 },
    { "secret", MEMBER_TEXTS, OPTION(secret), 0 },
    { "keep_warm", MEMBER_U32, OPTION(keep_warm), 0 },
    { "elsewhere", MEMBER_BOOL, OPTION(elsewhere), 0 },
    { "command", MEMBER_TEXT, OPTION(command), 0 },
    { "keep_refills", MEMBER_BOOL, OPTION(keep_refills), 0 },
    { "stall_ms", MEMBER_U64, OPTION(stall_ms), 0 },
    { "on_finish", MEMBER_TEXT, OPTION(on_finish), 0 },
    { "metrics", MEMBER_TEXT, OPTION(metrics), 0 },
    { "unsynced", MEMBER_BOOL, OPTION(unsynced), 0 },
    { "calls_max", MEMBER_U64, OPTION(calls_max), 0 },
    { "cost_max", MEMBER_DOUBLE, OPTION(cost_max), 0 },
    { NULL, MEMBER_TEXT, 0, 0 },
};

/* Remember memory and objects that the structs point to. -1 on failure. */
static int keep(struct job_args *args, PyObject *object)
{
    int failed = object == NULL ? -1 : PyList_Append(args->kept, object);

    Py_XDECREF(object);
    return failed;
}

/* Texts, ended by NULL; the array lies in a bytes object that is kept. */
static int read_texts(struct job_args *args, PyObject *value, const struct member *member, char *to)
{
    const char **names;
    uint32_t count;
    PyObject *held, *memory;

    if (read_names(value, &names, &count, &held) < 0)
        return -1;
    if (names == NULL)
        return 0;
    names[count] = NULL;
    memory = PyBytes_FromStringAndSize((const char *)names,
                                       (Py_ssize_t)((count + 1) * sizeof *names));
    PyMem_Free(names);
    if (memory == NULL) {
        Py_XDECREF(held);
        return -1;
    }
    *(const char *const **)(to + member->at) = (const char *const *)PyBytes_AsString(memory);
    if (member->count_at != 0)
        *(uint32_t *)(to + member->count_at) = count;
    return keep(args, memory) < 0 || keep(args, held) < 0 ? -1 : 0;
}

static int read_bytes(struct job_args *args, PyObject *value, const struct member *member, char *to)
{
    Py_ssize_t len;
    char *bytes;

    if (PyBytes_AsStringAndSize(value, &bytes, &len) < 0)
        return -1;
    *(const void **)(to + member->at) = bytes;
    *(uint64_t *)(to + member->count_at) = (uint64_t)len;
    return keep(args, Py_NewRef(value));
}

static int read_text(struct job_args *args, PyObject *value, const struct member *member, char *to)
{
    const char *text = PyUnicode_AsUTF8AndSize(value, NULL);

    if (text == NULL)
        return -1;
    *(const char **)(to + member->at) = text;
    return keep(args, Py_NewRef(value));
}

static int read_number(PyObject *value, const struct member *member, char *to)
{
    if (member->kind == MEMBER_DOUBLE) {
        *(double *)(to + member->at) = PyFloat_AsDouble(value);
    } else if (member->kind == MEMBER_BOOL) {
        *(bool *)(to + member->at) = PyObject_IsTrue(value) > 0;
    } else {
        unsigned long long number = PyLong_AsUnsignedLongLong(value);

        if (member->kind == MEMBER_U64)
            *(uint64_t *)(to + member->at) = number;
        else if (number <= UINT32_MAX)
            *(uint32_t *)(to + member->at) = (uint32_t)number;
        else if (!PyErr_Occurred())
            PyErr_Format(PyExc_OverflowError, "%s: %llu is too large", member->name, number);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int read_member(struct job_args *args, PyObject *value, const struct member *member,
                       char *to)
{
    if (value == Py_None)
        return 0;
    switch (member->kind) {
    case MEMBER_TEXT:
        return read_text(args, value, member, to);
    case MEMBER_TEXTS:
        return read_texts(args, value, member, to);
    case MEMBER_BYTES:
        return read_bytes(args, value, member, to);
    default:
        return read_number(value, member, to);
    }
}

static int read_members(struct job_args *args, PyObject *dict, const struct member *members,
                        void *to)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "a job is described by dicts");
        return -1;
    }
    while (PyDict_Next(dict, &at, &key, &value)) {
        const struct member *member = members;

        while (member->name != NULL && PyUnicode_CompareWithASCIIString(key, member->name) != 0)
            member++;
        if (member->name == NULL) {
            PyErr_Format(PyExc_KeyError, "a job has no %R", key);
            return -1;
        }
        if (read_member(args, value, member, to) < 0)
            return -1;
    }
    return 0;
}

int job_args_read(PyObject *functions, PyObject *options, struct job_args *args_out)
{
    Py_ssize_t count = PyList_Size(functions);

    *args_out = (struct job_args){ 0 };
    if (count < 0)
        return -1;
    args_out->kept = PyList_New(0);
    args_out->function = PyMem_Calloc((size_t)count + 1, sizeof *args_out->function);
    args_out->function_count = (uint32_t)count;
    if (args_out->kept == NULL || args_out->function == NULL) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        goto fail;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_members(args_out, PyList_GetItem(functions, i), function_members,
                         &args_out->function[i]) < 0)
            goto fail;
    }
    if (read_members(args_out, options, option_members, &args_out->options) < 0)
        goto fail;
    return 0;
fail:
    job_args_free(args_out);
    return -1;
}

void job_args_free(struct job_args *args)
{
    PyMem_Free(args->function);
    Py_CLEAR(args->kept);
    args->function = NULL;
}
