/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - the job as a state machine: what happens next, decided from what happened.
 *
 * It has no threads, no clock and no I/O. An engine tells it events, each with the time of a
 * monotonic clock, and carries out the actions that it answers with. So one machine serves every
 * engine, and any order of events can be tried from a seed.
 *
 * A unit is one fragment of one fill: rows to be computed, then a file to be committed. Its rows
 * are counted by ordinal, 0 to row_count - 1, in the order of the fragment; which physical rows
 * these are, the plan knows. A task is a run of ordinals of one unit; its number is never used
 * again, not for the same rows either. A worker is a process; a slot is one of its threads and runs
 * one task at a time. Slots are numbered worker * slots_per_worker + thread.
 *
 * A result is what a slot has computed and written, and asks to have entered in the journal: the
 * next part of its task, from the front. It becomes a receipt by being accepted, and counts when
 * the receipt is durable. Results of a task that was given up (its worker is believed dead, its
 * unit left the plan) are dropped.
 *
 * A worker that dies in a call puts the rows of that call under suspicion: they are computed again
 * in calls of half the size, until a single row stands alone. A single row that ends its worker
 * `row_deaths_max` times, the last time with no other call in the same process, is a failed cell.
 *
 * The first unit may have a first part: rows that are given out before the others of the unit, a
 * share to each slot. Where their first result shows that the unit becomes large, the others wait
 * until the first part is committed by itself; where it does not, the part is forgotten.
 *
 * Invariants, at every moment:
 *
 *   1. A row is committed at most once, and never without a durable receipt.
 *   2. A row with a receipt is in no task.
 *   3. A unit is committed only when every one of its rows has a durable receipt; its first part
 *      when every row of that has one, and no other row of the unit has ever been given out.
 *   4. Without new events of failure, the actions lead to the end of the job.
 *   5. planned = pending + running + accepted + checkpointed, and committed <= checkpointed.
 */
#ifndef LMN_JOB_MACHINE_H
#define LMN_JOB_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

struct lmn__machine;

/* A run of ordinals. */
struct lmn__ordinals {
    uint64_t first, count;
};

/*
 * When the failed rows of a fill are too many. Only results of this run count. A zeroed struct asks
 * for the defaults: 100, 0.01 and 20.
 */
struct lmn__machine_limits {
    bool given;              /* the next two count as they are, 0 included */
    uint64_t count_max;      /* fail beyond both: this number of failed rows ... */
    double fraction_max;     /* ... and this part of the rows that have a result */
    bool unlimited;          /* no limit at all */
    uint64_t first_rows_max; /* fail when the first so many rows all fail; default 20 */
};

/* A zeroed struct asks for the defaults. */
struct lmn__machine_options {
    uint32_t worker_count;        /* default 1 */
    uint32_t slots_per_worker;    /* default 1 */
    uint64_t task_rows_min;       /* rows of a call, where that is known; default 1 */
    uint64_t task_rows_max;       /* 0: so that each slot gets several tasks */
    uint32_t units_per_commit;    /* 0: whatever is finished, once per commit interval */
    uint64_t commit_interval_ns;  /* default 60 s */
    uint32_t worker_restarts_max; /* deaths of a worker in a row outside of any call; default 3 */
    uint32_t row_deaths_max;      /* of workers in the call of one row by itself; default 2 */
    uint64_t deadline_ns;         /* stop, resumable, at this time; 0: none */
    const struct lmn__machine_limits *limits; /* by fill; NULL: the defaults. Copied. */
    uint32_t fill_count;                      /* default 1 */
};

