/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that runs a job. It waits for its workers, for the committer, for the caller and for
 * time; whatever happens becomes an event of the machine, and what the machine answers is done.
 *
 * Receipts are entered as they come and made durable together: once per turn of the loop, after
 * everything that was there to be heard.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "engine/hub.h"
#include "engine/job.h"
#include "os/clock.h"

#define NS_PER_MS 1000000ull

static const uint64_t TURN_NS = 100 * NS_PER_MS; /* at least so often, for status and limits */
static const uint64_t WATCH_NS = 10 * NS_PER_MS; /* where a limit has to be watched */
static const uint64_t CANCEL_NS = 500 * NS_PER_MS;

/* Everything entered becomes durable; then it counts. */
static enum lmn_status sync_receipts(struct lmn_job *job, struct lmn_error *err)
{
    uint64_t kept = 0;
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < job->fill_count; i++) {
        struct lmn__job_fill *fill = &job->fill[i];

        if (fill->unsynced == 0 || fill->busy)
            continue;
        st = lmn__journal_sync(fill->journal, err);
        fill->unsynced = 0;
    }
    for (uint64_t i = 0; st == LMN_OK && i < job->receipt_count; i++) {
        struct lmn__job_receipt receipt = job->receipt[i];
        struct lmn__event event = { .kind = LMN__EVENT_RECEIPT_DURABLE,
                                    .now_ns = lmn__clock_monotonic_ns(),
                                    .receipt = receipt.number };

        if (job->fill[receipt.fill].unsynced != 0) {
            job->receipt[kept++] = receipt;
            continue;
        }
        st = lmn__job_tell(job, event, err);
    }
    job->receipt_count = kept;
    return st;
}

/* Units of a fill that its new plan no longer has leave the machine. */
static enum lmn_status drop_units(struct lmn_job *job, uint32_t fill, struct lmn_error *err)
{
    const struct lmn__plan *plan = &job->fill[fill].plan->plan;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < job->unit_count; i++) {
        struct lmn__job_unit *unit = &job->unit[i];
        bool found = false;

        if (unit->fill != fill || unit->dropped || unit->committed)
            continue;
        for (uint64_t k = 0; k < plan->fragment_count && !found; k++)
            found = plan->fragment[k].id == unit->fragment->id &&
                    plan->fragment[k].layout == unit->fragment->layout;
        if (found)
            continue;
        unit->dropped = true;
        st = lmn__machine_drop_unit(job->machine, i, err);
    }
    return st;
}

/* The committer is done with what it was given. */
static enum lmn_status end_commit(struct lmn_job *job, struct lmn__job_commit *commit,
                                  struct lmn_error *err)
{
    struct lmn__event event = { .kind = LMN__EVENT_COMMITTED, .commit = commit->number };
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; i < job->fill_count; i++)
        job->fill[i].busy = false;
    for (uint32_t i = 0; st == LMN_OK && i < job->fill_count; i++) {
        if (commit->moved[i] && commit->status == LMN_OK) {
            job->moves++;
            st = drop_units(job, i, err);
        }
    }
    if (st != LMN_OK)
        return st;
    if (commit->status != LMN_OK) {
        event.kind = LMN__EVENT_COMMIT_FAILED;
        job->error = commit->error;
    } else {
        for (uint64_t i = 0; i < commit->unit_count; i++) {
            struct lmn__job_unit *unit = &job->unit[commit->unit[i]];
            bool part = lmn__machine_is_part(job->machine, commit->unit[i]);

            unit->parts += part;
            unit->since = lmn__journal_since(job->fill[unit->fill].journal, unit->fragment->id,
                                             unit->fragment->layout);
            unit->committed = !unit->dropped && !part;
        }
        job->version = commit->version;
    }
    for (uint32_t i = 0; st == LMN_OK && i < job->fill_count; i++) {
        if (commit->moved[i] && commit->status == LMN_OK)
            st = lmn__job_add_units(job, i, err);
    }
    if (st == LMN_OK && commit->status == LMN_OK && lmn__job_advance(job, err) != LMN_OK) {
        event.kind = LMN__EVENT_COMMIT_FAILED;
        job->error = *err;
    }
    event.now_ns = lmn__clock_monotonic_ns();
    return st == LMN_OK ? lmn__job_tell(job, event, err) : st;
}

/* Take a commit that is done from the committer. */
static bool take_commit(struct lmn_job *job, struct lmn__job_commit *commit_out)
{
    bool done;

    lmn__mutex_lock(&job->mutex);
    done = job->locked.commit_done;
    if (done) {
        *commit_out = job->locked.commit;
        job->locked.commit = (struct lmn__job_commit){ 0 };
        job->locked.commit_asked = job->locked.commit_done = false;
    }
    lmn__mutex_unlock(&job->mutex);
    return done;
}

