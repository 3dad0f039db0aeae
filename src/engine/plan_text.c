/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job would do, as JSON. Nothing is written: a journal is read as it is, whoever drives it.
 */
#include <stdio.h>
#include <string.h>

#include <leman/table_refill.h>

#include "base/error.h"
#include "base/json_write.h"
#include "base/math.h"
#include "base/text.h"
#include "engine/admission.h"
#include "engine/job.h"
#include "job/kept_pages.h"
#include "job/machine.h"
#include "table/ledger.h"

/* What the functions come to together. */
struct sums {
    uint64_t rows; /* that are not computed yet */
    uint64_t disk;
    bool disk_known;
    struct lmn__buf rest; /* of rows, by fragment of a function: a number of 8 bytes each */
};

static struct lmn__plan_options plan_options(const struct lmn_job_function *function,
                                             const struct lmn_job_options *options,
                                             uint64_t version)
{
    return (struct lmn__plan_options){ .output = function->output,
                                       .output_count = function->output_count,
                                       .input = function->input,
                                       .input_count = function->input_count,
                                       .function = version,
                                       .where = options->where,
                                       .recompute = options->recompute,
                                       .leave_failed = options->leave_failed || function->new_rows,
                                       .leave_stale = function->new_rows,
                                       .limited = options->limited,
                                       .rows_max = options->rows_max };
}

/* Bytes that a value of this type takes, about; 0: not known. */
static uint64_t value_bytes(const struct lmn__layout *layout)
{
    uint64_t bytes = 0;

    switch (layout->kind) {
    case LMN__LAYOUT_FIXED:
        return lmn__bits_bytes(layout->bits);
    case LMN__LAYOUT_FIXED_LIST:
        return layout->dimension * value_bytes(layout->child[0]);
    case LMN__LAYOUT_STRUCT:
        for (uint32_t i = 0; i < layout->child_count; i++) {
            uint64_t child = value_bytes(layout->child[i]);

            if (child == 0)
                return 0;
            bytes += child;
        }
        return bytes;
    default:
        return 0;
    }
}

/* A refill that is not begun yet has all rows to compute. */
static enum lmn_status make_plan(struct lmn_table *table, const struct lmn_job_function *function,
                                 struct lmn__plan_options *how, struct lmn__plan *plan_out,
                                 struct lmn_error *err)
{
    const char *refill[1];
    char *name = NULL;
    enum lmn_status st = LMN_OK;

    if (function->refill)
        st = lmn_table_refill_name(table, function->output[0], &name, err);
    if (st != LMN_OK)
        return st;
    how->recompute = how->recompute || function->refill;
    if (name != NULL) {
        refill[0] = name;
        how->output = refill;
        how->output_count = 1;
        how->recompute = false;
    }
    st = lmn__plan_make(table, how, plan_out, err);
    lmn_text_free(name);
    return st;
}

enum { CELL_BYTES = 10 }; /* a fingerprint, and the little that the rest of a cell takes */

/* Rows of a range that are to be computed. */
static uint64_t count_todo(const struct lmn__plan_fragment *fragment, uint64_t first,
                           uint64_t count)
{
    uint64_t end = first + count, rows = 0;

    for (uint64_t i = 0; i < fragment->todo_count && fragment->todo[i].first < end; i++) {
        uint64_t to = lmn__min_u64(end, fragment->todo[i].first + fragment->todo[i].count);
        uint64_t from = first > fragment->todo[i].first ? first : fragment->todo[i].first;

        rows += to > from ? to - from : 0;
    }
    return rows;
}

/* Rows of the plan that an earlier run has computed and not committed. */
static enum lmn_status count_resumed(struct lmn_table *table,
                                     const struct lmn_job_function *function, uint64_t version,
                                     const struct lmn__plan *plan, struct sums *sums,
                                     uint64_t *rows_out, struct lmn_error *err)
{
    struct lmn__fill_key key = { .version = version, .column_count = function->output_count * 2 };
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    const struct lmn__node *column, *ledger;
    struct lmn__journal *journal = NULL;
    enum lmn_status st = lmn__ledger_find(manifest, function->output[0], &column, &ledger, err);

    *rows_out = 0;
    if (st == LMN_OK) {
        key.field_id = column->field->id;
        st = lmn__journal_view(table->store, &key, &journal, err);
    }
    for (uint64_t i = 0; st == LMN_OK && i < plan->fragment_count; i++) {
        const struct lmn__receipt *receipt;
        uint64_t count = 0, rest = plan->fragment[i].todo_rows;

        if (journal != NULL)
            st = lmn__journal_receipts(journal, plan->fragment[i].id, plan->fragment[i].layout,
                                       &receipt, &count, err);
        for (uint64_t k = 0; st == LMN_OK && k < count; k++) {
            for (size_t r = 0; r < receipt[k].first.count; r++)
                rest -= count_todo(&plan->fragment[i], receipt[k].first.item[r],
                                   receipt[k].count.item[r]);
        }
        *rows_out += plan->fragment[i].todo_rows - rest;
        lmn__buf_put(&sums->rest, &rest, sizeof rest);
    }
    lmn__journal_close(journal);
    lmn__manifest_release(manifest);
    return st;
}

