/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task is read in chunks of about CHUNK_BYTES, which the processor's caches hold, or larger ones
 * where calls take so long that this does not matter; called in batches that are slices of a chunk;
 * and told in results of many batches. The size of a batch begins small and follows the time that
 * calls take: towards CALL_NS, eight times as many rows at most from one call to the next, so that
 * a cheap function is at its full size after a few calls and an expensive one never meets a large
 * batch.
 *
 * A result ends after RESULT_NS, RESULT_BYTES or the function's own number of rows, whichever comes
 * first, at the end of a batch.
 */
#include <string.h>

#include "arrow/compose.h"
#include "base/math.h"
#include "engine/serving.h"
#include "os/clock.h"

#define NS_PER_S 1000000000ull

static const uint64_t CALL_NS = NS_PER_S / 4;
static const double SLOW_NS = 1e7; /* calls of that time have no use for caches */
static const uint64_t RESULT_NS = 10 * NS_PER_S;

enum {
    BATCH_ROWS_FIRST = 32,
    GROWTH_MAX = 8,
    BATCH_BYTES_MAX = 8 << 20,
    CHUNK_BYTES = 2 << 20,
    CHUNK_BYTES_SLOW = 8 << 20,
    CHUNK_ROWS_MAX = 1 << 17,
    RESULT_BYTES = 64 << 20,
    RECORD_BYTES_MAX = 64 << 10
};

/* Where in the rows of a task. */
struct cursor {
    size_t range;
    uint64_t into; /* rows of that range that are behind */
};

/* What has been computed and not been told. */
struct pending {
    struct lmn__arena arena; /* of records */
    struct ArrowArray *array;
    uint64_t array_count, array_room;
    struct lmn__receipt_error *error;
    uint64_t error_count, error_room;
    uint64_t ordinal, row_count, bytes, failed_count;
    uint64_t since_ns;
    struct cursor start;
};

struct run {
    struct lmn__serving *serving;
    struct lmn__serving_fill *fill;
    const struct lmn__task_message *task;
    struct lmn__row_range *range; /* room for as many as the task has */
    struct cursor next;           /* to be read */
    uint64_t row_count, rows_read, rows_called;
    uint64_t *failed; /* rows of the last call */
    uint64_t failed_room;
    struct pending pending;
};

/* The ranges of the next `rows` rows from the cursor on, which moves behind them. */
static uint64_t take_ranges(const struct lmn__task_message *task, struct cursor *cursor,
                            uint64_t rows, struct lmn__row_range *range)
{
    uint64_t count = 0;

    while (rows > 0 && cursor->range < task->first.count) {
        uint64_t left = task->count.item[cursor->range] - cursor->into;
        uint64_t taken = left < rows ? left : rows;

        range[count++] = (struct lmn__row_range){ task->first.item[cursor->range] + cursor->into,
                                                  taken };
        rows -= taken;
        cursor->into += taken;
        if (taken == left) {
            cursor->range++;
            cursor->into = 0;
        }
    }
    return count;
}

static bool must_stop(const struct run *run)
{
    return atomic_load(&run->serving->page->stop) == run->task->task;
}

static void pending_reset(struct run *run)
{
    struct pending *pending = &run->pending;

    for (uint64_t i = 0; i < pending->array_count; i++)
        lmn__array_release(&pending->array[i]);
    lmn__arena_deinit(&pending->arena);
    lmn__arena_init(&pending->arena, run->serving->env, 0);
    pending->ordinal += pending->row_count;
    pending->array_count = pending->error_count = 0;
    pending->row_count = pending->bytes = pending->failed_count = 0;
}

static enum lmn_status send_result(struct run *run, struct lmn__span receipt, struct lmn_error *err)
{
    const struct pending *pending = &run->pending;
    struct lmn__result_message result = { .task = run->task->task,
                                          .ordinal = pending->ordinal,
                                          .count = pending->row_count,
                                          .failed_count = pending->failed_count,
                                          .bytes = pending->bytes,
                                          .receipt = receipt };
    struct lmn__channel *channel = &run->serving->channel;
    enum lmn_status st = lmn__channel_put(channel, LMN__MESSAGE_RESULT, &lmn__result_pb, &result,
                                          err);

    return st == LMN_OK ? lmn__channel_flush(channel, true, err) : st;
}