static enum lmn_status hear_committer(struct lmn_job *job, struct lmn_error *err)
{
    struct lmn__job_commit commit;
    enum lmn_status st;

    if (!take_commit(job, &commit))
        return LMN_OK;
    st = end_commit(job, &commit, err);
    lmn__free(job->env, commit.unit);
    lmn__free(job->env, commit.moved);
    return st;
}

/* What the caller and others ask for. */
static enum lmn_status hear_caller(struct lmn_job *job, uint64_t now_ns, struct lmn_error *err)
{
    struct lmn__event event = { .kind = LMN__EVENT_STOP, .now_ns = now_ns };
    bool stop;

    lmn__mutex_lock(&job->mutex);
    stop = job->locked.stop;
    lmn__mutex_unlock(&job->mutex);
    if (!stop && now_ns >= job->cancel_ns) {
        job->cancel_ns = now_ns + CANCEL_NS;
        stop = lmn__job_is_cancelled(job);
        if (stop && !job->stop_told)
            lmn__job_note(job, "cancelled from outside");
    }
    if (!stop || job->stop_told)
        return LMN_OK;
    job->stop_told = true;
    lmn__job_set_state(job, LMN_JOB_STOPPING);
    return lmn__job_tell(job, event, err);
}

static bool stops_now(struct lmn_job *job)
{
    bool now;

    lmn__mutex_lock(&job->mutex);
    now = job->locked.stop_now;
    lmn__mutex_unlock(&job->mutex);
    return now;
}

/* How long nothing has to be looked at. */
static uint64_t turn_ns(const struct lmn_job *job, uint64_t now_ns)
{
    uint64_t wake_ns = lmn__machine_wake_ns(job->machine), turn = TURN_NS;

    for (uint32_t i = 0; i < job->fill_count; i++) {
        if (job->fill[i].function.call_timeout_ms != 0)
            turn = WATCH_NS;
    }
    if (lmn__places_worker_memory(&job->places) != 0)
        turn = WATCH_NS;
    if (wake_ns <= now_ns)
        return 0;
    return wake_ns - now_ns < turn ? wake_ns - now_ns : turn;
}

/* Descriptors of the wake, then for each worker its process, what it prints and its threads, then
 * of the hub. */
static uint32_t fill_polls(const struct lmn_job *job, struct lmn__poll *poll)
{
    uint32_t count = 0;

    poll[count++] = (struct lmn__poll){ .fd = job->wake.fd[0], .wants_in = true };
    for (uint32_t i = 0; i < job->worker_count; i++) {
        const struct lmn__crew_worker *crew = job->worker[i].crew;
        bool gone = crew == NULL || job->worker[i].dead;

        poll[count++] = (struct lmn__poll){ .fd = gone ? -1 : crew->process.fd, .wants_in = true };
        poll[count++] = (struct lmn__poll){ .fd = gone ? -1 : crew->log_fd, .wants_in = true };
        for (uint32_t k = 0; k < job->threads; k++) {
            const struct lmn__job_slot *slot = &job->slot[i * job->threads + k];
            bool held = slot->busy && job->fill[job->unit[slot->unit].fill].busy;

            poll[count++] = (struct lmn__poll){
                .fd = gone ? -1 : crew->channel[k].fd,
                .wants_in = !held,
                .wants_out = !gone && lmn__channel_pending(&crew->channel[k]),
            };
        }
    }
    if (job->options.hub != NULL)
        count += lmn__hub_polls(job->options.hub, poll + count);
    return count;
}

static enum lmn_status hear_workers(struct lmn_job *job, const struct lmn__poll *poll,
                                    struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;
    uint32_t at = 1;

    for (uint32_t i = 0; st == LMN_OK && i < job->worker_count; i++) {
        struct lmn__job_worker *worker = &job->worker[i];
        bool ended = poll[at++].in;

        if (poll[at++].in)
            lmn__job_hear_log(job, i);
        for (uint32_t k = 0; k < job->threads; k++, at++) {
            struct lmn_error ignored;

            if (st != LMN_OK || worker->crew == NULL || worker->dead)
                continue;
            if (poll[at].out &&
                lmn__channel_flush(&worker->crew->channel[k], false, &ignored) != LMN_OK)
                worker->dead = true;
            if (poll[at].in)
                st = lmn__job_hear(job, i, k, err);
        }
        if (ended)
            worker->dead = true;
        if (st == LMN_OK && worker->dead && worker->crew != NULL)
            st = lmn__job_bury(job, i, err);
    }
    return st;
}

/* One turn of the loop. */
static enum lmn_status turn(struct lmn_job *job, struct lmn__poll *poll, struct lmn_error *err)
{
    struct lmn__event tick = { .kind = LMN__EVENT_TICK };
    uint32_t count = fill_polls(job, poll);
    uint64_t now_ns = lmn__clock_monotonic_ns();
    enum lmn_status st;

