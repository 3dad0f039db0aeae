/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meter.h - how fast the calls of a function may come: one for all workers of a job.
 *
 * Calls are granted to start at once, or not yet. A meter has no clock and no thread of its own;
 * the driver asks it.
 */
#ifndef LMN_ENGINE_METER_H
#define LMN_ENGINE_METER_H

#include <stdbool.h>
#include <stdint.h>

/* At most `max` in any `window_ms` milliseconds; a max of 0: no limit. */
struct lmn__rate {
    uint64_t max;
    uint64_t window_ms;
};

/* What is left to be given at this moment, and how fast it comes back. */
struct lmn__bucket {
    double level, burst, per_ns; /* a burst of 0: no limit */
    uint64_t at_ns;
};

struct lmn__meter {
    struct lmn__bucket requests, tokens;
    double tokens_each; /* of a call, as learnt */
    bool learnt;
    uint64_t paused_ns; /* nothing is granted before */
};

/* What a worker wants, and tells of calls that are over. */
struct lmn__meter_ask {
    uint64_t calls;
    uint64_t tokens;        /* of each call; 0: as learnt */
    uint64_t done;          /* calls that are over since the last ask ... */
    uint64_t charged, used; /* ... the tokens that were counted for them, and those they took */
    uint64_t pause_ms;      /* the other side asks for no calls so long */
};

struct lmn__meter_grant {
    uint64_t calls;       /* that may start */
    uint64_t tokens_each; /* counted for each of them */
    uint64_t wait_ns;     /* none: when to ask again */
};

void lmn__meter_init(struct lmn__meter *meter, struct lmn__rate requests, struct lmn__rate tokens,
                     uint64_t now_ns);

/* Take in what is told, and grant what may start now. */
struct lmn__meter_grant lmn__meter_ask(struct lmn__meter *meter, const struct lmn__meter_ask *ask,
                                       uint64_t now_ns);

#endif
