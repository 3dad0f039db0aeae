/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - the inside of a file writer.
 *
 * The caller's thread shreds batches; full pages become jobs. With one thread, or as long as the
 * file is small, a job is done at once; with several it goes to a queue that workers empty: they
 * encode the page, take the next free place in the file and write it there.
 */
#ifndef LMN_FORMAT_WRITER_H
#define LMN_FORMAT_WRITER_H

#include <leman/file_writer.h>

#include "format/stats_gather.h"
#include "format/tail.h"
#include "format/write_plan.h"
#include "store/draft.h"

/* A page that is to be encoded and written. */
struct lmn__write_job {
    struct lmn__write_job *next;
    const struct lmn__write_leaf *leaf;
    uint64_t row_start;
    struct lmn__shred shred;
    uint64_t given_bytes; /* of it that the writer counts; 0: none */
};

struct lmn__blob_writer;

/* A column of the file while it is written. */
struct lmn__write_column {
    const struct lmn__write_leaf *leaf;
    struct lmn__shred shred;       /* the open page */
    uint64_t row_start;            /* of the open page, in rows of the column */
    struct lmn__blob_writer *blob; /* NULL: an ordinary column */
    struct lmn__stats_gather stats;
};

struct lmn_file_writer {
    struct lmn_env *env;     /* counted */
    struct lmn_store *store; /* counted */
    struct lmn_file_writer_options options;
    char *path;
    struct lmn__write_plan plan;
    struct lmn__draft draft;
    uint64_t row_count;
    bool broken; /* some columns have rows that others lack */
    uint32_t column_count;
    struct lmn__write_column *column;
    struct lmn__scratch scratch; /* the caller's thread */
    uint32_t blob_count;         /* side files of blobs; their ids count from 1 */
    struct lmn__vec blob_named;  /* ids of those that have got their names */

    uint32_t thread_max;
    uint64_t alone_bytes;  /* of pages that were made without workers */
    uint32_t thread_count; /* 0: no workers */
    struct lmn__thread *thread;
    uint32_t queue_max;
    struct lmn__mutex mutex;
    struct lmn__cond work, done; /* a job is there; a job was taken or finished */
    struct {
        struct lmn__write_job *first, *last;
        uint32_t queued, running;
        bool stop;
        uint64_t position;    /* where the next page goes */
        uint64_t given_bytes; /* of jobs that have no place yet */
        struct lmn__tail tail;
        enum lmn_status status; /* the first failure */
        struct lmn_error error;
    } locked;
};

/* The next free place for `bytes` bytes, aligned; it is taken by this. */
uint64_t lmn__writer_reserve(struct lmn_file_writer *writer, uint64_t bytes);

/* Place and write the buffers of a page, and add it to the tail. */
LMN_MUST_USE enum lmn_status lmn__writer_put_page(struct lmn_file_writer *writer, uint32_t column,
                                                  uint64_t row_start,
                                                  const struct lmn__encoded_page *page,
                                                  struct lmn_error *err);

/* Take the job: to the workers, which begin with the first that is worth it, or at once. */
LMN_MUST_USE enum lmn_status lmn__writer_give(struct lmn_file_writer *writer,
                                              struct lmn__write_job *job, struct lmn_error *err);

/* Until the workers have done all jobs; what has gone wrong there, if anything. */
LMN_MUST_USE enum lmn_status lmn__writer_wait(struct lmn_file_writer *writer,
                                              struct lmn_error *err);

/* End the workers. */
void lmn__writer_stop(struct lmn_file_writer *writer);

/* Free a job that is not given away. */
void lmn__write_job_free(struct lmn_file_writer *writer, struct lmn__write_job *job);

/* How messages about rows call the file; "" for one that is not named in them. */
const char *lmn__writer_name(const struct lmn_file_writer *writer);

/* Put file and column into an error; returns `st`. */
enum lmn_status lmn__writer_within_column(const struct lmn_file_writer *writer,
                                          const struct lmn__write_leaf *leaf, enum lmn_status st,
                                          struct lmn_error *err);

#endif