    lmn__poll_wait(poll, count, turn_ns(job, now_ns));
    if (poll[0].in)
        lmn__wake_reset(&job->wake);
    now_ns = lmn__clock_monotonic_ns();
    st = hear_committer(job, err);
    if (st == LMN_OK)
        st = hear_workers(job, poll, err);
    if (st == LMN_OK)
        st = lmn__job_meet(job, poll + 1 + job->worker_count * (2 + job->threads), err);
    if (st == LMN_OK)
        st = sync_receipts(job, err);
    if (st == LMN_OK)
        st = hear_caller(job, now_ns, err);
    tick.now_ns = lmn__clock_monotonic_ns();
    if (st == LMN_OK && !job->finished)
        st = lmn__job_tell(job, tick, err);
    lmn__job_flush_log(job);
    lmn__job_watch(job, tick.now_ns);
    lmn__job_update(job, tick.now_ns);
    return st;
}

/* A failure of the engine itself: the machine ends what is under way. */
static void break_down(struct lmn_job *job, const struct lmn_error *err, enum lmn_status status)
{
    struct lmn__event event = { .kind = LMN__EVENT_FAIL, .now_ns = lmn__clock_monotonic_ns() };
    struct lmn_error ignored;

    if (job->broken) {
        job->finished = true; /* it cannot even fail in order */
        job->outcome = LMN__OUTCOME_FAILED;
        return;
    }
    job->broken = true;
    job->error = *err;
    job->error.status = status;
    if (!job->finished && lmn__job_tell(job, event, &ignored) != LMN_OK) {
        job->finished = true;
        job->outcome = LMN__OUTCOME_FAILED;
    }
}

static enum lmn_status run(struct lmn_job *job, struct lmn_error *err)
{
    uint32_t poll_max = 2 + job->worker_count * (2 + job->threads) + LMN__HUB_GUESTS_MAX;
    struct lmn__poll *poll = lmn__calloc(job->env, poll_max, sizeof *poll);
    struct lmn__event tick = { .kind = LMN__EVENT_TICK, .now_ns = lmn__clock_monotonic_ns() };
    enum lmn_status st = LMN_OK;

    if (poll == NULL)
        return lmn__no_memory(err, "a list of workers", poll_max * sizeof *poll);
    st = lmn__job_tell(job, tick, err);
    while (!job->finished && !stops_now(job)) {
        if (st != LMN_OK)
            break_down(job, err, st);
        if (!job->finished)
            st = turn(job, poll, err);
    }
    lmn__free(job->env, poll);
    if (!job->finished) {
        job->outcome = LMN__OUTCOME_STOPPED;
        lmn_fail(&job->error, LMN_E_CANCELLED, "the job was killed");
    }
    return LMN_OK;
}

static enum lmn_status make_machine(struct lmn_job *job, struct lmn_error *err)
{
    const struct lmn_job_options *options = &job->options;
    struct lmn__machine_options machine = {
        .worker_count = job->worker_count,
        .slots_per_worker = job->threads,
        .task_rows_min = job->fill[0].function.batch_rows,
        .units_per_commit = options->commit_granularity,
        .worker_restarts_max = options->worker_restarts_max,
        .deadline_ns =
            options->deadline_ms != 0 ? job->started_ns + options->deadline_ms * NS_PER_MS : 0,
        .fill_count = job->fill_count,
    };
    struct lmn__machine_limits *limits = lmn__calloc(job->env, job->fill_count, sizeof *limits);
    enum lmn_status st;

    if (limits == NULL)
        return lmn__no_memory(err, "limits", job->fill_count * sizeof *limits);
    for (uint32_t i = 0; i < job->fill_count; i++) {
        const struct lmn_job_function *function = &job->fill[i].function;

        limits[i] = (struct lmn__machine_limits){ .given = function->failed_limited,
                                                  .count_max = function->failed_count_max,
                                                  .fraction_max = function->failed_fraction_max,
                                                  .unlimited = function->failed_unlimited };
    }
    machine.limits = limits;
    st = lmn__machine_new(job->env, &machine, &job->machine, err);
    lmn__free(job->env, limits);
    if (st == LMN_OK)
        st = lmn__job_begin_stages(job, err);
    lmn__job_set_meters(job);
    return st;
}

static enum lmn_status make_workers(struct lmn_job *job, struct lmn_error *err)
{
    uint64_t slots = (uint64_t)job->worker_count * job->threads;

    job->worker = lmn__calloc(job->env, job->worker_count, sizeof *job->worker);
    job->slot = lmn__calloc(job->env, slots, sizeof *job->slot);
    return job->worker != NULL && job->slot != NULL
               ? LMN_OK
               : lmn__no_memory(err, "workers", slots * sizeof *job->slot);
}

