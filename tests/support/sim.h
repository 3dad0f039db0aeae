/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.h - a small world around the job's state machine, made of nothing but a seed.
 *
 * There is a table whose fragments other writers replace, a journal that loses its end in a crash,
 * worker processes that are slow, die, or go on after they are believed dead, and drivers: each has
 * a machine, carries out its actions, and keeps account of every row by itself. A step is one thing
 * that happens; after every step the account and the machine's counts are compared, and what may
 * never happen is looked for. What is found is a violation; the world then stands still.
 *
 * Everything is drawn from one random number generator: a seed repeats its schedule.
 */
#ifndef LMN_TESTS_SIM_H
#define LMN_TESTS_SIM_H

#include "check.h"
#include "job/machine.h"

enum {
    SIM_ROWS = 96,
    SIM_FRAGMENTS = 48,
    SIM_UNITS = 96,
    SIM_WORKERS = 4,
    SIM_SLOTS = 3, /* of a worker */
    SIM_PROCESSES = 24,
    SIM_MESSAGES = 64,
    SIM_RECEIPTS = 512,
    SIM_DRIVERS = 3
};

/* Ways in which the engine around the machine can be wrong, to see that it would be noticed. */
enum sim_sabotage {
    SIM_HONEST,
    SIM_KEEP_DROPPED,   /* results that the machine drops enter the journal */
    SIM_COMMIT_HOLES,   /* a commit takes a unit that is not finished with it */
    SIM_TRUST_UNSYNCED, /* receipts are called durable before they are */
    SIM_UNFENCED,       /* an older driver may write to the journal */
    SIM_FORGET_DEATHS,  /* a death is not told */
    SIM_ROWS_TWICE,     /* a slot computes the row before its task as well */
    SIM_SABOTAGES
};

enum sim_row_kind { SIM_GOOD, SIM_BAD, SIM_POISON };
enum sim_cell { SIM_PENDING, SIM_OK, SIM_FAILED };

struct sim_row {
    enum sim_row_kind kind;
    enum sim_cell cell;
    uint32_t fragment;      /* where it lives */
    uint32_t input;         /* what it is computed from, as a number */
    uint32_t calls;         /* by those who may */
    uint32_t excuses;       /* reasons to call it again */
    uint32_t single_deaths; /* of workers in the call of this row by itself */
};

/* A fragment with its layout; one that is replaced never comes back. */
struct sim_fragment {
    bool live;
    uint32_t count;
    uint32_t row[SIM_ROWS];
    uint32_t input[SIM_ROWS];   /* what the rows were when they came */
    bool dead[SIM_ROWS];        /* the row has moved away */
    uint64_t receipt[SIM_ROWS]; /* number of the journal's record, 0: none */
    bool receipt_failed[SIM_ROWS];
    uint32_t filled; /* how often its column was replaced */
};

enum sim_row_state { SIM_ROW_PENDING, SIM_ROW_RUNNING, SIM_ROW_ACCEPTED, SIM_ROW_DURABLE };

/* The rows of a fragment that one driver has to compute. */
struct sim_unit {
    uint32_t fragment, filled;
    uint32_t count;
    uint32_t settled; /* rows at its front that were committed as its first part */
    bool dropped, committed;
    uint8_t place[SIM_ROWS];  /* in the fragment, by ordinal */
    uint8_t state[SIM_ROWS];  /* enum sim_row_state */
    bool called[SIM_ROWS];    /* since it was last pending */
    uint8_t narrow[SIM_ROWS]; /* rows of a call at most, after a death; 0: any number */
    bool lone[SIM_ROWS];      /* its own call has ended a worker */
};

struct sim_receipt {
    bool open, refused;
    uint64_t number;
    uint32_t unit;
    struct lmn__ordinals rows;
};

/* What the driver has given to a slot and not heard the end of. */
struct sim_order {
    bool busy, stopped, lone;
    uint64_t task;
    uint32_t unit;
    struct lmn__ordinals rows; /* without a result */
};

struct sim_driver {
    bool alive, fenced;
    struct lmn__machine *machine;
    uint64_t epoch;
    struct sim_unit unit[SIM_UNITS];
    uint32_t unit_count;
    struct sim_receipt receipt[SIM_RECEIPTS]; /* entered or refused, not yet told */
    uint32_t receipt_count;
    uint64_t commit; /* 0: none under way */
    bool published;
    bool journal_broken, stop_told, fail_told, commit_failed, refuse_next, finished;
    uint32_t calls_at_death; /* in the process that died last */
    struct lmn__action last; /* FINISH */
    struct sim_order order[SIM_WORKERS * SIM_SLOTS];
};

struct sim_message {
    enum lmn__event_kind kind;
    uint64_t task;
    uint32_t unit;
    struct lmn__ordinals rows;
    bool failed[SIM_ROWS]; /* by position in rows */
};

