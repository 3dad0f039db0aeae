/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a function may ask of the job while it is called: calls that limits have to allow, whether
 * the job stops, and that a result is kept.
 */
#include <leman/worker.h>

#include <string.h>

#include "base/error.h"
#include "engine/serving.h"
#include "os/clock.h"

enum { REST_MS_MAX = 250 };

/* Send a frame and wait for its answer. */
static enum lmn_status ask_engine(struct lmn__serving *serving,
                                  const struct lmn__permit_message *permit,
                                  struct lmn__permitted_message *answer_out, struct lmn_error *err)
{
    struct lmn__channel *channel = &serving->channel;
    struct lmn__arena arena;
    struct lmn__frame frame = { 0 };
    enum lmn_status st = lmn__channel_put(channel, LMN__MESSAGE_PERMIT, &lmn__permit_pb, permit,
                                          err);

    if (st == LMN_OK)
        st = lmn__channel_flush(channel, true, err);
    if (st == LMN_OK)
        st = lmn__channel_wait(channel, &frame, err);
    if (st != LMN_OK)
        return st;
    if (frame.body.data == NULL || frame.kind != LMN__MESSAGE_PERMITTED)
        return lmn_fail(err, LMN_E_IO, "the engine is gone");
    lmn__arena_init(&arena, serving->env, 0);
    st = lmn__pb_decode(&lmn__permitted_pb, frame.body, &arena, answer_out, err);
    lmn__arena_deinit(&arena);
    return st;
}

/* An answer has come: the time since the one before was waiting if that refused calls. */
static void note_wait(struct lmn__serving_call *own, bool refused)
{
    uint64_t now_ns = lmn__clock_monotonic_ns();

    if (own->refused_ns != 0)
        own->waited_ns += now_ns - own->refused_ns;
    own->refused_ns = refused ? now_ns : 0;
}

enum lmn_status lmn_call_permit(const struct lmn_call *call, const struct lmn_permit_ask *ask,
                                struct lmn_permit *permit_out, struct lmn_error *err)
{
    struct lmn__serving_call *own = call->job;
    struct lmn__permit_message permit = { .calls = ask->calls,
                                          .tokens = ask->tokens,
                                          .done = ask->done,
                                          .charged = ask->charged,
                                          .used = ask->used,
                                          .pause_ms = ask->pause_ms };
    struct lmn__permitted_message answer = { 0 };
    struct lmn__page *page = own->serving->page;
    uint64_t began_ns = atomic_load(&page->call_began_ns);
    enum lmn_status st;

    /* A limit of time is one of calls, and not of what they wait for. */
    atomic_store(&page->call_began_ns, 0);
    st = ask_engine(own->serving, &permit, &answer, err);
    note_wait(own, ask->calls > answer.calls);
    atomic_store(&page->call_began_ns, began_ns != 0 ? lmn__clock_monotonic_ns() : 0);
    *permit_out = (struct lmn_permit){ .calls = answer.calls,
                                       .tokens_each = answer.tokens_each,
                                       .wait_ms = answer.wait_ms,
                                       .ended = answer.ended };
    return st;
}

bool lmn_call_stops(const struct lmn_call *call)
{
    const struct lmn__serving_call *own = call->job;

    return atomic_load(&own->serving->page->stop) == own->task;
}

void lmn_call_used(const struct lmn_call *call, uint64_t calls, uint64_t tokens, double cost)
{
    const struct lmn__serving_call *own = call->job;
    struct lmn__page *page = own->serving->page;

    atomic_fetch_add(&page->calls, calls);
    atomic_fetch_add(&page->tokens, tokens);
    if (cost > 0)
        atomic_fetch_add(&page->cost_nano, (uint64_t)(cost * 1e9 + 0.5));
}

