/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent stands between a job on another machine and a worker process on this one. Towards the
 * worker it is the engine: it starts it, shares a page with it, watches its memory, learns of its
 * death. Towards the job it is the worker: it passes the worker's frames on as they are, and in
 * between shows its page.
 *
 *   connect, HELLO -> WELCOME, take a worker -> pass on until ... -> again
 *        the worker dies:        what it said is passed on, then DIED ends each connection
 *        the job closes:         the worker is kept if it is idle in a moment, and killed otherwise
 *        nobody answers any more: the job is over
 *
 * A worker that is kept serves the next agent of this process that wants one of its kind.
 */
#include <stdio.h>
#include <string.h>

#include "engine/agent.h"
#include "engine/record.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/host.h"
#include "os/random.h"
#include "os/socket.h"
#include "os/tcp.h"

#define NS_PER_MS 1000000ull

enum { NONCE_TRIES = 10, DOORS_MAX = 20 };

static const uint64_t TURN_NS = 100 * NS_PER_MS, WATCH_NS = 10 * NS_PER_MS;
static const uint64_t PAGE_NS = 100 * NS_PER_MS, SETTLE_NS = 1000 * NS_PER_MS;
static const int64_t NONCE_NS = 200 * NS_PER_MS, AGAIN_NS = 100 * NS_PER_MS;

/* What proves that this machine sees the table; "" when it does not. Some file systems show a new
 * file late. */
static void read_nonce(struct lmn__agent *agent)
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

static enum lmn_status take_worker(struct lmn__agent *agent, struct lmn_error *err)
{
    const struct lmn__crew_kind kind = { .argument = agent->options->worker,
                                         .environment = agent->environment,
                                         .threads = agent->threads,
                                         .logged = true };
    enum lmn_status st;

    agent->memory_max = agent->memory_bytes = agent->memory_peak = 0;
    agent->death[0] = '\0';
    agent->set_up = false;
    memset(agent->busy, 0, agent->threads * sizeof *agent->busy);
    lmn__buf_reset(&agent->printed);
    st = lmn__crew_take(agent->env, &kind, &agent->crew, err);
    if (st == LMN_OK)
        agent->memory_bytes = lmn__process_resident_bytes(agent->crew->process.pid);
    return st;
}

static void drop_links(struct lmn__agent *agent)
{
    for (uint32_t i = 0; i < agent->threads; i++)
        lmn__channel_deinit(&agent->link[i]);
}

static struct lmn__span text_span(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, text != NULL ? strlen(text) : 0 };
}

/* One connection for each thread, all under one name. */
static enum lmn_status connect_links(struct lmn__agent *agent, struct lmn_error *err)
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

static void watch_memory(struct lmn__agent *agent)
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

/* The worker has ended: say all that is to be said of it, and hang up. */
static enum lmn_status bury(struct lmn__agent *agent, struct lmn_error *err)
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
        st = lmn__agent_say_end(agent, i, &failure);
    lmn__crew_end(agent->crew);
    agent->crew = NULL;
    if (st == LMN_OK || lmn__socket_is_closed(&failure))
        return LMN_OK;
    return lmn_fail(err, st, "%s", failure.message);
}

/* Descriptors of the process and of what it prints, then for each thread the worker's and the
 * job's. */
