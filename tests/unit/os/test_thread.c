/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels: threads
 */
#include <signal.h>

#include "check.h"
#include "os/thread.h"

enum { THREADS = 4, ROUNDS = 10000 };

struct shared {
    struct lmn__mutex mutex;
    struct lmn__cond cond;
    uint64_t count;
    int turn;
};

static int begin(void **state)
{
    static struct shared shared;
    struct lmn_error err;

    shared = (struct shared){ .count = 0 };
    CHECK_OK(lmn__mutex_init(&shared.mutex, &err));
    CHECK_OK(lmn__cond_init(&shared.cond, &err));
    *state = &shared;
    return 0;
}

static int end(void **state)
{
    struct shared *shared = *state;

    lmn__cond_deinit(&shared->cond);
    lmn__mutex_deinit(&shared->mutex);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static void count_up(void *context)
{
    struct shared *shared = context;

    for (int i = 0; i < ROUNDS; i++) {
        lmn__mutex_lock(&shared->mutex);
        shared->count++;
        lmn__mutex_unlock(&shared->mutex);
    }
}

static void test_mutex__one_thread_at_a_time(void **state)
{
    struct lmn__thread thread[THREADS];
    struct shared *shared = *state;
    struct lmn_error err;

    for (int i = 0; i < THREADS; i++)
        CHECK_OK(lmn__thread_start(test_env(), count_up, shared, &thread[i], &err));
    for (int i = 0; i < THREADS; i++)
        lmn__thread_join(&thread[i]);
    CHECK_EQ(shared->count, THREADS * ROUNDS);
}

static void take_turns(struct shared *shared, int mine, bool wake_all)
{
    for (int i = 0; i < 100; i++) {
        lmn__mutex_lock(&shared->mutex);
        while (shared->turn != mine)
            lmn__cond_wait(&shared->cond, &shared->mutex);
        shared->count++;
        shared->turn = !mine;
        if (wake_all)
            lmn__cond_wake_all(&shared->cond);
        else
            lmn__cond_wake_one(&shared->cond);
        lmn__mutex_unlock(&shared->mutex);
    }
}

static void take_turn_one(void *context)
{
    take_turns(context, 1, false);
}

static void test_cond__wakes_who_waits(void **state)
{
    struct shared *shared = *state;
    struct lmn__thread thread;
    struct lmn_error err;

    CHECK_OK(lmn__thread_start(test_env(), take_turn_one, shared, &thread, &err));
    take_turns(shared, 0, true);
    lmn__thread_join(&thread);
    CHECK_EQ(shared->count, 200);
}

static void look_at_signals(void *context)
{
    struct shared *shared = context;
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    shared->count = (uint64_t)(sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM));
}

static void test_thread__gets_no_signals(void **state)
{
    struct shared *shared = *state;
    struct lmn__thread thread;
    struct lmn_error err;
    sigset_t mask;

    CHECK_OK(lmn__thread_start(test_env(), look_at_signals, shared, &thread, &err));
    lmn__thread_join(&thread);
    CHECK_EQ(shared->count, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CHECK(!sigismember(&mask, SIGINT)); /* the starter's own mask is as before */
}

static void test_thread__fault_starts_nothing(void **state)
{
    struct shared *shared = *state;
    struct lmn__thread thread;
    struct lmn_error err;
    enum lmn_status st;

    fault_arm(FAULT_ALLOC, 1);
    st = lmn__thread_start(test_env(), count_up, shared, &thread, &err);
    fault_disarm();
    CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    CHECK_EQ(shared->count, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(test_mutex__one_thread_at_a_time),
        CASE(test_cond__wakes_who_waits),
        CASE(test_thread__gets_no_signals),
        CASE(test_thread__fault_starts_nothing),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
