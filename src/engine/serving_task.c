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
 * first, at the end of a batch. It is written by the thread's second hand while the next one is
 * computed: one is in writing at most, and one being gathered. As soon as the hand is free, a
 * result of RESULT_BYTES_MIN is enough; so a disk that keeps up is kept busy, and little is left to
 * be written when the last call is over. Where calls are slow, another hand reads the next chunk
 * meanwhile.
 *
 * Blobs are written while the function is called, so a result that has some is written before the
 * next call: little of it is left to be written.
 *
 * While a result is written the channel is the hand's: grants are asked for and receipts sent
 * there. The end of a task is told when everything is written. A function whose calls have to be
 * asked for needs the channel itself, and waits while its results are written.
 */
#include "arrow/compose.h"
#include "base/math.h"
#include "engine/parcel.h"
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
    RESULT_BYTES_MIN = 8 << 20,
    RESULT_BYTES = 64 << 20
};

/* Rows that are being read, or lie ready. */
struct chunk {
    struct lmn__serving *serving;
    struct lmn__inputs *inputs;
    struct lmn__row_range *range; /* room for as many as the task has */
    uint64_t range_count;
    struct lmn__input_rows rows;
};

struct run {
    struct lmn__serving *serving;
    struct lmn__serving_fill *fill;
    const struct lmn__task_message *task;
    struct lmn__task_cursor next; /* to be read */
    struct lmn__task_cursor told; /* behind the rows of sealed parcels */
    uint64_t row_count, rows_read, rows_called, rows_told;
    struct chunk ahead;
    struct lmn__parcel parcel[2];
    uint32_t gathering; /* the parcel that results go to; the other is in writing, or empty */
    bool shelf_full;    /* a row had no room among those that outlive this process */
    size_t saved;       /* of the rows that need not be computed, the first that is ahead */
    struct lmn_saved_row *saved_row;
    bool broken; /* one could not be written: none behind it counts */
};

/* What a call tells of its rows; the keeper of struct lmn_call. */
struct keeper {
    struct run *run;
    uint64_t ordinal, count;
    const uint64_t *row_id;
};

static void begin_row(void *context, uint64_t row)
{
    const struct keeper *keeper = context;
    struct lmn__page *page = keeper->run->serving->page;
    bool one = row < keeper->count; /* behind the last row all of them are put together */

    atomic_store_explicit(&page->call_row_id, keeper->row_id[one ? row : 0], memory_order_relaxed);
    atomic_store_explicit(&page->call_first, keeper->ordinal + (one ? row : 0),
                          memory_order_release);
    atomic_store_explicit(&page->call_count, one ? 1 : keeper->count, memory_order_release);
}

/* Where the function writes blobs; NULL: none of its columns holds any. */
static struct lmn_blobs *blobs_of(const struct run *run)
{
    return run->fill->blobs.payloads != NULL ? &run->fill->blobs : NULL;
}

/* What stands for a blob means nothing to another process: such rows are not kept. */
static void keep_row(void *context, uint64_t row, uint32_t kind, const void *data, uint64_t len)
{
    const struct keeper *keeper = context;
    struct run *run = keeper->run;

    if (!run->shelf_full && blobs_of(run) == NULL)
        run->shelf_full = !lmn__board_put(run->serving->board[run->gathering],
                                          keeper->ordinal + row, kind, data, len);
    begin_row(context, row + 1);
}

/* The rows of a call that need not be computed. */
static void list_saved(struct run *run, const struct keeper *keeper, struct lmn_call *function_call)
{
    const struct lmn__task_message *task = run->task;
    uint64_t count = 0;

    while (run->saved < task->saved.count && task->saved_ordinal.item[run->saved] < keeper->ordinal)
        run->saved++;
    for (size_t i = run->saved; i < task->saved.count; i++) {
        uint64_t row = task->saved_ordinal.item[i] - keeper->ordinal;

        if (row >= keeper->count)
            break;
        run->saved_row[count++] = (struct lmn_saved_row){ row, (uint32_t)task->saved_kind.item[i],
                                                          task->saved.item[i].data,
                                                          task->saved.item[i].len };
    }
    function_call->saved = run->saved_row;
    function_call->saved_count = count;
}

static bool must_stop(const struct run *run)
{
    return atomic_load(&run->serving->page->stop) == run->task->task;
}

/* What the hand has written is done with. */
static enum lmn_status end_writing(struct run *run, struct lmn_error *err)
{
    enum lmn_status st = lmn__hand_wait(&run->serving->writing, err);

    lmn__parcel_reset(&run->parcel[1 - run->gathering]);
    lmn__board_clear(run->serving->board[1 - run->gathering], run->task->task);
    run->broken = run->broken || st != LMN_OK;
    return st;
}