/*
 * Bytes of the columns in fragments of which only some rows are computed: they are copied, or
 * encoded again, with the others.
 */
static enum lmn_status count_rewritten(struct lmn_table *table,
                                       const struct lmn_job_function *function,
                                       const struct lmn__plan *plan, uint64_t *bytes_out,
                                       struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn__fill_columns columns = { 0 };
    struct lmn__arena arena;
    enum lmn_status st = lmn__fill_columns_init(&columns, manifest, function->output,
                                                function->output_count, -1, err);

    *bytes_out = 0;
    lmn__arena_init(&arena, table->env, 0);
    for (uint64_t i = 0; st == LMN_OK && i < plan->fragment_count; i++) {
        uint64_t index;

        if (plan->fragment[i].whole)
            continue;
        st = lmn__manifest_find(manifest, plan->fragment[i].id, &arena, &index, err);
        for (uint32_t k = 0; st == LMN_OK && k < columns.count; k++) {
            struct lmn__kept_pages kept = { 0 };

            st = lmn__kept_pages_init(&kept, table, &columns, index, k, NULL, 0, err);
            if (st == LMN_OK && kept.column != NULL)
                *bytes_out += kept.column->bytes;
            lmn__kept_pages_deinit(&kept);
        }
    }
    lmn__arena_deinit(&arena);
    lmn__fill_columns_deinit(&columns);
    lmn__manifest_release(manifest);
    return st;
}

static void put_counts(const struct lmn_job_function *function, const struct lmn__plan *plan,
                       uint64_t todo, uint64_t resumed, uint64_t rewritten,
                       struct lmn__json_writer *writer)
{
    const struct lmn__plan_counts *counts = &plan->counts;

    lmn__json_open(writer, NULL, '{');
    lmn__json_text(writer, "function", function->name != NULL ? function->name : "function");
    lmn__json_open(writer, "columns", '[');
    for (uint32_t i = 0; i < function->output_count; i++)
        lmn__json_text(writer, NULL, function->output[i]);
    lmn__json_close(writer, ']');
    lmn__json_number(writer, "rows", counts->rows);
    lmn__json_number(writer, "matching", counts->matching);
    lmn__json_number(writer, "todo", todo);
    lmn__json_number(writer, "resumed", resumed);
    lmn__json_number(writer, "pending", counts->pending);
    lmn__json_number(writer, "failed", counts->failed);
    lmn__json_number(writer, "stale", counts->stale);
    lmn__json_number(writer, "finished", counts->finished);
    lmn__json_number(writer, "kept", counts->kept);
    lmn__json_number(writer, "waiting", counts->waiting);
    lmn__json_number(writer, "other", counts->other);
    lmn__json_number(writer, "fragments", plan->fragment_count);
    lmn__json_number(writer, "rewritten_bytes", rewritten);
    lmn__json_close(writer, '}');
}

static enum lmn_status put_function(struct lmn_table *table,
                                    const struct lmn_job_function *function,
                                    const struct lmn_job_options *options,
                                    struct lmn__json_writer *writer, struct sums *sums,
                                    struct lmn_error *err)
{
    struct lmn__outputs outputs = { 0 };
    struct lmn__plan plan = { 0 };
    struct lmn__plan_options how;
    uint64_t version, todo = 0, bytes = 0, resumed = 0, rewritten = 0;
    enum lmn_status st = lmn__job_version(function->version, &version, err);

    if (st == LMN_OK) {
        how = plan_options(function, options, version);
        st = make_plan(table, function, &how, &plan, err);
    }
    if (st == LMN_OK)
        st = count_resumed(table, function, version, &plan, sums, &resumed, err);
    if (st == LMN_OK)
        st = count_rewritten(table, function, &plan, &rewritten, err);
    if (st == LMN_OK)
        st = lmn__outputs_open(&outputs, table, function->output, function->output_count, version,
                               err);
    if (st == LMN_OK) {
        for (uint64_t i = 0; i < plan.fragment_count; i++)
            todo += plan.fragment[i].todo_rows;
        bytes = value_bytes(outputs.layout);
        put_counts(function, &plan, todo, resumed, rewritten, writer);
    }
    sums->rows += todo - resumed;
    sums->disk += rewritten + (todo - resumed) * (bytes + CELL_BYTES * function->output_count);
    sums->disk_known = sums->disk_known && bytes != 0;
    lmn__outputs_close(&outputs);
    lmn__plan_free(&plan);
    return st;
}

