/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - run functions over rows: fill columns, checkpointed and resumable.
 *
 * A job runs in threads of the caller and in worker processes. Everything it has computed is
 * durable within seconds; whoever runs the same job again, after whatever end, goes on from there.
 * A job handle may be used from many threads.
 */
#ifndef LEMAN_JOB_H
#define LEMAN_JOB_H

#include <leman/hub.h>
#include <leman/table.h>
#include <leman/text.h>
#include <leman/worker.h>

struct lmn_job;

/* A function and the columns that it fills. Everything is copied. */
struct lmn_job_function {
    const char *name;    /* for people */
    const char *version; /* 64 hex digits: the hash that results belong to */
    const char *const *output;
    uint32_t output_count;
    const char *const *input; /* names and paths, in the order of the function's arguments */
    uint32_t input_count;
    const void *code; /* handed to workers as it is */
    uint64_t code_len;
    double cpus;               /* per thread; default 1 */
    double gpus;               /* per worker */
    uint64_t memory_bytes;     /* per worker; 0: no limit of its own */
    uint32_t batch_rows;       /* rows per call; 0: adapted */
    uint64_t checkpoint_rows;  /* rows per receipt; 0: by time and bytes */
    uint32_t call_timeout_ms;  /* 0: none */
    uint32_t setup_timeout_ms; /* 0: 10 minutes */
    uint64_t failed_count_max; /* as in the error policy; see failed_limited */
    double failed_fraction_max;
    bool failed_limited;   /* the two above count; otherwise the defaults: 100 and 0.01 */
    bool failed_unlimited; /* no limit at all */
    uint64_t requests_max, requests_window_ms; /* calls in so many milliseconds; 0: no limit */
    uint64_t tokens_max, tokens_window_ms;     /* tokens of calls; 0: no limit */
    bool lazy_blobs; /* of blobs that are inputs, calls are given all bytes up to 64 KiB; of larger
                        ones something longer that begins with the size, 8 bytes; the rest is
                        read by lmn_table_blob_open() */
    bool paid;       /* each result is durable before the next call of its worker's thread */
    bool parallel_setup; /* workers with GPUs set it up beside each other */
    bool refill;         /* compute all rows again, beside the columns; see table_refill.h */
    bool new_rows;       /* only rows that were never computed */
};

/* What becomes of workers that wait for work when the job ends. */
enum lmn_job_warm {
    LMN_JOB_WARM_DEFAULT, /* they stay for the next job, but those that have GPUs end */
    LMN_JOB_WARM_KEEP,
    LMN_JOB_WARM_END
};

/* Whether the first rows of the first fragment are committed ahead of the others. */
enum lmn_job_first_commit {
    LMN_JOB_FIRST_COMMIT_LARGE, /* where its results come to 256 MiB, by the size of the first */
    LMN_JOB_FIRST_COMMIT_ALWAYS,
    LMN_JOB_FIRST_COMMIT_NEVER
};

/* A zeroed struct asks for the defaults. */
struct lmn_job_options {
    const char *id; /* default: made up */
    const char *where;
    bool newest; /* read the newest version, whichever the handle stands at */
    bool recompute;
    bool leave_failed; /* failed rows are not tried again */
    bool limited;
    uint64_t rows_max;
    uint32_t concurrency;         /* worker processes; 0: min(8, what fits) */
    bool in_process;              /* no workers: `ops` are called in lmn_job_serve() */
    uint32_t threads;             /* per worker; default 1 */
    uint32_t commit_granularity;  /* fragments per commit; 0: once a minute */
    uint32_t first_commit;        /* enum lmn_job_first_commit */
    uint64_t deadline_ms;         /* of the whole job; 0: none */
    uint64_t wait_ms;             /* for resources that others hold; default 600,000 */
    uint32_t worker_restarts_max; /* default 3 */
    const char *const *worker; /* the command that starts a worker, ending with NULL; it finds its
                                  descriptors in LEMAN_WORKER_FDS */
    const char *const *worker_env; /* NAME=value, added to the environment; ending with NULL */
    const char *const *secret;     /* those of worker_env whose values are cut out of what workers
                                      print;     ending with NULL */
    uint32_t keep_warm;            /* enum lmn_job_warm */
    struct lmn_hub *hub;   /* workers come from other machines, `concurrency` of them; see hub.h.
                              Borrowed, until the job is freed */
    bool elsewhere;        /* of a plan: as with a hub, which is not there yet */
    const char *command;   /* what the user typed, for the record */
    uint64_t stall_ms;     /* a thread that finishes no batch for so long is an event; default
                              300,000 */
    const char *on_finish; /* a command for /bin/sh that is run when the job has ended, with
                              LEMAN_JOB, LEMAN_JOB_STATE and more in its environment */
    const char *metrics;   /* a file that is rewritten every five seconds, as OpenMetrics text */
    uint64_t calls_max;    /* stop, resumably, after so many calls of this run; 0: no limit */
    double cost_max;       /* stop when its calls have cost so much; 0: no limit */
    bool keep_refills;     /* columns that were computed again stay beside what they had before */
    bool unsynced;
};

