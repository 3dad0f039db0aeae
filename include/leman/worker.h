/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - the process that runs a function over rows for a job.
 *
 * A worker is started by an engine with one descriptor per thread. Each thread serves its
 * descriptor until the engine closes it: it is told the function, then tasks, reads the rows,
 * calls, writes the results and sends receipts. What a function is, and how it is called, the
 * operations say.
 */
#ifndef LEMAN_WORKER_H
#define LEMAN_WORKER_H

#include <leman/arrow_abi.h>
#include <leman/status.h>

/* One call of a function. */
struct lmn_call {
    const struct ArrowSchema *schema; /* of the inputs, a struct of them in the order bound */
    struct ArrowArray *input;         /* the rows; may be moved out */
    const uint64_t *row_id;           /* of each row, for messages */
    uint64_t row_count;
    const struct ArrowSchema *output; /* what is wanted: a struct of the columns to fill */
};

/* A row for which the function failed. */
struct lmn_call_error {
    uint64_t row;       /* in the call */
    const char *record; /* a JSON object: type, message, traceback, inputs, attempts */
};

struct lmn_call_result {
    struct ArrowArray output;     /* of call->output; null in failed rows */
    struct lmn_call_error *error; /* by rising row; lives until the next call */
    uint64_t error_count;
};

struct lmn_worker_ops {
    /* Load the function: the bytes that the job was given for it. */
    enum lmn_status (*setup)(void *context, const void *function, uint64_t len,
                             struct lmn_error *err);
    /* Call it. A failure other than that of single rows fails the job: LMN_E_UDF. */
    enum lmn_status (*apply)(void *context, const struct lmn_call *call,
                             struct lmn_call_result *result_out, struct lmn_error *err);
    void *context;
};

/*
 * Serve the engine at the other end of `fd` until it closes. Called once per thread.
 *
 * LMN_E_IO  the engine is gone
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_worker_serve(int fd, const struct lmn_worker_ops *ops,
                                                      struct lmn_error *err);

#endif
