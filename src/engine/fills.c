/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fills of a job: their journals, their plans, and the units that the machine counts by.
 *
 * Rows that have a receipt from an earlier run are in the plan, and done from the start.
 */
#include <string.h>

#include "base/error.h"
#include "engine/job.h"
#include "job/moved.h"
#include "job/sink.h"
#include "table/field_names.h"
#include "table/ledger.h"

struct lmn__assemble_options lmn__job_assembly(struct lmn_job *job, struct lmn__job_fill *fill)
{
    return (struct lmn__assemble_options){ .table = job->table,
                                           .journal = fill->journal,
                                           .output = fill->function.output,
                                           .output_count = fill->function.output_count,
                                           .named = job->named,
                                           .unsynced = job->options.unsynced };
}

enum lmn_status lmn__job_follow_names(struct lmn_job *job, struct lmn_table *table,
                                      const struct lmn_job_function *function,
                                      struct lmn__arena *arena, const char *const **output_out,
                                      const char *const **input_out, struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    enum lmn_status st = lmn__field_names_follow(job->named, manifest, function->output,
                                                 function->output_count, arena, output_out, err);

    if (st == LMN_OK)
        st = lmn__field_names_follow(job->named, manifest, function->input, function->input_count,
                                     arena, input_out, err);
    lmn__manifest_release(manifest);
    return st;
}

enum lmn_status lmn__job_plan_fill(struct lmn_job *job, struct lmn__job_fill *fill,
                                   struct lmn_error *err)
{
    const struct lmn_job_function *function = &fill->function;
    struct lmn__plan_options options = { .output_count = function->output_count,
                                         .input_count = function->input_count,
                                         .function = fill->version,
                                         .where = job->options.where,
                                         .recompute = job->options.recompute,
                                         .leave_failed = job->options.leave_failed ||
                                                         function->new_rows,
                                         .leave_stale = function->new_rows,
                                         .limited = job->options.limited,
                                         .rows_max = job->options.rows_max };
    struct lmn__job_plan *plan = lmn__calloc(job->env, 1, sizeof *plan);
    struct lmn__arena arena;
    enum lmn_status st;

    if (plan == NULL)
        return lmn__no_memory(err, "a plan", sizeof *plan);
    lmn__arena_init(&arena, job->env, 0);
    st = lmn__job_follow_names(job, job->table, function, &arena, &options.output, &options.input,
                               err);
    if (st == LMN_OK)
        st = lmn__plan_make(job->table, &options, &plan->plan, err);
    lmn__arena_deinit(&arena);
    if (st != LMN_OK) {
        lmn__free(job->env, plan);
        return st;
    }
    plan->older = fill->plan;
    fill->plan = plan;
    return LMN_OK;
}

enum lmn_status lmn__job_plan_fill_again(struct lmn_job *job, struct lmn__job_fill *fill,
                                         struct lmn_error *err)
{
    struct lmn__assemble_options assembly = lmn__job_assembly(job, fill);
    uint64_t fragment_id, layout;
    enum lmn_status st = LMN_OK;

    if (lmn__journal_fragment(fill->journal, 0, &fragment_id, &layout))
        st = lmn__assemble_rebase(&assembly, err); /* some may have gone while no job ran */
    return st == LMN_OK ? lmn__job_plan_fill(job, fill, err) : st;
}

static enum lmn_status find_field(struct lmn_job *job, struct lmn__job_fill *fill,
                                  struct lmn_error *err)
{
    const struct lmn__node *column, *ledger;
    enum lmn_status st = lmn__ledger_find(job->named, fill->function.output[0], &column, &ledger,
                                          err);

    if (st == LMN_OK)
        fill->field_id = column->field->id;
    return st;
}

/* From here on nobody else fills it. */
static enum lmn_status open_fill(struct lmn_job *job, struct lmn__job_fill *fill,
                                 struct lmn_error *err)
{
    struct lmn__fill_key key = { .version = fill->version,
                                 .column_count = fill->function.output_count * 2 };
    enum lmn_status st = find_field(job, fill, err);

    if (st != LMN_OK)
        return st;
    key.field_id = fill->field_id;
    st = lmn__journal_open(job->table->store, &key, job->id, &fill->journal, err);
    if (st != LMN_OK)
        return st;
    lmn__job_load_fit(job, fill);
    return lmn__moved_matters(job->table->store, lmn__journal_dir(fill->journal),
                              &fill->kept_before, err);
}

/* Settle what a job before has left, and plan the rest. */
static enum lmn_status resume_fill(struct lmn_job *job, struct lmn__job_fill *fill,
                                   struct lmn_error *err)
{
    struct lmn__assemble_options assembly = lmn__job_assembly(job, fill);
    enum lmn_status st = lmn__assemble_recover(&assembly, err);

    return st == LMN_OK ? lmn__job_plan_fill_again(job, fill, err) : st;
}

typedef enum lmn_status (*fill_fn)(struct lmn_job *job, struct lmn__job_fill *fill,
                                   struct lmn_error *err);

