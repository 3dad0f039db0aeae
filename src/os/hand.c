/* SPDX-License-Identifier: Apache-2.0 */
#include "os/hand.h"

#include <assert.h>

enum lmn_status lmn__hand_init(struct lmn__hand *hand, struct lmn_env *env, struct lmn_error *err)
{
    enum lmn_status st;

    *hand = (struct lmn__hand){ 0 };
    st = lmn__mutex_init(&hand->mutex, err);
    if (st != LMN_OK)
        return st;
    st = lmn__cond_init(&hand->cond, err);
    if (st != LMN_OK) {
        lmn__mutex_deinit(&hand->mutex);
        return st;
    }
    hand->env = env;
    return LMN_OK;
}

void lmn__hand_deinit(struct lmn__hand *hand)
{
    if (hand->env == NULL)
        return;
    if (hand->has_thread) {
        lmn__mutex_lock(&hand->mutex);
        hand->locked.ends = true;
        lmn__cond_wake_all(&hand->cond);
        lmn__mutex_unlock(&hand->mutex);
        lmn__thread_join(&hand->thread);
    }
    lmn__cond_deinit(&hand->cond);
    lmn__mutex_deinit(&hand->mutex);
    *hand = (struct lmn__hand){ 0 };
}

static void hand_main(void *memory)
{
    struct lmn__hand *hand = memory;

    lmn__mutex_lock(&hand->mutex);
    while (!hand->locked.ends || hand->locked.fn != NULL) {
        lmn__hand_fn fn = hand->locked.fn;
        void *context = hand->locked.context;
        struct lmn_error error = { 0 };
        enum lmn_status status;

        if (fn == NULL) {
            lmn__cond_wait(&hand->cond, &hand->mutex);
            continue;
        }
        lmn__mutex_unlock(&hand->mutex);
        status = fn(context, &error);
        lmn__mutex_lock(&hand->mutex);
        hand->locked.status = status;
        hand->locked.error = error;
        hand->locked.fn = NULL;
        lmn__cond_wake_all(&hand->cond);
    }
    lmn__mutex_unlock(&hand->mutex);
}

void lmn__hand_give(struct lmn__hand *hand, lmn__hand_fn fn, void *context)
{
    assert(!hand->given);
    hand->given = true;
    if (!hand->has_thread)
        hand->has_thread = lmn__thread_start(hand->env, hand_main, hand, &hand->thread, NULL) ==
                           LMN_OK;
    if (!hand->has_thread) {
        hand->locked.error = (struct lmn_error){ 0 };
        hand->locked.status = fn(context, &hand->locked.error);
        return;
    }
    lmn__mutex_lock(&hand->mutex);
    hand->locked.fn = fn;
    hand->locked.context = context;
    lmn__cond_wake_all(&hand->cond);
    lmn__mutex_unlock(&hand->mutex);
}

bool lmn__hand_is_idle(struct lmn__hand *hand)
{
    bool idle;

    if (!hand->given)
        return true;
    lmn__mutex_lock(&hand->mutex);
    idle = hand->locked.fn == NULL;
    lmn__mutex_unlock(&hand->mutex);
    return idle;
}

enum lmn_status lmn__hand_wait(struct lmn__hand *hand, struct lmn_error *err)
{
    enum lmn_status st;

    if (!hand->given)
        return LMN_OK;
    hand->given = false;
    lmn__mutex_lock(&hand->mutex);
    while (hand->locked.fn != NULL)
        lmn__cond_wait(&hand->cond, &hand->mutex);
    st = hand->locked.status;
    if (st != LMN_OK && err != NULL)
        *err = hand->locked.error;
    lmn__mutex_unlock(&hand->mutex);
    return st;
}
