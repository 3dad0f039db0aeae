/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/crew.h"

#include <stdatomic.h>

#include "base/math.h"
#include "os/thread.h"

enum { THREADS_MAX = 64 };

struct crew {
    lmn__crew_fn fn;
    void *context;
    uint64_t count;
    atomic_uint_fast64_t next;
    atomic_bool failed;
};

struct hand {
    struct crew *crew;
    uint32_t worker;
    struct lmn__thread thread;
    enum lmn_status status;
    struct lmn_error error;
};

static void work(void *context)
{
    struct hand *hand = context;
    struct crew *crew = hand->crew;

    while (hand->status == LMN_OK && !atomic_load(&crew->failed)) {
        uint64_t item = atomic_fetch_add(&crew->next, 1);

        if (item >= crew->count)
            return;
        hand->status = crew->fn(crew->context, hand->worker, item, &hand->error);
        if (hand->status != LMN_OK)
            atomic_store(&crew->failed, true);
    }
}

enum lmn_status lmn__crew_run(struct lmn_env *env, uint32_t threads, uint64_t count,
                              lmn__crew_fn fn, void *context, struct lmn_error *err)
{
    struct crew crew = { .fn = fn, .context = context, .count = count };
    struct hand hand[THREADS_MAX];
    uint32_t started = 1;
    enum lmn_status st = LMN_OK;

    threads = (uint32_t)lmn__min_u64(lmn__min_u64(threads, THREADS_MAX), lmn__max_u64(count, 1));
    hand[0] = (struct hand){ .crew = &crew };
    /* Threads that cannot be had are done without. */
    for (; started < threads; started++) {
        hand[started] = (struct hand){ .crew = &crew, .worker = started };
        if (lmn__thread_start(env, work, &hand[started], &hand[started].thread, NULL) != LMN_OK)
            break;
    }
    work(&hand[0]);
    for (uint32_t i = 0; i < started; i++) {
        if (i != 0)
            lmn__thread_join(&hand[i].thread);
        if (st == LMN_OK && hand[i].status != LMN_OK) {
            st = hand[i].status;
            if (err != NULL)
                *err = hand[i].error;
        }
    }
    return st;
}
