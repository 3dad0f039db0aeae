/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - a job of the local engine, as its files share it.
 *
 * Three threads of the caller's process touch a job:
 *
 *   the caller     reads and writes `locked` only
 *   the driver     owns everything else
 *   the committer  has the fills of a commit, journal and plan, from LMN__ACTION_COMMIT until it
 * has told the driver that it is done; the driver leaves a fill alone that is `busy`
 *
 * What a worker sends for a busy fill waits in its socket.
 */
#ifndef LMN_ENGINE_JOB_H
#define LMN_ENGINE_JOB_H

#include <leman/job.h>

#include "engine/crew.h"
#include "engine/inputs.h"
#include "engine/log.h"
#include "engine/meter.h"
#include "engine/outputs.h"
#include "engine/places.h"
#include "engine/saved.h"
#include "engine/stats.h"
#include "job/assemble.h"
#include "job/machine.h"
#include "job/plan.h"
#include "os/host.h"
#include "os/socket.h"
#include "os/thread.h"
#include "table/pin.h"

enum { LMN__JOB_EVENTS_MAX = 64, LMN__JOB_ID_CHARS = 64 };

/* A plan, kept as long as units may point into it. */
struct lmn__job_plan {
    struct lmn__plan plan;
    struct lmn__job_plan *older;
};

/* A function of the job, and the columns that it fills. */
struct lmn__job_fill {
    struct lmn_job_function function; /* everything copied into the job's arena */
    const char *const *column; /* what it is asked to fill; `function.output` names refills */
    uint32_t stage;            /* fills of the stages before are committed first */
    uint64_t version;          /* first 8 bytes of its hash */
    int32_t field_id;
    struct lmn__journal *journal;
    struct lmn__job_plan *plan;
    bool busy;
    bool kept_before;  /* when it was opened, results were kept that a job before has paid for */
    uint64_t unsynced; /* receipts entered since the last sync */
    uint64_t rows_fit; /* into a call, as workers have found out; 0: nothing is known */
    struct lmn__meter meter;
    /* Of the driver, for cells that it enters itself; open from the first one on. */
    struct lmn__inputs inputs;
    struct lmn__outputs outputs;
    struct lmn__page_sink *sink;
    uint64_t own_fragment, own_layout; /* where its sink writes */
    uint64_t own_version;
};

/* A unit of the machine, by its number. */
struct lmn__job_unit {
    uint32_t fill;
    uint64_t version;                          /* of the table */
    const struct lmn__plan_fragment *fragment; /* in a plan of the fill */
    uint64_t *before; /* rows of `todo` before each range; one more than there are ranges */
    uint64_t since;   /* of lmn__journal_since() */
    uint64_t parts;   /* of it that are committed */
    bool dropped, committed;
};

/* A thread of a worker. */
struct lmn__job_slot {
    bool busy;
    uint64_t task, unit;
    struct lmn__ordinals rows; /* of the task */
    uint64_t began_ns;
    uint64_t bytes;                /* of its results */
    uint64_t moved_ns, moved_rows; /* when it last finished a batch, and what it had done then */
    bool stall_told;
};

enum lmn__job_worker_state { LMN__CREW_NONE, LMN__CREW_LOADING, LMN__CREW_READY };

/* A worker of the machine, by its number. */
struct lmn__job_worker {
    struct lmn__crew_worker *crew; /* NULL: not started */
    enum lmn__job_worker_state state;
    uint32_t answered; /* threads that are ready */
    uint64_t began_ns;
    bool wanted; /* from the hub, where none was */
    bool dead;   /* to be told to the machine */
    uint64_t memory_bytes, memory_peak;
    uint64_t rows_before, read_before, call_before, write_before; /* of processes that ended */
    uint64_t read_bytes_before;
    struct lmn__log_worker log;
    const struct lmn__crew_worker *cpu_crew; /* whose processor time was looked at last */
    uint64_t cpu_ns;
    struct {
        uint64_t calls, tokens, cost_nano;
    } used_before;
    uint64_t look_ns, look_cpu_ns, look_call_ns; /* of the last look at how its threads get on */
    char death[160];                             /* how the last one ended, or why it was killed */
    bool killed;                                 /* by the engine; `death` says why */
    struct lmn_error failure;                    /* of its setup */
};

