/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a feed: a handle of its own at the table's version, over a store that counts and may
 * cache; the rows that match; the cursor at its start.
 */
#include <stdio.h>
#include <string.h>

#include <leman/table_versions.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/math.h"
#include "base/pool.h"
#include "feed/feed.h"
#include "os/fork.h"

enum {
    BATCH_ROWS = 64,
    PREFETCH_BATCHES = 4,
    BLOCK_ROWS = 64,
    WINDOW_BLOCKS = 64,
    ROWS_BITS_MAX = 62,
    UNIT_BATCHES_MAX = 1024,
};

/* Bytes that are read together: rows anywhere, rows in a row, windows of blocks at most. */
static const uint64_t unit_bytes[] = { 1 << 20, 8 << 20, 64 << 20 };

/* The columns and their types, for the cursor. */
static enum lmn_status describe_columns(struct lmn_feed *feed, struct lmn_error *err)
{
    const struct lmn__row_columns none = { false, false };
    struct ArrowSchema schema;
    struct lmn__buf text;
    struct lmn__span kept;
    enum lmn_status st = lmn__row_columns_schema(lmn__reader_set_projection(feed->readers), none,
                                                 &schema, err);

    if (st != LMN_OK)
        return st;
    lmn__buf_init(&text, feed->env, 0);
    for (int64_t i = 0; i < schema.n_children; i++)
        lmn__buf_printf(&text, "%s%s %s", i != 0 ? ", " : "", schema.children[i]->name,
                        schema.children[i]->format);
    lmn__buf_put_u8(&text, 0);
    schema.release(&schema);
    st = lmn__arena_keep(&feed->arena, &text, "columns", &kept, err);
    if (st == LMN_OK)
        feed->cursor.columns = (const char *)kept.data;
    return st;
}

static enum lmn_status keep_text(struct lmn_feed *feed, const char *text, const char **kept_out,
                                 struct lmn_error *err)
{
    *kept_out = lmn__arena_strndup(&feed->arena, text != NULL ? text : "",
                                   text != NULL ? strlen(text) : 0);
    return *kept_out != NULL ? LMN_OK : lmn__arena_fail(&feed->arena, "a feed", err);
}

/* What the cursor says of data and order. */
static enum lmn_status describe(struct lmn_feed *feed, const struct lmn_feed_options *options,
                                struct lmn_error *err)
{
    const struct lmn__manifest *manifest = feed->snapshot->manifest;
    struct lmn__cursor *cursor = &feed->cursor;
    uint64_t hash[3];
    enum lmn_status st = describe_columns(feed, err);

    if (st == LMN_OK)
        st = keep_text(feed, options->where, &cursor->where, err);
    if (st == LMN_OK)
        st = keep_text(feed, options->transform, &cursor->transform, err);
    if (st != LMN_OK)
        return st;
    hash[0] = lmn__hash64(cursor->columns, strlen(cursor->columns));
    hash[1] = lmn__hash64(cursor->where, strlen(cursor->where));
    hash[2] = lmn__hash64(cursor->transform, strlen(cursor->transform));
    cursor->texts = lmn__hash64(hash, sizeof hash);
    cursor->version = manifest->pb.version;
    cursor->data = lmn__hash64(manifest->block->data, manifest->bytes);
    cursor->row_count = feed->order.row_count;
    cursor->shuffle = feed->order.shuffle;
    cursor->seed = feed->order.seed;
    cursor->block_rows = feed->order.block_rows;
    cursor->window_rows = feed->order.window_rows;
    return LMN_OK;
}

/* The first segment. */
static enum lmn_status begin(struct lmn_feed *feed, struct lmn_error *err)
{
    const struct lmn__segment first = { .batch_rows = feed->steps.batch_rows,
                                        .rank_count = feed->steps.rank_count,
                                        .remainder = feed->steps.remainder };

    feed->segments = lmn__arena_new(feed->env);
    if (feed->segments == NULL)
        return lmn__no_memory(err, "a feed", sizeof first);
    feed->cursor.segment = lmn__arena_alloc(feed->segments, sizeof first);
    if (feed->cursor.segment == NULL)
        return lmn__arena_fail(feed->segments, "a feed", err);
    feed->cursor.segment[0] = first;
    feed->cursor.segment_count = 1;
    return LMN_OK;
}

