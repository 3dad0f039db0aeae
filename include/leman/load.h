/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - bring many parts (shards, files, generators of rows) into a table, several at once.
 *
 * Parts are read in parallel, each by one thread, which also encodes and writes its rows; the
 * memory in use is that of a few batches per thread. Rows of a part stay in order; parts come in
 * any order. Finished parts are committed in groups, and each commit records in the table which
 * parts it holds: a load that was killed or failed goes on where it stopped when it is made again,
 * and no part is in the table twice.
 */
#ifndef LEMAN_LOAD_H
#define LEMAN_LOAD_H

#include <leman/table_write.h>

/* What one part is called, and how large it is: together they tell it from others. */
struct lmn_load_part {
    const char *name; /* a path; lives as long as the source */
    uint64_t bytes;   /* 0: not known */
};

/* Where the rows come from. Its functions are called from many threads at once. */
struct lmn_load_source {
    void *self;
    const char *name; /* of the whole, in messages and in what the table remembers */
    uint64_t part_count;
    /* Describe part number `part`. */
    enum lmn_status (*describe)(void *self, uint64_t part, struct lmn_load_part *part_out,
                                struct lmn_error *err);
    /* The rows of a part; all parts have the same columns. The caller releases *stream_out. */
    enum lmn_status (*open)(void *self, uint64_t part, struct ArrowArrayStream *stream_out,
                            struct lmn_error *err);
};

/* How far a load is. */
struct lmn_load_progress {
    uint64_t part_count;
    uint64_t parts_before; /* in the table already when it began */
    uint64_t parts_done;   /* read by this load, committed or about to be */
    uint64_t rows;         /* read by this load */
    uint64_t bytes;        /* of the parts that are done */
    uint64_t commits;
    uint64_t rows_committed;
};

/*
 * Called in the caller's thread, at most once per batch, and when all parts are read; false stops
 * the load.
 */
typedef bool (*lmn_load_progress_fn)(void *self, const struct lmn_load_progress *progress);

/* A zeroed struct asks for the defaults. */
struct lmn_load_options {
    struct lmn_write_options write;
    uint32_t parallelism;  /* parts at once; 0: the environment's threads */
    uint64_t commit_bytes; /* a thread commits when its parts have so many; default 256 MiB */
    bool one_commit;       /* all parts in one commit, or none; nothing is remembered */
    bool again;            /* also parts that are in the table already */
    lmn_load_progress_fn progress;
    void *progress_self;
};

/*
 * Append the parts of `source` that are not in the table yet. `options` may be NULL, and so may
 * result_out. What was committed before a failure stays.
 *
 * LMN_E_CANCELLED  the progress function said so; made again, the load goes on
 * LMN_E_CONFLICT   another process loads the same parts
 * and what the source and lmn_table_append() answer
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_load(struct lmn_table *table,
                                                    const struct lmn_load_source *source,
                                                    const struct lmn_load_options *options,
                                                    struct lmn_load_progress *result_out,
                                                    struct lmn_error *err);

/*
 * Write the parts of `source` into the table's folder as lmn_table_load() does, and commit nothing.
 * *staged_out is a text for lmn_table_load_commit(), freed with lmn_text_free(). What is never
 * committed lmn_table_cleanup() removes, in its time.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_load_stage(struct lmn_table *table,
                                                          const struct lmn_load_source *source,
                                                          const struct lmn_load_options *options,
                                                          char **staged_out,
                                                          struct lmn_load_progress *result_out,
                                                          struct lmn_error *err);

/*
 * Append what several processes have staged, in this order and as one commit. `options` may be
 * NULL; its message counts. What has been committed stays as it is when it is committed again.
 *
 * LMN_E_INVALID   a text is no stage of this table, or its files are gone
 * LMN_E_CONFLICT  others have changed the columns meanwhile, or have committed some of it
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_load_commit(struct lmn_table *table,
                                                           const char *const *staged,
                                                           uint32_t staged_count,
                                                           const struct lmn_write_options *options,
                                                           struct lmn_error *err);

/*
 * Make a table of the parts of `source`. A table that an unfinished load of the same source has
 * begun is finished. The caller releases *table_out.
 *
 * LMN_E_EXISTS  there is a table, and it was not begun so, or it is finished
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_load_new(struct lmn_store *store,
                                                        const struct lmn_load_source *source,
                                                        const struct lmn_load_options *options,
                                                        struct lmn_table **table_out,
                                                        struct lmn_load_progress *result_out,
                                                        struct lmn_error *err);

#endif
