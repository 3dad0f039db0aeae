/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - threads, mutexes and conditions.
 *
 * Locking never fails in a program that uses it rightly, so it returns nothing.
 */
#ifndef LMN_OS_THREAD_H
#define LMN_OS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

struct lmn__mutex {
    pthread_mutex_t os;
};

struct lmn__cond {
    pthread_cond_t os;
};

struct lmn__thread {
    pthread_t os;
};

/* For those that live as long as the program; such a condition has no lmn__cond_wait_until(). */
#define LMN__MUTEX_INIT { PTHREAD_MUTEX_INITIALIZER }
#define LMN__COND_INIT  { PTHREAD_COND_INITIALIZER }

LMN_MUST_USE enum lmn_status lmn__mutex_init(struct lmn__mutex *mutex, struct lmn_error *err);
void lmn__mutex_deinit(struct lmn__mutex *mutex);
void lmn__mutex_lock(struct lmn__mutex *mutex);
void lmn__mutex_unlock(struct lmn__mutex *mutex);

LMN_MUST_USE enum lmn_status lmn__cond_init(struct lmn__cond *cond, struct lmn_error *err);
void lmn__cond_deinit(struct lmn__cond *cond);
void lmn__cond_wait(struct lmn__cond *cond, struct lmn__mutex *mutex);
/* The same until a time of lmn__clock_monotonic_ns(), after which it answers false. */
bool lmn__cond_wait_until(struct lmn__cond *cond, struct lmn__mutex *mutex, uint64_t monotonic_ns);
void lmn__cond_wake_one(struct lmn__cond *cond);
void lmn__cond_wake_all(struct lmn__cond *cond);

typedef void (*lmn__thread_fn)(void *context);

/*
 * Run `fn(context)` in a thread of its own, with all signals blocked so that the program's own
 * threads get them. The caller joins it.
 */
LMN_MUST_USE enum lmn_status lmn__thread_start(struct lmn_env *env, lmn__thread_fn fn,
                                               void *context, struct lmn__thread *thread_out,
                                               struct lmn_error *err);
void lmn__thread_join(struct lmn__thread *thread);

#endif
