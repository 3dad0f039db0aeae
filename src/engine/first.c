/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows of a job are committed before the rest of their fragment.
 *
 * A fragment is one file, so its rows come into a version together; a large one is waited for. The
 * job's first fragment may have a first part, which is in a version early and is copied into the
 * fragment's file at the end: a 64th of the rows, 256 at most, and with whole calls of each worker
 * a 50th at most, so that 1.02 times the column is written. There is none in a fragment that its
 * first result says to become small, in one that keeps values or results of before, whose file
 * would be copied twice, and in a column that is computed again, where rows of two kinds would be
 * read side by side.
 */
#include "engine/job.h"
#include "format/projection.h"
#include "table/value_size.h"

enum { ROWS_MAX = 256, PART = 64, PART_MIN = 50 };

/* A fragment whose results have less is committed before anybody has missed it. */
static const uint64_t LARGE_BYTES = 256ull << 20;

/* May the fragment become large? Known ahead for columns whose values all have one size. */
static bool may_be_large(const struct lmn_job *job, const struct lmn__job_unit *unit)
{
    const struct lmn_job_function *function = &job->fill[unit->fill].function;
    struct lmn__projection outputs;
    uint64_t row_bytes = 0, bytes;
    bool fixed = true;

    if (lmn__projection_init(&outputs, job->env, &job->named->schema, function->output,
                             function->output_count, LMN_BLOB_DESCRIPTORS, NULL) != LMN_OK)
        return false;
    for (uint32_t i = 0; fixed && i < outputs.root->child_count; i++) {
        fixed = lmn__value_size_fixed(outputs.root->child[i]->node, outputs.layout->child[i],
                                      &bytes);
        row_bytes += bytes;
    }
    lmn__projection_deinit(&outputs);
    return !fixed || (double)row_bytes * (double)unit->fragment->todo_rows >= (double)LARGE_BYTES;
}

/* Rows that each slot is given of the first part: whole calls, and one at least. */
static uint64_t share_of(const struct lmn_job *job, const struct lmn__job_unit *unit)
{
    uint64_t batch = job->fill[unit->fill].function.batch_rows, rows = unit->fragment->todo_rows;
    uint64_t slots = (uint64_t)job->worker_count * job->threads;
    uint64_t share = (rows / PART < ROWS_MAX ? rows / PART : ROWS_MAX) / slots;

    batch = batch > 0 ? batch : 1;
    return share > batch ? share - share % batch : batch;
}

void lmn__job_add_first(const struct lmn_job *job, const struct lmn__job_unit *unit,
                        struct lmn__machine_unit *machine_unit)
{
    const struct lmn_job_options *options = &job->options;
    bool asked = options->first_commit == LMN_JOB_FIRST_COMMIT_ALWAYS;
    uint64_t slots = (uint64_t)job->worker_count * job->threads, rows;

    if (options->first_commit == LMN_JOB_FIRST_COMMIT_NEVER || options->recompute ||
        job->fill[unit->fill].function.refill || job->unit_count > 0 || !unit->fragment->whole ||
        machine_unit->done_count > 0)
        return;
    rows = slots * share_of(job, unit);
    if (rows >= unit->fragment->todo_rows ||
        (!asked && (rows > unit->fragment->todo_rows / PART_MIN || !may_be_large(job, unit))))
        return;
    machine_unit->first_rows = rows;
    machine_unit->first_bytes_min = asked ? 0 : LARGE_BYTES;
}