/* Write what is pending and tell it. */
static enum lmn_status cut(struct run *run, struct lmn_error *err)
{
    struct pending *pending = &run->pending;
    uint64_t began_ns = lmn__clock_monotonic_ns();
    struct lmn__page_sink_rows rows = {
        .fragment_id = run->task->fragment_id,
        .layout = run->task->layout,
        .range = run->range,
        .gaps_are_dead = run->task->gaps_are_dead,
        .array = pending->array,
        .array_count = pending->array_count,
        .failed_count = pending->failed_count,
        .error = pending->error,
        .error_count = pending->error_count,
    };
    struct lmn__buf receipt;
    enum lmn_status st;

    if (pending->row_count == 0)
        return LMN_OK;
    atomic_store(&run->serving->page->phase, LMN__PHASE_WRITE);
    rows.range_count = take_ranges(run->task, &pending->start, pending->row_count, run->range);
    lmn__buf_init(&receipt, run->serving->env, 0);
    st = lmn__page_sink_write(run->fill->sink, &rows, &receipt, err);
    if (st == LMN_OK)
        st = send_result(run, (struct lmn__span){ receipt.data, receipt.len }, err);
    lmn__buf_deinit(&receipt);
    pending_reset(run);
    atomic_fetch_add(&run->serving->page->write_ns, lmn__clock_monotonic_ns() - began_ns);
    return st;
}

/* Room for one more item of an array that doubles. */
static enum lmn_status grow(struct lmn_env *env, void **item, uint64_t count, uint64_t *room,
                            size_t bytes, struct lmn_error *err)
{
    uint64_t more = *room == 0 ? 16 : *room * 2;
    void *memory;

    if (count < *room)
        return LMN_OK;
    while (more <= count)
        more *= 2;
    memory = lmn__realloc(env, *item, more * bytes);
    if (memory == NULL)
        return lmn__no_memory(err, "results", more * bytes);
    *item = memory;
    *room = more;
    return LMN_OK;
}

/* Keep the records of the rows that a call says have failed, and list the rows. */
static enum lmn_status keep_errors(struct run *run, const struct lmn__input_rows *rows,
                                   uint64_t first, uint64_t count,
                                   const struct lmn_call_result *result, struct lmn_error *err)
{
    struct pending *pending = &run->pending;
    struct lmn_env *env = run->serving->env;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < result->error_count; i++) {
        const struct lmn_call_error *error = &result->error[i];
        size_t len = error->record != NULL ? strlen(error->record) : 0;
        char *record;

        if (error->row >= count || (i > 0 && error->row <= result->error[i - 1].row))
            return lmn_fail(err, LMN_E_UDF,
                            "row %llu of a call of %llu rows is said to have failed",
                            (unsigned long long)error->row, (unsigned long long)count);
        st = grow(env, (void **)&run->failed, i, &run->failed_room, sizeof *run->failed, err);
        if (st == LMN_OK)
            st = grow(env, (void **)&pending->error, pending->error_count, &pending->error_room,
                      sizeof *pending->error, err);
        if (st != LMN_OK)
            return st;
        record = lmn__arena_strndup(&pending->arena, error->record,
                                    len < RECORD_BYTES_MAX ? len : RECORD_BYTES_MAX);
        if (record == NULL)
            return lmn__arena_fail(&pending->arena, "error records", err);
        run->failed[i] = error->row;
        pending->error[pending->error_count++] = (struct lmn__receipt_error){
            .row = rows->physical[first + error->row],
            .record = { (const uint8_t *)record, strlen(record) },
        };
    }
    pending->failed_count += result->error_count;
    return st;
}

/* Take over what a call gave. */
static enum lmn_status keep_result(struct run *run, const struct lmn__input_rows *rows,
                                   uint64_t first, uint64_t count, struct lmn_call_result *result,
                                   struct lmn_error *err)
{
    struct pending *pending = &run->pending;
    const struct lmn__outputs *outputs = &run->fill->outputs;
    enum lmn_status st = keep_errors(run, rows, first, count, result, err);

