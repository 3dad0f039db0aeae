/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent passes on: frames of the job to its worker and back, as they are; in between the
 * worker's page, what the worker prints, and at its end what lies on its shelf.
 *
 * Lines go before the result of the call that printed them, over the same connection: the job may
 * want no more once it has that.
 */
#include <string.h>

#include "engine/agent.h"
#include "os/clock.h"
#include "os/pipe.h"
#include "os/socket.h"

enum { READ_BYTES = 16 << 10, LINE_BYTES_MAX = 64 << 10, PENDING_BYTES_MAX = 1 << 20 };

bool lmn__agent_hears_log(const struct lmn__agent *agent)
{
    for (uint32_t i = 0; i < agent->threads; i++) {
        if (agent->link[i].out.len - agent->link[i].out_at > PENDING_BYTES_MAX)
            return false;
    }
    return true;
}

/* How much of what was printed is whole lines; all of it, when no line is so long. */
static size_t whole_lines(const struct lmn__buf *printed)
{
    size_t len = printed->len;

    while (len > 0 && printed->data[len - 1] != '\n')
        len--;
    return len == 0 && printed->len >= LINE_BYTES_MAX ? printed->len : len;
}

static void read_log(struct lmn__agent *agent)
{
    uint8_t data[READ_BYTES];
    bool ended = false;

    while (agent->crew->log_fd >= 0 && !ended && agent->printed.len < PENDING_BYTES_MAX) {
        size_t len = lmn__pipe_read(agent->crew->log_fd, data, sizeof data, &ended);

        if (len == 0)
            break;
        lmn__buf_put(&agent->printed, data, len);
    }
    if (ended)
        lmn__socket_close(&agent->crew->log_fd);
}

enum lmn_status lmn__agent_pass_log(struct lmn__agent *agent, uint32_t thread, bool last,
                                    struct lmn_error *err)
{
    struct lmn__buf *printed = &agent->printed;
    struct lmn__answer_message shown = { 0 };
    enum lmn_status st;

    if (!last && !lmn__agent_hears_log(agent))
        return LMN_OK;
    read_log(agent);
    if (printed->failed) { /* a pity, and no reason to end a worker */
        lmn__buf_reset(printed);
        return LMN_OK;
    }
    shown.message = (struct lmn__span){ printed->data, last ? printed->len : whole_lines(printed) };
    if (shown.message.len == 0)
        return LMN_OK;
    st = lmn__agent_put_page(agent, thread, err);
    if (st == LMN_OK)
        st = lmn__channel_put(&agent->link[thread], LMN__MESSAGE_LOG, &lmn__answer_pb, &shown, err);
    printed->len -= shown.message.len;
    memmove(printed->data, printed->data + shown.message.len, printed->len);
    return st;
}

/* The variables become what a worker is started with, behind those of the options. */
static enum lmn_status keep_environment(struct lmn__agent *agent, const struct lmn__frame *frame,
                                        struct lmn_error *err)
{
    const char *const *given = agent->options->worker_env;
    struct lmn__welcome_message welcome;
    size_t count = 0;
    enum lmn_status st = lmn__welcome_decode(frame->body, &agent->arena, &welcome, err);

    if (st != LMN_OK)
        return st;
    while (given != NULL && given[count] != NULL)
        count++;
    agent->environment = lmn__arena_array(&agent->arena, count + welcome.variable.count + 1,
                                          sizeof *agent->environment);
    if (agent->environment == NULL)
        return lmn__arena_fail(&agent->arena, "an environment", err);
    if (count > 0)
        memcpy(agent->environment, given, count * sizeof *given);
    for (size_t i = 0; i < welcome.variable.count; i++) {
        struct lmn__span text = welcome.variable.item[i];

        agent->environment[count] = lmn__arena_strndup(&agent->arena, text.data, text.len);
        if (agent->environment[count++] == NULL)
            return lmn__arena_fail(&agent->arena, "an environment", err);
    }
    agent->environment[count] = NULL;
    return LMN_OK;
}

