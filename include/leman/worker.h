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

#include <stddef.h>

#include <leman/arrow_abi.h>
#include <leman/status.h>
#include <stdbool.h>

/* A row that need not be computed: a process that died had finished it. */
struct lmn_saved_row {
    uint64_t row; /* in the call */
    uint32_t kind;
    const void *data; /* what lmn_call.keep was given for it */
    uint64_t len;
};

/*
 * Where a function may write the payloads of blobs while it is called, one after the other, in
 * pieces. What is written so is never in memory as a whole, unless it is small.
 */
struct lmn_blobs;

#define LMN_BLOB_SIZE_UNKNOWN UINT64_MAX

/*
 * Begin a payload of `bytes` bytes, or of LMN_BLOB_SIZE_UNKNOWN: then, if it is larger than some
 * megabytes, it is given more space than it may need, of which the rest is left to those behind it
 * or becomes a hole in the file.
 *
 * LMN_E_INVALID  the one before has not ended
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_blobs_begin(struct lmn_blobs *blobs, uint64_t bytes,
                                                     struct lmn_error *err);

/* The next bytes of it. LMN_E_INVALID: more than were announced. */
LMN_API LMN_MUST_USE enum lmn_status lmn_blobs_write(struct lmn_blobs *blobs, const void *data,
                                                     size_t len, struct lmn_error *err);

/*
 * End it. The two numbers stand for it in the result of this call, in a struct of "position" and
 * "size". A failure drops it.
 *
 * LMN_E_INVALID  fewer bytes than were announced
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_blobs_end(struct lmn_blobs *blobs, uint64_t *position_out,
                                                   uint64_t *bytes_out, struct lmn_error *err);

/* Forget the one that has begun. */
LMN_API void lmn_blobs_drop(struct lmn_blobs *blobs);

/* One call of a function. */
struct lmn_call {
    const struct ArrowSchema *schema; /* of the inputs, a struct of them in the order bound; with
                                         lmn_job_function.lazy_blobs, blobs are what that says */
    struct ArrowArray *input;         /* the rows; may be moved out */
    const uint64_t *row_id;           /* of each row, for messages */
    uint64_t row_count;
    const struct ArrowSchema *output; /* what is wanted: a struct of the columns to fill */
    struct lmn_blobs *blobs;          /* NULL: none of them holds blobs */
    struct lmn_table *table;          /* that the rows are of, at the version that is read */
    bool metered; /* calls have to be asked for by lmn_call_permit() before they are made */
    bool paid;    /* results are kept before the next call is made: by lmn_call_keep(), or all
                     of them when `apply` is over */
    void *job;    /* for the functions below */
    const struct lmn_saved_row *saved; /* by rising row */
    uint64_t saved_count;
    /*
     * For functions that take one row after the other; both NULL where nobody wants to know.
     * begin() says which row is computed from here on: should the process die, it alone is to
     * blame. keep() says that a row is finished, and begins the next: the bytes and the number
     * `kind`, which only these operations understand, come back as `saved` should the process die
     * before the results of the call are durable. Both are for the thread of the call.
     */
    void (*begin)(void *keeper, uint64_t row);
    void (*keep)(void *keeper, uint64_t row, uint32_t kind, const void *data, uint64_t len);
    void *keeper;
};

/* A row for which the function failed. */
struct lmn_call_error {
    uint64_t row;       /* in the call */
    const char *record; /* a JSON object: type, message, traceback, inputs, attempts */
};

struct lmn_call_result {
    struct ArrowArray output;     /* of call->output; null in failed rows; a blob column may be a
                                     struct of two uint64 for each row, as lmn_blobs_end() gives */
    struct lmn_call_error *error; /* by rising row; lives until the next call */
    uint64_t error_count;
    bool kept; /* what has to be kept is */
    uint64_t
        rows_left; /* at the end, not computed because the job stops; `output` is without them */
};

struct lmn_worker_ops {
    /*
     * Load the function: the bytes that the job was given for it. LMN_E_CONFLICT says that what
     * this process has loaded for jobs before is in the way: a worker that has served one is
     * replaced by a fresh process.
     */
    enum lmn_status (*setup)(void *context, const void *function, uint64_t len,
                             struct lmn_error *err);
    /* Call it. A failure other than that of single rows fails the job: LMN_E_UDF. */
    enum lmn_status (*apply)(void *context, const struct lmn_call *call,
                             struct lmn_call_result *result_out, struct lmn_error *err);
    void *context;
    bool asks; /* `apply` asks for its calls itself; otherwise each call of it is asked for */
};

/* What `apply` wants of the job, and tells of calls that are over. */
struct lmn_permit_ask {
    uint64_t calls;         /* that are to be made; 0: it only tells */
    uint64_t tokens;        /* of each; 0: as the job has learnt */
    uint64_t done;          /* calls that are over since the last ask ... */
    uint64_t charged, used; /* ... the tokens that were counted for them, and those they took */
    uint64_t pause_ms;      /* the other side asks everybody to wait so long */
};

struct lmn_permit {
    uint64_t calls;       /* that may be made at once */
    uint64_t tokens_each; /* counted for each of them */
    uint64_t wait_ms;     /* with no calls: when it is worth to ask again */
    bool ended;           /* there will be no more calls: the job stops */
};

/*
 * Ask for calls that the limits of the job have to allow. Belongs to the thread that runs `apply`;
 * answered at once.
 *
 * LMN_E_IO  the engine is gone
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_call_permit(const struct lmn_call *call,
                                                     const struct lmn_permit_ask *ask,
                                                     struct lmn_permit *permit_out,
                                                     struct lmn_error *err);

/* Count what calls have used. From any thread, until `apply` returns. */
LMN_API void lmn_call_used(const struct lmn_call *call, uint64_t calls, uint64_t tokens,
                           double cost);

/* Is the job to stop? Then `apply` may leave rows at the end. From any thread. */
LMN_API bool lmn_call_stops(const struct lmn_call *call);

/*
 * Say that a call of the function may have `rows` rows, and that a device had no memory for more.
 * All workers of the job keep to it from their next task on, and so does a job that goes on with
 * what this one leaves. Belongs to the thread that runs `apply`.
 */
LMN_API void lmn_call_rows_fit(const struct lmn_call *call, uint64_t rows);

/*
 * Keep the result of row `row` of the call, a struct array of one row that stays the caller's: it
 * is durable after the next lmn_call_keep_sync() and outlives whatever happens to this process. One
 * thread at a time; syncing may go on beside it.
 *
 * A blob is a struct of what lmn_blobs_end() gave for it, and all that have ended are made durable
 * here by the first that is kept: it belongs to the thread that runs `apply` then.
 *
 * LMN_E_INVALID  a blob that is bytes, or one that has begun and not ended
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_call_keep(const struct lmn_call *call, uint64_t row,
                                                   const struct ArrowArray *output,
                                                   struct lmn_error *err);
LMN_API LMN_MUST_USE enum lmn_status lmn_call_keep_sync(const struct lmn_call *call,
                                                        struct lmn_error *err);

/*
 * Serve the engine at the other end of `fd` until it closes. Called once per thread.
 *
 * LMN_E_IO  the engine is gone
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_worker_serve(int fd, const struct lmn_worker_ops *ops,
                                                      struct lmn_error *err);

#endif
