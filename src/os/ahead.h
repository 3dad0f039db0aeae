/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ahead.h - bytes of files that the system fetches before they are read.
 *
 * It belongs to a store and serves its files, from many threads. It has helpers, threads of its own
 * that begin with the first thing to be fetched; a child of a fork gets others. Each file that it
 * serves has a struct of its own beside it.
 */
#ifndef LMN_OS_AHEAD_H
#define LMN_OS_AHEAD_H

#include <stdatomic.h>

#include "os/stretch.h"

enum { LMN__AHEAD_IDLE_MAX = 4 };

struct lmn__ahead_helper;

struct lmn__ahead {
    struct lmn_env *env;                                           /* borrowed */
    _Atomic(struct lmn__ahead_helper *) idle[LMN__AHEAD_IDLE_MAX]; /* NULL: none */
    atomic_uint_fast64_t open_bytes;                               /* of the files it serves */
};

/* Zeroed: not served. */
struct lmn__ahead_file {
    struct lmn__ahead *ahead; /* borrowed */
    struct lmn__stretches stretches;
};

void lmn__ahead_init(struct lmn__ahead *ahead, struct lmn_env *env);
/* Waits for its helpers. */
void lmn__ahead_deinit(struct lmn__ahead *ahead);

/* A file of so many bytes is open; and closed, which holds for one that is not served, too. */
void lmn__ahead_file_init(struct lmn__ahead_file *file, struct lmn__ahead *ahead,
                          uint64_t file_bytes);
void lmn__ahead_file_deinit(struct lmn__ahead_file *file);

/*
 * Say what is about to be read, in any order: what the system does not have in memory it begins to
 * fetch, all of it at once and without the caller waiting. Where reads come back to a part of the
 * file again and again, it fetches that part, if there is memory for all files that are open and
 * the caller does not want `only` the ranges. Nothing happens where it cannot. `open` may be closed
 * at any time afterwards.
 */
void lmn__ahead_fetch(struct lmn__ahead_file *file, const struct lmn__file *open,
                      const struct lmn__file_range *range, size_t count, bool only);

#endif
