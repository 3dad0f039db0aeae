/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations for functions of shared objects. A call that fails is made again with each half of its
 * rows, until the rows that fail stand alone; the parts that went well are put together with nulls
 * between them.
 */
#include <stdio.h>
#include <string.h>

#include "arrow/builder.h"
#include "arrow/compose.h"
#include "arrow/schema.h"
#include "arrow/show.h"
#include "arrow/slice.h"
#include "arrow/view.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json_write.h"
#include "engine/c_function.h"
#include "os/host.h"
#include "os/process.h"
#include "os/thread.h"

struct c_worker {
    struct lmn_env *env; /* counted */
    struct lmn_c_function *function;
    void *state;
    struct lmn__buf records; /* of the last call, one behind the other */
    struct lmn__buf shown;   /* inputs of a row, for its record */
    struct lmn_call_error *error;
    uint64_t error_count, error_room;
};

/* A call while it is narrowed. */
struct narrowing {
    struct c_worker *worker;
    const struct lmn_call *call;
    const struct lmn__layout *layout; /* of the output column */
    struct lmn__builder *builder;
};

static void unload(struct c_worker *worker)
{
    if (worker->function == NULL)
        return;
    if (worker->function->function->teardown != NULL)
        worker->function->function->teardown(worker->state);
    lmn_c_function_close(worker->function);
    worker->function = NULL;
    worker->state = NULL;
}

static enum lmn_status set_up(void *context, const void *code, uint64_t len, struct lmn_error *err)
{
    struct c_worker *worker = context;
    enum lmn_status st;

    unload(worker);
    st = lmn__c_function_from_code(code, len, &worker->function, err);
    if (st != LMN_OK || worker->function->function->setup == NULL)
        return st;
    st = worker->function->function->setup(&worker->state, err);
    if (st != LMN_OK) {
        lmn_c_function_close(worker->function);
        worker->function = NULL;
    }
    return st;
}

/* Slots [first, first + count) of the inputs; a view whose structs are the caller's. */
static void view_rows(const struct ArrowArray *input, uint64_t first, uint64_t count,
                      struct ArrowArray *child, struct ArrowArray **children,
                      struct ArrowArray *view_out)
{
    *view_out = *input;
    view_out->release = NULL;
    view_out->children = children;
    for (int64_t i = 0; i < input->n_children; i++) {
        child[i] = *input->children[i];
        child[i].release = NULL;
        children[i] = &child[i];
    }
    lmn__array_slice(view_out, first, count);
}

static enum lmn_status call_rows(const struct narrowing *narrowing, uint64_t first, uint64_t count,
                                 struct ArrowArray *output_out, struct lmn_error *err)
{
    const struct c_worker *worker = narrowing->worker;
    const struct lmn_function *function = worker->function->function;
    const struct ArrowArray *input = narrowing->call->input;
    uint64_t width = (uint64_t)input->n_children;
    struct ArrowArray *child = lmn__alloc(worker->env, width * (sizeof *child + sizeof(void *)));
    struct ArrowArray view;
    enum lmn_status st;

    *output_out = (struct ArrowArray){ 0 };
    if (child == NULL)
        return lmn__no_memory(err, "the inputs of a call", width * sizeof *child);
    view_rows(input, first, count, child, (struct ArrowArray **)(child + width), &view);
    st = function->apply(worker->state, &view, output_out, err);
    lmn__free(worker->env, child);
    if (st == LMN_OK && output_out->release == NULL)
        return lmn_fail(err, LMN_E_UDF, "function \"%.100s\" gave no array", function->name);
    if (st == LMN_OK && output_out->length != (int64_t)count) {
        st = lmn_fail(err, LMN_E_UDF, "function \"%.100s\" gave %lld values for %llu rows",
                      function->name, (long long)output_out->length, (unsigned long long)count);
        output_out->release(output_out);
    }
    if (st != LMN_OK)
        *output_out = (struct ArrowArray){ 0 };
    return st;
}

