/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units go through a ring of slots. A thread claims the next unit when its slot is free, reads it
 * without the lock, and marks the slot done; the consumer takes the batches of the oldest unit and
 * frees its slot. One mutex guards the slots; threads wait on `room`, the consumer on `ready`.
 */
#include "feed/prefetch.h"

#include "arrow/compose.h"
#include "base/math.h"
#include "os/clock.h"
#include "os/thread.h"

enum { THREADS_MAX = 256 };

struct slot {
    bool done;
    enum lmn_status status;
    struct lmn_error error;
    uint32_t count;
    struct ArrowArray *batch; /* unit_batches of them */
};

struct lmn__prefetch {
    struct lmn_env *env; /* counted */
    struct lmn__prefetch_options options;
    uint32_t given; /* batches of the oldest unit that the consumer has got */
    uint32_t thread_count;
    struct lmn__thread thread[THREADS_MAX];
    struct ArrowArray *batch; /* of all slots */
    struct slot *slot;
    struct lmn__mutex mutex;
    struct lmn__cond ready, room;
    struct {
        uint64_t claimed; /* units that threads have begun */
        uint64_t oldest;  /* the unit of which the consumer takes */
        bool stopped;     /* nothing more is claimed */
    } locked;
};

static void thread_main(void *context)
{
    struct lmn__prefetch *prefetch = context;
    const struct lmn__prefetch_options *options = &prefetch->options;
    struct lmn__scratch scratch;

    lmn__scratch_init(&scratch, prefetch->env);
    lmn__mutex_lock(&prefetch->mutex);
    while (!prefetch->locked.stopped) {
        uint64_t unit = prefetch->locked.claimed;
        struct slot *slot = &prefetch->slot[unit % options->units];

        if (unit - prefetch->locked.oldest >= options->units) {
            lmn__cond_wait(&prefetch->room, &prefetch->mutex);
            continue;
        }
        prefetch->locked.claimed++;
        lmn__mutex_unlock(&prefetch->mutex);
        slot->status = options->read(options->context, &scratch, unit, slot->batch, &slot->count,
                                     &slot->error);
        lmn__mutex_lock(&prefetch->mutex);
        slot->done = true;
        if (slot->status != LMN_OK || slot->count == 0) {
            prefetch->locked.stopped = true;
            lmn__cond_wake_all(&prefetch->room);
        }
        lmn__cond_wake_one(&prefetch->ready);
    }
    lmn__mutex_unlock(&prefetch->mutex);
    lmn__scratch_deinit(&scratch);
}

/* The oldest unit, when it is done. */
static struct slot *wait_for_unit(struct lmn__prefetch *prefetch, uint64_t *wait_ns)
{
    struct slot *slot;

    lmn__mutex_lock(&prefetch->mutex);
    slot = &prefetch->slot[prefetch->locked.oldest % prefetch->options.units];
    if (!slot->done) {
        int64_t start = lmn__clock_now_ns();

        while (!slot->done)
            lmn__cond_wait(&prefetch->ready, &prefetch->mutex);
        *wait_ns += (uint64_t)(lmn__clock_now_ns() - start);
    }
    lmn__mutex_unlock(&prefetch->mutex);
    return slot;
}

static void free_slot(struct lmn__prefetch *prefetch, struct slot *slot)
{
    prefetch->given = 0;
    lmn__mutex_lock(&prefetch->mutex);
    slot->done = false;
    prefetch->locked.oldest++;
    lmn__cond_wake_one(&prefetch->room);
    lmn__mutex_unlock(&prefetch->mutex);
}

enum lmn_status lmn__prefetch_next(struct lmn__prefetch *prefetch, struct ArrowArray *array_out,
                                   uint64_t *wait_ns, struct lmn_error *err)
{
    struct slot *slot = wait_for_unit(prefetch, wait_ns);

    *array_out = (struct ArrowArray){ 0 };
    if (slot->status != LMN_OK) {
        if (err != NULL)
            *err = slot->error;
        return slot->status;
    }
    if (slot->count == 0)
        return LMN_OK;
    lmn__array_move(&slot->batch[prefetch->given++], array_out);
    if (prefetch->given == slot->count)
        free_slot(prefetch, slot);
    return LMN_OK;
}