static enum lmn_status each_fill(struct lmn_job *job, fill_fn step, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < job->fill_count; i++) {
        st = step(job, &job->fill[i], err);
        if (st != LMN_OK)
            lmn__fail_within(err, st, "column \"%.100s\"", job->fill[i].column[0]);
    }
    return st;
}

enum lmn_status lmn__job_open_fills(struct lmn_job *job, struct lmn_error *err)
{
    enum lmn_status st;

    job->named = lmn__table_manifest(job->table);
    st = each_fill(job, open_fill, err);
    /* What others have committed until they let go of the fills is not computed again. */
    if (st == LMN_OK && job->options.newest)
        st = lmn_table_refresh(job->table, err);
    return st == LMN_OK ? each_fill(job, resume_fill, err) : st;
}

/*
 * May there be results that are paid for and in no version? A job that has come to its end leaves
 * none of its own, and none of those before unless it was narrower than they.
 */
static bool keeps_results(const struct lmn_job *job, const struct lmn__job_fill *fill)
{
    bool done = job->outcome == LMN__OUTCOME_DONE || job->outcome == LMN__OUTCOME_DONE_FAILED;
    bool narrow = job->options.where != NULL || job->options.limited;
    bool kept = true;

    if (!fill->function.paid || (done && !(narrow && fill->kept_before)))
        return false;
    return lmn__moved_matters(job->table->store, lmn__journal_dir(fill->journal), &kept, NULL) !=
               LMN_OK ||
           kept;
}

void lmn__job_close_fills(struct lmn_job *job)
{
    for (uint32_t i = 0; i < job->fill_count; i++) {
        struct lmn__job_fill *fill = &job->fill[i];
        struct lmn_error ignored;

        lmn__page_sink_close(fill->sink);
        lmn__inputs_close(&fill->inputs);
        lmn__outputs_close(&fill->outputs);
        /* A fill that has no receipts left has served. */
        if (fill->journal != NULL && keeps_results(job, fill))
            lmn__journal_close(fill->journal);
        else if (fill->journal != NULL &&
                 lmn__journal_remove(fill->journal, false, &ignored) != LMN_OK)
            lmn__job_note(job, "%.150s", ignored.message);
        fill->journal = NULL;
        while (fill->plan != NULL) {
            struct lmn__job_plan *older = fill->plan->older;

            lmn__plan_free(&fill->plan->plan);
            lmn__free(job->env, fill->plan);
            fill->plan = older;
        }
    }
    for (uint64_t i = 0; i < job->unit_count; i++)
        lmn__free(job->env, job->unit[i].before);
    lmn__free(job->env, job->unit);
    job->unit = NULL;
    job->unit_count = 0;
}

