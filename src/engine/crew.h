/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crew.h - worker processes: started, kept warm between jobs, ended.
 *
 * A worker belongs to the thread that took it. Those that nobody uses wait in a process-wide pool
 * and end with this process. All of them are started by one thread that lives as long as the
 * process, because the system ends a worker with the thread that started it.
 */
#ifndef LMN_ENGINE_CREW_H
#define LMN_ENGINE_CREW_H

#include "engine/channel.h"
#include "engine/page.h"
#include "os/process.h"
#include "os/shared.h"

enum { LMN__CREW_THREADS_MAX = LMN__PROCESS_FDS_MAX };

/* How a worker is started; two with equal texts may stand for each other. */
struct lmn__crew_kind {
    const char *const *argument;    /* ends with NULL */
    const char *const *environment; /* NAME=value, ends with NULL; may be NULL */
    uint32_t threads;
};

struct lmn__crew_worker {
    struct lmn_env *env;         /* counted */
    struct lmn__process process; /* pid 0: a thread of this process serves */
    char *kind;                  /* the text of its kind */
    uint32_t threads;
    struct lmn__shared shared;
    struct lmn__page *page;        /* one per thread */
    struct lmn__channel *channel;  /* one per thread */
    struct lmn__crew_worker *next; /* in the pool */
};

/* A worker of this kind: an idle one, or a new process. */
LMN_MUST_USE enum lmn_status lmn__crew_take(struct lmn_env *env, const struct lmn__crew_kind *kind,
                                            struct lmn__crew_worker **worker_out,
                                            struct lmn_error *err);

/* A worker that is a thread of this process: the other end of its channel is *fd_out. */
LMN_MUST_USE enum lmn_status lmn__crew_take_inside(struct lmn_env *env,
                                                   struct lmn__crew_worker **worker_out,
                                                   int *fd_out, struct lmn_error *err);

/* Give back a worker that waits for work in all of its threads. */
void lmn__crew_give(struct lmn__crew_worker *worker);

/* End a worker: its process is killed, unless it has ended, and reaped. NULL is ignored. */
void lmn__crew_end(struct lmn__crew_worker *worker);

/* End all that wait in the pool. */
void lmn__crew_end_idle(void);

#endif