static enum lmn_status make_locks(struct lmn__prefetch *prefetch, struct lmn_error *err)
{
    enum lmn_status st = lmn__mutex_init(&prefetch->mutex, err);

    if (st != LMN_OK)
        return st;
    st = lmn__cond_init(&prefetch->ready, err);
    if (st == LMN_OK) {
        st = lmn__cond_init(&prefetch->room, err);
        if (st == LMN_OK)
            return LMN_OK;
        lmn__cond_deinit(&prefetch->ready);
    }
    lmn__mutex_deinit(&prefetch->mutex);
    return st;
}

static void prefetch_free(struct lmn__prefetch *prefetch)
{
    struct lmn_env *env = prefetch->env;

    lmn__free(env, prefetch->batch);
    lmn__free(env, prefetch->slot);
    lmn__free(env, prefetch);
    lmn_env_release(env);
}

static enum lmn_status make_slots(struct lmn__prefetch *prefetch, struct lmn_error *err)
{
    const struct lmn__prefetch_options *options = &prefetch->options;
    uint64_t batches = (uint64_t)options->units * options->unit_batches;

    prefetch->slot = lmn__calloc(prefetch->env, options->units, sizeof *prefetch->slot);
    prefetch->batch = lmn__calloc(prefetch->env, batches, sizeof *prefetch->batch);
    if (prefetch->slot == NULL || prefetch->batch == NULL)
        return lmn__no_memory(err, "batches to be read ahead", batches * sizeof *prefetch->batch);
    for (uint32_t i = 0; i < options->units; i++)
        prefetch->slot[i].batch = prefetch->batch + (uint64_t)i * options->unit_batches;
    return LMN_OK;
}

/* Fewer threads than asked for still do the work; only none at all is a failure. */
static enum lmn_status start_threads(struct lmn__prefetch *prefetch, struct lmn_error *err)
{
    uint64_t wanted = lmn__min_u64(prefetch->options.threads, prefetch->options.units);
    enum lmn_status st = LMN_OK;

    wanted = lmn__max_u64(lmn__min_u64(wanted, THREADS_MAX), 1);
    while (st == LMN_OK && prefetch->thread_count < wanted) {
        st = lmn__thread_start(prefetch->env, thread_main, prefetch,
                               &prefetch->thread[prefetch->thread_count], err);
        prefetch->thread_count += st == LMN_OK;
    }
    return prefetch->thread_count != 0 ? LMN_OK : st;
}

enum lmn_status lmn__prefetch_open(struct lmn_env *env, const struct lmn__prefetch_options *options,
                                   struct lmn__prefetch **prefetch_out, struct lmn_error *err)
{
    struct lmn__prefetch *prefetch = lmn__calloc(env, 1, sizeof *prefetch);
    enum lmn_status st;

    *prefetch_out = NULL;
    if (prefetch == NULL)
        return lmn__no_memory(err, "batches to be read ahead", sizeof *prefetch);
    prefetch->env = lmn_env_acquire(env);
    prefetch->options = *options;
    st = make_slots(prefetch, err);
    if (st == LMN_OK)
        st = make_locks(prefetch, err);
    if (st != LMN_OK) {
        prefetch_free(prefetch);
        return st;
    }
    st = start_threads(prefetch, err);
    if (st != LMN_OK) {
        lmn__prefetch_close(prefetch);
        return st;
    }
    *prefetch_out = prefetch;
    return LMN_OK;
}

void lmn__prefetch_close(struct lmn__prefetch *prefetch)
{
    uint64_t batches;

    if (prefetch == NULL)
        return;
    lmn__mutex_lock(&prefetch->mutex);
    prefetch->locked.stopped = true;
    lmn__cond_wake_all(&prefetch->room);
    lmn__mutex_unlock(&prefetch->mutex);
    for (uint32_t i = 0; i < prefetch->thread_count; i++)
        lmn__thread_join(&prefetch->thread[i]);
    batches = (uint64_t)prefetch->options.units * prefetch->options.unit_batches;
    for (uint64_t i = 0; i < batches; i++)
        lmn__array_release(&prefetch->batch[i]);
    lmn__cond_deinit(&prefetch->room);
    lmn__cond_deinit(&prefetch->ready);
    lmn__mutex_deinit(&prefetch->mutex);
    prefetch_free(prefetch);
}