enum lmn__event_kind {
    LMN__EVENT_TICK,          /* time goes on */
    LMN__EVENT_WORKER_READY,  /* worker: loaded; its slots may take tasks */
    LMN__EVENT_WORKER_DIED,   /* worker: all its slots lose their tasks; see lmn__machine_died() */
    LMN__EVENT_WORKER_FAILED, /* worker: it cannot load the function; the job fails */
    LMN__EVENT_RESULT,        /* slot, task, rows, failed_count; answered by ACCEPT or DROP */
    LMN__EVENT_RECEIPT_DURABLE, /* receipt */
    LMN__EVENT_RECEIPT_LOST,  /* receipt: the journal did not take it; its rows are pending again */
    LMN__EVENT_TASK_DONE,     /* slot, task: the slot is free; rows of the task that were in no
                                 result, after STOP_SLOT, are pending again */
    LMN__EVENT_TASK_FAILED,   /* slot, task: as TASK_DONE, and the policy says that the job fails */
    LMN__EVENT_COMMITTED,     /* commit: its units, but those dropped meanwhile, are in a version,
                                 or the first part of one is */
    LMN__EVENT_COMMIT_FAILED, /* commit: the job fails; what has receipts stays */
    LMN__EVENT_STOP,          /* checkpoint what runs, commit what is whole, end resumable */
    LMN__EVENT_FAIL           /* the engine or the journal cannot go on: nothing more is accepted
                                 or committed, the job fails as soon as its commit is over */
};

struct lmn__event {
    enum lmn__event_kind kind;
    uint64_t now_ns;
    uint32_t worker;
    uint32_t slot;
    uint64_t task;
    struct lmn__ordinals rows; /* RESULT: of the unit */
    uint64_t failed_count;     /* RESULT: how many of them failed */
    uint64_t bytes;            /* RESULT: about what the rows take */
    uint64_t receipt;
    uint64_t commit;
};

enum lmn__action_kind {
    LMN__ACTION_START_WORKER, /* worker: start its process */
    LMN__ACTION_START_TASK,   /* slot, task, unit, rows, batch_rows_max */
    LMN__ACTION_STOP_SLOT, /* slot, task: end it after the call that runs; what it has is a result
                            */
    LMN__ACTION_RETIRE,    /* worker: it has no more tasks to come; its process may end, and its
                              death is nobody's business. Rows that turn up later start it again */
    LMN__ACTION_ACCEPT,    /* receipt: enter the result that was just told into the journal */
    LMN__ACTION_DROP,      /* the result that was just told does not count */
    LMN__ACTION_FAIL_ROW,  /* receipt, worker, unit, rows (one): its call ends the worker each time:
                              enter a failed cell for it into the journal */
    LMN__ACTION_COMMIT,    /* commit: its units, by lmn__machine_commit_units() */
    LMN__ACTION_FINISH     /* outcome; the last action */
};

enum lmn__outcome {
    LMN__OUTCOME_DONE,        /* everything is committed, nothing failed */
    LMN__OUTCOME_DONE_FAILED, /* everything is committed; some cells are failed */
    LMN__OUTCOME_STOPPED,     /* asked to, or at the deadline; resumable */
    LMN__OUTCOME_FAILED       /* `cause` and `reason` say why; resumable as well */
};

/* Why a job failed or stopped. The engine knows the particulars of the first three. */
enum lmn__cause {
    LMN__CAUSE_NONE,
    LMN__CAUSE_ENGINE, /* LMN__EVENT_FAIL */
    LMN__CAUSE_COMMIT,
    LMN__CAUSE_SETUP, /* worker */
    LMN__CAUSE_TASK,  /* slot, task, unit */
    LMN__CAUSE_FIRST_ROWS,
    LMN__CAUSE_FAILED_ROWS,
    LMN__CAUSE_DEATHS, /* worker */
    LMN__CAUSE_STOP,
    LMN__CAUSE_DEADLINE
};

struct lmn__action {
    enum lmn__action_kind kind;
    uint32_t worker;
    uint32_t slot;
    uint64_t task;
    uint64_t unit;
    struct lmn__ordinals rows;
    uint64_t batch_rows_max; /* 0: as the function asks; otherwise narrowed after a death */
    uint64_t receipt;
    uint64_t commit;
    enum lmn__outcome outcome; /* FINISH, and ... */
    enum lmn__cause cause;
    const char *reason; /* ... a sentence; lives as long as the machine; "" without a cause */
};

/* Rows of all units by what has become of them. */
struct lmn__machine_counts {
    uint64_t planned;
    uint64_t pending;
    uint64_t running;      /* in a task, without a result that counts */
    uint64_t accepted;     /* on the way into the journal */
    uint64_t checkpointed; /* a durable receipt, committed or not */
    uint64_t committed;
    uint64_t failed;     /* of the checkpointed ones */
    uint64_t calls_lost; /* rows that were computed, or may have been, and have to be again */
    uint32_t workers_ready, workers_starting, deaths;
};

