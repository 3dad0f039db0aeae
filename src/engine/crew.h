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
#include "engine/shelf.h"
#include "os/process.h"
#include "os/shared.h"

enum {
    LMN__CREW_THREADS_MAX = LMN__PROCESS_FDS_MAX,
    LMN__CREW_NODE_CHARS = 80,
    LMN__CREW_DEATH_CHARS = 160
};

/* How a worker is started; two with equal texts may stand for each other. */
struct lmn__crew_kind {
    const char *const *argument;    /* ends with NULL */
    const char *const *environment; /* NAME=value, ends with NULL; may be NULL */
    uint32_t threads;
    bool logged; /* what it prints is read from log_fd, by whoever took it */
};

/* A worker on another machine, by what its agent says of it. */
struct lmn__crew_remote {
    char node[LMN__CREW_NODE_CHARS];
    bool elsewhere; /* it does not share files in place with the driver */
    bool told;      /* how it ended: */
    char death[LMN__CREW_DEATH_CHARS];
    uint32_t gone; /* connections that have ended */
    uint64_t memory_bytes, cpu_ns;
};

struct lmn__crew_worker {
    struct lmn_env *env;         /* counted */
    struct lmn__process process; /* pid 0: a thread of this process serves, or: */
    struct lmn__crew_remote *remote;
    char *kind;       /* the text of its kind */
    bool warm;        /* it has served a job before */
    uint64_t in_task; /* bits: threads that were in a task when it was let go */
    uint32_t threads;
    struct lmn__shared shared;
    struct lmn__page *page;        /* one per thread */
    struct lmn__channel *channel;  /* one per thread */
    int log_fd;                    /* what it prints; -1: goes elsewhere, or has ended */
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

/* A worker on another machine; its channels are the caller's to fill in. */
LMN_MUST_USE enum lmn_status lmn__crew_take_remote(struct lmn_env *env, uint32_t threads,
                                                   const char *node, bool elsewhere,
                                                   struct lmn__crew_worker **worker_out,
                                                   struct lmn_error *err);

/* Give back a worker that waits for work in all of its threads. */
void lmn__crew_give(struct lmn__crew_worker *worker);

/* End a worker: its process is killed, unless it has ended, and reaped. NULL is ignored. */
void lmn__crew_end(struct lmn__crew_worker *worker);

/* End all that wait in the pool; how many there were. */
uint32_t lmn__crew_end_idle(void);

/* crew_remote.c: what is done with a worker wherever it is. */

/* End a task after the call that runs. */
void lmn__crew_stop(struct lmn__crew_worker *worker, uint32_t thread, uint64_t task);
/* End its process; that it has ended is learnt of later. */
void lmn__crew_kill(struct lmn__crew_worker *worker);
uint64_t lmn__crew_memory(const struct lmn__crew_worker *worker);
uint64_t lmn__crew_cpu_ns(const struct lmn__crew_worker *worker);
/* The other end of a thread's channel has closed it. True: the worker is gone as a whole. */
bool lmn__crew_closed(struct lmn__crew_worker *worker, uint32_t thread);
/* How one that is gone has ended. */
void lmn__crew_describe_end(struct lmn__crew_worker *worker, uint64_t memory_peak, char *text_out,
                            size_t text_bytes);
/* Hear a frame of its agent: PAGE, BOARD or DIED. */
LMN_MUST_USE enum lmn_status lmn__crew_hear_remote(struct lmn__crew_worker *worker, uint32_t thread,
                                                   const struct lmn__frame *frame,
                                                   struct lmn__arena *arena, struct lmn_error *err);

#endif