/* What is gathered becomes a result: written by the hand, or with `now` before this returns. */
static enum lmn_status cut(struct run *run, bool now, struct lmn_error *err)
{
    struct lmn__parcel *parcel = &run->parcel[run->gathering];
    enum lmn_status st = end_writing(run, err);

    if (run->broken || parcel->row_count == 0)
        return st;
    lmn__parcel_seal(parcel, run->task->ordinal + run->rows_told, &run->told);
    run->rows_told += parcel->row_count;
    run->gathering = 1 - run->gathering;
    run->shelf_full = false;
    if (!now) {
        lmn__hand_give(&run->serving->writing, lmn__parcel_write, parcel);
        return LMN_OK;
    }
    atomic_store(&run->serving->page->phase, LMN__PHASE_WRITE);
    st = lmn__parcel_write(parcel, err);
    lmn__parcel_reset(parcel);
    return st;
}

/* Take what an operation gave for a call: all of its rows, or fewer when the job stops. */
static enum lmn_status end_call(struct run *run, const struct lmn_call *function_call,
                                struct lmn_call_result *result, struct lmn_error *err)
{
    const struct lmn__serving_call *own = function_call->job;
    struct lmn__page *page = run->serving->page;
    uint64_t count = function_call->row_count - result->rows_left;
    enum lmn_status st = LMN_OK;

    if (result->rows_left > 0 && (result->rows_left > function_call->row_count || !must_stop(run)))
        st = lmn_fail(err, LMN_E_UDF, "%llu of %llu rows were left, and the job does not stop",
                      (unsigned long long)result->rows_left,
                      (unsigned long long)function_call->row_count);
    if (st == LMN_OK && !result->kept)
        st = lmn__serving_keep(function_call, result, err);
    if (st != LMN_OK || count == 0) {
        lmn__array_release(&result->output);
        return st;
    }
    st = lmn__parcel_add(&run->parcel[run->gathering], own->rows, own->first, count, result, err);
    run->rows_called += count;
    atomic_store(&page->call_first, run->task->ordinal + run->rows_called);
    atomic_fetch_add(&page->rows, count);
    return st;
}

static enum lmn_status call(struct run *run, const struct lmn__input_rows *rows, uint64_t first,
                            uint64_t count, uint64_t *ns_out, struct lmn_error *err)
{
    const struct lmn_worker_ops *ops = run->serving->ops;
    struct lmn__page *page = run->serving->page;
    struct lmn__serving_call own = { run->serving, run->fill, rows, first, run->task->task, 0, 0 };
    struct lmn_call_result result = { 0 };
    struct ArrowArray input = { 0 };
    struct keeper keeper = { run, run->task->ordinal + run->rows_called, count,
                             rows->row_id + first };
    struct lmn_call function_call = { .schema = &run->fill->inputs.schema,
                                      .input = &input,
                                      .row_id = rows->row_id + first,
                                      .row_count = count,
                                      .output = &run->fill->outputs.values,
                                      .metered = run->fill->setup->metered,
                                      .paid = run->fill->setup->paid,
                                      .blobs = blobs_of(run),
                                      .table = run->serving->table,
                                      .job = &own };
    bool granted = true;
    uint64_t began_ns;
    enum lmn_status st = ops->asks ? LMN_OK : lmn__serving_permit(&function_call, &granted, err);

    *ns_out = 0;
    if (st != LMN_OK || !granted)
        return st;
    began_ns = lmn__clock_monotonic_ns();
    own.waited_ns = 0; /* before the call */
    st = lmn__input_rows_slice(rows, first, count, &input, err);
    if (st != LMN_OK)
        return st;
    list_saved(run, &keeper, &function_call);
    if (run->serving->keeps) {
        function_call.begin = begin_row;
        function_call.keep = keep_row;
        function_call.keeper = &keeper;
    }
    atomic_store(&page->phase, LMN__PHASE_CALL);
    atomic_store(&page->call_first, keeper.ordinal);
    atomic_store(&page->call_count, count);
    atomic_store(&page->call_row_id, rows->row_id[first]);
    atomic_store(&page->call_began_ns, began_ns);
    st = ops->apply(ops->context, &function_call, &result, err);
    if (function_call.blobs != NULL)
        lmn_blobs_drop(function_call.blobs); /* one that it has not ended */
    atomic_store(&page->call_began_ns, 0);
    lmn__array_release(&input);
    *ns_out = lmn__clock_monotonic_ns() - began_ns;
    atomic_fetch_add(&page->call_ns, *ns_out - lmn__min_u64(own.waited_ns, *ns_out));
    return st == LMN_OK ? end_call(run, &function_call, &result, err) : st;
}