/* How many tasks the job's machine makes of these rows while it does not know how long one takes.
 */
static enum lmn_status count_tasks(struct lmn_env *env, const struct sums *sums,
                                   const struct lmn_job_function *function,
                                   const struct lmn__admission *admission, uint64_t *tasks_out,
                                   struct lmn_error *err)
{
    const struct lmn__machine_options options = { .worker_count = admission->workers,
                                                  .slots_per_worker = admission->threads,
                                                  .task_rows_min = function->batch_rows };
    struct lmn__machine *machine;
    enum lmn_status st = lmn__machine_new(env, &options, &machine, err);

    *tasks_out = 0;
    for (size_t at = 0; st == LMN_OK && at < sums->rest.len; at += sizeof(uint64_t)) {
        struct lmn__machine_unit unit = { 0 };
        uint64_t number;

        memcpy(&unit.row_count, sums->rest.data + at, sizeof unit.row_count);
        st = lmn__machine_add_unit(machine, &unit, &number, err);
    }
    if (st == LMN_OK)
        *tasks_out = lmn__machine_count_tasks(machine);
    lmn__machine_free(machine);
    return st;
}

static void put_disk(struct lmn_table *table, struct lmn__json_writer *writer, uint64_t disk,
                     bool known)
{
    uint64_t free_bytes;

    lmn__json_open(writer, "disk", '{');
    if (known)
        lmn__json_number(writer, "needed_bytes", disk);
    else
        lmn__json_null(writer, "needed_bytes");
    if (lmn__host_disk_free(table->store->name, &free_bytes))
        lmn__json_number(writer, "free_bytes", free_bytes);
    else
        lmn__json_null(writer, "free_bytes");
    lmn__json_close(writer, '}');
}

static enum lmn_status put_plan(struct lmn_table *table, const struct lmn_job_function *function,
                                uint32_t function_count, const struct lmn_job_options *options,
                                struct lmn__json_writer *writer, struct sums *sums,
                                struct lmn_error *err)
{
    struct lmn__admission admission;
    uint64_t tasks;
    enum lmn_status st = LMN_OK;

    lmn__json_open(writer, NULL, '{');
    lmn__json_number(writer, "version", lmn_table_version(table));
    lmn__json_open(writer, "functions", '[');
    for (uint32_t i = 0; st == LMN_OK && i < function_count; i++) {
        st = put_function(table, &function[i], options, writer, sums, err);
        if (st != LMN_OK)
            lmn__fail_within(err, st, "function \"%.100s\"",
                             function[i].name != NULL ? function[i].name : "function");
    }
    lmn__json_close(writer, ']');
    if (st == LMN_OK)
        st = lmn__buf_status(&sums->rest, "a plan", err);
    if (st == LMN_OK)
        st = lmn__admission_add(function, function_count, options, sums->rows, &admission, err);
    if (st == LMN_OK)
        st = count_tasks(table->env, sums, function, &admission, &tasks, err);
    if (st != LMN_OK)
        return st;
    lmn__json_number(writer, "todo", sums->rows);
    lmn__json_number(writer, "tasks", tasks);
    lmn__admission_write(&admission, writer);
    put_disk(table, writer, sums->disk, sums->disk_known);
    lmn__json_close(writer, '}');
    return LMN_OK;
}

enum lmn_status lmn_job_plan(struct lmn_table *table, const struct lmn_job_function *function,
                             uint32_t function_count, const struct lmn_job_options *options,
                             char **json_out, struct lmn_error *err)
{
    static const struct lmn_job_options none;
    struct sums sums = { .disk_known = true };
    struct lmn__json_writer writer;
    struct lmn__buf buf;
    enum lmn_status st;

    *json_out = NULL;
    if (function_count == 0)
        return lmn_fail(err, LMN_E_INVALID, "a job without functions");
    lmn__buf_init(&buf, table->env, 0);
    writer = (struct lmn__json_writer){ &buf, false };
    lmn__buf_init(&sums.rest, table->env, 0);
    st = put_plan(table, function, function_count, options != NULL ? options : &none, &writer,
                  &sums, err);
    if (st == LMN_OK)
        st = lmn__buf_status(&buf, "a plan", err);
    if (st == LMN_OK) {
        *json_out = lmn__text_new(table->env, buf.data, buf.len);
        if (*json_out == NULL)
            st = lmn__no_memory(err, "a text", buf.len);
    }
    lmn__buf_deinit(&sums.rest);
    lmn__buf_deinit(&buf);
    return st;
}
