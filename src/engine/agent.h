/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - an agent as its files share it: agent.c has its life, agent_talk.c what it passes on.
 *
 * It belongs to one thread.
 */
#ifndef LMN_ENGINE_AGENT_H
#define LMN_ENGINE_AGENT_H

#include <leman/hub.h>

#include "engine/crew.h"

enum { LMN__AGENT_NONCE_CHARS = 40, LMN__AGENT_DEATH_CHARS = 160 };

struct lmn__agent {
    const struct lmn_agent_options *options;
    struct lmn_env *env; /* counted */
    uint32_t threads;
    struct lmn__arena arena;  /* of one worker: */
    const char **environment; /* what it is started with */
    struct lmn__crew_worker *crew;
    struct lmn__channel *link; /* to the hub; one for each thread */
    bool *busy;                /* by thread: it has been told something to do */
    struct lmn__poll *poll;
    struct lmn__buf printed; /* by the worker, and not passed on yet */
    bool met;                /* the hub has answered once */
    bool set_up;             /* the job has spoken */
    uint32_t doors;          /* times in a row that it was closed without a word */
    uint64_t memory_max, memory_bytes, memory_peak, page_ns;
    char death[LMN__AGENT_DEATH_CHARS]; /* why the worker was killed here; "" otherwise */
    char nonce[LMN__AGENT_NONCE_CHARS];
};

/* Wait for the job's first word: what the worker is started with. *closed_out: there was none. */
LMN_MUST_USE enum lmn_status lmn__agent_meet(struct lmn__agent *agent, bool *closed_out,
                                             struct lmn_error *err);

/* Everything that has come over the connection of a thread; *over_out: it is closed. */
LMN_MUST_USE enum lmn_status lmn__agent_hear_job(struct lmn__agent *agent, uint32_t thread,
                                                 bool *over_out, struct lmn_error *err);

/* Everything that a thread of the worker has said; *ended_out: it says no more. */
LMN_MUST_USE enum lmn_status lmn__agent_hear_worker(struct lmn__agent *agent, uint32_t thread,
                                                    bool *ended_out, struct lmn_error *err);

/* Show what a thread does. */
LMN_MUST_USE enum lmn_status lmn__agent_put_page(struct lmn__agent *agent, uint32_t thread,
                                                 struct lmn_error *err);

/* May what is printed be read, or has it to wait until the job has taken what was? */
bool lmn__agent_hears_log(const struct lmn__agent *agent);

/* What the worker has printed goes over the connection of a thread, line by line; `last`: all. */
LMN_MUST_USE enum lmn_status lmn__agent_pass_log(struct lmn__agent *agent, uint32_t thread,
                                                 bool last, struct lmn_error *err);

/* What is said of a worker at its end over the connection of a thread. */
LMN_MUST_USE enum lmn_status lmn__agent_say_end(struct lmn__agent *agent, uint32_t thread,
                                                struct lmn_error *err);

#endif
