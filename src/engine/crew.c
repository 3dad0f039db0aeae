/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool and the thread that starts processes are of the whole process, made at the first use.
 * After a fork the child has neither: what it inherits is the parent's, and is forgotten.
 */
#include "engine/crew.h"

#include <stdio.h>
#include <string.h>

#include "os/pipe.h"
#include "os/socket.h"
#include "os/thread.h"

enum { IDLE_MAX = 64 };

/* A process to be started by the thread that may. */
struct request {
    const struct lmn__process_options *options;
    struct lmn__process process;
    enum lmn_status status;
    struct lmn_error error;
    bool done;
};

static struct lmn__mutex mutex = LMN__MUTEX_INIT;
static struct lmn__cond cond = LMN__COND_INIT;
static struct {
    int64_t pid; /* whose all this is */
    struct lmn__crew_worker *idle;
    uint32_t idle_count;
    bool starter_runs, starter_ends;
    struct lmn__thread starter;
    struct request *request;
} locked;

static void starter_main(void *context)
{
    (void)context;
    lmn__mutex_lock(&mutex);
    while (!locked.starter_ends) {
        struct request *request = locked.request;

        if (request == NULL || request->done) {
            lmn__cond_wait(&cond, &mutex);
            continue;
        }
        lmn__mutex_unlock(&mutex);
        request->status = lmn__process_start(request->options, &request->process, &request->error);
        lmn__mutex_lock(&mutex);
        request->done = true;
        lmn__cond_wake_all(&cond);
    }
    lmn__mutex_unlock(&mutex);
}

/* Forget what belongs to the process that this one was forked from. */
static void own_locked(void)
{
    if (locked.pid == lmn__process_self())
        return;
    memset(&locked, 0, sizeof locked);
    locked.pid = lmn__process_self();
}

static enum lmn_status start_locked(struct lmn_env *env, struct request *request,
                                    struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    own_locked();
    if (!locked.starter_runs) {
        st = lmn__thread_start(env, starter_main, NULL, &locked.starter, err);
        locked.starter_runs = st == LMN_OK;
    }
    while (st == LMN_OK && locked.request != NULL)
        lmn__cond_wait(&cond, &mutex);
    if (st != LMN_OK)
        return st;
    locked.request = request;
    lmn__cond_wake_all(&cond);
    while (!request->done)
        lmn__cond_wait(&cond, &mutex);
    locked.request = NULL;
    lmn__cond_wake_all(&cond);
    return request->status;
}

static enum lmn_status start_process(struct lmn_env *env,
                                     const struct lmn__process_options *options,
                                     struct lmn__process *process_out, struct lmn_error *err)
{
    struct request request = { .options = options };
    enum lmn_status st;

    lmn__mutex_lock(&mutex);
    st = start_locked(env, &request, err);
    lmn__mutex_unlock(&mutex);
    *process_out = request.process;
    if (st != LMN_OK && request.done && err != NULL)
        *err = request.error;
    return st;
}

/* Everything that makes a kind, as one text. */
static char *kind_text(struct lmn_env *env, const struct lmn__crew_kind *kind)
{
    struct lmn__buf buf;
    char *text = NULL;

    lmn__buf_init(&buf, env, 0);
    lmn__buf_printf(&buf, "%u%s", kind->threads, kind->logged ? " logged" : "");
    for (size_t i = 0; kind->argument[i] != NULL; i++)
        lmn__buf_printf(&buf, "\n%s", kind->argument[i]);
    for (size_t i = 0; kind->environment != NULL && kind->environment[i] != NULL; i++)
        lmn__buf_printf(&buf, "\n\n%s", kind->environment[i]);
    if (!buf.failed)
        text = lmn__strndup(env, (const char *)buf.data, buf.len);
    lmn__buf_deinit(&buf);
    return text;
}

static struct lmn__crew_worker *take_idle(const char *kind)
{
    struct lmn__crew_worker **at, *found = NULL;

    lmn__mutex_lock(&mutex);
    own_locked();
    for (at = &locked.idle; *at != NULL && found == NULL;) {
        if (strcmp((*at)->kind, kind) == 0) {
            found = *at;
            *at = found->next;
            found->next = NULL;
            locked.idle_count--;
        } else {
            at = &(*at)->next;
        }
    }
    lmn__mutex_unlock(&mutex);
    return found;
}

