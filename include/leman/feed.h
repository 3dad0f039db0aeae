/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - the rows of one version of a table as an endless, shuffled, resumable stream of batches.
 *
 * The order of the rows is defined by the seed alone (docs/format/feed.md), for all ranks together;
 * a rank reads its share of each step. So a run can be stopped anywhere and continued by another
 * number of ranks or threads, and every row is seen once per epoch.
 *
 * A feed belongs to one thread at a time, and to the process that opened it.
 */
#ifndef LEMAN_FEED_H
#define LEMAN_FEED_H

#include <leman/table_scan.h>

struct lmn_feed;

/* In which order the rows of an epoch come. */
enum lmn_feed_shuffle {
    LMN_SHUFFLE_FULL,  /* every order is as likely as any other */
    LMN_SHUFFLE_NONE,  /* that of the table */
    LMN_SHUFFLE_BLOCK, /* blocks of rows, mixed within a window: long reads for slow stores */
};

/* What becomes of the rows that fill no whole step at the end of an epoch. */
enum lmn_feed_remainder {
    LMN_REMAINDER_UNEVEN, /* dealt out evenly; where there are fewer than ranks, some get none */
    LMN_REMAINDER_PAD,    /* filled up with the first rows of the epoch: all batches are full */
    LMN_REMAINDER_DROP,   /* left out until the next epoch, which has another order */
};

/* What to do with a row that cannot be read. */
enum lmn_feed_on_error {
    LMN_FEED_FAIL,
    LMN_FEED_REPLACE, /* read another row in its place, the same one in each run */
};

/* A zeroed struct asks for the defaults. */
struct lmn_feed_options {
    const char *const *column; /* names and paths; NULL: all, without hidden ones */
    uint32_t column_count;
    const char *where; /* an expression; NULL: every row */
    enum lmn_blob_mode blobs;
    bool with_row_id; /* a column "_rowid" behind the others */
    enum lmn_feed_shuffle shuffle;
    uint64_t seed;
    uint64_t block_rows;  /* of LMN_SHUFFLE_BLOCK; default: the columns' read group, or 64 */
    uint64_t window_rows; /* of LMN_SHUFFLE_BLOCK; default 64 blocks */
    uint32_t batch_rows;  /* of one rank; default 64 */
    uint32_t rank;
    uint32_t world_size;   /* ranks; default 1 */
    uint32_t worker;       /* of several feeds that share the batches of this rank in turns: ... */
    uint32_t worker_count; /* ... batch i is that of worker i % worker_count; default 1 */
    uint64_t epochs;       /* 0: without end */
    enum lmn_feed_remainder remainder;
    enum lmn_feed_on_error on_error;
    const char *transform;    /* what is done with batches, as part of the state; may be NULL */
    uint32_t threads;         /* that read; 0: the environment's */
    uint32_t prefetch;        /* batches read ahead; default 4 */
    bool unpinned;            /* do not tag the version */
    const char *cache_dir;    /* keep what is read there; NULL: nowhere. See feed_cache.h */
    uint64_t cache_bytes_max; /* of that directory; default 64 GiB, at least 1 MiB + 8 */
    const struct lmn_memory *memory; /* where batches lie; copied; NULL: in the environment's */
};

/*
 * Open a feed of the version that `table` stands at. `options` may be NULL.
 *
 * With a condition, the rows that match are looked up here, once. The version is tagged as
 * "leman-feed-<version>", so that a cleanup leaves it alone; where tags cannot be written that is
 * left out. Threads start with the first batch. The caller closes *feed_out; it is NULL on failure.
 *
 * With a memory of the caller's, threads read and decode each buffer of a batch to where it lies
 * there; what is put together on the way lies elsewhere. A buffer that it has no room for lies in
 * the environment's, and lmn_feed_stats() counts it. A buffer is put back with the last batch that
 * has it, which may be after the feed is closed; then, when all are, the memory is closed. On
 * failure the memory stays the caller's, and nothing of it is in use.
 *
 * LMN_E_NOT_FOUND  a column is not in the table
 * LMN_E_INVALID    the expression is wrong, or would choose other rows later, as one with now();
 *                  the rank is not below world_size, or there is no step in which it has rows;
 *                  a piece of the cache has no room in its limit
 * LMN_E_IO         the cache's directory cannot be written, and holds no cache
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_feed_open(struct lmn_table *table,
                                                   const struct lmn_feed_options *options,
                                                   struct lmn_feed **feed_out,
                                                   struct lmn_error *err);

/* Stop reading and free the feed. NULL is ignored. Batches that were handed out stay valid. */
LMN_API void lmn_feed_close(struct lmn_feed *feed);

