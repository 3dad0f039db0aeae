/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.h - finished rows of a call as bytes that outlive the process, and back.
 */
#ifndef LEMAN_PYTHON_KEEP_H
#define LEMAN_PYTHON_KEEP_H

#include "core.h"

#include <leman/worker.h>

/* What a thread says of the rows of its call. */
struct keeping {
    const struct lmn_call *call; /* borrowed; NULL: none is in progress */
    uint64_t row;                /* that is computed */
    PyObject *begin, *keep;      /* functions of Python over this; made at the first call */
    PyObject *dumps, *loads;     /* of pickle, for values that are no plain ones */
};

/*
 * What a call hands to `apply` beside the rows: (dict of row -> value, begin(row), keep(value)), or
 * None where nobody wants to know. NULL on failure.
 */
PyObject *keeping_begin(struct keeping *keeping, const struct lmn_call *call);

void keeping_clear(struct keeping *keeping);

#endif
