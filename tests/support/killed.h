/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killed.h - run something in a process of its own and kill that at a chosen step.
 *
 * Only steps that leave another state behind count; a process that is killed before it reads or
 * syncs leaves what the step before left. Syncs matter to a loss of power, which the power-loss
 * store is for.
 */
#ifndef LMN_TESTS_KILLED_H
#define LMN_TESTS_KILLED_H

#include <leman/leman.h>

#include "check.h"

typedef enum lmn_status (*killed_store_fn)(struct lmn_store *store, struct lmn_error *err);
typedef enum lmn_status (*killed_path_fn)(const char *path, struct lmn_error *err);

/*
 * Run `fn` on the local store of `dir` and kill the process before the nth operation of the store
 * that changes something. True when it was killed; false when it came through, which it must with
 * LMN_OK.
 */
bool killed_at_operation(killed_store_fn fn, const char *dir, uint64_t nth);

/* The same before the nth call of the system, of any kind, for what has no store. */
bool killed_at_call(killed_path_fn fn, const char *path, uint64_t nth);

#endif
