/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine_parts.h - what the files of the state machine share.
 *
 * The rows of a unit are in one of these places, and move between them as runs; no list of rows is
 * kept anywhere:
 *
 *   pending   in `runs` of the machine (never given out), or in one of its two queues (given out
 *             and come back)
 *   running   the rest of a slot's task
 *   accepted  a receipt that is not known to be durable
 *   durable   nowhere: only counted
 *
 * Everything that an event may need is reserved before it changes anything, so that an event either
 * happens or fails without a trace.
 */
#ifndef LMN_JOB_MACHINE_PARTS_H
#define LMN_JOB_MACHINE_PARTS_H

#include "job/machine.h"

enum lmn__unit_state {
    LMN__UNIT_OPEN,
    LMN__UNIT_FIRST, /* its first part is to be committed */
    LMN__UNIT_WHOLE,
    LMN__UNIT_COMMITTED,
    LMN__UNIT_DROPPED
};

struct lmn__unit {
    uint64_t row_count;
    uint64_t pending, running, accepted, durable; /* rows; their sum is row_count */
    uint64_t failed;                              /* of the durable ones */
    uint64_t settled, settled_failed;             /* of both: committed as the first part */
    uint64_t run, run_end;                        /* in machine->runs: never given out */
    uint32_t fill;
    enum lmn__unit_state state;
};

/* Rows that came back from a slot or the journal. */
struct lmn__again {
    uint64_t unit;
    struct lmn__ordinals rows;
    uint64_t batch_rows_max; /* 0: not narrowed */
    uint32_t deaths;         /* of workers in the call of this one row by itself */
    bool suspect;            /* the rows of one call that a worker died in */
};

/* A queue of them; the room is a power of two. */
struct lmn__again_queue {
    struct lmn__again *item;
    uint64_t head, count, room;
};

enum lmn__worker_state {
    LMN__WORKER_NONE, /* not started, or dead, or retired */
    LMN__WORKER_STARTING,
    LMN__WORKER_READY,
    LMN__WORKER_GIVEN_UP /* has died too often */
};

struct lmn__worker {
    enum lmn__worker_state state;
    uint32_t deaths; /* in a row, outside of calls */
    uint32_t busy;   /* slots with a task */
};

struct lmn__slot {
    bool busy;
    bool given_up; /* the unit has left the plan; the slot does not know it */
    bool stop_told;
    bool resulted; /* some of the task's rows were results */
    uint64_t task;
    struct lmn__again todo; /* rows: the rest of the task */
    uint64_t row_count;     /* of the whole task */
    uint64_t start_ns;
    struct lmn__ordinals in_call; /* from lmn__machine_died() */
};

struct lmn__pending_receipt {
    bool open;
    uint64_t failed_count;
    struct lmn__again of; /* what to compute again should it be lost */
};

/* Results of this run, by fill. */
struct lmn__fill_results {
    struct lmn__machine_limits limits;
    uint64_t rows, failed;
};

enum lmn__first_state {
    LMN__FIRST_NONE, /* there is no first part, or it is committed or forgotten */
    LMN__FIRST_OPEN, /* no result of it was told */
    LMN__FIRST_HELD  /* the other rows of its unit wait until it is committed */
};

/* The first part of the first unit: its rows below `rows`. */
struct lmn__first {
    enum lmn__first_state state;
    uint64_t unit, rows;
    uint64_t bytes_min;
};

struct lmn__machine {
    struct lmn_env *env;
    struct lmn__machine_options options;
    uint32_t slot_count;
    uint64_t now_ns;

    struct lmn__unit *unit;
    uint64_t unit_count, unit_room;
    uint64_t cursor; /* no unit below it has a run that was never given out */
    struct lmn__ordinals *run;
    uint64_t run_count, run_room;
    struct lmn__again_queue again; /* taken before runs */
    struct lmn__again_queue alone; /* single rows, each for a process of its own; taken first */

    struct lmn__worker *worker;
    struct lmn__slot *slot;
    uint32_t idle_count;      /* slots of ready workers without a task */
    uint32_t lone_worker;     /* kept free for, or running, a row alone; UINT32_MAX: none */
    uint32_t given_up_count;  /* workers */
    bool given_up_tasks;      /* some slot has to be told to stop */
    bool was_ready;           /* any worker, ever */
    uint64_t task_last;       /* numbers count from 1 */
    uint64_t killed_in_a_row; /* rows failed by deaths since the last good result */
    double row_ns;            /* time that a slot takes for a row; 0: not known */
    uint64_t batch_rows_max;  /* what calls have shrunk to; 0: not */
    uint32_t narrowed_count;  /* suspects that went well in smaller calls */

