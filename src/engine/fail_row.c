/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row whose call ends its worker each time gets a failed cell, which the driver itself computes
 * and enters: it reads the row for its fingerprint and for the record of the error, and writes a
 * null for its value.
 */
#include <stdio.h>
#include <string.h>

#include "arrow/show.h"
#include "base/json_write.h"
#include "engine/cover.h"
#include "engine/job.h"
#include "job/sink.h"

/* A lmn__grant_fn; the driver asks itself. */
static enum lmn_status grant(void *context, enum lmn__grant_file file, uint64_t bytes,
                             uint64_t *position_out, struct lmn_error *err)
{
    struct lmn__job_fill *fill = context;

    return lmn__journal_grant(fill->journal, file, fill->own_fragment, fill->own_layout, bytes,
                              position_out, err);
}

static void close_own(struct lmn__job_fill *fill)
{
    lmn__page_sink_close(fill->sink);
    lmn__inputs_close(&fill->inputs);
    lmn__outputs_close(&fill->outputs);
    fill->sink = NULL;
}

/* Be ready to read rows of a version and to write cells. */
static enum lmn_status open_own(struct lmn_job *job, struct lmn__job_fill *fill, uint64_t version,
                                struct lmn_error *err)
{
    const struct lmn_table_options at = { .version = version };
    const struct lmn_job_function *function = &fill->function;
    const char *const *output, *const *input;
    struct lmn_table *table;
    struct lmn__arena arena;
    enum lmn_status st;

    if (fill->sink != NULL && fill->own_version == version)
        return LMN_OK;
    close_own(fill);
    st = lmn_table_open(job->given->store, &at, &table, err);
    if (st != LMN_OK)
        return st;
    lmn__arena_init(&arena, job->env, 0);
    st = lmn__job_follow_names(job, table, function, &arena, &output, &input, err);
    if (st == LMN_OK)
        st = lmn__inputs_open(&fill->inputs, table, input, function->input_count,
                              LMN__INPUT_BLOBS_LAZY, err);
    if (st == LMN_OK)
        st = lmn__outputs_open(&fill->outputs, table, output, function->output_count, fill->version,
                               err);
    lmn__arena_deinit(&arena);
    if (st == LMN_OK) {
        struct lmn__page_sink_options options = {
            .store = table->store,
            .dir = lmn__journal_dir(fill->journal),
            .schema = &fill->outputs.all,
            .file_version = fill->outputs.file_version,
            .grant = grant,
            .context = fill,
            .unsynced = job->options.unsynced,
        };

        st = lmn__page_sink_open(&options, &fill->sink, err);
    }
    lmn_table_release(table);
    fill->own_version = version;
    return st;
}

/* The values of the only row, without those of secrets. Of blobs only sketches are there. */
static enum lmn_status show_inputs(struct lmn_job *job, const struct lmn__inputs *inputs,
                                   const struct lmn__input_rows *rows, struct lmn__buf *shown,
                                   struct lmn_error *err)
{
    struct ArrowArray array;
    struct lmn__buf plain;
    enum lmn_status st = lmn__input_rows_slice(rows, 0, 1, &array, err);

    if (st != LMN_OK)
        return st;
    lmn__buf_init(&plain, job->env, 0);
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct ArrowSchema *schema = inputs->schema.children[i];

        lmn__buf_printf(&plain, "%s%.100s=", i > 0 ? ", " : "", schema->name);
        if (lmn__inputs_is_blob(inputs, i))
            lmn__buf_printf(&plain, "<blob>");
        else
            lmn__show_value(schema, array.children[i], 0, &plain);
    }
    st = lmn__buf_status(&plain, "an error record", err);
    if (st == LMN_OK)
        lmn__cover_put(job->options.secret, (struct lmn__span){ plain.data, plain.len }, shown);
    lmn__buf_put_u8(shown, 0);
    if (st == LMN_OK)
        st = lmn__buf_status(shown, "an error record", err);
    lmn__buf_deinit(&plain);
    array.release(&array);
    return st;
}