struct sim_slot {
    bool busy, stop;
    uint64_t task;
    uint32_t unit;
    struct lmn__ordinals rest; /* no call has begun */
    struct lmn__ordinals call; /* in progress; count 0: none */
    struct lmn__ordinals done; /* computed, not in a message */
    uint64_t batch_rows_max;
    bool failed[SIM_ROWS]; /* by ordinal */
    struct sim_message queue[SIM_MESSAGES];
    uint32_t queue_count;
};

/* A worker's process. One that is believed dead, or whose driver is gone, is nobody's. */
struct sim_process {
    bool alive, ready;
    bool owned; /* it is what its driver takes for the worker */
    uint32_t driver, worker;
    struct sim_slot slot[SIM_SLOTS];
};

struct sim {
    uint64_t seed, random;
    enum sim_sabotage sabotage;
    bool traced; /* print what happens */
    uint64_t now_ns;
    uint32_t faults_left;
    struct lmn__machine_options options;
    uint32_t batch_rows;

    struct sim_row row[SIM_ROWS];
    uint32_t row_count;
    struct sim_fragment fragment[SIM_FRAGMENTS];
    uint32_t fragment_count;
    uint64_t epoch, record_last, record_synced; /* of the journal */

    struct sim_driver driver[SIM_DRIVERS];
    struct sim_process process[SIM_PROCESSES];
    char violation[400]; /* "": none */

    struct sim_seen {
        uint64_t steps, runs, deaths, zombies, late, crashes, power_losses, takeovers, conflicts,
            rebases, commits, condemned, lost, stops, parts;
    } seen; /* how often things happened */
};

/* A world of the seed's making. */
void sim_init(struct sim *sim, uint64_t seed, enum sim_sabotage sabotage);
void sim_deinit(struct sim *sim);

/* Live until every cell is filled, or something is violated. True: all is well. */
bool sim_run(struct sim *sim);

/* Live through one schedule and fail the test, naming the seed, when something is violated. */
void sim_check_seed(struct sim *sim, uint64_t seed);

/* For the parts of the world: a number below `n`; note what must not happen. */
uint32_t sim_below(struct sim *sim, uint32_t n);
LMN_PRINTF(2, 3) void sim_violate(struct sim *sim, const char *fmt, ...);
LMN_PRINTF(2, 3) void sim_trace(const struct sim *sim, const char *fmt, ...);

/* sim_table.c */
void sim_table_make(struct sim *sim);
/* Another writer compacts, updates a row or appends. */
void sim_table_change(struct sim *sim);
bool sim_table_filled(const struct sim *sim);
/* The todo rows of a live fragment become a unit of the driver; none: no unit. */
void sim_plan_fragment(struct sim *sim, struct sim_driver *driver, uint32_t fragment);
/* The journal takes a receipt; the row has none. */
void sim_journal_enter(struct sim *sim, uint32_t fragment, uint32_t place, bool failed);
/* A crash: the synced records stay, and perhaps some of the others. */
void sim_journal_crash(struct sim *sim, uint64_t kept);
/* One commit of whole units; every row of them has a durable receipt, and no cell. With `part`, the
 * rows that have receipts, which are the first ones of the unit. */
void sim_table_commit(struct sim *sim, struct sim_unit *unit, bool part);

/* Is the row at this place of a fragment, perhaps a replaced one, still what it was? */
bool sim_row_same(const struct sim *sim, const struct sim_fragment *fragment, uint32_t place);

/* sim_process.c */
void sim_process_start(struct sim *sim, uint32_t driver, uint32_t worker);
struct sim_process *sim_process_of(struct sim *sim, uint32_t driver, uint32_t worker);
void sim_process_step(struct sim *sim, struct sim_process *process);
/* Its end, told to the driver; as a zombie it only seems so. */
void sim_process_die(struct sim *sim, struct sim_process *process, bool zombie);

/* By the driver's own account: rows of the task without a result are pending. How many. */
uint32_t sim_order_give_up(struct sim *sim, struct sim_driver *driver, struct sim_order *order);

/* sim_driver.c */
void sim_driver_start(struct sim *sim, struct sim_driver *driver);
void sim_driver_tell(struct sim *sim, struct sim_driver *driver, const struct lmn__event *event);
/* The first message of a slot reaches its driver. */
void sim_driver_deliver(struct sim *sim, struct sim_process *process, uint32_t slot);
void sim_driver_sync(struct sim *sim, struct sim_driver *driver, bool fails);
void sim_driver_commit_step(struct sim *sim, struct sim_driver *driver, bool fails);
/* The driver looks at the table: units whose fragments are gone give way to others. */
void sim_driver_refresh(struct sim *sim, struct sim_driver *driver);
/* The driver is gone without a word. */
void sim_driver_crash(struct sim *sim, struct sim_driver *driver);
void sim_driver_check(struct sim *sim, const struct sim_driver *driver);
/* What a driver has called and not entered may be called again by the next. */
void sim_driver_excuse(struct sim *sim, const struct sim_driver *driver);

#endif
