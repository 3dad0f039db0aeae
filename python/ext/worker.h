/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - functions of Python behind the operations of a worker.
 *
 * The operations take the interpreter lock themselves: they are called where it is released.
 */
#ifndef LEMAN_PYTHON_WORKER_H
#define LEMAN_PYTHON_WORKER_H

#include "core.h"

#include <leman/worker.h>

/* What serves one thread; the callables are borrowed. */
struct worker_context {
    PyObject *setup; /* setup(bytes) */
    PyObject *apply; /* apply(schema, array, row_ids, output) -> (array, [(row, record)]);
                        row_ids are bytes of 64-bit numbers */
    PyObject *kept;  /* the records of the last call, alive until the next */
    struct lmn_call_error *error;
    PyObject *raised; /* an exception that is no failure of the function: an interrupt */
};

/* The operations of a context, and its end. */
struct lmn_worker_ops worker_ops(struct worker_context *context);
void worker_context_clear(struct worker_context *context);

#endif
