/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker on another machine, as its agent shows it: a copy of its page, kept up to date by PAGE
 * frames, and one frame at its end. What a process of this machine would be told by memory or by a
 * signal, the agent is told by a frame.
 */
#include <stdio.h>
#include <string.h>

#include "engine/crew.h"
#include "os/clock.h"
#include "os/socket.h"

static void put(struct lmn__crew_worker *worker, uint32_t thread, enum lmn__message_kind kind,
                uint64_t task)
{
    const struct lmn__answer_message answer = { .task = task };
    struct lmn__channel *channel = &worker->channel[thread];
    struct lmn_error ignored;
    enum lmn_status st = lmn__channel_put(channel, kind, &lmn__answer_pb, &answer, &ignored);

    if (st == LMN_OK)
        st = lmn__channel_flush(channel, false, &ignored);
    (void)st; /* a connection that is gone is learnt of otherwise */
}

void lmn__crew_stop(struct lmn__crew_worker *worker, uint32_t thread, uint64_t task)
{
    if (worker->remote != NULL)
        put(worker, thread, LMN__MESSAGE_STOP, task);
    else
        atomic_store(&worker->page[thread].stop, task);
}

void lmn__crew_kill(struct lmn__crew_worker *worker)
{
    if (worker->remote != NULL)
        put(worker, 0, LMN__MESSAGE_KILL, 0);
    else
        lmn__process_kill(&worker->process);
}

uint64_t lmn__crew_memory(const struct lmn__crew_worker *worker)
{
    return worker->remote != NULL ? worker->remote->memory_bytes
                                  : lmn__process_resident_bytes(worker->process.pid);
}

uint64_t lmn__crew_cpu_ns(const struct lmn__crew_worker *worker)
{
    return worker->remote != NULL ? worker->remote->cpu_ns
                                  : lmn__process_cpu_ns(worker->process.pid);
}

static void keep_page(struct lmn__crew_worker *worker, uint32_t thread,
                      const struct lmn__page_message *shown)
{
    struct lmn__page *page = &worker->page[thread];

    atomic_store(&page->call_first, shown->call_first);
    atomic_store(&page->call_count, shown->call_count);
    atomic_store(&page->call_row_id, shown->call_row_id);
    atomic_store(&page->call_began_ns,
                 shown->in_call ? lmn__clock_monotonic_ns() - shown->in_call_ns : 0);
    atomic_store(&page->rows, shown->rows);
    atomic_store(&page->read_bytes, shown->read_bytes);
    atomic_store(&page->read_ns, shown->read_ns);
    atomic_store(&page->call_ns, shown->call_ns);
    atomic_store(&page->write_ns, shown->write_ns);
    atomic_store(&page->calls, shown->calls);
    atomic_store(&page->tokens, shown->tokens);
    atomic_store(&page->cost_nano, shown->cost_nano);
    atomic_store(&page->phase, shown->phase);
    worker->warm = shown->warm;
    worker->remote->memory_bytes = shown->memory_bytes;
    worker->remote->cpu_ns = shown->cpu_ns;
}

/* What lay on the shelf of a thread that has ended, as if it had been of this machine. */
static enum lmn_status keep_board(struct lmn__crew_worker *worker, uint32_t thread,
                                  const struct lmn__frame *frame, struct lmn__arena *arena,
                                  struct lmn_error *err)
{
    struct lmn__board_message shown = { 0 };
    enum lmn_status st = lmn__pb_decode(&lmn__board_pb, frame->body, arena, &shown, err);

    if (st != LMN_OK)
        return st;
    if (shown.board >= LMN__BOARDS ||
        !lmn__board_copy(lmn__shelf_board(worker->shared.memory, thread, shown.board), shown.task,
                         shown.items))
        return lmn_fail(err, LMN_E_CORRUPT, "node %s has board %u with %zu bytes of rows",
                        worker->remote->node, shown.board, shown.items.len);
    return LMN_OK;
}

enum lmn_status lmn__crew_hear_remote(struct lmn__crew_worker *worker, uint32_t thread,
                                      const struct lmn__frame *frame, struct lmn__arena *arena,
                                      struct lmn_error *err)
{
    struct lmn__page_message page = { 0 };
    struct lmn__answer_message end = { 0 };
    struct lmn__crew_remote *remote = worker->remote;
    enum lmn_status st;

    if (remote == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "a worker of this machine sent a message of kind %d",
                        frame->kind);
    if (frame->kind == LMN__MESSAGE_PAGE) {
        st = lmn__pb_decode(&lmn__page_pb, frame->body, arena, &page, err);
        if (st == LMN_OK)
            keep_page(worker, thread, &page);
        return st;
    }
    if (frame->kind == LMN__MESSAGE_BOARD)
        return keep_board(worker, thread, frame, arena, err);
    st = lmn__pb_decode(&lmn__answer_pb, frame->body, arena, &end, err);
    if (st != LMN_OK)
        return st;
    remote->told = true;
    snprintf(remote->death, sizeof remote->death, "%.*s",
             (int)(end.message.len < sizeof remote->death ? end.message.len : sizeof remote->death),
             end.message.data != NULL ? (const char *)end.message.data : "");
    return LMN_OK;
}

bool lmn__crew_closed(struct lmn__crew_worker *worker, uint32_t thread)
{
    struct lmn__crew_remote *remote = worker->remote;

    if (remote == NULL) {
        lmn__process_kill(&worker->process);
        return true;
    }
    lmn__socket_close(&worker->channel[thread].fd);
    remote->gone++;
    return !remote->told || remote->gone == worker->threads;
}

void lmn__crew_describe_end(struct lmn__crew_worker *worker, uint64_t memory_peak, char *text_out,
                            size_t text_bytes)
{
    char how[64] = "";

    if (worker->remote == NULL) {
        lmn__process_reap(&worker->process, true, how, sizeof how);
        snprintf(text_out, text_bytes,
                 "the worker ended with %s, %llu MiB in memory when last seen", how,
                 (unsigned long long)(memory_peak >> 20));
    } else if (worker->remote->told) {
        snprintf(text_out, text_bytes, "%s (node %s)", worker->remote->death, worker->remote->node);
    } else {
        snprintf(text_out, text_bytes, "the connection to its node %s was lost",
                 worker->remote->node);
    }
}
