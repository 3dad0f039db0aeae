/* SPDX-License-Identifier: Apache-2.0 */
#include "os/thread.h"

#include <signal.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

struct start {
    struct lmn_env *env;
    lmn__thread_fn fn;
    void *context;
};

enum lmn_status lmn__mutex_init(struct lmn__mutex *mutex, struct lmn_error *err)
{
    int rc = pthread_mutex_init(&mutex->os, NULL);

    return rc == 0 ? LMN_OK : lmn_fail_os(err, LMN_E_NO_MEMORY, rc, "cannot make a mutex");
}

void lmn__mutex_deinit(struct lmn__mutex *mutex)
{
    pthread_mutex_destroy(&mutex->os);
}

void lmn__mutex_lock(struct lmn__mutex *mutex)
{
    pthread_mutex_lock(&mutex->os);
}

void lmn__mutex_unlock(struct lmn__mutex *mutex)
{
    pthread_mutex_unlock(&mutex->os);
}

enum lmn_status lmn__cond_init(struct lmn__cond *cond, struct lmn_error *err)
{
    pthread_condattr_t attributes;
    int rc = pthread_condattr_init(&attributes);

    if (rc == 0) {
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        rc = pthread_cond_init(&cond->os, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    return rc == 0 ? LMN_OK : lmn_fail_os(err, LMN_E_NO_MEMORY, rc, "cannot make a condition");
}

void lmn__cond_deinit(struct lmn__cond *cond)
{
    pthread_cond_destroy(&cond->os);
}

void lmn__cond_wait(struct lmn__cond *cond, struct lmn__mutex *mutex)
{
    pthread_cond_wait(&cond->os, &mutex->os);
}

bool lmn__cond_wait_until(struct lmn__cond *cond, struct lmn__mutex *mutex, uint64_t monotonic_ns)
{
    struct timespec until = { (time_t)(monotonic_ns / NS_PER_S), (long)(monotonic_ns % NS_PER_S) };

    return pthread_cond_timedwait(&cond->os, &mutex->os, &until) == 0;
}

void lmn__cond_wake_one(struct lmn__cond *cond)
{
    pthread_cond_signal(&cond->os);
}

void lmn__cond_wake_all(struct lmn__cond *cond)
{
    pthread_cond_broadcast(&cond->os);
}

static void *thread_main(void *memory)
{
    struct start start = *(struct start *)memory;

    lmn__free(start.env, memory);
    start.fn(start.context);
    return NULL;
}

enum lmn_status lmn__thread_start(struct lmn_env *env, lmn__thread_fn fn, void *context,
                                  struct lmn__thread *thread_out, struct lmn_error *err)
{
    struct start *start = lmn__alloc(env, sizeof *start);
    sigset_t all, before;
    int rc;

    if (start == NULL)
        return lmn__no_memory(err, "a thread's start", sizeof *start);
    *start = (struct start){ env, fn, context };
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread_out->os, NULL, thread_main, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        lmn__free(env, start);
        return lmn_fail_os(err, LMN_E_UNAVAILABLE, rc, "cannot start a thread");
    }
    return LMN_OK;
}

void lmn__thread_join(struct lmn__thread *thread)
{
    pthread_join(thread->os, NULL);
}
