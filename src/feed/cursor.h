/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.h - how far a feed has come, of which data: what a checkpoint keeps, and its text.
 *
 * The text is a JSON object; docs/format/feed.md has its members.
 */
#ifndef LMN_FEED_CURSOR_H
#define LMN_FEED_CURSOR_H

#include <leman/feed.h>

#include "base/arena.h"

/* Steps from `step` on, shared out in one way. */
struct lmn__segment {
    uint64_t step;
    uint64_t epoch, position; /* of that step */
    uint64_t batch_rows, rank_count;
    enum lmn_feed_remainder remainder;
};

struct lmn__cursor {
    /* The data and their order; texts live as long as the cursor's memory. */
    uint64_t version;
    uint64_t data; /* XXH3 of the manifest */
    uint64_t row_count;
    const char *columns;   /* names and types, for people */
    const char *where;     /* "": every row */
    const char *transform; /* "": none */
    uint64_t texts;        /* XXH3 of the three as they were given */
    enum lmn_feed_shuffle shuffle;
    uint64_t seed;
    uint64_t block_rows, window_rows; /* 0 unless blocks are shuffled */

    /* Where the next step begins. */
    uint64_t epoch, position, step;

    /* How the steps so far were shared out, the present way included. */
    struct lmn__segment *segment;
    uint64_t segment_count;
};

/* Append the text of `cursor` to `buf`, with a terminating NUL that is not counted. */
LMN_MUST_USE enum lmn_status lmn__cursor_write(const struct lmn__cursor *cursor,
                                               struct lmn__buf *buf, struct lmn_error *err);

/*
 * Read a text; what it needs comes from `arena`.
 *
 * LMN_E_CORRUPT      it does not decode, or was changed
 * LMN_E_UNSUPPORTED  it is of a later version of the format
 */
LMN_MUST_USE enum lmn_status lmn__cursor_read(struct lmn__span text, struct lmn__arena *arena,
                                              struct lmn__cursor *cursor_out,
                                              struct lmn_error *err);

/* LMN_E_CONFLICT, naming the difference, when `state` is not of the data and order of `feed`. */
LMN_MUST_USE enum lmn_status lmn__cursor_match(const struct lmn__cursor *feed,
                                               const struct lmn__cursor *state,
                                               struct lmn_error *err);

#endif
