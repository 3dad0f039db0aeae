/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a feed. Its threads start with the first batch that is asked for and end with a
 * failure, a restart or the feed, so that between these the cursor may be moved.
 */
#include "feed/feed.h"

#include "base/error.h"
#include "base/math.h"
#include "base/pool.h"
#include "os/clock.h"
#include "os/fork.h"

enum lmn_status lmn__feed_check_process(const struct lmn_feed *feed, struct lmn_error *err)
{
    if (feed->process == lmn__fork_process())
        return LMN_OK;
    return lmn_fail(err, LMN_E_UNSUPPORTED,
                    "the feed was opened by process %llu, of which this one is a fork: its threads "
                    "are not here; open the feed again",
                    (unsigned long long)feed->process);
}

void lmn__feed_stop(struct lmn_feed *feed)
{
    lmn__prefetch_close(feed->prefetch);
    feed->prefetch = NULL;
}

void lmn__feed_deinit(struct lmn_feed *feed)
{
    lmn__feed_stop(feed);
    lmn__selection_deinit(&feed->selection);
    lmn__reader_set_release(feed->readers);
    lmn__snapshot_release(feed->snapshot);
    lmn__access_close(&feed->access);
    lmn_env_release(feed->place);
    lmn__arena_free(feed->segments);
    lmn__arena_deinit(&feed->arena);
    lmn__buf_deinit(&feed->text);
}

void lmn_feed_close(struct lmn_feed *feed)
{
    struct lmn_env *env;

    /* In a fork its locks may be held by threads that are not here: what it has is left alone. */
    if (feed == NULL || lmn__feed_check_process(feed, NULL) != LMN_OK)
        return;
    env = feed->env;
    lmn__feed_deinit(feed);
    lmn__free(env, feed);
    lmn_env_release(env);
}

enum lmn_status lmn_feed_schema(struct lmn_feed *feed, struct ArrowSchema *schema_out,
                                struct lmn_error *err)
{
    *schema_out = (struct ArrowSchema){ 0 };
    return lmn__row_columns_schema(lmn__reader_set_projection(feed->readers), feed->row_columns,
                                   schema_out, err);
}

static enum lmn_status start(struct lmn_feed *feed, struct lmn_error *err)
{
    const struct lmn__prefetch_options options = {
        .read = lmn__feed_read_unit,
        .context = feed,
        .unit_batches = feed->unit_batches,
        .units = (uint32_t)lmn__max_u64(lmn__div_up(feed->prefetch_batches, feed->unit_batches), 1),
        .threads = feed->threads,
    };

    feed->prefetch_first = feed->given;
    return lmn__prefetch_open(feed->env, &options, &feed->prefetch, err);
}

/* Go behind the next batch. */
static void advance(struct lmn_feed *feed)
{
    const struct lmn__segment *segment = lmn__feed_segment(feed);
    struct lmn__place place = lmn__feed_place(feed, feed->given);
    struct lmn__place after = lmn__steps_after(&feed->steps, place);

    feed->cursor.step = segment->step + 1 +
                        lmn__steps_number(&feed->steps, segment->epoch, segment->position, place);
    feed->cursor.epoch = after.epoch;
    feed->cursor.position = after.position;
    feed->given++;
}

enum lmn_status lmn_feed_next(struct lmn_feed *feed, struct ArrowArray *array_out,
                              struct lmn_error *err)
{
    enum lmn_status st = lmn__feed_check_process(feed, err);

    *array_out = (struct ArrowArray){ 0 };
    if (st == LMN_OK && feed->order.row_count == 0)
        return LMN_OK;
    if (feed->started_ns == 0)
        feed->started_ns = lmn__clock_now_ns();
    if (st == LMN_OK && feed->prefetch == NULL)
        st = start(feed, err);
    if (st == LMN_OK) {
        st = lmn__prefetch_next(feed->prefetch, array_out, &feed->wait_ns, err);
        if (st != LMN_OK)
            lmn__feed_stop(feed);
    }
    if (st == LMN_OK && array_out->release != NULL) {
        advance(feed);
        feed->batches++;
        feed->rows += (uint64_t)array_out->length;
    }
    return st;
}

enum lmn_status lmn_feed_skip(struct lmn_feed *feed, uint64_t batches, struct lmn_error *err)
{
    enum lmn_status st = lmn__feed_check_process(feed, err);

    if (st != LMN_OK || batches == 0 || feed->order.row_count == 0)
        return st;
    lmn__feed_stop(feed);
    feed->given += batches - 1;
    advance(feed);
    return LMN_OK;
}

void lmn_feed_info(const struct lmn_feed *feed, struct lmn_feed_info *info_out)
{
    *info_out = (struct lmn_feed_info){
        .version = feed->cursor.version,
        .row_count = feed->order.row_count,
        .steps = feed->order.row_count != 0 ? lmn__steps_count(&feed->steps, 0) : 0,
        .epoch = feed->cursor.epoch,
        .next_epoch = feed->order.row_count != 0 ? lmn__feed_place(feed, feed->given).epoch : 0,
        .position = feed->cursor.position,
        .step = feed->cursor.step,
        .pinned = feed->is_pinned,
    };
}

void lmn_feed_stats(struct lmn_feed *feed, struct lmn_feed_stats *stats_out)
{
    struct lmn__pool_placed placed = { 0 };

    if (feed->place != NULL)
        placed = lmn__pool_placed(feed->place->pool);
    *stats_out = (struct lmn_feed_stats){
        .batches = feed->batches,
        .rows = feed->rows,
        .bytes = atomic_load(&feed->bytes),
        .elapsed_ns = feed->started_ns != 0 ? (uint64_t)(lmn__clock_now_ns() - feed->started_ns)
                                            : 0,
        .wait_ns = feed->wait_ns,
        .busy_ns = atomic_load(&feed->busy_ns),
        .store_ns = atomic_load(&feed->access.counts.store_ns),
        .cache_ns = atomic_load(&feed->access.counts.cache_ns),
        .store_requests = atomic_load(&feed->access.counts.store_requests),
        .store_bytes = atomic_load(&feed->access.counts.store_bytes),
        .cache_hit_bytes = atomic_load(&feed->access.counts.cache_hit_bytes),
        .replaced = atomic_load(&feed->replaced),
        .placed = placed.blocks,
        .placed_bytes = placed.bytes,
        .not_placed = placed.refused,
    };
}