    if (st == LMN_OK)
        st = grow(run->serving->env, (void **)&pending->array, pending->array_count,
                  &pending->array_room, sizeof *pending->array, err);
    if (st != LMN_OK) {
        lmn__array_release(&result->output);
        return st;
    }
    st = lmn__outputs_compose(outputs, &result->output, count, run->failed, result->error_count,
                              rows->fingerprint + first, &pending->array[pending->array_count],
                              err);
    if (st != LMN_OK)
        return st;
    pending->bytes += lmn__array_bytes(&pending->array[pending->array_count++], &outputs->all);
    pending->row_count += count;
    return LMN_OK;
}

static enum lmn_status call(struct run *run, const struct lmn__input_rows *rows, uint64_t first,
                            uint64_t count, uint64_t *ns_out, struct lmn_error *err)
{
    const struct lmn_worker_ops *ops = run->serving->ops;
    struct lmn__page *page = run->serving->page;
    struct lmn_call_result result = { 0 };
    struct ArrowArray input = { 0 };
    struct lmn_call function_call = { .schema = &run->fill->inputs.schema,
                                      .input = &input,
                                      .row_id = rows->row_id + first,
                                      .row_count = count,
                                      .output = &run->fill->outputs.values };
    uint64_t began_ns = lmn__clock_monotonic_ns();
    enum lmn_status st = lmn__input_rows_slice(rows, first, count, &input, err);

    *ns_out = 0;
    if (st != LMN_OK)
        return st;
    atomic_store(&page->phase, LMN__PHASE_CALL);
    atomic_store(&page->call_first, run->task->ordinal + run->rows_called);
    atomic_store(&page->call_count, count);
    atomic_store(&page->call_began_ns, began_ns);
    st = ops->apply(ops->context, &function_call, &result, err);
    atomic_store(&page->call_began_ns, 0);
    lmn__array_release(&input);
    *ns_out = lmn__clock_monotonic_ns() - began_ns;
    atomic_fetch_add(&page->call_ns, *ns_out);
    if (st != LMN_OK)
        return st;
    st = keep_result(run, rows, first, count, &result, err);
    run->rows_called += count;
    atomic_store(&page->call_first, run->task->ordinal + run->rows_called);
    atomic_fetch_add(&page->rows, count);
    return st;
}

/* Rows of the next call, of `left` that are in memory. */
static uint64_t batch_rows(const struct run *run, uint64_t left)
{
    const struct lmn__setup_fill *setup = run->fill->setup;
    uint64_t rows = setup->batch_rows != 0 ? setup->batch_rows : run->fill->batch_rows;
    uint64_t most;

    if (setup->batch_rows == 0 && run->fill->row_bytes > 0) {
        most = (uint64_t)((double)BATCH_BYTES_MAX / run->fill->row_bytes);
        rows = rows < most ? rows : most;
    }
    if (setup->checkpoint_rows > run->pending.row_count) {
        most = setup->checkpoint_rows - run->pending.row_count;
        rows = rows < most ? rows : most;
    }
    if (run->task->batch_rows_max != 0 && rows > run->task->batch_rows_max)
        rows = run->task->batch_rows_max;
    rows = rows < left ? rows : left;
    return rows > 0 ? rows : 1;
}

/* Let the size of calls follow the time that they take. */
static void adapt(struct lmn__serving_fill *fill, uint64_t rows, uint64_t ns)
{
    uint64_t wanted = ns > 0 ? (uint64_t)((double)rows * (double)CALL_NS / (double)ns)
                             : rows * GROWTH_MAX;

    fill->row_ns = (double)ns / (double)rows;
    if (wanted > rows * GROWTH_MAX)
        wanted = rows * GROWTH_MAX;
    if (wanted < fill->batch_rows && rows < fill->batch_rows && ns < CALL_NS)
        return; /* a short call at the end of a chunk says little */
    fill->batch_rows = wanted > 0 ? wanted : 1;
}

static bool is_due(const struct run *run)
{
    const struct pending *pending = &run->pending;
    uint64_t fixed = run->fill->setup->checkpoint_rows;

    if (fixed != 0)
        return pending->row_count >= fixed;
    return pending->bytes >= RESULT_BYTES ||
           lmn__clock_monotonic_ns() - pending->since_ns >= RESULT_NS;
}