/* Rows of the next call, of `left` that are in memory. */
static uint64_t batch_rows(const struct run *run, uint64_t left)
{
    const struct lmn__setup_fill *setup = run->fill->setup;
    uint64_t rows = setup->batch_rows != 0 ? setup->batch_rows : run->fill->batch_rows;
    uint64_t gathered = run->parcel[run->gathering].row_count, most;

    if (setup->batch_rows == 0 && run->fill->row_bytes > 0) {
        most = (uint64_t)((double)BATCH_BYTES_MAX / run->fill->row_bytes);
        rows = rows < most ? rows : most;
    }
    if (setup->checkpoint_rows > gathered) {
        most = setup->checkpoint_rows - gathered;
        rows = rows < most ? rows : most;
    }
    if (run->task->batch_rows_max != 0 && rows > run->task->batch_rows_max)
        rows = run->task->batch_rows_max;
    if (run->fill->rows_fit != 0 && rows > run->fill->rows_fit)
        rows = run->fill->rows_fit;
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

static bool is_due(struct run *run)
{
    const struct lmn__parcel *parcel = &run->parcel[run->gathering];
    uint64_t fixed = run->fill->setup->checkpoint_rows;

    if (fixed != 0)
        return parcel->row_count >= fixed;
    return run->shelf_full || parcel->bytes >= RESULT_BYTES ||
           (parcel->bytes >= RESULT_BYTES_MIN && blobs_of(run) == NULL &&
            lmn__hand_is_idle(&run->serving->writing)) ||
           lmn__clock_monotonic_ns() - parcel->since_ns >= RESULT_NS;
}

/*
 * Take the result of row `at` where it was kept: one row then. Otherwise *count shrinks to the rows
 * before the next that was.
 */
static enum lmn_status recall(struct run *run, const struct lmn__input_rows *rows, uint64_t at,
                              uint64_t *count, bool *recalled_out, struct lmn_error *err)
{
    struct lmn__kept *kept = run->fill->kept;
    struct lmn_call_result result = { .kept = true };
    uint64_t next = 1;
    enum lmn_status st;

    *recalled_out = false;
    if (kept == NULL)
        return LMN_OK;
    st = lmn__kept_blobs_read(kept, run->fill->sink, rows->row_id[at], rows->fingerprint[at],
                              run->task->since, &result.output, err);
    if (st != LMN_OK)
        return st;
    if (result.output.release != NULL) {
        *recalled_out = true;
        *count = 1;
        run->rows_called++;
        return lmn__parcel_add(&run->parcel[run->gathering], rows, at, 1, &result, err);
    }
    while (next < *count &&
           !lmn__kept_has(kept, rows->row_id[at + next], rows->fingerprint[at + next]))
        next++;
    *count = next;
    return LMN_OK;
}

/* Call the function over rows in memory. */
static enum lmn_status call_rows(struct run *run, const struct lmn__input_rows *rows,
                                 struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t at = 0; st == LMN_OK && at < rows->count && !must_stop(run);) {
        uint64_t count = batch_rows(run, rows->count - at), ns = 0;
        struct lmn__parcel *parcel = &run->parcel[run->gathering];
        bool recalled;

        if (parcel->row_count == 0)
            parcel->since_ns = lmn__clock_monotonic_ns();
        st = recall(run, rows, at, &count, &recalled, err);
        if (st == LMN_OK && !recalled)
            st = call(run, rows, at, count, &ns, err);
        at += count;
        if (st == LMN_OK && ns > 0)
            adapt(run->fill, count, ns);
        if (st == LMN_OK && lmn__hand_is_idle(&run->serving->writing))
            st = end_writing(run, err);
        if (st == LMN_OK && is_due(run))
            st = cut(run, run->fill->setup->metered || blobs_of(run) != NULL, err);
    }
    return st;
}

/* Do calls take so long that the next rows may as well be read meanwhile? */
static bool is_slow(const struct lmn__serving_fill *fill, double rows)
{
    return fill->row_ns * rows > SLOW_NS;
}