static enum lmn_status choose_rows(struct lmn_feed *feed, const char *where, struct lmn_error *err)
{
    enum lmn_status st;

    feed->order.row_count = feed->snapshot->row_count;
    feed->is_filtered = where != NULL;
    if (where == NULL)
        return LMN_OK;
    st = lmn__selection_init(&feed->selection, feed->snapshot, err);
    if (st == LMN_OK)
        st = lmn__selection_choose(&feed->selection, feed->snapshot, feed->access.table, where,
                                   feed->access.cache, err);
    feed->order.row_count = feed->selection.count;
    return st;
}

/*
 * Blocks that no option sizes are as large as the read group of a column, the metadata of its field
 * says, the largest of those that are read.
 */
static uint64_t group_rows(const struct lmn_feed *feed)
{
    const struct lmn__selected *root = lmn__reader_set_projection(feed->readers)->root;
    uint64_t rows = 0, here;

    for (uint32_t i = 0; i < root->child_count; i++) {
        struct lmn__span text = lmn__node_metadata(root->child[i]->node, "leman:group_size");

        if (text.data != NULL && lmn__json_to_u64(text, &here))
            rows = lmn__max_u64(rows, lmn__min_u64(here, UINT32_MAX));
    }
    return rows != 0 ? rows : BLOCK_ROWS;
}

static void size_blocks(struct lmn_feed *feed)
{
    if (feed->order.shuffle != LMN_SHUFFLE_BLOCK)
        return;
    if (feed->order.block_rows == 0)
        feed->order.block_rows = group_rows(feed);
    if (feed->order.window_rows == 0)
        feed->order.window_rows = feed->order.block_rows * WINDOW_BLOCKS;
}

/* How many batches are read together. Blobs are read one by one, and may be of any size. */
static uint32_t unit_batches(const struct lmn_feed *feed)
{
    uint64_t rows = 0, bytes = 0, batch_bytes, count;

    if (lmn__projection_reads_blobs(lmn__reader_set_projection(feed->readers)))
        return 1;
    for (uint64_t i = 0; i < feed->snapshot->fragment_count; i++) {
        rows += feed->snapshot->fragment[i].row_count;
        bytes += feed->snapshot->fragment[i].bytes;
    }
    if (!lmn__mul_u64(bytes / lmn__max_u64(rows, 1) + 1, feed->steps.batch_rows, &batch_bytes))
        return 1;
    count = unit_bytes[feed->order.shuffle] / batch_bytes;
    if (feed->order.shuffle == LMN_SHUFFLE_BLOCK)
        count = lmn__min_u64(count, feed->order.window_rows /
                                        (feed->steps.batch_rows * feed->steps.rank_count));
    else
        count = lmn__min_u64(count, lmn__max_u64(feed->prefetch_batches / feed->threads, 1));
    return (uint32_t)lmn__max_u64(lmn__min_u64(count, UNIT_BATCHES_MAX), 1);
}

static void set_options(struct lmn_feed *feed, const struct lmn_feed_options *options)
{
    feed->rank = options->rank;
    feed->worker_count = options->worker_count != 0 ? options->worker_count : 1;
    feed->first = feed->worker = options->worker;
    feed->epochs = options->epochs;
    feed->replaces = options->on_error == LMN_FEED_REPLACE;
    feed->threads = options->threads != 0 ? options->threads : feed->env->threads;
    feed->prefetch_batches = options->prefetch != 0 ? options->prefetch : PREFETCH_BATCHES;
    feed->row_columns.id = options->with_row_id;
    feed->order.shuffle = options->shuffle;
    feed->order.seed = options->seed;
    if (options->shuffle == LMN_SHUFFLE_BLOCK) {
        feed->order.block_rows = options->block_rows;
        feed->order.window_rows = options->window_rows;
    }
    feed->steps = (struct lmn__steps){
        .batch_rows = options->batch_rows != 0 ? options->batch_rows : BATCH_ROWS,
        .rank_count = options->world_size != 0 ? options->world_size : 1,
        .remainder = options->remainder
    };
}

static enum lmn_status check_options(const struct lmn_feed *feed, struct lmn_error *err)
{
    const uint64_t rows_max = (uint64_t)1 << ROWS_BITS_MAX;

