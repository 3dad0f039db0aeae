/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - whether the caller of a long call wants it to end; see <leman/interrupt.h>. */
#ifndef LMN_OS_INTERRUPT_H
#define LMN_OS_INTERRUPT_H

#include <leman/interrupt.h>

#include "os/thread.h"

/* LMN_E_CANCELLED when it does. Cheap enough for every batch; threads of the library never ask. */
LMN_MUST_USE enum lmn_status lmn__interrupt_check(struct lmn_error *err);

/* lmn__cond_wait() that is over sooner, now and then, in a thread that can be interrupted. */
void lmn__interrupt_wait(struct lmn__cond *cond, struct lmn__mutex *mutex);

#endif
