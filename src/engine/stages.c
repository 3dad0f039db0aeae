/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a job's fills. A function that reads what another one of the job fills belongs to a
 * later stage: its rows are planned when everything of the stages before is committed, so that it
 * is given their values and its cells say so.
 *
 * A fill that computes a column again writes to the column's refill. At the end of its stage the
 * refills take their columns' places, unless rows are left out or failed: then both stay side by
 * side, for the user to compare.
 */
#include <string.h>

#include <leman/table_fill.h>
#include <leman/table_refill.h>

#include "base/error.h"
#include "engine/job.h"
#include "table/field_names.h"

/* Is `input` ("info.url") the column or a part of it? */
static bool is_part(const char *input, const char *column)
{
    size_t len = strlen(column);

    return strncmp(input, column, len) == 0 && (input[len] == '\0' || input[len] == '.');
}

static bool feeds(const struct lmn__job_fill *from, const struct lmn__job_fill *to)
{
    for (uint32_t i = 0; i < to->function.input_count; i++) {
        for (uint32_t k = 0; k < from->function.output_count; k++) {
            if (is_part(to->function.input[i], from->column[k]))
                return true;
        }
    }
    return false;
}

/* Put every fill behind those that feed it. Returns whether one has moved. */
static bool move_fills(struct lmn_job *job)
{
    bool moved = false;

    for (uint32_t i = 0; i < job->fill_count; i++) {
        for (uint32_t k = 0; k < job->fill_count; k++) {
            struct lmn__job_fill *from = &job->fill[i], *to = &job->fill[k];

            if (to->stage > from->stage || !feeds(from, to))
                continue;
            to->stage = from->stage + 1;
            moved = true;
        }
    }
    return moved;
}

enum lmn_status lmn__job_order_fills(struct lmn_job *job, struct lmn_error *err)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < job->fill_count; i++)
        job->fill[i].column = job->fill[i].function.output;
    for (uint32_t round = 0; move_fills(job); round++) {
        if (round < job->fill_count)
            continue;
        for (uint32_t i = 0; i < job->fill_count; i++)
            last = job->fill[i].stage > job->fill[last].stage ? i : last;
        return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is read to compute itself",
                        job->fill[last].column[0]);
    }
    for (uint32_t i = 0; i < job->fill_count; i++)
        last = job->fill[i].stage > last ? job->fill[i].stage : last;
    job->stage_count = last + 1;
    return LMN_OK;
}

/* The fill writes to refills from now on. */
static enum lmn_status begin_refill(struct lmn_job *job, struct lmn__job_fill *fill,
                                    struct lmn_error *err)
{
    uint32_t count = fill->function.output_count;
    const char **output = lmn__arena_array(&job->arena, count, sizeof *output);
    enum lmn_status st;

    if (output == NULL)
        return lmn__arena_fail(&job->arena, "the names of columns", err);
    st = lmn_table_refill_begin(job->table, fill->column, count, err);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        char *name;

        st = lmn_table_refill_name(job->table, fill->column[i], &name, err);
        if (st == LMN_OK && name == NULL)
            st = lmn_fail(err, LMN_E_CONFLICT, "what is computed again was dropped by another");
        if (st != LMN_OK)
            break;
        output[i] = lmn__arena_strndup(&job->arena, name, strlen(name));
        lmn_text_free(name);
        if (output[i] == NULL)
            st = lmn__arena_fail(&job->arena, "the names of columns", err);
    }
    fill->function.output = output;
    return st;
}

enum lmn_status lmn__job_begin_refills(struct lmn_job *job, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < job->fill_count; i++) {
        if (!job->fill[i].function.refill)
            continue;
        st = begin_refill(job, &job->fill[i], err);
        job->read_version = lmn_table_version(job->table);
        if (st != LMN_OK)
            lmn__fail_within(err, st, "column \"%.100s\"", job->fill[i].column[0]);
    }
    return st;
}

/* Put what was computed again in its place, or say why it stays beside it. */
static enum lmn_status end_refill(struct lmn_job *job, struct lmn__job_fill *fill,
                                  const char *const *column, const char *const *output,
                                  struct lmn_error *err)
{
    const struct lmn_job_options *options = &job->options;
    struct lmn_cell_counts counts;
    enum lmn_status st;

    if (options->keep_refills || options->where != NULL || options->limited) {
        lmn__job_note(job, "%.80s was computed again beside its values, which stay",
                      fill->column[0]);
        return LMN_OK;
    }
    st = lmn_table_cells(job->table, output[0], &counts, err);
    if (st == LMN_OK && counts.failed != 0) {
        lmn__job_note(job, "%.80s keeps its values: %llu rows that were computed again failed",
                      fill->column[0], (unsigned long long)counts.failed);
        return LMN_OK;
    }
    if (st == LMN_OK)
        st = lmn_table_refill_swap(job->table, column, fill->function.output_count, err);
    if (st == LMN_E_INVALID && err != NULL) {
        lmn__job_note(job, "%.150s", err->message);
        return LMN_OK;
    }
    if (st != LMN_OK)
        return st;
    job->version = lmn_table_version(job->table);
    lmn__job_note(job, "%.80s has the values that were computed again since version %llu",
                  fill->column[0], (unsigned long long)job->version);
    return LMN_OK;
}

/* The same by the names that the columns have in the newest version. */
static enum lmn_status end_refill_named(struct lmn_job *job, struct lmn__job_fill *fill,
                                        struct lmn_error *err)
{
    uint32_t count = fill->function.output_count;
    struct lmn__manifest *manifest = lmn__table_manifest(job->table);
    const char *const *column, *const *output;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, job->env, 0);
    st = lmn__field_names_follow(job->named, manifest, fill->column, count, &arena, &column, err);
    if (st == LMN_OK)
        st = lmn__field_names_follow(job->named, manifest, fill->function.output, count, &arena,
                                     &output, err);
    if (st == LMN_OK)
        st = end_refill(job, fill, column, output, err);
    lmn__arena_deinit(&arena);
    lmn__manifest_release(manifest);
    return st;
}

static bool stage_is_over(const struct lmn_job *job)
{
    for (uint64_t i = 0; i < job->unit_count; i++) {
        const struct lmn__job_unit *unit = &job->unit[i];

        if (job->fill[unit->fill].stage == job->stage && !unit->committed && !unit->dropped)
            return false;
    }
    return true;
}

static enum lmn_status end_stage(struct lmn_job *job, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < job->fill_count; i++) {
        if (job->fill[i].stage == job->stage && job->fill[i].function.refill)
            st = end_refill_named(job, &job->fill[i], err);
    }
    return st;
}

/* The plans of the first stage are those that the job began with. */
static enum lmn_status begin_stage(struct lmn_job *job, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < job->fill_count; i++) {
        if (job->fill[i].stage != job->stage)
            continue;
        if (job->stage > 0)
            st = lmn__job_plan_fill_again(job, &job->fill[i], err);
        if (st == LMN_OK)
            st = lmn__job_add_units(job, i, err);
    }
    return st;
}

enum lmn_status lmn__job_begin_stages(struct lmn_job *job, struct lmn_error *err)
{
    enum lmn_status st = begin_stage(job, err);

    return st == LMN_OK ? lmn__job_advance(job, err) : st;
}

enum lmn_status lmn__job_advance(struct lmn_job *job, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && job->stage < job->stage_count && stage_is_over(job)) {
        st = end_stage(job, err);
        job->stage++;
        if (st == LMN_OK && job->stage < job->stage_count)
            st = begin_stage(job, err);
    }
    return st;
}