    if (feed->rank >= feed->steps.rank_count)
        return lmn_fail(err, LMN_E_INVALID, "rank %u of %llu ranks; they count from 0", feed->rank,
                        (unsigned long long)feed->steps.rank_count);
    if (feed->worker >= feed->worker_count)
        return lmn_fail(err, LMN_E_INVALID, "worker %u of %u workers; they count from 0",
                        feed->worker, feed->worker_count);
    if (feed->order.block_rows > UINT32_MAX || feed->order.window_rows > rows_max)
        return lmn_fail(err, LMN_E_INVALID, "blocks of %llu rows in windows of %llu: too large",
                        (unsigned long long)feed->order.block_rows,
                        (unsigned long long)feed->order.window_rows);
    if (feed->order.row_count > rows_max)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "a feed of %llu rows",
                        (unsigned long long)feed->order.row_count);
    if (feed->order.row_count != 0 && lmn__steps_of_rank(&feed->steps, 0, feed->rank) == 0)
        return lmn_fail(err, LMN_E_INVALID,
                        "there is no row for rank %u: %llu rows, in steps of %llu ranks with "
                        "batches of %llu",
                        feed->rank, (unsigned long long)feed->order.row_count,
                        (unsigned long long)feed->steps.rank_count,
                        (unsigned long long)feed->steps.batch_rows);
    return LMN_OK;
}

/* Name the version, so that it stays; ranks do so at once, and a table may not be ours to write. */
static void pin(struct lmn_feed *feed, struct lmn_table *table)
{
    uint64_t version = feed->cursor.version;
    char name[40];
    enum lmn_status st;

    snprintf(name, sizeof name, "leman-feed-%llu", (unsigned long long)version);
    st = lmn_table_tag(table, name, version, false, NULL);
    feed->is_pinned = st == LMN_OK || st == LMN_E_EXISTS;
}

static enum lmn_status fill(struct lmn_feed *feed, struct lmn_table *table,
                            const struct lmn_feed_options *options, struct lmn_error *err)
{
    const struct lmn_scan_options read = { .column = options->column,
                                           .column_count = options->column_count,
                                           .blobs = options->blobs };
    enum lmn_status st;

    set_options(feed, options);
    st = lmn__access_open(&feed->access, table, options->cache_dir, options->cache_bytes_max, err);
    if (st == LMN_OK)
        st = lmn__snapshot_open(feed->access.table, &feed->snapshot, err);
    if (st == LMN_OK)
        st = lmn__reader_set_open(feed->snapshot, &read, &feed->readers, err);
    if (st == LMN_OK) {
        size_blocks(feed);
        st = choose_rows(feed, options->where, err);
    }
    if (st == LMN_OK) {
        feed->steps.row_count = feed->order.row_count;
        st = check_options(feed, err);
    }
    if (st == LMN_OK)
        st = describe(feed, options, err);
    if (st == LMN_OK)
        st = begin(feed, err);
    /* The last that may fail: from then on the memory is the feed's. */
    if (st == LMN_OK && options->memory != NULL)
        st = lmn__env_new_placed(feed->env, options->memory, &feed->place, err);
    if (st == LMN_OK) {
        feed->unit_batches = unit_batches(feed);
        if (!options->unpinned)
            pin(feed, table);
    }
    return st;
}

enum lmn_status lmn_feed_open(struct lmn_table *table, const struct lmn_feed_options *options,
                              struct lmn_feed **feed_out, struct lmn_error *err)
{
    static const struct lmn_feed_options defaults = { 0 };
    struct lmn_feed *feed = lmn__calloc(table->env, 1, sizeof *feed);
    enum lmn_status st;

    *feed_out = NULL;
    if (feed == NULL)
        return lmn__no_memory(err, "a feed", sizeof *feed);
    feed->env = lmn_env_acquire(table->env);
    feed->process = lmn__fork_process();
    lmn__arena_init(&feed->arena, feed->env, 0);
    lmn__buf_init(&feed->text, feed->env, 0);
    st = fill(feed, table, options != NULL ? options : &defaults, err);
    if (st == LMN_OK)
        *feed_out = feed;
    else
        lmn_feed_close(feed);
    return st;
}