/* What becomes of the error record: how the worker ended, and what the row was given. */
static enum lmn_status describe(const char *death, const struct lmn__job_fill *fill,
                                uint64_t row_id, const char *inputs, struct lmn__buf *record,
                                struct lmn_error *err)
{
    const char *type = strncmp(death, "timeout", 7) == 0  ? "TimeoutError"
                       : strncmp(death, "memory", 6) == 0 ? "MemoryError"
                                                          : "WorkerDied";
    struct lmn__json_writer writer = { record, false };
    char repeat[160];

    snprintf(repeat, sizeof repeat, "%.100s.test(table, row_ids=[%llu])", fill->function.name,
             (unsigned long long)row_id);
    lmn__json_open(&writer, NULL, '{');
    lmn__json_text(&writer, "type", type);
    lmn__json_text(&writer, "message", death);
    lmn__json_text(&writer, "column", fill->column[0]);
    lmn__json_number(&writer, "row", row_id);
    lmn__json_text(&writer, "inputs", inputs);
    lmn__json_text(&writer, "repeat", repeat);
    lmn__json_close(&writer, '}');
    return lmn__buf_status(record, "an error record", err);
}

static enum lmn_status write_cell(struct lmn_job *job, struct lmn__job_fill *fill,
                                  const struct lmn__job_unit *unit, struct lmn__row_range row,
                                  const char *death, struct lmn__buf *receipt,
                                  struct lmn_error *err)
{
    struct lmn__receipt_error error = { .row = row.first };
    struct lmn__buf record, shown;
    struct lmn__input_rows rows = { 0 };
    struct ArrowArray cell = { 0 };
    struct lmn__page_sink_rows written = { .fragment_id = unit->fragment->id,
                                           .layout = unit->fragment->layout,
                                           .range = &row,
                                           .range_count = 1,
                                           .array = &cell,
                                           .array_count = 1,
                                           .failed_count = 1,
                                           .error = &error,
                                           .error_count = 1 };
    enum lmn_status st = lmn__inputs_enter(&fill->inputs, unit->fragment->id, err);

    lmn__buf_init(&record, job->env, 0);
    lmn__buf_init(&shown, job->env, 0);
    if (st == LMN_OK)
        st = lmn__inputs_read(&fill->inputs, &row, 1, &rows, err);
    if (st == LMN_OK)
        st = show_inputs(job, &fill->inputs, &rows, &shown, err);
    if (st == LMN_OK)
        st = describe(death, fill, rows.row_id[0], (const char *)shown.data, &record, err);
    error.record = (struct lmn__span){ record.data, record.len };
    if (st == LMN_OK)
        st = lmn__outputs_failed(&fill->outputs, 1, rows.fingerprint, &cell, err);
    fill->own_fragment = unit->fragment->id;
    fill->own_layout = unit->fragment->layout;
    if (st == LMN_OK)
        lmn__page_sink_begin(fill->sink, unit->parts);
    if (st == LMN_OK)
        st = lmn__page_sink_write(fill->sink, &written, receipt, err);
    if (cell.release != NULL)
        cell.release(&cell);
    lmn__input_rows_free(&rows);
    lmn__buf_deinit(&shown);
    lmn__buf_deinit(&record);
    return st;
}

enum lmn_status lmn__job_fail_row(struct lmn_job *job, const struct lmn__action *action,
                                  struct lmn_error *err)
{
    const struct lmn__job_unit *unit = &job->unit[action->unit];
    struct lmn__job_fill *fill = &job->fill[unit->fill];
    struct lmn__buf receipt;
    struct lmn__row_range row;
    enum lmn_status st;

    lmn__job_rows(unit, action->rows, &row);
    lmn__buf_init(&receipt, job->env, 0);
    st = open_own(job, fill, unit->version, err);
    if (st == LMN_OK)
        st = write_cell(job, fill, unit, row, job->worker[action->worker].death, &receipt, err);
    if (st == LMN_OK)
        st = lmn__job_enter(job, unit->fill, action->receipt,
                            (struct lmn__span){ receipt.data, receipt.len }, err);
    lmn__buf_deinit(&receipt);
    return st;
}