enum lmn_job_state {
    LMN_JOB_PLANNING,
    LMN_JOB_WAITING, /* for resources; `message` names them */
    LMN_JOB_RUNNING,
    LMN_JOB_STOPPING,
    LMN_JOB_DONE,
    LMN_JOB_DONE_FAILED, /* done, with failed rows */
    LMN_JOB_STOPPED,     /* resumable */
    LMN_JOB_FAILED
};

struct lmn_job_status {
    enum lmn_job_state state;
    char id[64];
    uint64_t rows_planned;
    uint64_t rows_resumed;  /* had a result before this run */
    uint64_t rows_computed; /* by calls of this run, as far as is known; moves per batch */
    uint64_t rows_checkpointed;
    uint64_t rows_committed;
    uint64_t rows_failed;
    uint64_t bytes_written;
    uint32_t workers, workers_ready, worker_deaths;
    uint64_t memory_bytes; /* resident in workers */
    uint64_t elapsed_ms;
    uint64_t read_ms, call_ms, write_ms, wait_ms; /* of all workers */
    uint64_t calls, tokens;       /* that functions say they have made and used ... */
    double cost;                  /* ... and what they cost */
    double rate, rate_recent;     /* rows per second: of the whole run, of the last 5 minutes */
    double read_rate, write_rate; /* bytes per second, of the last 5 minutes */
    uint64_t eta_ms; /* until all rows are computed, at the pace of the last 5 minutes; and, as its
                        spread, at the fastest and the slowest of that, of the last minute and of
                        the whole run. 0: not known */
    uint64_t eta_low_ms, eta_high_ms;
    uint64_t checkpoint_age_ms, commit_age_ms; /* since the last one of this run; 0: none yet */
    uint64_t log_lines, log_lines_dropped;     /* that functions have printed; see lmn_job_logs() */
    char verdict[128];                         /* what bounds it, and what to do about that */
    uint64_t version;                          /* of the last commit; 0: none */
    struct lmn_error error;                    /* FAILED, STOPPED: why */
    char message[256];                         /* what it waits for, or does */
};

/*
 * Plan and start a job on `table`, which is kept (counted). Returns at once; planning is part of
 * the job.
 *
 * A function that reads a column which another one of the job fills begins when that one is
 * committed; rows whose input cells are not computed are left alone. A function with `refill` fills
 * refills; once all rows have a value they take their columns' places, as lmn_table_refill_swap()
 * does. With `where`, `limited` or `keep_refills`, or when rows failed, both stay side by side.
 *
 * The job reads the version that the handle stands at, or with `newest` what others have committed
 * until nobody else fills the columns, and commits to the newest one; the handle itself does not
 * move. The caller frees *job_out.
 *
 * LMN_E_INVALID      options out of range
 * LMN_E_UNSUPPORTED  workers on a table that is not in a folder of this machine
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_job_start(struct lmn_table *table,
                                                   const struct lmn_job_function *function,
                                                   uint32_t function_count,
                                                   const struct lmn_job_options *options,
                                                   struct lmn_job **job_out, struct lmn_error *err);

/* With `in_process`: serve as the job's only worker, in this thread, until it ends. */
LMN_API LMN_MUST_USE enum lmn_status lmn_job_serve(struct lmn_job *job,
                                                   const struct lmn_worker_ops *ops,
                                                   struct lmn_error *err);

