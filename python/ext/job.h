/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - what the files of the type Job share.
 */
#ifndef LEMAN_PYTHON_JOB_H
#define LEMAN_PYTHON_JOB_H

#include "core.h"

#include <leman/job.h>

/* Functions and options, with what keeps their texts alive. */
struct job_args {
    struct lmn_job_function *function;
    uint32_t function_count;
    struct lmn_job_options options;
    PyObject *kept;
};

/* Read a list of dicts and a dict; the caller calls job_args_free(). -1 on failure. */
int job_args_read(PyObject *functions, PyObject *options, struct job_args *args_out);
void job_args_free(struct job_args *args);

#endif
