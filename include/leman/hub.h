/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hub.h - workers of a job on other machines: the hub where they come together, and the agent that
 * runs one of them.
 *
 * A hub listens at a port of the machine that drives a job; it is given to lmn_job_start() in place
 * of a command that starts workers. On each machine agents are started, by whatever places work
 * there; each starts a worker process beside itself, connects to the hub, proves that it knows the
 * token and sees the table, and passes on what job and worker say to each other. No row goes that
 * way: workers read and write the table's files themselves.
 */
#ifndef LEMAN_HUB_H
#define LEMAN_HUB_H

#include <stdint.h>

#include <leman/status.h>

struct lmn_hub;

/* A zeroed struct is not enough: there is no hub without a token. */
struct lmn_hub_options {
    const char *address; /* to listen at; NULL: all of this machine */
    const char *token;   /* 16 to 128 characters that only agents know */
    const char *machine; /* a name of this machine; agents with another write to files of their own
                          */
};

/*
 * Listen at a free port. The caller closes *hub_out, after the job that it was given to is freed. A
 * hub serves one job.
 *
 * LMN_E_INVALID  no token, or no address of this machine
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_hub_open(const struct lmn_hub_options *options,
                                                  struct lmn_hub **hub_out, struct lmn_error *err);

/* The port it listens at. */
LMN_API uint16_t lmn_hub_port(const struct lmn_hub *hub);

/* The folder of the table whose job it serves; "" before it does. */
LMN_API const char *lmn_hub_root(const struct lmn_hub *hub);

/* Say why agents do not come; the job's status shows it while it waits for them. Any thread. */
LMN_API void lmn_hub_explain(struct lmn_hub *hub, const char *why);

/* Agents find nobody from now on, and end. NULL is ignored. */
LMN_API void lmn_hub_close(struct lmn_hub *hub);

struct lmn_agent_options {
    const char *host; /* of the hub */
    uint16_t port;
    const char *token;
    const char *node;              /* a name of this machine, for people */
    const char *machine;           /* as in lmn_hub_options */
    const char *root;              /* the table's folder, as this machine sees it */
    const char *job;               /* its id */
    const char *const *worker;     /* the command that starts a worker, as in lmn_job_options */
    const char *const *worker_env; /* NAME=value; ending with NULL; may be NULL */
    uint32_t threads;              /* of the worker; default 1 */
};

/*
 * Run workers for a job, one after the other, until it needs none any more. Blocks. What the job's
 * own worker_env says is added to that of the options. A worker that waits for work at the end is
 * kept for the next call in this process; lmn_job_end_workers() ends it.
 *
 * LMN_E_UNAVAILABLE  nobody answers at the address
 * LMN_E_INVALID      the hub refuses this machine; the message says why
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_agent_run(const struct lmn_agent_options *options,
                                                   struct lmn_error *err);

#endif
