/* SPDX-License-Identifier: Apache-2.0 */
/*
 * powerloss.h - a store for tests that remembers what a power loss would leave.
 *
 * Operations go through to the inner store, which nobody else changes. The wrapper keeps, for
 * every file made through it, the content at its last sync, and for every directory the names at
 * its last sync. lmn__powerloss_crash() puts the inner store into a state that a power loss at
 * this moment could leave.
 *
 * Faults belong around this store, not below it: a fault store that wraps it stops a program
 * at any step.
 */
#ifndef LMN_STORE_POWERLOSS_H
#define LMN_STORE_POWERLOSS_H

#include "store/store.h"

/* Wrap `inner`, which the new store keeps a reference to. What is in it counts as durable. */
LMN_MUST_USE enum lmn_status lmn__store_open_powerloss(struct lmn_store *inner,
                                                       struct lmn_store **store_out,
                                                       struct lmn_error *err);

/*
 * Lose power. With seed 0 everything that was not synced is gone; with another seed each
 * unsynced write and each unsynced change of a name is kept or dropped by its own coin, writes
 * possibly cut. A rename is one change: it happens as a whole or not at all, and it is durable
 * when the directories of both names are synced. Changes of one name keep their order.
 *
 * Afterwards all that is left counts as durable. On failure the same call may be made again.
 *
 * LMN_E_INVALID  files opened through the wrapper are still open
 */
LMN_MUST_USE enum lmn_status lmn__powerloss_crash(struct lmn_store *store, uint64_t seed,
                                                  struct lmn_error *err);

#endif