/* The record of a row. */
static void put_record(struct narrowing *narrowing, uint64_t row, const struct lmn_error *failure)
{
    const struct lmn_call *call = narrowing->call;
    struct c_worker *worker = narrowing->worker;
    struct lmn__json_writer writer = { &worker->records, false };
    char repeat[160];

    lmn__buf_reset(&worker->shown);
    lmn__show_fields(call->schema, call->input, row, &worker->shown);
    lmn__buf_put_u8(&worker->shown, 0);
    lmn__json_open(&writer, NULL, '{');
    lmn__json_text(&writer, "type",
                   failure->status == LMN_E_INVALID ? "InvalidError" : "FunctionError");
    lmn__json_text(&writer, "message", failure->message);
    lmn__json_text(&writer, "column", call->output->children[0]->name);
    if (!worker->shown.failed)
        lmn__json_text(&writer, "inputs", (const char *)worker->shown.data);
    if (call->row_id != NULL) {
        snprintf(repeat, sizeof repeat, "%.100s.test(table, row_ids=[%llu])",
                 worker->function->function->name, (unsigned long long)call->row_id[row]);
        lmn__json_number(&writer, "row", call->row_id[row]);
        lmn__json_text(&writer, "repeat", repeat);
    }
    lmn__json_number(&writer, "attempts", 1);
    lmn__json_close(&writer, '}');
    lmn__buf_put_u8(&worker->records, 0);
}

/* Note that a row failed, and leave a null in its place. */
static enum lmn_status add_failed(struct narrowing *narrowing, uint64_t row,
                                  const struct lmn_error *failure, struct lmn_error *err)
{
    struct c_worker *worker = narrowing->worker;
    struct lmn__buf *records = &worker->records;
    enum lmn_status st;

    if (worker->error_count == worker->error_room) {
        uint64_t room = worker->error_room == 0 ? 16 : worker->error_room * 2;
        void *memory = lmn__realloc(worker->env, worker->error, room * sizeof *worker->error);

        if (memory == NULL)
            return lmn__no_memory(err, "failed rows", room * sizeof *worker->error);
        worker->error = memory;
        worker->error_room = room;
    }
    /* Places for now, pointers when nothing moves any more. */
    worker->error[worker->error_count++] =
        (struct lmn_call_error){ .row = row, .record = (const char *)(uintptr_t)records->len };
    put_record(narrowing, row, failure);
    st = lmn__buf_status(records, "error records", err);
    if (st == LMN_OK)
        st = lmn__builder_add_null(narrowing->builder, 1, err);
    return st == LMN_OK ? lmn__builder_put_empty(narrowing->builder, 1, err) : st;
}

static enum lmn_status narrow(struct narrowing *narrowing, uint64_t first, uint64_t count,
                              struct lmn_error *err)
{
    struct lmn_error failure = { 0 };
    struct ArrowArray output;
    enum lmn_status st = call_rows(narrowing, first, count, &output, &failure);

    if (st == LMN_OK) {
        st = lmn__view_append(narrowing->layout, &output, 0, count, narrowing->builder, err);
        output.release(&output);
        return st;
    }
    failure.status = st;
    if (count == 1)
        return add_failed(narrowing, first, &failure, err);
    st = narrow(narrowing, first, count / 2, err);
    return st == LMN_OK ? narrow(narrowing, first + count / 2, count - count / 2, err) : st;
}

/* Both halves of a call that failed as a whole; `failure` says how. */
static enum lmn_status call_narrowed(struct narrowing *narrowing, const struct lmn_error *failure,
                                     const struct ArrowSchema *type, struct ArrowArray *output_out,
                                     struct lmn_error *err)
{
    struct lmn_env *env = narrowing->worker->env;
    uint64_t count = narrowing->call->row_count;
    struct lmn__builder builder = { 0 };
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, env, 0);
    st = lmn__layout_from_schema(type, &arena, &narrowing->layout, err);
    if (st == LMN_OK)
        st = lmn__builder_init(&builder, env, narrowing->layout, err);
    narrowing->builder = &builder;
    if (st == LMN_OK && count == 1)
        st = add_failed(narrowing, 0, failure, err);
    else if (st == LMN_OK)
        st = narrow(narrowing, 0, count / 2, err);
    if (st == LMN_OK && count > 1)
        st = narrow(narrowing, count / 2, count - count / 2, err);
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, output_out, err);
    lmn__builder_deinit(&builder);
    lmn__arena_deinit(&arena);
    return st;
}

/* The values as a struct of the columns wanted: one column, or the fields of a struct. */
static enum lmn_status wrap(struct c_worker *worker, const struct lmn_call *call,
                            struct ArrowArray *column, struct lmn_call_result *result_out,
                            struct lmn_error *err)
{
    enum lmn_status st;

    if (call->output->n_children != 1) {
        lmn__array_move(column, &result_out->output);
        return LMN_OK;
    }
    st = lmn__array_compose(worker->env, call->row_count, 1, &result_out->output, err);
    if (st == LMN_OK)
        lmn__array_move(column, result_out->output.children[0]);
    else
        lmn__array_release(column);
    return st;
}