static enum lmn_status worker_new(struct lmn_env *env, uint32_t threads,
                                  struct lmn__crew_worker **worker_out, struct lmn_error *err)
{
    struct lmn__crew_worker *worker = lmn__calloc(env, 1, sizeof *worker);
    enum lmn_status st;

    *worker_out = NULL;
    if (worker == NULL)
        return lmn__no_memory(err, "a worker", sizeof *worker);
    worker->env = lmn_env_acquire(env);
    worker->threads = threads;
    worker->process.fd = worker->log_fd = -1;
    worker->shared.fd = -1;
    worker->channel = lmn__calloc(env, threads, sizeof *worker->channel);
    st = worker->channel != NULL
             ? lmn__shared_new(lmn__shelf_memory_bytes(threads), &worker->shared, err)
             : lmn__no_memory(err, "a worker", threads * sizeof *worker->channel);
    worker->page = worker->shared.memory;
    if (st == LMN_OK)
        *worker_out = worker;
    else
        lmn__crew_end(worker);
    return st;
}

/* The text of LEMAN_WORKER_FDS behind what the kind itself adds to the environment. */
static const char **make_environment(struct lmn_env *env, const struct lmn__crew_kind *kind,
                                     char *fds, size_t fds_bytes)
{
    size_t count = 0, len;
    const char **environment;

    len = (size_t)snprintf(fds, fds_bytes, "LEMAN_WORKER_FDS=");
    for (uint32_t i = 0; i < kind->threads && len < fds_bytes; i++)
        len += (size_t)snprintf(fds + len, fds_bytes - len, "%s%d", i > 0 ? "," : "",
                                LMN__PROCESS_FD_FIRST + (int)i);
    while (kind->environment != NULL && kind->environment[count] != NULL)
        count++;
    environment = lmn__calloc(env, count + 3, sizeof *environment);
    if (environment == NULL)
        return NULL;
    if (count > 0)
        memcpy(environment, kind->environment, count * sizeof *environment);
    environment[count] = fds;
    if (kind->logged)
        environment[count + 1] = "LEMAN_WORKER_LOG=1";
    return environment;
}

static enum lmn_status start_worker(struct lmn__crew_worker *worker,
                                    const struct lmn__crew_kind *kind, struct lmn_error *err)
{
    int theirs[LMN__CREW_THREADS_MAX];
    char fds[512];
    uint32_t made = 0;
    const char **environment = make_environment(worker->env, kind, fds, sizeof fds);
    struct lmn__process_options options = { .argument = kind->argument,
                                            .environment = environment,
                                            .fd = theirs,
                                            .fd_count = kind->threads };
    enum lmn_status st = environment != NULL ? LMN_OK : lmn__no_memory(err, "an environment", 0);

    for (; st == LMN_OK && made < kind->threads; made += st == LMN_OK) {
        int pair[2];

        st = lmn__socket_pair(pair, err);
        if (st == LMN_OK) {
            lmn__channel_init(&worker->channel[made], worker->env, pair[0]);
            theirs[made] = pair[1];
        }
    }
    if (st == LMN_OK && kind->logged)
        st = lmn__pipe_open(&worker->log_fd, &options.output, err);
    if (st == LMN_OK)
        st = start_process(worker->env, &options, &worker->process, err);
    for (uint32_t i = 0; i < made; i++)
        lmn__socket_close(&theirs[i]);
    if (options.output > 0)
        lmn__socket_close(&options.output);
    lmn__free(worker->env, environment);
    return st;
}

enum lmn_status lmn__crew_take(struct lmn_env *env, const struct lmn__crew_kind *kind,
                               struct lmn__crew_worker **worker_out, struct lmn_error *err)
{
    struct lmn__crew_worker *worker;
    char *text = kind_text(env, kind);
    enum lmn_status st;

