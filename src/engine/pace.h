/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h - how fast a job goes and what its workers' time goes into: over the last five minutes,
 * over the last one, and over the whole run.
 *
 * Samples are totals since the job began. One is kept every five seconds; the last is always there.
 */
#ifndef LMN_ENGINE_PACE_H
#define LMN_ENGINE_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LMN__PACE_SAMPLES = 61, LMN__VERDICT_CHARS = 128 };

/* Totals since the job began, of all its workers. */
struct lmn__pace_sample {
    uint64_t now_ns;
    uint64_t rows;
    uint64_t read_bytes, written_bytes;
    uint64_t read_ns, call_ns, write_ns;
    uint64_t thread_ns; /* that threads were there for work: what is in no other is waiting */
    uint64_t cpu_ns;    /* processor time of the workers */
    uint64_t idle_ns;   /* of all processors of the machine together */
    uint64_t granted;   /* calls that limits have allowed */
    uint64_t deferred;  /* times that limits let workers wait for one */
};

struct lmn__pace {
    struct lmn__pace_sample kept[LMN__PACE_SAMPLES]; /* a ring */
    uint32_t count, next;
    struct lmn__pace_sample first, last;
};

/* Take a sample, which is not older than the one before. */
void lmn__pace_add(struct lmn__pace *pace, const struct lmn__pace_sample *sample);

/* What has come to the totals within the last `window_ns`; since the first one with UINT64_MAX.
 * now_ns is then the time between. */
struct lmn__pace_sample lmn__pace_since(const struct lmn__pace *pace, uint64_t window_ns);

/*
 * When `rows_left` rows will be done: at the pace of the last five minutes, and, as the spread, at
 * the fastest and the slowest of that, of the last minute and of the whole run. 0: not known.
 */
struct lmn__eta {
    uint64_t ms, low_ms, high_ms;
};
struct lmn__eta lmn__pace_eta(const struct lmn__pace *pace, uint64_t rows_left);

/*
 * Do the threads of a worker take turns? `calls` of them are in calls, all of the time, and
 * together they use `cpus` processors: one, as those do that wait for a lock, the interpreter's as
 * a rule.
 */
bool lmn__pace_takes_turns(double calls, double cpus);

/* What bounds a job, in one line for people. */
struct lmn__verdict_facts {
    struct lmn__pace_sample spent; /* of lmn__pace_since() */
    double cpus;                   /* that this process may use */
    int gpu_percent;               /* how busy the job's GPUs are; -1: it has none */
    bool loading;                  /* no worker is ready yet */
};
void lmn__verdict(const struct lmn__verdict_facts *facts, char text_out[LMN__VERDICT_CHARS]);

#endif