static enum lmn_status apply(void *context, const struct lmn_call *call,
                             struct lmn_call_result *result_out, struct lmn_error *err)
{
    struct c_worker *worker = context;
    struct narrowing narrowing = { .worker = worker, .call = call };
    const struct ArrowSchema *type = call->output->n_children == 1 ? call->output->children[0]
                                                                   : call->output;
    struct lmn_error failure = { 0 };
    struct ArrowArray column;
    enum lmn_status st;

    worker->error_count = 0;
    lmn__buf_reset(&worker->records);
    st = call_rows(&narrowing, 0, call->row_count, &column, &failure);
    failure.status = st;
    if (st != LMN_OK)
        st = call_narrowed(&narrowing, &failure, type, &column, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < worker->error_count; i++)
        worker->error[i].record = (const char *)worker->records.data +
                                  (uintptr_t)worker->error[i].record;
    result_out->error = worker->error;
    result_out->error_count = worker->error_count;
    return wrap(worker, call, &column, result_out, err);
}

enum lmn_status lmn_c_worker_open(struct lmn_worker_ops *ops_out, struct lmn_error *err)
{
    struct c_worker *worker;
    struct lmn_env *env;
    enum lmn_status st = lmn__env_resolve(NULL, &env, err);

    *ops_out = (struct lmn_worker_ops){ 0 };
    if (st != LMN_OK)
        return st;
    worker = lmn__calloc(env, 1, sizeof *worker);
    if (worker == NULL) {
        lmn_env_release(env);
        return lmn__no_memory(err, "a worker", sizeof *worker);
    }
    worker->env = env;
    lmn__buf_init(&worker->records, env, 0);
    lmn__buf_init(&worker->shown, env, 0);
    *ops_out = (struct lmn_worker_ops){ .setup = set_up, .apply = apply, .context = worker };
    return LMN_OK;
}

void lmn_c_worker_close(struct lmn_worker_ops *ops)
{
    struct c_worker *worker = ops->context;
    struct lmn_env *env;

    if (worker == NULL)
        return;
    env = worker->env;
    unload(worker);
    lmn__buf_deinit(&worker->records);
    lmn__buf_deinit(&worker->shown);
    lmn__free(env, worker->error);
    lmn__free(env, worker);
    lmn_env_release(env);
    *ops = (struct lmn_worker_ops){ 0 };
}

struct served {
    int fd;
    struct lmn__thread thread;
    struct lmn_error error;
    enum lmn_status status;
};

static void serve(void *context)
{
    struct served *served = context;
    struct lmn_worker_ops ops;

    served->status = lmn_c_worker_open(&ops, &served->error);
    if (served->status == LMN_OK)
        served->status = lmn_worker_serve(served->fd, &ops, &served->error);
    lmn_c_worker_close(&ops);
}

/* The numbers in "3,4,5". */
static uint32_t read_fds(const char *text, struct served *served)
{
    uint32_t count = 0;

    while (*text >= '0' && *text <= '9' && count < LMN__PROCESS_FDS_MAX) {
        int fd = 0;

        for (; *text >= '0' && *text <= '9' && fd < 100000; text++)
            fd = fd * 10 + (*text - '0');
        served[count++].fd = fd;
        if (*text == ',')
            text++;
    }
    return count;
}

enum lmn_status lmn_c_worker_run(struct lmn_error *err)
{
    struct served served[LMN__PROCESS_FDS_MAX] = { 0 };
    const char *text = lmn__host_variable("LEMAN_WORKER_FDS");
    uint32_t count = text != NULL ? read_fds(text, served) : 0, started = 1;
    struct lmn_env *env;
    enum lmn_status st;

    if (count == 0)
        return lmn_fail(err, LMN_E_INVALID,
                        "a worker is started by an engine, which says in "
                        "LEMAN_WORKER_FDS where it listens");
    setvbuf(stdout, NULL, _IOLBF, 0); /* what a function prints is heard before it crashes */
    st = lmn__env_resolve(NULL, &env, err);
    if (st != LMN_OK)
        return st;
    for (; st == LMN_OK && started < count; started += st == LMN_OK)
        st = lmn__thread_start(env, serve, &served[started], &served[started].thread, err);
    if (st == LMN_OK)
        serve(&served[0]);
    for (uint32_t i = 1; i < started; i++)
        lmn__thread_join(&served[i].thread);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        st = served[i].status;
        if (st != LMN_OK && err != NULL)
            *err = served[i].error;
    }
    lmn_env_release(env);
    return st;
}