/* Call the function over rows in memory. */
static enum lmn_status call_rows(struct run *run, const struct lmn__input_rows *rows,
                                 struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t at = 0; st == LMN_OK && at < rows->count && !must_stop(run);) {
        uint64_t count = batch_rows(run, rows->count - at), ns;

        if (run->pending.row_count == 0)
            run->pending.since_ns = lmn__clock_monotonic_ns();
        st = call(run, rows, at, count, &ns, err);
        at += count;
        if (st == LMN_OK)
            adapt(run->fill, count, ns);
        if (st == LMN_OK && is_due(run))
            st = cut(run, err);
    }
    return st;
}

/* Rows to read at once: some megabytes, in whole batches where their size is fixed. */
static uint64_t chunk_rows(const struct run *run)
{
    const struct lmn__serving_fill *fill = run->fill;
    double row_bytes = fill->row_bytes > 0 ? fill->row_bytes
                                           : (double)lmn__inputs_row_bytes(&fill->inputs);
    double rows_fast = (double)CHUNK_BYTES / (row_bytes > 1 ? row_bytes : 1);
    uint64_t rows = (uint64_t)(fill->row_ns * rows_fast > SLOW_NS
                                   ? rows_fast * (double)CHUNK_BYTES_SLOW / (double)CHUNK_BYTES
                                   : rows_fast);
    uint64_t batch = fill->setup->batch_rows;

    rows = rows < CHUNK_ROWS_MAX ? rows : CHUNK_ROWS_MAX;
    if (batch != 0)
        rows = rows < batch ? batch : rows - rows % batch;
    else if (rows < 1)
        rows = 1;
    return rows < run->row_count - run->rows_read ? rows : run->row_count - run->rows_read;
}

static enum lmn_status read_rows(struct run *run, struct lmn__input_rows *rows_out,
                                 struct lmn_error *err)
{
    struct lmn__page *page = run->serving->page;
    uint64_t began_ns = lmn__clock_monotonic_ns(), count;
    enum lmn_status st;

    atomic_store(&page->phase, LMN__PHASE_READ);
    count = take_ranges(run->task, &run->next, chunk_rows(run), run->range);
    st = lmn__inputs_read(&run->fill->inputs, run->range, count, rows_out, err);
    atomic_fetch_add(&page->read_ns, lmn__clock_monotonic_ns() - began_ns);
    run->rows_read += rows_out->count;
    if (st == LMN_OK)
        run->fill->row_bytes = (double)rows_out->bytes / (double)rows_out->count;
    return st;
}

static enum lmn_status run_all(struct run *run, struct lmn_error *err)
{
    enum lmn_status st = lmn__inputs_enter(&run->fill->inputs, run->task->fragment_id, err);
    struct lmn_error cut_error;

    while (st == LMN_OK && run->rows_read < run->row_count && !must_stop(run)) {
        struct lmn__input_rows rows;

        st = read_rows(run, &rows, err);
        if (st == LMN_OK)
            st = call_rows(run, &rows, err);
        lmn__input_rows_free(&rows);
    }
    /* What was computed counts, whatever came then. */
    if (st == LMN_OK)
        return cut(run, err);
    return cut(run, &cut_error) == LMN_OK ? st : st;
}

enum lmn_status lmn__serving_run(struct lmn__serving *serving, const struct lmn__task_message *task,
                                 struct lmn_error *err)
{
    struct run run = { .serving = serving, .fill = &serving->fill[task->fill], .task = task };
    enum lmn_status st;

    for (size_t i = 0; i < task->count.count; i++)
        run.row_count += task->count.item[i];
    if (run.fill->batch_rows == 0)
        run.fill->batch_rows = BATCH_ROWS_FIRST;
    run.pending.ordinal = task->ordinal;
    atomic_store(&serving->page->call_first, task->ordinal);
    lmn__arena_init(&run.pending.arena, serving->env, 0);
    run.range = lmn__calloc(serving->env, task->first.count, sizeof *run.range);
    st = run.range != NULL ? run_all(&run, err)
                           : lmn__no_memory(err, "the rows of a task", task->first.count * 16);
    pending_reset(&run);
    lmn__arena_deinit(&run.pending.arena);
    lmn__free(serving->env, run.pending.array);
    lmn__free(serving->env, run.pending.error);
    lmn__free(serving->env, run.failed);
    lmn__free(serving->env, run.range);
    atomic_store(&serving->page->phase, LMN__PHASE_IDLE);
    return st;
}