/* Make a machine without units. `options` may be NULL. The caller frees it. */
LMN_MUST_USE enum lmn_status lmn__machine_new(struct lmn_env *env,
                                              const struct lmn__machine_options *options,
                                              struct lmn__machine **machine_out,
                                              struct lmn_error *err);
/* NULL is ignored. */
void lmn__machine_free(struct lmn__machine *machine);

/* A fragment of a fill. */
struct lmn__machine_unit {
    uint32_t fill; /* whose limits count; below options->fill_count */
    uint64_t row_count;
    const struct lmn__ordinals *done; /* rising: rows that have durable receipts already */
    uint64_t done_count;
    uint64_t done_failed;     /* how many of those rows are failed cells */
    uint64_t first_rows;      /* of the first part; 0: none. For the machine's first unit, of which
                                 nothing is done */
    uint64_t first_bytes_min; /* what the unit takes, by its first result, is at least that: the
                                 first part is committed by itself */
};

/*
 * Add a unit. Units may be added while the job runs, for a fragment that took the place of others;
 * what follows from it is told by the next lmn__machine_tell(). *unit_out is its number, counted
 * from 0.
 *
 * LMN_E_INVALID  `done` does not rise or leaves the unit, there is no such fill, or a first part
 *                where there may be none
 */
LMN_MUST_USE enum lmn_status lmn__machine_add_unit(struct lmn__machine *machine,
                                                   const struct lmn__machine_unit *unit,
                                                   uint64_t *unit_out, struct lmn_error *err);

/*
 * A unit is no longer what the table has: its fragment was replaced. Its rows leave the plan, its
 * tasks are given up (by the next lmn__machine_tell()), its results dropped; it leaves the commit
 * that is under way.
 *
 * LMN_E_INVALID  there is no such unit, or it is committed
 */
LMN_MUST_USE enum lmn_status lmn__machine_drop_unit(struct lmn__machine *machine, uint64_t unit,
                                                    struct lmn_error *err);

/*
 * Before LMN__EVENT_WORKER_DIED, for each slot with a task: the rows of the unit that its call in
 * progress was about, as far as is known. With a count of 0 it was in no call, and `first` is the
 * first row that it had not computed.
 */
void lmn__machine_died(struct lmn__machine *machine, uint32_t slot, struct lmn__ordinals in_call);

/*
 * Tell an event. Take the actions that follow by lmn__machine_next(), all of them, before the next
 * event. An event begins the job: LMN__EVENT_TICK.
 *
 * LMN_E_INVALID    the event contradicts what the machine knows: a worker breaks the protocol.
 *                  Nothing has changed
 * LMN_E_NO_MEMORY  nothing has changed
 */
LMN_MUST_USE enum lmn_status lmn__machine_tell(struct lmn__machine *machine,
                                               const struct lmn__event *event,
                                               struct lmn_error *err);

/* The next action; false when there is none until the next event. */
bool lmn__machine_next(struct lmn__machine *machine, struct lmn__action *action_out);

/* When LMN__EVENT_TICK is needed at the latest; UINT64_MAX: not at all. */
uint64_t lmn__machine_wake_ns(const struct lmn__machine *machine);

/* The units of a commit that is under way, without those dropped; the list lives until the commit
 * is over or a unit is dropped. */
const uint64_t *lmn__machine_commit_units(const struct lmn__machine *machine, uint64_t commit,
                                          uint64_t *count_out);

/* Does the commit that is under way take only the first part of this unit? */
bool lmn__machine_is_part(const struct lmn__machine *machine, uint64_t unit);

struct lmn__machine_counts lmn__machine_counts(const struct lmn__machine *machine);

/*
 * How many tasks the rows of all units become, as long as nothing comes back and it is not known
 * how long a row takes; then tasks are larger. For a machine that was told no event: its rows are
 * given out by that, and it has to be freed.
 */
uint64_t lmn__machine_count_tasks(struct lmn__machine *machine);

#endif
