/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent stands between a job on another machine and a worker process on this one. Towards the
 * worker it is the engine: it starts it, shares a page with it, watches its memory, learns of its
 * death. Towards the job it is the worker: it passes the worker's frames on as they are, and in
 * between shows its page.
 *
 *   take a worker -> connect, HELLO -> pass on until ... -> again
 *        the worker dies:        what it said is passed on, then PAGE and DIED end each connection
 *        the job closes:         the worker is kept if it is idle, and killed otherwise
 *        nobody answers any more: the job is over
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <leman/hub.h>

#include "engine/crew.h"
#include "engine/record.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/host.h"
#include "os/random.h"
#include "os/socket.h"
#include "os/tcp.h"

#define NS_PER_MS 1000000ull

enum { NONCE_CHARS = 40, NONCE_TRIES = 10, DOORS_MAX = 20, DEATH_CHARS = 160 };

static const uint64_t TURN_NS = 100 * NS_PER_MS, WATCH_NS = 10 * NS_PER_MS;
static const uint64_t PAGE_NS = 100 * NS_PER_MS;
static const int64_t NONCE_NS = 200 * NS_PER_MS, AGAIN_NS = 100 * NS_PER_MS;

struct agent {
    const struct lmn_agent_options *options;
    struct lmn_env *env; /* counted */
    uint32_t threads;
    struct lmn__crew_worker *crew;
    struct lmn__channel *link; /* to the hub; one for each thread */
    bool *busy;                /* by thread: it has been told something to do */
    struct lmn__poll *poll;
    bool met;       /* the hub has answered once */
    bool set_up;    /* the job has spoken */
    uint32_t doors; /* times in a row that it was closed without a word */
    uint64_t memory_max, memory_bytes, memory_peak, page_ns;
    char death[DEATH_CHARS]; /* why the worker was killed here; "" otherwise */
    char nonce[NONCE_CHARS];
};

/* What proves that this machine sees the table; "" when it does not. Some file systems show a new
 * file late. */
static void read_nonce(struct agent *agent)
{
    char path[LMN__HOST_PATH_CHARS + LMN__RECORD_PATH_CHARS], name[LMN__RECORD_PATH_CHARS];
    struct lmn_error ignored;

    lmn__record_path(agent->options->job, "nonce", name);
    snprintf(path, sizeof path, "%s/%s", agent->options->root, name);
    agent->nonce[0] = '\0';
    for (int i = 0; i < NONCE_TRIES; i++) {
        struct lmn__file file;
        uint64_t bytes = 0;

        if (lmn__file_open(path, LMN__FILE_READ, &file, &ignored) == LMN_OK) {
            bool read = lmn__file_size(&file, path, &bytes, &ignored) == LMN_OK &&
                        bytes < sizeof agent->nonce &&
                        lmn__file_read_at(&file, path, 0, agent->nonce, bytes, &ignored) == LMN_OK;

            agent->nonce[read ? bytes : 0] = '\0';
            lmn__file_close(&file);
            return;
        }
        lmn__clock_wait_ns(NONCE_NS);
    }
}

static enum lmn_status take_worker(struct agent *agent, struct lmn_error *err)
{
    const struct lmn__crew_kind kind = { .argument = agent->options->worker,
                                         .environment = agent->options->worker_env,
                                         .threads = agent->threads };

    agent->memory_max = agent->memory_bytes = agent->memory_peak = 0;
    agent->death[0] = '\0';
    agent->set_up = false;
    memset(agent->busy, 0, agent->threads * sizeof *agent->busy);
    return lmn__crew_take(agent->env, &kind, &agent->crew, err);
}

static void drop_links(struct agent *agent)
{
    for (uint32_t i = 0; i < agent->threads; i++)
        lmn__channel_deinit(&agent->link[i]);
}

static struct lmn__span text_span(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, text != NULL ? strlen(text) : 0 };
}