/* The worker is told of this process as its engine, and gets the page that is shared with it. */
static enum lmn_status pass_setup(struct lmn__agent *agent, uint32_t thread,
                                  const struct lmn__frame *frame, struct lmn_error *err)
{
    struct lmn__channel *to = &agent->crew->channel[thread];
    struct lmn__setup_message setup;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, agent->env, 0);
    st = lmn__setup_decode(frame->body, &arena, &setup, err);
    if (st == LMN_OK) {
        setup.engine_pid = (uint64_t)lmn__process_self();
        setup.slot = thread;
        agent->memory_max = setup.memory_bytes;
        agent->set_up = true;
        agent->doors = 0;
        st = lmn__channel_put(to, LMN__MESSAGE_SETUP, &lmn__setup_pb, &setup, err);
    }
    lmn__socket_close(&to->pass);
    to->pass = lmn__shared_fd(&agent->crew->shared);
    lmn__arena_deinit(&arena);
    return st;
}

/* What the job says with a number, or with a reason. */
static enum lmn_status obey(struct lmn__agent *agent, uint32_t thread,
                            const struct lmn__frame *frame, struct lmn_error *err)
{
    struct lmn__answer_message answer = { 0 };
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, agent->env, 0);
    st = lmn__pb_decode(&lmn__answer_pb, frame->body, &arena, &answer, err);
    if (st == LMN_OK && frame->kind == LMN__MESSAGE_STOP)
        atomic_store(&agent->crew->page[thread].stop, answer.task);
    else if (st == LMN_OK && frame->kind == LMN__MESSAGE_KILL) {
        agent->busy[thread] = true; /* it serves nobody any more */
        lmn__process_kill(&agent->crew->process);
    } else if (st == LMN_OK && lmn__answer_error(&answer, err) != LMN_OK)
        st = LMN_E_INVALID;
    lmn__arena_deinit(&arena);
    return st;
}

static enum lmn_status hear_frame(struct lmn__agent *agent, uint32_t thread,
                                  const struct lmn__frame *frame, struct lmn_error *err)
{
    switch (frame->kind) {
    case LMN__MESSAGE_SETUP:
        agent->busy[thread] = true;
        return pass_setup(agent, thread, frame, err);
    case LMN__MESSAGE_TASK:
        agent->busy[thread] = true;
        return lmn__channel_pass_on(&agent->crew->channel[thread], frame, err);
    case LMN__MESSAGE_GRANTED:
    case LMN__MESSAGE_PERMITTED:
        return lmn__channel_pass_on(&agent->crew->channel[thread], frame, err);
    case LMN__MESSAGE_STOP:
    case LMN__MESSAGE_KILL:
    case LMN__MESSAGE_REFUSED:
        return obey(agent, thread, frame, err);
    default:
        return lmn_fail(err, LMN_E_CORRUPT, "the job sent an agent a message of kind %d",
                        frame->kind);
    }
}

enum lmn_status lmn__agent_hear_job(struct lmn__agent *agent, uint32_t thread, bool *over_out,
                                    struct lmn_error *err)
{
    struct lmn__channel *link = &agent->link[thread];
    struct lmn__frame frame;
    enum lmn_status st = lmn__channel_receive(link, false, over_out, err);

    while (st == LMN_OK) {
        st = lmn__channel_next(link, &frame, err);
        if (st != LMN_OK || frame.body.data == NULL)
            break;
        st = hear_frame(agent, thread, &frame, err);
    }
    return st;
}

enum lmn_status lmn__agent_meet(struct lmn__agent *agent, bool *closed_out, struct lmn_error *err)
{
    struct lmn_error failure = { 0 };
    struct lmn__frame frame = { 0 };
    enum lmn_status st = lmn__channel_wait(&agent->link[0], &frame, &failure);

    *closed_out = frame.body.data == NULL && (st == LMN_OK || lmn__socket_is_closed(&failure));
    if (*closed_out)
        return LMN_OK;
    if (st != LMN_OK)
        return lmn_fail(err, st, "%s", failure.message);
    if (frame.kind == LMN__MESSAGE_WELCOME)
        return keep_environment(agent, &frame, err);
    if (frame.kind == LMN__MESSAGE_REFUSED)
        return obey(agent, 0, &frame, err);
    return lmn_fail(err, LMN_E_CORRUPT, "the job greets an agent with a message of kind %d",
                    frame.kind);
}