/* A receipt on its way into a journal. */
struct lmn__job_receipt {
    uint32_t fill;
    uint64_t number;
};

/* A commit, given to the committer and back. */
struct lmn__job_commit {
    uint64_t number;
    uint64_t *unit;
    uint64_t unit_count;
    enum lmn_status status;
    struct lmn_error error;
    uint64_t version;
    bool *moved; /* by fill: it has another plan now */
};

struct lmn_job {
    struct lmn_env *env; /* counted */
    struct lmn__arena arena;
    struct lmn_table *given; /* the caller's handle, counted */
    struct lmn_table *table; /* the job's own */
    struct lmn__pin pin;     /* versions that a cleanup keeps meanwhile */
    char id[LMN__JOB_ID_CHARS];
    char root[LMN__HOST_PATH_CHARS]; /* of the table */
    struct lmn_job_options options;  /* copied into the arena */
    struct lmn__job_fill *fill;
    uint32_t fill_count;
    uint32_t stage, stage_count; /* the one that runs, and how many there are */

    struct lmn__machine *machine;
    struct lmn__job_unit *unit;
    uint64_t unit_count, unit_room;
    uint32_t worker_count, threads;
    struct lmn__job_worker *worker;
    struct lmn__crew_worker *leaving; /* through with the job, and alive */
    struct lmn__job_slot *slot;
    struct lmn__job_receipt *receipt; /* entered, not synced */
    uint64_t receipt_count, receipt_room;
    struct {
        uint32_t fill;
        struct lmn__span bytes;
    } offered;                 /* the receipt of the result that is being told */
    struct lmn__places places; /* what of the machine the job holds */
    struct lmn__saved saved;   /* rows that workers had finished when they died */
    uint64_t alone_ns;         /* since when a job with a hub has no worker; 0: it has */
    bool few_told;             /* its message says that some are missing */
    uint64_t rows_resumed, bytes_written;
    uint64_t calls_granted;  /* by meters */
    uint64_t calls_deferred; /* times that they let workers wait */
    uint64_t moves;          /* times that rows went to other fragments meanwhile */
    uint64_t started_ns, status_ns, record_ns, cancel_ns, memory_ns;
    int64_t started_at_ns; /* time of day */
    bool finished, broken;
    uint64_t version;            /* of the last commit */
    uint64_t read_version;       /* that the job began at */
    struct lmn__manifest *named; /* that version: its names are those of the functions' columns */
    bool stop_told, turns_told;
    int inside_fd; /* for lmn_job_serve(), moved there; under the mutex */
    enum lmn__outcome outcome;
    struct lmn_error error;   /* why it failed or stopped */
    struct lmn_error blocker; /* a full disk: stop, not failure */
    char event[LMN__JOB_EVENTS_MAX][200];
    int64_t event_at_ns[LMN__JOB_EVENTS_MAX];
    uint32_t event_count;
    struct lmn__stats stats;
    struct lmn__log log;
    uint64_t metrics_ns; /* when the file of metrics is due */
    bool metrics_told;   /* that it cannot be written */

    struct lmn__wake wake;
    struct lmn__thread driver, committer;
    bool has_committer;
    struct lmn__mutex mutex;
    struct lmn__cond cond;      /* the job has ended */
    struct lmn__cond committed; /* a commit is asked for, or the end */
    struct {
        struct lmn_job_status status;
        bool stop, stop_now, ended;
        bool commit_asked, commit_done, committer_ends;
        struct lmn__job_commit commit;
    } locked;
};

/* The thread that runs a job, from its plan to its end. */
void lmn__job_drive(void *job);
/* The thread that commits for it. */
void lmn__job_commit_main(void *job);