/* One connection for each thread, all under one name. */
static enum lmn_status connect_links(struct agent *agent, struct lmn_error *err)
{
    const struct lmn_agent_options *options = agent->options;
    char name[LMN__TOKEN_CHARS];
    struct lmn__hello_message hello = { .protocol = LMN__PROTOCOL_VERSION,
                                        .token = text_span(options->token),
                                        .node = text_span(options->node),
                                        .machine = text_span(options->machine),
                                        .nonce = text_span(agent->nonce),
                                        .threads = agent->threads };
    enum lmn_status st = lmn__random_token(name, err);

    hello.agent = text_span(name);
    for (uint32_t i = 0; st == LMN_OK && i < agent->threads; i++) {
        int fd;

        st = lmn__tcp_connect(options->host, options->port, &fd, err);
        if (st != LMN_OK)
            break;
        lmn__channel_init(&agent->link[i], agent->env, fd);
        hello.thread = i;
        st = lmn__channel_put(&agent->link[i], LMN__MESSAGE_HELLO, &lmn__hello_pb, &hello, err);
        if (st == LMN_OK)
            st = lmn__channel_flush(&agent->link[i], true, err);
    }
    return st;
}

/* The worker is told of this process as its engine, and gets the page that is shared with it. */
static enum lmn_status pass_setup(struct agent *agent, uint32_t thread,
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
static enum lmn_status obey(struct agent *agent, uint32_t thread, const struct lmn__frame *frame,
                            struct lmn_error *err)
{
    struct lmn__answer_message answer = { 0 };
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, agent->env, 0);
    st = lmn__pb_decode(&lmn__answer_pb, frame->body, &arena, &answer, err);
    if (st == LMN_OK && frame->kind == LMN__MESSAGE_STOP)
        atomic_store(&agent->crew->page[thread].stop, answer.task);
    else if (st == LMN_OK && frame->kind == LMN__MESSAGE_KILL)
        lmn__process_kill(&agent->crew->process);
    else if (st == LMN_OK && lmn__answer_error(&answer, err) != LMN_OK)
        st = LMN_E_INVALID;
    lmn__arena_deinit(&arena);
    return st;
}

