/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine decides is done here. A result is told while its receipt is at hand: the machine
 * answers it with ACCEPT or DROP before anything else is told.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/job.h"

enum lmn_status lmn__job_enter(struct lmn_job *job, uint32_t fill, uint64_t receipt,
                               struct lmn__span bytes, struct lmn_error *err)
{
    enum lmn_status st;

    if (job->receipt_count == job->receipt_room) {
        uint64_t room = job->receipt_room == 0 ? 64 : job->receipt_room * 2;
        void *memory = lmn__realloc(job->env, job->receipt, room * sizeof *job->receipt);

        if (memory == NULL)
            return lmn__no_memory(err, "receipts", room * sizeof *job->receipt);
        job->receipt = memory;
        job->receipt_room = room;
    }
    st = lmn__journal_add(job->fill[fill].journal, bytes, err);
    if (st != LMN_OK)
        return st;
    lmn__stats_receipt(job, fill, bytes);
    job->fill[fill].unsynced++;
    job->receipt[job->receipt_count++] = (struct lmn__job_receipt){ fill, receipt };
    return LMN_OK;
}

/* Hand the units of a commit over. */
static enum lmn_status ask_commit(struct lmn_job *job, const struct lmn__action *action,
                                  struct lmn_error *err)
{
    struct lmn__job_commit commit = { .number = action->commit };
    const uint64_t *unit = lmn__machine_commit_units(job->machine, action->commit,
                                                     &commit.unit_count);

    commit.unit = lmn__alloc(job->env, commit.unit_count * sizeof *commit.unit);
    commit.moved = lmn__calloc(job->env, job->fill_count, sizeof *commit.moved);
    if (commit.unit == NULL || commit.moved == NULL) {
        lmn__free(job->env, commit.unit);
        lmn__free(job->env, commit.moved);
        return lmn__no_memory(err, "the units of a commit", commit.unit_count * 8);
    }
    memcpy(commit.unit, unit, commit.unit_count * sizeof *commit.unit);
    for (uint64_t i = 0; i < commit.unit_count; i++)
        job->fill[job->unit[unit[i]].fill].busy = true;
    lmn__mutex_lock(&job->mutex);
    job->locked.commit = commit;
    job->locked.commit_asked = true;
    lmn__cond_wake_all(&job->committed);
    lmn__mutex_unlock(&job->mutex);
    return LMN_OK;
}

static void finish(struct lmn_job *job, const struct lmn__action *action)
{
    job->finished = true;
    job->outcome = action->outcome;
    if (action->outcome != LMN__OUTCOME_FAILED && action->outcome != LMN__OUTCOME_STOPPED)
        return;
    if (action->cause == LMN__CAUSE_STOP && job->blocker.status != LMN_OK) {
        job->error = job->blocker;
    } else if (action->cause == LMN__CAUSE_DEATHS || job->error.status == LMN_OK) {
        char why[2 * LMN__HIGHLIGHT_CHARS + 32] = "";

        if (action->cause == LMN__CAUSE_DEATHS)
            snprintf(why, sizeof why, "%s", job->worker[action->worker].death);
        else if (action->cause == LMN__CAUSE_FIRST_ROWS || action->cause == LMN__CAUSE_FAILED_ROWS)
            lmn__highlights_say(&job->stats.highlights, why, sizeof why);
        lmn_fail(&job->error, action->outcome == LMN__OUTCOME_STOPPED ? LMN_E_CANCELLED : LMN_E_UDF,
                 "%s%s%s", action->reason, why[0] != '\0' ? ": " : "", why);
    }
}

static void stop_slot(struct lmn_job *job, const struct lmn__action *action)
{
    struct lmn__crew_worker *crew = job->worker[action->slot / job->threads].crew;

    if (crew != NULL)
        lmn__crew_stop(crew, action->slot % job->threads, action->task);
}

static enum lmn_status act(struct lmn_job *job, const struct lmn__action *action,
                           struct lmn_error *err)
{
    switch (action->kind) {
    case LMN__ACTION_START_WORKER:
        return lmn__job_start_worker(job, action->worker, err);
    case LMN__ACTION_START_TASK:
        return lmn__job_send_task(job, action, err);
    case LMN__ACTION_STOP_SLOT:
        stop_slot(job, action);
        return LMN_OK;
    case LMN__ACTION_RETIRE:
        lmn__job_release_worker(job, action->worker, false);
        return LMN_OK;
    case LMN__ACTION_FAIL_ROW:
        return lmn__job_fail_row(job, action, err);
    case LMN__ACTION_COMMIT:
        return ask_commit(job, action, err);
    case LMN__ACTION_FINISH:
        finish(job, action);
        return LMN_OK;
    case LMN__ACTION_ACCEPT:
        return lmn__job_enter(job, job->offered.fill, action->receipt, job->offered.bytes, err);
    case LMN__ACTION_DROP:
        break;
    }
    return LMN_OK;
}

enum lmn_status lmn__job_tell(struct lmn_job *job, struct lmn__event event, struct lmn_error *err)
{
    struct lmn__action action;
    enum lmn_status st = lmn__machine_tell(job->machine, &event, err), failed = LMN_OK;

    while (st == LMN_OK && lmn__machine_next(job->machine, &action)) {
        struct lmn_error act_error = { 0 };
        enum lmn_status done = failed == LMN_OK ? act(job, &action, &act_error) : LMN_OK;

        if (done != LMN_OK) {
            failed = done;
            *err = act_error;
        }
    }
    return st != LMN_OK ? st : failed;
}
