/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that turns finished units into versions, while the driver goes on with other fills.
 *
 * When others have replaced fragments of a commit, the results are carried to where their rows are
 * now, and the fill is planned again. What of the commit is still in the plan is then committed;
 * the rest is the driver's to compute or to commit later, as units of the new plan.
 */
#include "base/error.h"
#include "engine/job.h"

/* The fragments of a commit that belong to a fill and are in its plan. */
static uint64_t list_fragments(const struct lmn_job *job, const struct lmn__job_commit *commit,
                               uint32_t fill, uint64_t *id)
{
    const struct lmn__plan *plan = &job->fill[fill].plan->plan;
    uint64_t count = 0;

    for (uint64_t i = 0; i < commit->unit_count; i++) {
        const struct lmn__job_unit *unit = &job->unit[commit->unit[i]];

        if (unit->fill != fill)
            continue;
        for (uint64_t k = 0; k < plan->fragment_count; k++) {
            if (plan->fragment[k].id == unit->fragment->id &&
                plan->fragment[k].layout == unit->fragment->layout)
                id[count++] = unit->fragment->id;
        }
    }
    return count;
}

static enum lmn_status commit_fill(struct lmn_job *job, struct lmn__job_commit *commit,
                                   uint32_t number, uint64_t *id, struct lmn_error *err)
{
    struct lmn__job_fill *fill = &job->fill[number];
    struct lmn__assemble_options assembly = lmn__job_assembly(job, fill);
    enum lmn_status st = LMN_OK;
    bool moved = true;

    while (st == LMN_OK && moved) {
        uint64_t count = list_fragments(job, commit, number, id);

        moved = false;
        if (count > 0)
            st = lmn__assemble_commit(&assembly, &fill->plan->plan, id, count, &moved, err);
        if (st == LMN_OK && moved) {
            commit->moved[number] = true;
            st = lmn__assemble_rebase(&assembly, err);
            if (st == LMN_OK)
                st = lmn__job_plan_fill(job, fill, err);
        }
    }
    return st;
}

static enum lmn_status commit_all(struct lmn_job *job, struct lmn__job_commit *commit,
                                  struct lmn_error *err)
{
    uint64_t *id = lmn__alloc(job->env, commit->unit_count * sizeof *id);
    enum lmn_status st = LMN_OK;

    if (id == NULL)
        return lmn__no_memory(err, "the fragments of a commit", commit->unit_count * sizeof *id);
    for (uint32_t i = 0; st == LMN_OK && i < job->fill_count; i++) {
        if (!job->fill[i].busy)
            continue;
        st = commit_fill(job, commit, i, id, err);
        if (st != LMN_OK)
            lmn__fail_within(err, st, "column \"%.100s\"", job->fill[i].function.output[0]);
    }
    lmn__free(job->env, id);
    return st;
}

void lmn__job_commit_main(void *context)
{
    struct lmn_job *job = context;

    lmn__mutex_lock(&job->mutex);
    while (!job->locked.committer_ends || (job->locked.commit_asked && !job->locked.commit_done)) {
        struct lmn__job_commit *commit = &job->locked.commit;

        if (!job->locked.commit_asked || job->locked.commit_done) {
            lmn__cond_wait(&job->committed, &job->mutex);
            continue;
        }
        lmn__mutex_unlock(&job->mutex);
        commit->status = commit_all(job, commit, &commit->error);
        commit->error.status = commit->status;
        commit->version = lmn_table_version(job->table);
        lmn__mutex_lock(&job->mutex);
        job->locked.commit_done = true;
        lmn__wake_now(&job->wake);
    }
    lmn__mutex_unlock(&job->mutex);
}
