/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h - the part of a text file that is in memory: it moves on, and grows for long records.
 */
#ifndef LMN_INGEST_WINDOW_H
#define LMN_INGEST_WINDOW_H

#include "base/buf.h"
#include "os/source.h"

struct lmn__window {
    struct lmn__source source; /* owned */
    struct lmn__buf buf;
    size_t start;  /* bytes before it are done with */
    bool ended;    /* all of the source is in the buffer */
    uint64_t line; /* number of the line at start, from 1 */
};

/* `source` moves here, also when something fails later. */
void lmn__window_init(struct lmn__window *window, struct lmn_env *env, struct lmn__source *source);
void lmn__window_deinit(struct lmn__window *window);

/* The bytes from the start on. */
struct lmn__span lmn__window_bytes(const struct lmn__window *window);

/*
 * Read more behind what is there.
 *
 * LMN_E_INVALID  a record longer than the window may be
 */
LMN_MUST_USE enum lmn_status lmn__window_more(struct lmn__window *window, struct lmn_error *err);

/* Be done with `bytes` bytes that hold `lines` line ends. */
void lmn__window_advance(struct lmn__window *window, size_t bytes, uint64_t lines);

/* Pass over a byte order mark at the very start. */
LMN_MUST_USE enum lmn_status lmn__window_skip_mark(struct lmn__window *window,
                                                   struct lmn_error *err);

#endif