/* How it stands. */
LMN_API void lmn_job_status(struct lmn_job *job, struct lmn_job_status *status_out);

/* Wait until it has ended, `timeout_ms` at most. True: it has. */
LMN_API bool lmn_job_wait(struct lmn_job *job, uint64_t timeout_ms);

/* Checkpoint what runs, commit what is whole, and end resumable. With `now`, workers are killed and
 * nothing is waited for. */
LMN_API void lmn_job_stop(struct lmn_job *job, bool now);

/* Free a job; one that has not ended is stopped first. NULL is ignored. */
LMN_API void lmn_job_free(struct lmn_job *job);

/* End the workers of this process that wait for the next job. Returns how many there were. */
LMN_API uint32_t lmn_job_end_workers(void);

/*
 * What a job would do, as a JSON object: rows by reason, tasks, the sum of resources line by line,
 * disk needed and free. The caller frees *json_out with lmn_text_free().
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_job_plan(struct lmn_table *table,
                                                  const struct lmn_job_function *function,
                                                  uint32_t function_count,
                                                  const struct lmn_job_options *options,
                                                  char **json_out, struct lmn_error *err);

/* The records of a table's jobs, newest first, as a JSON array; of one job with `id`. */
LMN_API LMN_MUST_USE enum lmn_status lmn_job_records(struct lmn_table *table, const char *id,
                                                     char **json_out, struct lmn_error *err);

/* A zeroed struct asks for everything. */
struct lmn_job_log_options {
    bool one_worker, one_row;
    uint64_t worker; /* its number in the job */
    uint64_t row;    /* the id of a row; lines of a call of many rows are of each of them */
};

/*
 * What the functions of a job have printed and logged, oldest first, as a JSON array of {"time",
 * "worker", "row", "rows", "level", "text"}: the row that printed it, or the first row of its call
 * and how many that has; without them when no call was running. Where a worker printed too fast
 * there is {"time", "worker", "dropped"}. The caller frees *json_out with lmn_text_free().
 *
 * LMN_E_NOT_FOUND  no such job
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_job_logs(struct lmn_table *table, const char *id,
                                                  const struct lmn_job_log_options *options,
                                                  char **json_out, struct lmn_error *err);

/*
 * Values that a job of any process has computed and made durable, and that are in no version yet:
 * up to `rows_max` rows, a struct array of the columns that a function of the job fills and, behind
 * them, "_rowid". The function is that of `column`; NULL: the first. The caller releases both.
 *
 * LMN_E_NOT_FOUND    no such job, or it does not fill the column
 * LMN_E_UNSUPPORTED  a column of blobs, whose values are in their place only with the commit
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_job_peek(struct lmn_table *table, const char *id,
                                                  const char *column, uint64_t rows_max,
                                                  struct ArrowSchema *schema_out,
                                                  struct ArrowArray *array_out,
                                                  struct lmn_error *err);

/* Ask a job that runs anywhere to stop. LMN_E_NOT_FOUND: no such job, or it has ended. */
LMN_API LMN_MUST_USE enum lmn_status lmn_job_cancel(struct lmn_table *table, const char *id,
                                                    struct lmn_error *err);

/* Drop what a job has computed and not committed. LMN_E_UNAVAILABLE: it runs. */
LMN_API LMN_MUST_USE enum lmn_status lmn_job_discard(struct lmn_table *table, const char *id,
                                                     struct lmn_error *err);

/*
 * The folder of the table that a job of this user belongs to; the caller frees *table_out with
 * lmn_text_free().
 *
 * LMN_E_NOT_FOUND  no such job is known on this machine
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_job_find(const char *id, char **table_out,
                                                  struct lmn_error *err);

/* All jobs of this user that are known on this machine, newest first, as a JSON array of
 * {"id", "table"}. Those whose table is gone are forgotten. */
LMN_API LMN_MUST_USE enum lmn_status lmn_job_index(char **json_out, struct lmn_error *err);

#endif