void lmn_call_rows_fit(const struct lmn_call *call, uint64_t rows)
{
    const struct lmn__serving_call *own = call->job;

    if (rows > 0 && (own->fill->rows_fit == 0 || rows < own->fill->rows_fit))
        own->fill->rows_fit = rows;
}

enum lmn_status lmn_call_keep(const struct lmn_call *call, uint64_t row,
                              const struct ArrowArray *output, struct lmn_error *err)
{
    const struct lmn__serving_call *own = call->job;

    if (own->fill->kept == NULL)
        return LMN_OK;
    if (row >= call->row_count)
        return lmn_fail(err, LMN_E_UDF, "row %llu of a call of %llu rows is to be kept",
                        (unsigned long long)row, (unsigned long long)call->row_count);
    return lmn__kept_blobs_add(own->fill->kept, own->fill->sink,
                               own->rows->row_id[own->first + row],
                               own->rows->fingerprint[own->first + row], output, err);
}

enum lmn_status lmn_call_keep_sync(const struct lmn_call *call, struct lmn_error *err)
{
    const struct lmn__serving_call *own = call->job;

    return own->fill->kept != NULL ? lmn__kept_sync(own->fill->kept, err) : LMN_OK;
}

enum lmn_status lmn__serving_permit(const struct lmn_call *call, bool *granted_out,
                                    struct lmn_error *err)
{
    struct lmn_permit_ask ask = { .calls = 1 };
    struct lmn_permit permit = { 0 };
    enum lmn_status st = LMN_OK;

    *granted_out = !call->metered;
    while (st == LMN_OK && !*granted_out && !permit.ended && !lmn_call_stops(call)) {
        st = lmn_call_permit(call, &ask, &permit, err);
        *granted_out = permit.calls > 0;
        if (*granted_out)
            lmn_call_used(call, 1, 0, 0);
        else if (st == LMN_OK && !permit.ended)
            lmn__clock_wait_ns(
                (int64_t)(permit.wait_ms < REST_MS_MAX ? permit.wait_ms : REST_MS_MAX) * 1000000);
    }
    return st;
}

/* Row `row` of a struct array as one of its own; it owns nothing, and `child` has room. */
static struct ArrowArray one_row(const struct ArrowArray *array, uint64_t row,
                                 struct ArrowArray *child, struct ArrowArray **children)
{
    struct ArrowArray one = *array;

    for (int64_t i = 0; i < array->n_children; i++) {
        child[i] = *array->children[i];
        child[i].offset += (int64_t)row;
        child[i].length = array->offset + 1;
        child[i].null_count = -1;
        children[i] = &child[i];
    }
    one.length = 1;
    one.null_count = 0;
    one.children = children;
    return one;
}

enum lmn_status lmn__serving_keep(const struct lmn_call *call, struct lmn_call_result *result,
                                  struct lmn_error *err)
{
    const struct lmn__serving_call *own = call->job;
    struct ArrowArray *output = &result->output;
    size_t count = (size_t)output->n_children;
    uint64_t next_error = 0;
    struct ArrowArray *child;
    enum lmn_status st = LMN_OK;

    if (own->fill->kept == NULL || output->release == NULL)
        return LMN_OK;
    st = lmn__kept_blobs_place(own->fill->sink, output, err);
    if (st != LMN_OK)
        return st;
    child = lmn__calloc(own->serving->env, count + 1, sizeof *child + sizeof *output->children);
    if (child == NULL)
        return lmn__no_memory(err, "a row to keep", count * sizeof *child);
    for (uint64_t i = 0; st == LMN_OK && i < (uint64_t)output->length; i++) {
        struct ArrowArray one = one_row(output, i, child,
                                        (struct ArrowArray **)(void *)(child + count + 1));

        if (next_error < result->error_count && result->error[next_error].row == i)
            next_error++;
        else
            st = lmn_call_keep(call, i, &one, err);
    }
    lmn__free(own->serving->env, child);
    return st == LMN_OK ? lmn_call_keep_sync(call, err) : st;
}