/* fills.c: journals are opened and plans made; units are added to the machine. */
LMN_MUST_USE enum lmn_status lmn__job_open_fills(struct lmn_job *job, struct lmn_error *err);
/* What the columns of a function are called in the version that `table` stands at; in the arena. */
LMN_MUST_USE enum lmn_status lmn__job_follow_names(struct lmn_job *job, struct lmn_table *table,
                                                   const struct lmn_job_function *function,
                                                   struct lmn__arena *arena,
                                                   const char *const **output_out,
                                                   const char *const **input_out,
                                                   struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__job_plan_fill(struct lmn_job *job, struct lmn__job_fill *fill,
                                                struct lmn_error *err);
/* The same after commits of the job itself; what others moved is followed first. */
LMN_MUST_USE enum lmn_status lmn__job_plan_fill_again(struct lmn_job *job,
                                                      struct lmn__job_fill *fill,
                                                      struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__job_add_units(struct lmn_job *job, uint32_t fill,
                                                struct lmn_error *err);
void lmn__job_close_fills(struct lmn_job *job);
struct lmn__assemble_options lmn__job_assembly(struct lmn_job *job, struct lmn__job_fill *fill);
/* The physical rows of ordinals of a unit, in `range`, which has room for all that it has. */
uint64_t lmn__job_rows(const struct lmn__job_unit *unit, struct lmn__ordinals rows,
                       struct lmn__row_range *range);

/* first.c: the first part of a unit that is about to be added, if it is to have one. */
void lmn__job_add_first(const struct lmn_job *job, const struct lmn__job_unit *unit,
                        struct lmn__machine_unit *machine_unit);

/* stages.c: which fills come first; refills are begun before fills are opened. */
LMN_MUST_USE enum lmn_status lmn__job_order_fills(struct lmn_job *job, struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__job_begin_refills(struct lmn_job *job, struct lmn_error *err);
/* Units of the first stage are added; and of the next ones, once a stage is committed. */
LMN_MUST_USE enum lmn_status lmn__job_begin_stages(struct lmn_job *job, struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__job_advance(struct lmn_job *job, struct lmn_error *err);

/* actions.c: tell the machine and do what it answers. */
LMN_MUST_USE enum lmn_status lmn__job_tell(struct lmn_job *job, struct lmn__event event,
                                           struct lmn_error *err);
/* Enter a result that was accepted. */
LMN_MUST_USE enum lmn_status lmn__job_enter(struct lmn_job *job, uint32_t fill, uint64_t receipt,
                                            struct lmn__span bytes, struct lmn_error *err);

/* crew_talk.c, crew_watch.c: what workers are told and say, how they die, their limits. */
LMN_MUST_USE enum lmn_status lmn__job_start_worker(struct lmn_job *job, uint32_t worker,
                                                   struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__job_send_task(struct lmn_job *job,
                                                const struct lmn__action *action,
                                                struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__job_hear(struct lmn_job *job, uint32_t worker, uint32_t thread,
                                           struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__job_bury(struct lmn_job *job, uint32_t worker,
                                           struct lmn_error *err);
void lmn__job_watch(struct lmn_job *job, uint64_t now_ns);
/* stall.c: threads that finish no batch become events. */
void lmn__job_watch_stalls(struct lmn_job *job, uint64_t now_ns);

/* fit.c: how many rows fit into a call, as earlier jobs have left it; as a worker says; and of a
 * task that has `rows` at most in each call, 0 for any. */
void lmn__job_load_fit(struct lmn_job *job, struct lmn__job_fill *fill);
void lmn__job_take_fit(struct lmn_job *job, struct lmn__job_fill *fill, uint64_t rows);
uint64_t lmn__job_fit(const struct lmn__job_fill *fill, uint64_t rows);

/* permits.c: do workers have to ask for the calls of a function? Set its meter; answer an ask. */
bool lmn__job_is_metered(const struct lmn_job *job, const struct lmn_job_function *function);
void lmn__job_set_meters(struct lmn_job *job);
LMN_MUST_USE enum lmn_status lmn__job_permit(struct lmn_job *job, uint32_t slot,
                                             struct lmn__channel *channel,
                                             const struct lmn__permit_message *permit,
                                             struct lmn_error *err);

/* permits.c: what the calls of the job have used, as far as functions say it. */
struct lmn__job_usage {
    uint64_t calls, tokens;
    double cost;
};
struct lmn__job_usage lmn__job_usage(const struct lmn_job *job);
void lmn__job_release_worker(struct lmn_job *job, uint32_t worker, bool kill);

/* crew_warm.c: whether workers outlive the job; one is through with it; at the end, those that have
 * ended their tasks, or do so in a moment where `wait` says so, are kept for the next. */
bool lmn__job_stays_warm(const struct lmn_job *job);
void lmn__job_leave(struct lmn_job *job, struct lmn__crew_worker *crew);
void lmn__job_let_go(struct lmn_job *job, bool wait);

/* crew_log.c: keep what a worker has printed, as its agent passes it on or as it lies in the pipe;
 * it prints no more; write it. */
void lmn__job_keep_log(struct lmn_job *job, uint32_t worker, struct lmn__span printed);
void lmn__job_hear_log(struct lmn_job *job, uint32_t worker);
void lmn__job_end_log(struct lmn_job *job, uint32_t worker);
void lmn__job_flush_log(struct lmn_job *job);

/* meet.c: workers that come to the hub are taken; `poll` has its answers. */
LMN_MUST_USE enum lmn_status lmn__job_meet(struct lmn_job *job, const struct lmn__poll *poll,
                                           struct lmn_error *err);

/* fail_row.c: enter a failed cell for a row that ends its worker. */
LMN_MUST_USE enum lmn_status lmn__job_fail_row(struct lmn_job *job,
                                               const struct lmn__action *action,
                                               struct lmn_error *err);

/* status.c, record.c */
void lmn__job_set_state(struct lmn_job *job, enum lmn_job_state state);
LMN_PRINTF(2, 3) void lmn__job_say(struct lmn_job *job, const char *fmt, ...);
/* Note something that people want to know later. */
LMN_PRINTF(2, 3) void lmn__job_note(struct lmn_job *job, const char *fmt, ...);
void lmn__job_update(struct lmn_job *job, uint64_t now_ns);
void lmn__job_write_record(struct lmn_job *job, bool durable);
bool lmn__job_is_cancelled(struct lmn_job *job);

/*
 * stats.c: the task of a slot has ended; a receipt was accepted; counters have moved, of which
 * *status gets what follows from them; members of the record.
 */
void lmn__stats_task_end(struct lmn_job *job, uint32_t slot);
void lmn__stats_receipt(struct lmn_job *job, uint32_t fill, struct lmn__span bytes);
void lmn__stats_update(struct lmn_job *job, struct lmn_job_status *status, uint64_t read_bytes,
                       uint64_t now_ns, bool last);
void lmn__stats_write(const struct lmn_job *job, struct lmn__json_writer *writer);

/* finish.c: tell those who wait for the job's end: the file of metrics, the user's command. */
void lmn__job_end(struct lmn_job *job);

/* jobs.c: LMN_E_INVALID when an id is none. */
LMN_MUST_USE enum lmn_status lmn__job_check_id(const char *id, struct lmn_error *err);

/* job.c: the first 8 bytes of a hash of 64 hex digits. */
LMN_MUST_USE enum lmn_status lmn__job_version(const char *version, uint64_t *number_out,
                                              struct lmn_error *err);

/* admission.c: how many workers there may be; waits for others. False: the job was stopped. */
LMN_MUST_USE enum lmn_status lmn__job_admit(struct lmn_job *job, bool *stopped_out,
                                            struct lmn_error *err);

#endif
