/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hand.h - a second hand of a thread: it does one thing at a time while its owner does another.
 *
 * A hand belongs to one thread. What it is given must not be touched by the owner until
 * lmn__hand_wait() has returned.
 */
#ifndef LMN_OS_HAND_H
#define LMN_OS_HAND_H

#include "os/thread.h"

typedef enum lmn_status (*lmn__hand_fn)(void *context, struct lmn_error *err);

struct lmn__hand {
    struct lmn_env *env; /* borrowed; NULL: not made */
    struct lmn__mutex mutex;
    struct lmn__cond cond;
    struct lmn__thread thread;
    bool has_thread;
    bool given; /* something whose end was not asked for; the owner's */
    struct {
        lmn__hand_fn fn; /* what it does; NULL: nothing */
        void *context;
        bool ends;
        enum lmn_status status; /* of what it did last */
        struct lmn_error error;
    } locked;
};

/* Make a hand. Its thread starts with the first thing that it is given. */
LMN_MUST_USE enum lmn_status lmn__hand_init(struct lmn__hand *hand, struct lmn_env *env,
                                            struct lmn_error *err);
/* Waits for what it does. One that is zeroed may be given too. */
void lmn__hand_deinit(struct lmn__hand *hand);

/*
 * Give it `fn(context)` to do; it has nothing to do. Where no thread can be had, the owner does it
 * itself.
 */
void lmn__hand_give(struct lmn__hand *hand, lmn__hand_fn fn, void *context);

/* Has it nothing to do, or done it? */
bool lmn__hand_is_idle(struct lmn__hand *hand);

/* Wait for what it was given; its status, once. LMN_OK when it was given nothing. */
LMN_MUST_USE enum lmn_status lmn__hand_wait(struct lmn__hand *hand, struct lmn_error *err);

#endif