/* The range of `todo` that holds an ordinal. */
static uint64_t range_of(const struct lmn__job_unit *unit, uint64_t ordinal)
{
    uint64_t low = 0, high = unit->fragment->todo_count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (unit->before[middle] <= ordinal)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t lmn__job_rows(const struct lmn__job_unit *unit, struct lmn__ordinals rows,
                       struct lmn__row_range *range)
{
    uint64_t at = range_of(unit, rows.first), into = rows.first - unit->before[at], count = 0;

    while (rows.count > 0) {
        const struct lmn__row_range *todo = &unit->fragment->todo[at++];
        uint64_t taken = todo->count - into < rows.count ? todo->count - into : rows.count;

        range[count++] = (struct lmn__row_range){ todo->first + into, taken };
        rows.count -= taken;
        into = 0;
    }
    return count;
}

/* Ordinals of rows that have receipts, while they are collected. */
struct done {
    struct lmn__ordinals *run;
    uint64_t count, room;
    uint64_t rows, failed;
};

static enum lmn_status add_done(struct lmn_env *env, struct done *done, uint64_t first,
                                uint64_t count, struct lmn_error *err)
{
    struct lmn__ordinals *last = done->count > 0 ? &done->run[done->count - 1] : NULL;

    done->rows += count;
    if (last != NULL && last->first + last->count == first) {
        last->count += count;
        return LMN_OK;
    }
    if (done->count == done->room) {
        uint64_t room = done->room == 0 ? 16 : done->room * 2;
        void *memory = lmn__realloc(env, done->run, room * sizeof *done->run);

        if (memory == NULL)
            return lmn__no_memory(err, "finished rows", room * sizeof *done->run);
        done->run = memory;
        done->room = room;
    }
    done->run[done->count++] = (struct lmn__ordinals){ first, count };
    return LMN_OK;
}

/* The first range of `todo` that ends behind a physical row. */
static uint64_t first_range(const struct lmn__plan_fragment *fragment, uint64_t row)
{
    uint64_t low = 0, high = fragment->todo_count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct lmn__row_range *todo = &fragment->todo[middle];

        if (todo->first + todo->count <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Those rows of a range that are in the unit. */
static enum lmn_status add_range(struct lmn_env *env, const struct lmn__job_unit *unit,
                                 struct lmn__row_range range, struct done *done,
                                 struct lmn_error *err)
{
    const struct lmn__plan_fragment *fragment = unit->fragment;
    uint64_t end = range.first + range.count;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = first_range(fragment, range.first);
         st == LMN_OK && i < fragment->todo_count && fragment->todo[i].first < end; i++) {
        const struct lmn__row_range *todo = &fragment->todo[i];
        uint64_t from = range.first > todo->first ? range.first : todo->first;
        uint64_t to = todo->first + todo->count < end ? todo->first + todo->count : end;

        st = add_done(env, done, unit->before[i] + from - todo->first, to - from, err);
    }
    return st;
}

static bool has_row(const struct lmn__plan_fragment *fragment, uint64_t row)
{
    uint64_t i = first_range(fragment, row);

    return i < fragment->todo_count && fragment->todo[i].first <= row;
}

static enum lmn_status find_done(struct lmn_job *job, const struct lmn__job_unit *unit,
                                 struct done *done, struct lmn_error *err)
{
    const struct lmn__plan_fragment *fragment = unit->fragment;
    const struct lmn__receipt *receipt;
    uint64_t count;
    enum lmn_status st = lmn__journal_receipts(job->fill[unit->fill].journal, fragment->id,
                                               fragment->layout, &receipt, &count, err);

    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        const struct lmn__receipt_error *error = receipt[i].errors.item;

        for (size_t k = 0; st == LMN_OK && k < receipt[i].first.count; k++) {
            struct lmn__row_range range = { receipt[i].first.item[k], receipt[i].count.item[k] };

            st = add_range(job->env, unit, range, done, err);
        }
        for (size_t k = 0; k < receipt[i].errors.count; k++)
            done->failed += has_row(fragment, error[k].row);
    }
    return st;
}

static enum lmn_status count_before(struct lmn_env *env, struct lmn__job_unit *unit,
                                    struct lmn_error *err)
{
    const struct lmn__plan_fragment *fragment = unit->fragment;

    unit->before = lmn__alloc(env, (fragment->todo_count + 1) * sizeof *unit->before);
    if (unit->before == NULL)
        return lmn__no_memory(err, "the rows of a fragment", fragment->todo_count * 8);
    unit->before[0] = 0;
    for (uint64_t i = 0; i < fragment->todo_count; i++)
        unit->before[i + 1] = unit->before[i] + fragment->todo[i].count;
    return LMN_OK;
}

static enum lmn_status add_unit(struct lmn_job *job, struct lmn__job_unit unit,
                                struct lmn_error *err)
{
    struct done done = { 0 };
    uint64_t number;
    enum lmn_status st = count_before(job->env, &unit, err);

    if (st == LMN_OK)
        st = find_done(job, &unit, &done, err);
    unit.since = lmn__journal_since(job->fill[unit.fill].journal, unit.fragment->id,
                                    unit.fragment->layout);
    if (st == LMN_OK) {
        struct lmn__machine_unit machine_unit = { .fill = unit.fill,
                                                  .row_count = unit.fragment->todo_rows,
                                                  .done = done.run,
                                                  .done_count = done.count,
                                                  .done_failed = done.failed };

        lmn__job_add_first(job, &unit, &machine_unit);
        st = lmn__machine_add_unit(job->machine, &machine_unit, &number, err);
    }
    lmn__free(job->env, done.run);
    if (st != LMN_OK) {
        lmn__free(job->env, unit.before);
        return st;
    }
    job->rows_resumed += done.rows;
    job->unit[job->unit_count++] = unit;
    return LMN_OK;
}

static bool has_unit(const struct lmn_job *job, uint32_t fill,
                     const struct lmn__plan_fragment *fragment)
{
    for (uint64_t i = 0; i < job->unit_count; i++) {
        const struct lmn__job_unit *unit = &job->unit[i];

        if (unit->fill == fill && !unit->dropped && unit->fragment->id == fragment->id &&
            unit->fragment->layout == fragment->layout)
            return true;
    }
    return false;
}

enum lmn_status lmn__job_add_units(struct lmn_job *job, uint32_t fill, struct lmn_error *err)
{
    const struct lmn__plan *plan = &job->fill[fill].plan->plan;
    bool again = job->fill[fill].plan->older != NULL;
    uint64_t room = job->unit_count + plan->fragment_count;
    enum lmn_status st = LMN_OK;

    if (room > job->unit_room) {
        void *memory = lmn__realloc(job->env, job->unit, room * sizeof *job->unit);

        if (memory == NULL)
            return lmn__no_memory(err, "the units of a job", room * sizeof *job->unit);
        job->unit = memory;
        job->unit_room = room;
    }
    for (uint64_t i = 0; st == LMN_OK && i < plan->fragment_count; i++) {
        struct lmn__job_unit unit = { .fill = fill,
                                      .version = plan->version,
                                      .fragment = &plan->fragment[i] };

        if (!again || !has_unit(job, fill, unit.fragment))
            st = add_unit(job, unit, err);
    }
    return st;
}