static void wait_for_any(struct lmn__agent *agent)
{
    bool hears = lmn__agent_hears_log(agent);
    uint32_t count = 0;

    agent->poll[count++] = (struct lmn__poll){ .fd = agent->crew->process.fd, .wants_in = true };
    agent->poll[count++] = (struct lmn__poll){ .fd = hears ? agent->crew->log_fd : -1,
                                               .wants_in = true };
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
static void flush_all(struct lmn__agent *agent)
{
    for (uint32_t i = 0; i < agent->threads; i++) {
        struct lmn_error ignored;
        enum lmn_status st = lmn__channel_flush(&agent->crew->channel[i], false, &ignored);

        st = lmn__channel_flush(&agent->link[i], false, &ignored);
        (void)st;
    }
}

static enum lmn_status turn(struct lmn__agent *agent, bool *over_out, bool *ended_out,
                            struct lmn_error *err)
{
    uint64_t now_ns;
    enum lmn_status st = LMN_OK;

    wait_for_any(agent);
    *ended_out = agent->poll[0].in;
    for (uint32_t i = 0; st == LMN_OK && i < agent->threads; i++) {
        bool over = false;

        if (agent->poll[2 * i + 2].in)
            st = lmn__agent_hear_worker(agent, i, ended_out, err);
        if (st == LMN_OK && agent->poll[2 * i + 3].in)
            st = lmn__agent_hear_job(agent, i, &over, err);
        *over_out = *over_out || over;
    }
    if (st == LMN_OK && agent->poll[1].in)
        st = lmn__agent_pass_log(agent, 0, false, err);
    watch_memory(agent);
    now_ns = lmn__clock_monotonic_ns();
    if (now_ns >= agent->page_ns && agent->set_up) {
        agent->page_ns = now_ns + PAGE_NS;
        for (uint32_t i = 0; st == LMN_OK && i < agent->threads; i++)
            st = lmn__agent_put_page(agent, i, err);
    }
    flush_all(agent);
    return st;
}

/* Pass on what is said until one side is gone. */
static enum lmn_status serve(struct lmn__agent *agent, struct lmn_error *err)
{
    bool over = false, ended = false;
    enum lmn_status st = lmn__agent_hear_job(agent, 0, &over, err); /* behind its first word */

    flush_all(agent);
    while (st == LMN_OK && !over && !ended)
        st = turn(agent, &over, &ended, err);
    if (st == LMN_OK && ended && !over)
        st = bury(agent, err);
    return st;
}

static bool is_busy(const struct lmn__agent *agent)
{
    for (uint32_t i = 0; i < agent->threads; i++) {
        if (agent->busy[i])
            return true;
    }
    return false;
}

/* A worker whose last result the job has waits for work in a moment. */
static bool settles(struct lmn__agent *agent)
{
    uint64_t end_ns = lmn__clock_monotonic_ns() + SETTLE_NS, now_ns;
    enum lmn_status st = LMN_OK;
    bool ended = false;

    while (st == LMN_OK && !ended && is_busy(agent) &&
           (now_ns = lmn__clock_monotonic_ns()) < end_ns) {
        struct lmn_error ignored;

        for (uint32_t i = 0; i < agent->threads; i++)
            agent->poll[i] = (struct lmn__poll){ .fd = agent->crew->channel[i].fd,
                                                 .wants_in = true };
        lmn__poll_wait(agent->poll, agent->threads, end_ns - now_ns);
        for (uint32_t i = 0; st == LMN_OK && i < agent->threads; i++) {
            if (agent->poll[i].in)
                st = lmn__agent_hear_worker(agent, i, &ended, &ignored);
        }
    }
    return st == LMN_OK && !ended && !is_busy(agent);
}

/* A worker that waits for work is kept for the next time. */
static void release_worker(struct lmn__agent *agent)
{
    if (agent->crew != NULL && settles(agent))
        lmn__crew_give(agent->crew);
    else
        lmn__crew_end(agent->crew);
    agent->crew = NULL;
}

/* One worker, from its start to its end; *over_out: the job wants no other. */
static enum lmn_status run_worker(struct lmn__agent *agent, bool *over_out, struct lmn_error *err)
{
    bool closed = true;
    enum lmn_status st = connect_links(agent, err);

    lmn__arena_init(&agent->arena, agent->env, 0);
    if (st == LMN_OK) {
        agent->met = true;
        agent->doors++;
        st = lmn__agent_meet(agent, &closed, err);
    } else if (agent->met && (st == LMN_E_UNAVAILABLE || st == LMN_E_IO)) {
        *over_out = true;
        st = LMN_OK;
    }
    if (st == LMN_OK && !closed)
        st = take_worker(agent, err);
    if (st == LMN_OK && !closed)
        st = serve(agent, err);
    release_worker(agent);
    drop_links(agent);
    lmn__arena_deinit(&agent->arena);
    return st;
}

static enum lmn_status run_all(struct lmn__agent *agent, struct lmn_error *err)
{
    bool over = false;
    enum lmn_status st = LMN_OK;

    read_nonce(agent);
    while (st == LMN_OK && !over && agent->doors < DOORS_MAX) {
        st = run_worker(agent, &over, err);
        if (st == LMN_OK && !over && agent->doors > 0)
            lmn__clock_wait_ns(AGAIN_NS);
    }
    if (agent->doors == DOORS_MAX)
        st = lmn_fail(err, LMN_E_UNAVAILABLE,
                      "the job at %.100s, port %u, closes the connection without a word: is the "
                      "token its own?",
                      agent->options->host, agent->options->port);
    return st;
}

enum lmn_status lmn_agent_run(const struct lmn_agent_options *options, struct lmn_error *err)
{
    struct lmn__agent agent = { .options = options,
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
    lmn__buf_init(&agent.printed, agent.env, 0);
    agent.link = lmn__calloc(agent.env, agent.threads, sizeof *agent.link);
    agent.busy = lmn__calloc(agent.env, agent.threads, sizeof *agent.busy);
    agent.poll = lmn__calloc(agent.env, 2 + 2ull * agent.threads, sizeof *agent.poll);
    if (agent.link != NULL && agent.busy != NULL && agent.poll != NULL)
        st = run_all(&agent, err);
    else
        st = lmn__no_memory(err, "an agent", agent.threads * sizeof *agent.link);
    lmn__free(agent.env, agent.link);
    lmn__free(agent.env, agent.busy);
    lmn__free(agent.env, agent.poll);
    lmn__buf_deinit(&agent.printed);
    lmn_env_release(agent.env);
    return st;
}