    *worker_out = NULL;
    if (text == NULL)
        return lmn__no_memory(err, "a worker", 0);
    worker = take_idle(text);
    if (worker != NULL) {
        lmn__free(env, text);
        lmn__shelf_reset(worker->shared.memory, worker->threads);
        worker->warm = true;
        *worker_out = worker;
        return LMN_OK;
    }
    st = worker_new(env, kind->threads, &worker, err);
    if (st != LMN_OK) {
        lmn__free(env, text);
        return st;
    }
    worker->kind = text;
    st = start_worker(worker, kind, err);
    if (st == LMN_OK)
        *worker_out = worker;
    else
        lmn__crew_end(worker);
    return st;
}

enum lmn_status lmn__crew_take_inside(struct lmn_env *env, struct lmn__crew_worker **worker_out,
                                      int *fd_out, struct lmn_error *err)
{
    struct lmn__crew_worker *worker;
    int pair[2];
    enum lmn_status st = worker_new(env, 1, &worker, err);

    *worker_out = NULL;
    *fd_out = -1;
    if (st != LMN_OK)
        return st;
    st = lmn__socket_pair(pair, err);
    if (st != LMN_OK) {
        lmn__crew_end(worker);
        return st;
    }
    lmn__channel_init(&worker->channel[0], env, pair[0]);
    *fd_out = pair[1];
    *worker_out = worker;
    return LMN_OK;
}

enum lmn_status lmn__crew_take_remote(struct lmn_env *env, uint32_t threads, const char *node,
                                      bool elsewhere, struct lmn__crew_worker **worker_out,
                                      struct lmn_error *err)
{
    enum lmn_status st = worker_new(env, threads, worker_out, err);
    struct lmn__crew_remote *remote;

    if (st != LMN_OK)
        return st;
    remote = lmn__calloc(env, 1, sizeof *remote);
    if (remote == NULL) {
        lmn__crew_end(*worker_out);
        *worker_out = NULL;
        return lmn__no_memory(err, "a worker", sizeof *remote);
    }
    snprintf(remote->node, sizeof remote->node, "%s", node);
    remote->elsewhere = elsewhere;
    (*worker_out)->remote = remote;
    return LMN_OK;
}

void lmn__crew_give(struct lmn__crew_worker *worker)
{
    bool kept = false;

    lmn__mutex_lock(&mutex);
    own_locked();
    if (worker->process.pid > 0 && locked.idle_count < IDLE_MAX) {
        worker->next = locked.idle;
        locked.idle = worker;
        locked.idle_count++;
        kept = true;
    }
    lmn__mutex_unlock(&mutex);
    if (!kept)
        lmn__crew_end(worker);
}

void lmn__crew_end(struct lmn__crew_worker *worker)
{
    struct lmn_env *env;
    char text[64];

    if (worker == NULL)
        return;
    env = worker->env;
    for (uint32_t i = 0; worker->channel != NULL && i < worker->threads; i++)
        lmn__channel_deinit(&worker->channel[i]);
    lmn__process_kill(&worker->process);
    lmn__process_reap(&worker->process, true, text, sizeof text);
    lmn__socket_close(&worker->log_fd);
    lmn__shared_close(&worker->shared);
    lmn__free(env, worker->channel);
    lmn__free(env, worker->kind);
    lmn__free(env, worker->remote);
    lmn__free(env, worker);
    lmn_env_release(env);
}

uint32_t lmn__crew_end_idle(void)
{
    struct lmn__crew_worker *idle;
    uint32_t count;

    lmn__mutex_lock(&mutex);
    own_locked();
    idle = locked.idle;
    count = locked.idle_count;
    locked.idle = NULL;
    locked.idle_count = 0;
    lmn__mutex_unlock(&mutex);
    while (idle != NULL) {
        struct lmn__crew_worker *next = idle->next;

        lmn__crew_end(idle);
        idle = next;
    }
    return count;
}

/* The end of the program, or of the library in it. */
__attribute__((destructor)) static void end_all(void)
{
    bool joins;

    lmn__crew_end_idle();
    lmn__mutex_lock(&mutex);
    joins = locked.starter_runs;
    locked.starter_ends = true;
    locked.starter_runs = false;
    lmn__cond_wake_all(&cond);
    lmn__mutex_unlock(&mutex);
    if (joins)
        lmn__thread_join(&locked.starter);
}