/* Rows to read at once: some megabytes, in whole batches where their size is fixed. */
static uint64_t chunk_rows(const struct run *run)
{
    const struct lmn__serving_fill *fill = run->fill;
    double row_bytes = fill->row_bytes > 0 ? fill->row_bytes
                                           : (double)lmn__inputs_row_bytes(&fill->inputs);
    double rows_fast = (double)CHUNK_BYTES / (row_bytes > 1 ? row_bytes : 1);
    uint64_t rows = (uint64_t)(is_slow(fill, rows_fast)
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

/* A lmn__hand_fn. */
static enum lmn_status read_chunk(void *context, struct lmn_error *err)
{
    struct chunk *chunk = context;
    uint64_t began_ns = lmn__clock_monotonic_ns();
    enum lmn_status st = lmn__inputs_read(chunk->inputs, chunk->range, chunk->range_count,
                                          &chunk->rows, err);

    atomic_fetch_add(&chunk->serving->page->read_ns, lmn__clock_monotonic_ns() - began_ns);
    if (st == LMN_OK)
        atomic_fetch_add(&chunk->serving->page->read_bytes, chunk->rows.bytes);
    return st;
}

/* Let the hand read the next chunk; nobody else touches the inputs until it is taken. */
static void begin_chunk(struct run *run)
{
    uint64_t rows = chunk_rows(run);

    run->ahead.range_count = lmn__task_take(run->task, &run->next, rows, run->ahead.range);
    run->rows_read += rows;
    lmn__hand_give(&run->serving->reading, read_chunk, &run->ahead);
}

/* The next chunk: read ahead, or now. */
static enum lmn_status take_chunk(struct run *run, struct lmn__input_rows *rows_out,
                                  struct lmn_error *err)
{
    enum lmn_status st;

    atomic_store(&run->serving->page->phase, LMN__PHASE_READ);
    if (run->serving->reading.given) {
        st = lmn__hand_wait(&run->serving->reading, err);
    } else {
        uint64_t rows = chunk_rows(run);

        run->ahead.range_count = lmn__task_take(run->task, &run->next, rows, run->ahead.range);
        run->rows_read += rows;
        st = read_chunk(&run->ahead, err);
    }
    *rows_out = run->ahead.rows;
    run->ahead.rows = (struct lmn__input_rows){ 0 };
    if (st == LMN_OK)
        run->fill->row_bytes = (double)rows_out->bytes / (double)rows_out->count;
    return st;
}

static enum lmn_status run_all(struct run *run, struct lmn_error *err)
{
    enum lmn_status st = lmn__inputs_enter(&run->fill->inputs, run->task->fragment_id, err);
    struct lmn_error later;

    if (st == LMN_OK && run->fill->kept != NULL && run->fill->looks != run->task->looks) {
        run->fill->looks = run->task->looks;
        st = lmn__kept_look(run->fill->kept, err);
    }
    while (st == LMN_OK && run->rows_called < run->row_count && !must_stop(run)) {
        struct lmn__input_rows rows;

        st = take_chunk(run, &rows, err);
        if (st == LMN_OK && run->rows_read < run->row_count &&
            is_slow(run->fill, (double)rows.count))
            begin_chunk(run);
        if (st == LMN_OK)
            st = call_rows(run, &rows, err);
        lmn__input_rows_free(&rows);
    }
    /* What was computed counts, whatever came then. */
    if (st == LMN_OK)
        return cut(run, true, err);
    return cut(run, true, &later) == LMN_OK ? st : st;
}

static enum lmn_status run_begin(struct run *run, struct lmn_error *err)
{
    const struct lmn__task_message *task = run->task;
    enum lmn_status st = lmn__parcel_init(&run->parcel[0], run->serving, task, err);

    if (st == LMN_OK)
        st = lmn__parcel_init(&run->parcel[1], run->serving, task, err);
    run->ahead = (struct chunk){ .serving = run->serving, .inputs = &run->fill->inputs };
    run->ahead.range = lmn__calloc(run->serving->env, task->first.count, sizeof *run->ahead.range);
    run->saved_row = lmn__calloc(run->serving->env, task->saved.count + 1, sizeof *run->saved_row);
    if (st == LMN_OK && (run->ahead.range == NULL || run->saved_row == NULL))
        st = lmn__no_memory(err, "the rows of a task", task->first.count * 16);
    for (uint32_t i = 0; i < LMN__BOARDS; i++)
        lmn__board_clear(run->serving->board[i], task->task);
    return st;
}

/* Both hands are free afterwards. */
static void run_end(struct run *run)
{
    struct lmn_error ignored;

    if (lmn__hand_wait(&run->serving->reading, &ignored) == LMN_OK)
        lmn__input_rows_free(&run->ahead.rows);
    lmn__free(run->serving->env, run->ahead.range);
    lmn__free(run->serving->env, run->saved_row);
    lmn__parcel_deinit(&run->parcel[0]);
    lmn__parcel_deinit(&run->parcel[1]);
    atomic_store(&run->serving->page->phase, LMN__PHASE_IDLE);
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
    lmn__page_sink_begin(run.fill->sink, task->parts);
    run.fill->blobs.payloads = lmn__page_sink_payloads(run.fill->sink, task->fragment_id,
                                                       task->layout);
    if (run.fill->blobs.payloads != NULL)
        lmn__payloads_reset(run.fill->blobs.payloads, true);
    atomic_store(&serving->page->call_first, task->ordinal);
    st = run_begin(&run, err);
    if (st == LMN_OK)
        st = run_all(&run, err);
    run_end(&run);
    return st;
}