static enum lmn_status hear_frame(struct agent *agent, uint32_t thread,
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

/* Everything that has come over one connection; *over_out: it is closed. */
static enum lmn_status hear_job(struct agent *agent, uint32_t thread, bool *over_out,
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

static enum lmn_status put_page(struct agent *agent, uint32_t thread, uint64_t now_ns,
                                struct lmn_error *err)
{
    struct lmn__page *page = &agent->crew->page[thread];
    uint64_t began_ns = atomic_load(&page->call_began_ns);
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
        .memory_bytes = agent->memory_bytes,
        .cpu_ns = lmn__process_cpu_ns(agent->crew->process.pid),
    };

    return lmn__channel_put(&agent->link[thread], LMN__MESSAGE_PAGE, &lmn__page_pb, &shown, err);
}

/* Pass on what the worker says. What it has counted is shown first: the job may want no more. */
static enum lmn_status pass_word(struct agent *agent, uint32_t thread,
                                 const struct lmn__frame *frame, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (frame->kind == LMN__MESSAGE_READY || frame->kind == LMN__MESSAGE_DONE ||
        frame->kind == LMN__MESSAGE_FAILED)
        agent->busy[thread] = false;
    if (frame->kind != LMN__MESSAGE_GRANT)
        st = put_page(agent, thread, lmn__clock_monotonic_ns(), err);
    return st == LMN_OK ? lmn__channel_pass_on(&agent->link[thread], frame, err) : st;
}

/* Everything that a thread of the worker has said; *ended_out: it says no more. */
static enum lmn_status hear_worker(struct agent *agent, uint32_t thread, bool *ended_out,
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

static void watch_memory(struct agent *agent)
{
    agent->memory_bytes = lmn__process_resident_bytes(agent->crew->process.pid);
    if (agent->memory_bytes > agent->memory_peak)
        agent->memory_peak = agent->memory_bytes;
    if (agent->memory_max == 0 || agent->memory_bytes <= agent->memory_max ||
        agent->death[0] != '\0')
        return;
    snprintf(agent->death, sizeof agent->death,
             "memory: the worker had %llu MiB in memory, over its limit of %llu MiB",
             (unsigned long long)(agent->memory_bytes >> 20),
             (unsigned long long)(agent->memory_max >> 20));
    lmn__process_kill(&agent->crew->process);
}

/* What is said of a worker at its end, on each connection. */
static enum lmn_status say_end(struct agent *agent, uint32_t thread, struct lmn_error *err)
{
    const struct lmn__answer_message end = { .message = text_span(agent->death) };
    struct lmn__channel *link = &agent->link[thread];
    bool ended;
    enum lmn_status st = hear_worker(agent, thread, &ended, err);

    if (st == LMN_OK)
        st = put_page(agent, thread, lmn__clock_monotonic_ns(), err);
    if (st == LMN_OK)
        st = lmn__channel_put(link, LMN__MESSAGE_DIED, &lmn__answer_pb, &end, err);
    return st == LMN_OK ? lmn__channel_flush(link, true, err) : st;
}

/* The worker has ended: say all that is to be said of it, and hang up. */
static enum lmn_status bury(struct agent *agent, struct lmn_error *err)
{
    struct lmn_error failure = { 0 };
    char how[64] = "an unknown end";
    enum lmn_status st = LMN_OK;

    lmn__process_kill(&agent->crew->process); /* what it left in its group */
    lmn__process_reap(&agent->crew->process, true, how, sizeof how);
    if (agent->death[0] == '\0')
        snprintf(agent->death, sizeof agent->death,
                 "the worker ended with %s, %llu MiB in memory when last seen", how,
                 (unsigned long long)(agent->memory_peak >> 20));
    for (uint32_t i = 0; st == LMN_OK && i < agent->threads; i++)
        st = say_end(agent, i, &failure);
    lmn__crew_end(agent->crew);
    agent->crew = NULL;
    if (st == LMN_OK || lmn__socket_is_closed(&failure))
        return LMN_OK;
    return lmn_fail(err, st, "%s", failure.message);
}

/* Descriptors of the process, then for each thread the worker's and the job's. */
static void wait_for_any(struct agent *agent)
{
    uint32_t count = 0;

    agent->poll[count++] = (struct lmn__poll){ .fd = agent->crew->process.fd, .wants_in = true };
    for (uint32_t i = 0; i < agent->threads; i++) {
        struct lmn__channel *channel[] = { &agent->crew->channel[i], &agent->link[i] };

        for (int k = 0; k < 2; k++)
            agent->poll[count++] =
                (struct lmn__poll){ .fd = channel[k]->fd,
                                    .wants_in = true,
                                    .wants_out = lmn__channel_pending(channel[k]) };
    }
    lmn__poll_wait(agent->poll, count, agent->memory_max != 0 ? WATCH_NS : TURN_NS);
}

/* What is queued goes as far as it goes; who is gone is learnt of by listening. */
static void flush_all(struct agent *agent)
{
    for (uint32_t i = 0; i < agent->threads; i++) {
        struct lmn_error ignored;
        enum lmn_status st = lmn__channel_flush(&agent->crew->channel[i], false, &ignored);

        st = lmn__channel_flush(&agent->link[i], false, &ignored);
        (void)st;
    }
}

static enum lmn_status turn(struct agent *agent, bool *over_out, bool *ended_out,
                            struct lmn_error *err)
{
    uint64_t now_ns;
    enum lmn_status st = LMN_OK;

    wait_for_any(agent);
    *ended_out = agent->poll[0].in;
    for (uint32_t i = 0; st == LMN_OK && i < agent->threads; i++) {
        bool over = false;

        if (agent->poll[2 * i + 1].in)
            st = hear_worker(agent, i, ended_out, err);
        if (st == LMN_OK && agent->poll[2 * i + 2].in)
            st = hear_job(agent, i, &over, err);
        *over_out = *over_out || over;
    }
    watch_memory(agent);
    now_ns = lmn__clock_monotonic_ns();
    if (now_ns >= agent->page_ns && agent->set_up) {
        agent->page_ns = now_ns + PAGE_NS;
        for (uint32_t i = 0; st == LMN_OK && i < agent->threads; i++)
            st = put_page(agent, i, now_ns, err);
    }
    flush_all(agent);
    return st;
}

/* Pass on what is said until one side is gone. */
static enum lmn_status serve(struct agent *agent, struct lmn_error *err)
{
    bool over = false, ended = false;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && !over && !ended)
        st = turn(agent, &over, &ended, err);
    if (st == LMN_OK && ended && !over)
        st = bury(agent, err);
    return st;
}

/* A worker that waits for work is kept for the next time. */
static void release_worker(struct agent *agent)
{
    bool idle = agent->crew != NULL;

    for (uint32_t i = 0; i < agent->threads; i++)
        idle = idle && !agent->busy[i];
    if (idle)
        lmn__crew_give(agent->crew);
    else
        lmn__crew_end(agent->crew);
    agent->crew = NULL;
}

/* One worker, from its start to its end; *over_out: the job wants no other. */
static enum lmn_status run_worker(struct agent *agent, bool *over_out, struct lmn_error *err)
{
    enum lmn_status st = take_worker(agent, err);

    if (st != LMN_OK)
        return st;
    st = connect_links(agent, err);
    if (st == LMN_OK) {
        agent->met = true;
        agent->doors++;
        st = serve(agent, err);
    } else if (agent->met && (st == LMN_E_UNAVAILABLE || st == LMN_E_IO)) {
        *over_out = true;
        st = LMN_OK;
    }
    release_worker(agent);
    drop_links(agent);
    return st;
}

static enum lmn_status run_all(struct agent *agent, struct lmn_error *err)
{
    bool over = false;
    enum lmn_status st = LMN_OK;

    read_nonce(agent);
    while (st == LMN_OK && !over && agent->doors < DOORS_MAX) {
        st = run_worker(agent, &over, err);
        if (st == LMN_OK && !over && agent->doors > 0)
            lmn__clock_wait_ns(AGAIN_NS);
    }
    lmn__crew_end_idle();
    if (agent->doors == DOORS_MAX)
        st = lmn_fail(err, LMN_E_UNAVAILABLE,
                      "the job at %.100s, port %u, closes the connection without a word: is the "
                      "token its own?",
                      agent->options->host, agent->options->port);
    return st;
}

enum lmn_status lmn_agent_run(const struct lmn_agent_options *options, struct lmn_error *err)
{
    struct agent agent = { .options = options,
                           .threads = options->threads != 0 ? options->threads : 1 };
    enum lmn_status st;

    if (options->host == NULL || options->token == NULL || options->root == NULL ||
        options->job == NULL || options->worker == NULL || options->worker[0] == NULL ||
        agent.threads > LMN__CREW_THREADS_MAX)
        return lmn_fail(err, LMN_E_INVALID,
                        "an agent has a host, a token, a table, a job, a command that starts its "
                        "workers, and 1 to %d threads",
                        LMN__CREW_THREADS_MAX);
    st = lmn__env_resolve(NULL, &agent.env, err);
    if (st != LMN_OK)
        return st;
    agent.link = lmn__calloc(agent.env, agent.threads, sizeof *agent.link);
    agent.busy = lmn__calloc(agent.env, agent.threads, sizeof *agent.busy);
    agent.poll = lmn__calloc(agent.env, 1 + 2ull * agent.threads, sizeof *agent.poll);
    if (agent.link != NULL && agent.busy != NULL && agent.poll != NULL)
        st = run_all(&agent, err);
    else
        st = lmn__no_memory(err, "an agent", agent.threads * sizeof *agent.link);
    lmn__free(agent.env, agent.link);
    lmn__free(agent.env, agent.busy);
    lmn__free(agent.env, agent.poll);
    lmn_env_release(agent.env);
    return st;
}