enum lmn_status lmn__agent_put_page(struct lmn__agent *agent, uint32_t thread,
                                    struct lmn_error *err)
{
    struct lmn__page *page = &agent->crew->page[thread];
    uint64_t began_ns = atomic_load(&page->call_began_ns), now_ns = lmn__clock_monotonic_ns();
    const struct lmn__page_message shown = {
        .in_call = began_ns != 0,
        .in_call_ns = began_ns != 0 && now_ns > began_ns ? now_ns - began_ns : 0,
        .call_first = atomic_load(&page->call_first),
        .call_count = atomic_load(&page->call_count),
        .rows = atomic_load(&page->rows),
        .read_ns = atomic_load(&page->read_ns),
        .call_ns = atomic_load(&page->call_ns),
        .call_row_id = atomic_load(&page->call_row_id),
        .read_bytes = atomic_load(&page->read_bytes),
        .write_ns = atomic_load(&page->write_ns),
        .calls = atomic_load(&page->calls),
        .tokens = atomic_load(&page->tokens),
        .cost_nano = atomic_load(&page->cost_nano),
        .phase = (uint32_t)atomic_load(&page->phase),
        .warm = agent->crew->warm,
        .memory_bytes = agent->memory_bytes,
        .cpu_ns = lmn__process_cpu_ns(agent->crew->process.pid),
    };

    return lmn__channel_put(&agent->link[thread], LMN__MESSAGE_PAGE, &lmn__page_pb, &shown, err);
}

/* Pass on what the worker says. What it has printed and counted is shown first: the job may want no
 * more. */
static enum lmn_status pass_word(struct lmn__agent *agent, uint32_t thread,
                                 const struct lmn__frame *frame, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (frame->kind == LMN__MESSAGE_READY || frame->kind == LMN__MESSAGE_DONE ||
        frame->kind == LMN__MESSAGE_FAILED)
        agent->busy[thread] = false;
    if (frame->kind != LMN__MESSAGE_GRANT)
        st = lmn__agent_pass_log(agent, thread, false, err);
    if (st == LMN_OK && frame->kind != LMN__MESSAGE_GRANT)
        st = lmn__agent_put_page(agent, thread, err);
    return st == LMN_OK ? lmn__channel_pass_on(&agent->link[thread], frame, err) : st;
}

enum lmn_status lmn__agent_hear_worker(struct lmn__agent *agent, uint32_t thread, bool *ended_out,
                                       struct lmn_error *err)
{
    struct lmn__channel *from = &agent->crew->channel[thread];
    enum lmn_status st = LMN_OK;
    bool closed = false;

    while (st == LMN_OK) {
        struct lmn__frame frame;
        size_t before = from->in.len - from->in_at;

        st = lmn__channel_next(from, &frame, err);
        if (st == LMN_OK && frame.body.data != NULL) {
            st = pass_word(agent, thread, &frame, err);
            continue;
        }
        if (st == LMN_OK)
            st = lmn__channel_receive(from, false, &closed, err);
        if (closed)
            *ended_out = true;
        if (st == LMN_OK && from->in.len - from->in_at == before)
            break;
    }
    return st;
}

/* The rows that a thread had finished, for whoever computes the others. */
static enum lmn_status put_boards(struct lmn__agent *agent, uint32_t thread, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < LMN__BOARDS; i++) {
        struct lmn__board *board = lmn__shelf_board(agent->crew->shared.memory, thread, i);
        const struct lmn__board_message shown = { i, atomic_load(&board->task),
                                                  lmn__board_items(board) };

        if (shown.items.len > 0)
            st = lmn__channel_put(&agent->link[thread], LMN__MESSAGE_BOARD, &lmn__board_pb, &shown,
                                  err);
    }
    return st;
}

enum lmn_status lmn__agent_say_end(struct lmn__agent *agent, uint32_t thread, struct lmn_error *err)
{
    const struct lmn__answer_message end = { .message = { (const uint8_t *)agent->death,
                                                          strlen(agent->death) } };
    struct lmn__channel *link = &agent->link[thread];
    bool ended;
    enum lmn_status st = lmn__agent_hear_worker(agent, thread, &ended, err);

    if (st == LMN_OK)
        st = lmn__agent_pass_log(agent, thread, true, err);
    if (st == LMN_OK)
        st = lmn__agent_put_page(agent, thread, err);
    if (st == LMN_OK)
        st = put_boards(agent, thread, err);
    if (st == LMN_OK)
        st = lmn__channel_put(link, LMN__MESSAGE_DIED, &lmn__answer_pb, &end, err);
    return st == LMN_OK ? lmn__channel_flush(link, true, err) : st;
}
