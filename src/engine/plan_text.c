/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job would do, as JSON. Nothing is written: a journal is looked at only where there is one
 * that nobody holds.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_write.h"
#include "base/text.h"
#include "engine/admission.h"
#include "engine/job.h"

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
                                       .leave_failed = options->leave_failed,
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

enum { CELL_BYTES = 10 }; /* a fingerprint, and the little that the rest of a cell takes */

static enum lmn_status put_function(struct lmn_table *table,
                                    const struct lmn_job_function *function,
                                    const struct lmn_job_options *options,
                                    struct lmn__json_writer *writer, uint64_t *rows, uint64_t *disk,
                                    bool *disk_known, struct lmn_error *err)
{
    struct lmn__outputs outputs = { 0 };
    struct lmn__plan plan = { 0 };
    struct lmn__plan_options how;
    uint64_t version, todo = 0, bytes = 0;
    enum lmn_status st = lmn__job_version(function->version, &version, err);

    if (st == LMN_OK) {
        how = plan_options(function, options, version);
        st = lmn__plan_make(table, &how, &plan, err);
    }
    if (st == LMN_OK)
        st = lmn__outputs_open(&outputs, table, function->output, function->output_count, version,
                               err);
    if (st == LMN_OK) {
        for (uint64_t i = 0; i < plan.fragment_count; i++)
            todo += plan.fragment[i].todo_rows;
        bytes = value_bytes(outputs.layout);
        lmn__json_open(writer, NULL, '{');
        lmn__json_text(writer, "function", function->name != NULL ? function->name : "function");
        lmn__json_open(writer, "columns", '[');
        for (uint32_t i = 0; i < function->output_count; i++)
            lmn__json_text(writer, NULL, function->output[i]);
        lmn__json_close(writer, ']');
        lmn__json_number(writer, "rows", plan.counts.rows);
        lmn__json_number(writer, "matching", plan.counts.matching);
        lmn__json_number(writer, "todo", todo);
        lmn__json_number(writer, "pending", plan.counts.pending);
        lmn__json_number(writer, "failed", plan.counts.failed);
        lmn__json_number(writer, "stale", plan.counts.stale);
        lmn__json_number(writer, "finished", plan.counts.finished);
        lmn__json_number(writer, "kept", plan.counts.kept);
        lmn__json_number(writer, "fragments", plan.fragment_count);
        lmn__json_close(writer, '}');
    }
    *rows += todo;
    *disk += todo * (bytes + CELL_BYTES * function->output_count);
    *disk_known = *disk_known && bytes != 0;
    lmn__outputs_close(&outputs);
    lmn__plan_free(&plan);
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
                                struct lmn__json_writer *writer, struct lmn_error *err)
{
    struct lmn__admission sum;
    uint64_t rows = 0, disk = 0;
    bool disk_known = true;
    enum lmn_status st = LMN_OK;

    lmn__json_open(writer, NULL, '{');
    lmn__json_number(writer, "version", lmn_table_version(table));
    lmn__json_open(writer, "functions", '[');
    for (uint32_t i = 0; st == LMN_OK && i < function_count; i++) {
        st = put_function(table, &function[i], options, writer, &rows, &disk, &disk_known, err);
        if (st != LMN_OK)
            lmn__fail_within(err, st, "function \"%.100s\"",
                             function[i].name != NULL ? function[i].name : "function");
    }
    lmn__json_close(writer, ']');
    if (st == LMN_OK)
        st = lmn__admission_add(function, function_count, options, rows, &sum, err);
    if (st != LMN_OK)
        return st;
    lmn__json_number(writer, "todo", rows);
    lmn__admission_write(&sum, writer);
    put_disk(table, writer, disk, disk_known);
    lmn__json_close(writer, '}');
    return LMN_OK;
}

enum lmn_status lmn_job_plan(struct lmn_table *table, const struct lmn_job_function *function,
                             uint32_t function_count, const struct lmn_job_options *options,
                             char **json_out, struct lmn_error *err)
{
    static const struct lmn_job_options none;
    struct lmn__json_writer writer;
    struct lmn__buf buf;
    enum lmn_status st;

    *json_out = NULL;
    if (function_count == 0)
        return lmn_fail(err, LMN_E_INVALID, "a job without functions");
    lmn__buf_init(&buf, table->env, 0);
    writer = (struct lmn__json_writer){ &buf, false };
    st = put_plan(table, function, function_count, options != NULL ? options : &none, &writer, err);
    if (st == LMN_OK)
        st = lmn__buf_status(&buf, "a plan", err);
    if (st == LMN_OK) {
        *json_out = lmn__text_new(table->env, buf.data, buf.len);
        if (*json_out == NULL)
            st = lmn__no_memory(err, "a text", buf.len);
    }
    lmn__buf_deinit(&buf);
    return st;
}