/* The Arrow type of the batches: a struct of the columns. The caller releases *schema_out. */
LMN_API LMN_MUST_USE enum lmn_status lmn_feed_schema(struct lmn_feed *feed,
                                                     struct ArrowSchema *schema_out,
                                                     struct lmn_error *err);

/*
 * The next batch of this rank; after the last epoch array_out->release is NULL. The caller releases
 * *array_out. Blocks until the batch is read. After a failure the same batch is tried again.
 *
 * LMN_E_UNSUPPORTED  the process was forked since the feed was opened
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_feed_next(struct lmn_feed *feed,
                                                   struct ArrowArray *array_out,
                                                   struct lmn_error *err);

/* Where a feed is, and how large its epochs are. */
struct lmn_feed_info {
    uint64_t version;
    uint64_t row_count;  /* of an epoch */
    uint64_t steps;      /* of a whole epoch */
    uint64_t epoch;      /* of the next step of all ranks */
    uint64_t next_epoch; /* of the next batch of this feed */
    uint64_t position;   /* in the epoch, behind the last batch of all ranks */
    uint64_t step;       /* of the next batch, counted over all epochs and restarts */
    bool pinned;         /* the version has its tag */
};

/* Say where the feed is: behind the batch that lmn_feed_next() gave last. */
LMN_API void lmn_feed_info(const struct lmn_feed *feed, struct lmn_feed_info *info_out);

/*
 * What a checkpoint keeps: a JSON text that says which rows are used up, of which data. All ranks
 * get the same text after the same step. It lives until the next call on the feed.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_feed_state(struct lmn_feed *feed, const char **text_out,
                                                    struct lmn_error *err);

/*
 * Go on behind the batch after which `text` was made. Rank, number of ranks, batch size and all
 * that does not change the order of the rows may be others.
 *
 * LMN_E_CONFLICT  the state is of other data or another order; the message names the difference
 * LMN_E_CORRUPT   it does not decode
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_feed_restore(struct lmn_feed *feed, const char *text,
                                                      struct lmn_error *err);

/* Leave out batches of this feed without reading them. */
LMN_API LMN_MUST_USE enum lmn_status lmn_feed_skip(struct lmn_feed *feed, uint64_t batches,
                                                   struct lmn_error *err);

/*
 * Go to the start of an epoch, as if all steps had been shared out as they are now.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_feed_seek(struct lmn_feed *feed, uint64_t epoch,
                                                   struct lmn_error *err);

/* Row ids, which the caller frees. */
struct lmn_id_list {
    uint64_t *id;
    uint64_t count;
    void *memory;
};

/* Free the ids. An empty list is allowed. */
LMN_API void lmn_id_list_free(struct lmn_id_list *list);

/*
 * The ids of the rows of step `step`, in the order of the ranks; with `rank` not NULL those of one
 * rank. Steps before a restart with another number of ranks or another batch size are answered,
 * too. No values are read. Rows that were replaced because they could not be read are told as they
 * stand in the order.
 *
 * LMN_E_INVALID  the step had fewer ranks, or is behind the last epoch
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_feed_row_ids(struct lmn_feed *feed, uint64_t step,
                                                      const uint32_t *rank,
                                                      struct lmn_id_list *list_out,
                                                      struct lmn_error *err);

/* What a feed has done so far. Times are sums, in nanoseconds. */
struct lmn_feed_stats {
    uint64_t batches, rows;
    uint64_t bytes;           /* of the batches */
    uint64_t elapsed_ns;      /* since the first batch was asked for */
    uint64_t wait_ns;         /* the consumer waited for batches */
    uint64_t busy_ns;         /* threads worked on batches, of which ... */
    uint64_t store_ns;        /* ... they waited for the store ... */
    uint64_t cache_ns;        /* ... and for the cache */
    uint64_t store_requests;  /* ranges asked of the store */
    uint64_t store_bytes;     /* in them */
    uint64_t cache_hit_bytes; /* read from the cache instead */
    uint64_t replaced;        /* rows that could not be read */
    uint64_t placed;          /* buffers in the caller's memory, ... */
    uint64_t placed_bytes;    /* ... their bytes, ... */
    uint64_t not_placed;      /* ... and those that it had no room for */
};

/* Counters of this feed since it was opened. */
LMN_API void lmn_feed_stats(struct lmn_feed *feed, struct lmn_feed_stats *stats_out);

#endif
