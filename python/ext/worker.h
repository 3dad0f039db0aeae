/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - functions of Python behind the operations of a worker, and functions in C beside them.
 *
 * The operations take the interpreter lock themselves: they are called where it is released.
 */
#ifndef LEMAN_PYTHON_WORKER_H
#define LEMAN_PYTHON_WORKER_H

#include "keep.h"

/* What serves one thread; the callables are borrowed. */
struct worker_context {
    PyTypeObject *call_type; /* borrowed */
    PyObject *setup;         /* setup(bytes) */
    PyObject *apply; /* apply(schema, array, row_ids, output, call, keeping) -> (array, [(row,
                        record)], rows left, whether results are kept); row_ids are bytes of 64-bit
                        numbers; the last two may be missing; keeping: see keep.h */
    struct keeping keeping;
    PyObject *kept; /* the records of the last call, alive until the next */
    struct lmn_call_error *error;
    PyObject *raised; /* an exception that is no failure of the function: an interrupt */
    struct lmn_worker_ops ops;
    struct lmn_worker_ops c; /* of functions in C; zeroed before the first of them */
    bool in_c;               /* what is set up is one of them */
};

/* A call for the function, and its end: it asks nothing of the job any more. */
PyObject *call_new(PyTypeObject *type, const struct lmn_call *call);
void call_end(PyObject *call);

/* The payloads of a call for module functions, None for NULL; and the end of their use. */
PyObject *blobs_capsule(struct lmn_blobs *blobs);
void blobs_end_use(PyObject *capsule);

/* A context with its operations; the callables are the caller's to set. And its end. */
void worker_context_init(struct worker_context *context);
void worker_context_clear(struct worker_context *context);

#endif