    struct lmn__pending_receipt *receipt; /* a ring: number modulo room, a power of two */
    uint64_t receipt_head, receipt_end, receipt_room; /* numbers from head to before end */
    struct lmn__fill_results *fill;
    struct lmn__first first;

    uint64_t *whole; /* units to be committed */
    uint64_t whole_count;
    uint64_t *commit_unit; /* the commit that is under way */
    uint64_t commit_count;
    uint64_t commit; /* its number, counted from 1; and of the last one when there is none */
    bool committing;
    bool commit_broken; /* no more of them */
    uint64_t commit_ns; /* the start of the job or of the last commit */

    bool begun;
    bool ending; /* no new tasks; cause says why */
    bool failed; /* ending in failure */
    bool ended_by_engine;
    bool finished;
    enum lmn__cause cause;
    struct lmn__action culprit; /* what FINISH says of the cause */
    char reason[256];

    struct lmn__machine_counts counts;
    struct lmn__action *action;
    uint32_t action_next, action_count, action_room;
};

static inline struct lmn__worker *lmn__machine_worker_of(struct lmn__machine *machine,
                                                         uint32_t slot)
{
    return &machine->worker[slot / machine->options.slots_per_worker];
}

/* Add an action; there is room. */
struct lmn__action *lmn__machine_act(struct lmn__machine *machine, enum lmn__action_kind kind);

/* End the job; the first failure counts, and more than a stop. */
LMN_PRINTF(4, 5)
void lmn__machine_end(struct lmn__machine *machine, enum lmn__cause cause,
                      const struct lmn__action *culprit, const char *fmt, ...);

/* machine_queue.c: make room for all that one event can add. */
LMN_MUST_USE enum lmn_status lmn__machine_reserve(struct lmn__machine *machine,
                                                  struct lmn_error *err);
void lmn__again_push(struct lmn__again_queue *queue, const struct lmn__again *item);
bool lmn__again_pop(struct lmn__again_queue *queue, struct lmn__again *item_out);
/* Rows that ran or were accepted are pending again. None of them: nothing. */
void lmn__machine_put_back(struct lmn__machine *machine, const struct lmn__again *item);
/* The number of a new receipt for rows that have left `running`. */
uint64_t lmn__machine_receipt_add(struct lmn__machine *machine, const struct lmn__again *of,
                                  uint64_t failed_count);
/* Take a receipt out; NULL when there is no such one or it is out already. */
struct lmn__pending_receipt *lmn__machine_receipt_take(struct lmn__machine *machine,
                                                       uint64_t receipt);

/* machine_assign.c: start workers and tasks. */
void lmn__machine_assign(struct lmn__machine *machine);
/* The slot has no task any more. */
void lmn__machine_slot_free(struct lmn__machine *machine, uint32_t slot);

/* machine_first.c: may the next unit have this first part? It is added. */
LMN_MUST_USE enum lmn_status lmn__first_check(const struct lmn__machine *machine,
                                              const struct lmn__machine_unit *given,
                                              struct lmn_error *err);
void lmn__first_add(struct lmn__machine *machine, const struct lmn__machine_unit *given);
/* A result of rows of a unit was accepted. */
void lmn__first_result(struct lmn__machine *machine, uint64_t unit, uint64_t row_count,
                       uint64_t bytes);
/* How many rows of a unit, from this one on, may be given out at once; UINT64_MAX: any number. */
uint64_t lmn__first_rows_max(const struct lmn__machine *machine, uint64_t unit, uint64_t row);
/* Rows of a unit have become durable: is its first part to be committed? */
bool lmn__first_is_whole(struct lmn__machine *machine, uint64_t unit);
/* It is committed, or its unit has left the plan. */
void lmn__first_end(struct lmn__machine *machine, uint64_t unit);

/* machine_death.c: a worker has died; one that is not known to live is ignored. */
void lmn__machine_bury(struct lmn__machine *machine, uint32_t worker);
/* A worker that lives is no more; its tasks are given up. True: one of them was in a call. */
bool lmn__machine_worker_gone(struct lmn__machine *machine, uint32_t worker);
/* A suspect has gone well in smaller calls. */
void lmn__machine_narrowed(struct lmn__machine *machine, const struct lmn__again *suspect);

/* machine_commit.c: commit, retire, finish, as the state allows. */
void lmn__machine_unit_check(struct lmn__machine *machine, uint64_t unit);
void lmn__machine_conclude(struct lmn__machine *machine);
/* Count results; the job fails when too many failed. */
void lmn__machine_judge(struct lmn__machine *machine, uint32_t fill, uint64_t row_count,
                        uint64_t failed_count);

#endif
