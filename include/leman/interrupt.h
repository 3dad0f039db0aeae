/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.h - let long calls of a thread end early, as by Ctrl-C.
 *
 * What a thread sets is asked from that thread, for every batch of rows that calls of it read or
 * write and every 50 ms while they wait, so it should be quick. When it answers true, the call
 * fails with LMN_E_CANCELLED, as it would with a source of rows that fails: the table is as it was,
 * and what was written goes. A commit that has begun is not cut short.
 */
#ifndef LEMAN_INTERRUPT_H
#define LEMAN_INTERRUPT_H

#include <stdbool.h>

#include <leman/status.h>

struct lmn_interrupt {
    bool (*asked)(void *context); /* NULL: never */
    void *context;
};

/* Set it for the calling thread, and answer what was set before. */
LMN_API struct lmn_interrupt lmn_interrupt_set(struct lmn_interrupt interrupt);

#endif
