/* SPDX-License-Identifier: Apache-2.0 */
#include "os/interrupt.h"

#include "base/error.h"
#include "os/clock.h"

enum { WAIT_NS = 50 * 1000 * 1000 };

static _Thread_local struct lmn_interrupt own;

struct lmn_interrupt lmn_interrupt_set(struct lmn_interrupt interrupt)
{
    struct lmn_interrupt before = own;

    own = interrupt;
    return before;
}

enum lmn_status lmn__interrupt_check(struct lmn_error *err)
{
    if (own.asked == NULL || !own.asked(own.context))
        return LMN_OK;
    return lmn_fail(err, LMN_E_CANCELLED, "interrupted");
}

void lmn__interrupt_wait(struct lmn__cond *cond, struct lmn__mutex *mutex)
{
    if (own.asked == NULL)
        lmn__cond_wait(cond, mutex);
    else
        (void)lmn__cond_wait_until(cond, mutex, lmn__clock_monotonic_ns() + WAIT_NS);
}
