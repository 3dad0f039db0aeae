/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/parcel.h"

#include <string.h>

#include "arrow/compose.h"
#include "os/clock.h"

enum { RECORD_BYTES_MAX = 64 << 10 };

uint64_t lmn__task_take(const struct lmn__task_message *task, struct lmn__task_cursor *cursor,
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

enum lmn_status lmn__parcel_init(struct lmn__parcel *parcel, struct lmn__serving *serving,
                                 const struct lmn__task_message *task, struct lmn_error *err)
{
    *parcel = (struct lmn__parcel){ .serving = serving,
                                    .fill = &serving->fill[task->fill],
                                    .task = task };
    lmn__arena_init(&parcel->arena, serving->env, 0);
    parcel->range = lmn__calloc(serving->env, task->first.count, sizeof *parcel->range);
    return parcel->range != NULL
               ? LMN_OK
               : lmn__no_memory(err, "the rows of a task", task->first.count * 16);
}

void lmn__parcel_deinit(struct lmn__parcel *parcel)
{
    struct lmn_env *env;

    if (parcel->serving == NULL)
        return;
    env = parcel->serving->env;
    lmn__parcel_reset(parcel);
    lmn__arena_deinit(&parcel->arena);
    lmn__free(env, parcel->array);
    lmn__free(env, parcel->error);
    lmn__free(env, parcel->failed);
    lmn__free(env, parcel->range);
    *parcel = (struct lmn__parcel){ 0 };
}

void lmn__parcel_reset(struct lmn__parcel *parcel)
{
    for (uint64_t i = 0; i < parcel->array_count; i++)
        lmn__array_release(&parcel->array[i]);
    lmn__arena_deinit(&parcel->arena);
    lmn__arena_init(&parcel->arena, parcel->serving->env, 0);
    parcel->array_count = parcel->error_count = parcel->range_count = 0;
    parcel->row_count = parcel->bytes = parcel->failed_count = parcel->payload_bytes = 0;
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

/* Keep the record of a row that a call says has failed, the `nth` of it, and list the row. */
static enum lmn_status keep_error(struct lmn__parcel *parcel, uint64_t nth,
                                  const struct lmn_call_error *error, uint64_t physical,
                                  struct lmn_error *err)
{
    struct lmn_env *env = parcel->serving->env;
    size_t len = error->record != NULL ? strlen(error->record) : 0;
    enum lmn_status st = grow(env, (void **)&parcel->failed, nth, &parcel->failed_room,
                              sizeof *parcel->failed, err);
    char *record;

    if (st == LMN_OK)
        st = grow(env, (void **)&parcel->error, parcel->error_count, &parcel->error_room,
                  sizeof *parcel->error, err);
    if (st != LMN_OK)
        return st;
    len = len < RECORD_BYTES_MAX ? len : RECORD_BYTES_MAX;
    record = lmn__arena_strndup(&parcel->arena, error->record, len);
    if (record == NULL)
        return lmn__arena_fail(&parcel->arena, "error records", err);
    parcel->failed[nth] = error->row;
    parcel->error[parcel->error_count++] = (struct lmn__receipt_error){
        .row = physical,
        .record = { (const uint8_t *)record, strlen(record) },
    };
    return LMN_OK;
}

static enum lmn_status keep_errors(struct lmn__parcel *parcel, const struct lmn__input_rows *rows,
                                   uint64_t first, uint64_t count,
                                   const struct lmn_call_result *result, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < result->error_count; i++) {
        const struct lmn_call_error *error = &result->error[i];

        if (error->row >= count || (i > 0 && error->row <= result->error[i - 1].row))
            return lmn_fail(err, LMN_E_UDF,
                            "row %llu of a call of %llu rows is said to have failed",
                            (unsigned long long)error->row, (unsigned long long)count);
        st = keep_error(parcel, i, error, rows->physical[first + error->row], err);
    }
    parcel->failed_count += result->error_count;
    return st;
}

enum lmn_status lmn__parcel_add(struct lmn__parcel *parcel, const struct lmn__input_rows *rows,
                                uint64_t first, uint64_t count, struct lmn_call_result *result,
                                struct lmn_error *err)
{
    const struct lmn__outputs *outputs = &parcel->fill->outputs;
    const struct lmn__payloads *payloads = parcel->fill->blobs.payloads;
    enum lmn_status st = keep_errors(parcel, rows, first, count, result, err);

    if (st == LMN_OK)
        st = grow(parcel->serving->env, (void **)&parcel->array, parcel->array_count,
                  &parcel->array_room, sizeof *parcel->array, err);
    if (st != LMN_OK) {
        lmn__array_release(&result->output);
        return st;
    }
    st = lmn__outputs_compose(outputs, &result->output, count, parcel->failed, result->error_count,
                              rows->fingerprint + first, &parcel->array[parcel->array_count], err);
    if (st != LMN_OK)
        return st;
    parcel->bytes += lmn__outputs_bytes(outputs, &parcel->array[parcel->array_count++]);
    parcel->row_count += count;
    if (payloads != NULL) {
        parcel->bytes += payloads->bytes - parcel->payload_bytes;
        parcel->payload_bytes = payloads->bytes;
    }
    return LMN_OK;
}

void lmn__parcel_seal(struct lmn__parcel *parcel, uint64_t ordinal, struct lmn__task_cursor *cursor)
{
    parcel->ordinal = ordinal;
    parcel->rows_fit = parcel->fill->rows_fit;
    parcel->range_count = lmn__task_take(parcel->task, cursor, parcel->row_count, parcel->range);
}

static enum lmn_status send_result(const struct lmn__parcel *parcel, struct lmn__span receipt,
                                   struct lmn_error *err)
{
    struct lmn__result_message result = { .task = parcel->task->task,
                                          .ordinal = parcel->ordinal,
                                          .count = parcel->row_count,
                                          .failed_count = parcel->failed_count,
                                          .bytes = parcel->bytes,
                                          .receipt = receipt,
                                          .rows_fit = parcel->rows_fit };
    struct lmn__channel *channel = &parcel->serving->channel;
    enum lmn_status st = lmn__channel_put(channel, LMN__MESSAGE_RESULT, &lmn__result_pb, &result,
                                          err);

    return st == LMN_OK ? lmn__channel_flush(channel, true, err) : st;
}

enum lmn_status lmn__parcel_write(void *context, struct lmn_error *err)
{
    struct lmn__parcel *parcel = context;
    uint64_t began_ns = lmn__clock_monotonic_ns();
    struct lmn__page_sink_rows rows = {
        .fragment_id = parcel->task->fragment_id,
        .layout = parcel->task->layout,
        .range = parcel->range,
        .range_count = parcel->range_count,
        .gaps_are_dead = parcel->task->gaps_are_dead,
        .array = parcel->array,
        .array_count = parcel->array_count,
        .failed_count = parcel->failed_count,
        .error = parcel->error,
        .error_count = parcel->error_count,
    };
    struct lmn__buf receipt;
    enum lmn_status st;

    lmn__buf_init(&receipt, parcel->serving->env, 0);
    st = lmn__page_sink_write(parcel->fill->sink, &rows, &receipt, err);
    if (st == LMN_OK)
        st = send_result(parcel, (struct lmn__span){ receipt.data, receipt.len }, err);
    lmn__buf_deinit(&receipt);
    atomic_fetch_add(&parcel->serving->page->write_ns, lmn__clock_monotonic_ns() - began_ns);
    return st;
}