/*
 * The version that the caller's handle stands at, and what comes after it, stays for the job. If it
 * was cleaned up before, the newest one takes its place.
 */
static enum lmn_status open_pinned(struct lmn_job *job, struct lmn_error *err)
{
    struct lmn_table_options at = { .version = job->read_version };
    struct lmn_store *store = job->given->store;
    enum lmn_status st = lmn__pin_take(&job->pin, store, job->read_version, err);

    if (st != LMN_OK)
        return st;
    st = lmn_table_open(store, &at, &job->table, err);
    if (st == LMN_E_NOT_FOUND) {
        at.version = 0;
        st = lmn_table_open(store, &at, &job->table, err);
        if (st == LMN_OK)
            job->read_version = lmn_table_version(job->table);
    }
    return st;
}

static enum lmn_status prepare(struct lmn_job *job, bool *stopped_out, struct lmn_error *err)
{
    enum lmn_status st = open_pinned(job, err);

    *stopped_out = false;
    if (st == LMN_OK)
        st = lmn__job_begin_refills(job, err);
    if (st == LMN_OK)
        st = lmn__job_open_fills(job, err);
    lmn__job_write_record(job, false);
    if (st == LMN_OK)
        st = lmn__job_admit(job, stopped_out, err);
    if (st == LMN_OK && !*stopped_out)
        st = make_workers(job, err);
    if (st == LMN_OK && !*stopped_out)
        st = make_machine(job, err);
    if (st == LMN_OK && !*stopped_out) {
        st = lmn__thread_start(job->env, lmn__job_commit_main, job, &job->committer, err);
        job->has_committer = st == LMN_OK;
    }
    return st;
}

/* The committer ends what it has begun. */
static void end_committer(struct lmn_job *job)
{
    if (!job->has_committer)
        return;
    lmn__mutex_lock(&job->mutex);
    job->locked.committer_ends = true;
    lmn__cond_wake_all(&job->committed);
    lmn__mutex_unlock(&job->mutex);
    lmn__thread_join(&job->committer);
    lmn__free(job->env, job->locked.commit.unit);
    lmn__free(job->env, job->locked.commit.moved);
}

static enum lmn_job_state final_state(const struct lmn_job *job)
{
    switch (job->outcome) {
    case LMN__OUTCOME_DONE:
        return LMN_JOB_DONE;
    case LMN__OUTCOME_DONE_FAILED:
        return LMN_JOB_DONE_FAILED;
    case LMN__OUTCOME_STOPPED:
        return LMN_JOB_STOPPED;
    default:
        return LMN_JOB_FAILED;
    }
}

void lmn__job_drive(void *context)
{
    struct lmn_job *job = context;
    struct lmn_error err = { 0 };
    bool stopped;
    enum lmn_status st = prepare(job, &stopped, &err);

    if (st == LMN_OK && stopped) {
        job->outcome = LMN__OUTCOME_STOPPED;
        lmn_fail(&job->error, LMN_E_CANCELLED, "the job was stopped before it began");
    } else if (st == LMN_OK) {
        lmn__job_set_state(job, LMN_JOB_RUNNING);
        lmn__job_write_record(job, false);
        st = run(job, &err);
    }
    if (st != LMN_OK) {
        job->outcome = LMN__OUTCOME_FAILED;
        job->error = err;
        job->error.status = st;
    }
    if (job->outcome == LMN__OUTCOME_FAILED && job->error.os_errno == ENOSPC) {
        job->outcome = LMN__OUTCOME_STOPPED;
        job->blocker = job->error;
    }
    if (job->blocker.status != LMN_OK && job->outcome == LMN__OUTCOME_STOPPED) {
        job->error = job->blocker;
        if (job->error.os_errno == ENOSPC)
            lmn__fail_within(&job->error, job->error.status,
                             "the disk is full: make room and run it again");
    }
    end_committer(job);
    for (uint32_t i = 0; job->worker != NULL && i < job->worker_count; i++)
        lmn__job_release_worker(job, i, false);
    lmn__pin_release(&job->pin);
    lmn__job_let_go(job,
                    job->outcome == LMN__OUTCOME_DONE || job->outcome == LMN__OUTCOME_DONE_FAILED);
    if (job->options.hub != NULL)
        lmn__hub_end(job->options.hub, job->given->store, job->id);
    lmn__job_flush_log(job);
    lmn__job_update(job, UINT64_MAX);
    lmn__job_close_fills(job);
    lmn__places_free(&job->places);
    lmn__job_set_state(job, final_state(job));
    lmn__job_write_record(job, true);
    lmn__job_end(job);
    lmn__mutex_lock(&job->mutex);
    job->locked.ended = true;
    lmn__cond_wake_all(&job->cond);
    lmn__mutex_unlock(&job->mutex);
}
