/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ahead.h - bytes of files that the system fetches before they are read.
 *
 * It belongs to a store and serves its files, from many threads. It has helpers, threads of its own
 * that begin with the first thing to be fetched; a child of a fork gets others.
 */
#ifndef LMN_OS_AHEAD_H
#define LMN_OS_AHEAD_H

#include <stdatomic.h>

#include "os/file.h"

enum { LMN__AHEAD_IDLE_MAX = 4 };

struct lmn__ahead_helper;

struct lmn__ahead {
    struct lmn_env *env;                                           /* borrowed */
    _Atomic(struct lmn__ahead_helper *) idle[LMN__AHEAD_IDLE_MAX]; /* NULL: none */
};

void lmn__ahead_init(struct lmn__ahead *ahead, struct lmn_env *env);
/* Waits for its helpers. */
void lmn__ahead_deinit(struct lmn__ahead *ahead);

/*
 * Say what is about to be read, in any order: what the system does not have in memory it begins to
 * fetch, all of it at once and without the caller waiting. Nothing happens where it cannot. The
 * file may be closed at any time afterwards.
 */
void lmn__ahead_fetch(struct lmn__ahead *ahead, const struct lmn__file *file,
                      const struct lmn__file_range *range, size_t count);

#endif
