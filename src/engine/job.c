/* SPDX-License-Identifier: Apache-2.0 */
/* A job as its caller has it: started, asked, stopped, freed. */
#include "engine/job.h"

#include <stdio.h>
#include <string.h>

#include "engine/hub.h"
#include "engine/record.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/socket.h"

enum { FUNCTIONS_MAX = 64, VERSION_DIGITS = 64, ID_DIGITS = 10 };

static const char *copy_text(struct lmn__arena *arena, const char *text, bool *failed)
{
    const char *copy;

    if (text == NULL)
        return NULL;
    copy = lmn__arena_strndup(arena, text, strlen(text));
    *failed = *failed || copy == NULL;
    return copy;
}

/* `count` texts, with a NULL behind them. */
static const char *const *copy_texts(struct lmn__arena *arena, const char *const *text,
                                     size_t count, bool *failed)
{
    const char **copy = lmn__arena_array(arena, count + 1, sizeof *copy);

    *failed = *failed || copy == NULL;
    for (size_t i = 0; copy != NULL && i < count; i++)
        copy[i] = copy_text(arena, text[i], failed);
    return copy;
}

static const char *const *copy_list(struct lmn__arena *arena, const char *const *text, bool *failed)
{
    size_t count = 0;

    if (text == NULL)
        return NULL;
    while (text[count] != NULL)
        count++;
    return copy_texts(arena, text, count, failed);
}

static void copy_function(struct lmn__arena *arena, struct lmn_job_function *function, bool *failed)
{
    void *code = lmn__arena_alloc(arena, function->code_len + 1);

    *failed = *failed || code == NULL;
    if (code != NULL && function->code_len > 0)
        memcpy(code, function->code, function->code_len);
    function->code = code;
    function->name = copy_text(arena, function->name != NULL ? function->name : "function", failed);
    function->version = copy_text(arena, function->version, failed);
    function->output = copy_texts(arena, function->output, function->output_count, failed);
    function->input = copy_texts(arena, function->input, function->input_count, failed);
}

enum lmn_status lmn__job_version(const char *version, uint64_t *number_out, struct lmn_error *err)
{
    *number_out = 0;
    if (version == NULL || strlen(version) != VERSION_DIGITS ||
        strspn(version, "0123456789abcdef") != VERSION_DIGITS)
        return lmn_fail(err, LMN_E_INVALID,
                        "the version of a function is %d hex digits, not \"%.70s\"", VERSION_DIGITS,
                        version != NULL ? version : "");
    for (int i = 0; i < 16; i++) {
        char c = version[i];

        *number_out = *number_out << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return LMN_OK;
}

static enum lmn_status copy_functions(struct lmn_job *job, const struct lmn_job_function *function,
                                      uint32_t count, struct lmn_error *err)
{
    bool failed = false;

    if (count == 0 || count > FUNCTIONS_MAX)
        return lmn_fail(err, LMN_E_INVALID, "a job of %u functions; it has 1 to %d", count,
                        FUNCTIONS_MAX);
    job->fill = lmn__arena_array(&job->arena, count, sizeof *job->fill);
    if (job->fill == NULL)
        return lmn__arena_fail(&job->arena, "functions", err);
    job->fill_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct lmn__job_fill *fill = &job->fill[i];
        enum lmn_status st;

        if (function[i].output_count == 0)
            return lmn_fail(err, LMN_E_INVALID, "function %u fills no column", i);
        fill->function = function[i];
        copy_function(&job->arena, &fill->function, &failed);
        if (failed)
            return lmn__arena_fail(&job->arena, "functions", err);
        st = lmn__job_version(fill->function.version, &fill->version, err);
        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}

static enum lmn_status copy_options(struct lmn_job *job, const struct lmn_job_options *options,
                                    struct lmn_error *err)
{
    static const struct lmn_job_options none;
    bool failed = false;

    job->options = options != NULL ? *options : none;
    job->options.where = copy_text(&job->arena, job->options.where, &failed);
    job->options.command = copy_text(&job->arena, job->options.command, &failed);
    job->options.on_finish = copy_text(&job->arena, job->options.on_finish, &failed);
    job->options.metrics = copy_text(&job->arena, job->options.metrics, &failed);
    job->options.worker = copy_list(&job->arena, job->options.worker, &failed);
    job->options.worker_env = copy_list(&job->arena, job->options.worker_env, &failed);
    job->options.secret = copy_list(&job->arena, job->options.secret, &failed);
    if (failed)
        return lmn__arena_fail(&job->arena, "options", err);
    if (!job->options.in_process && job->options.hub == NULL &&
        (job->options.worker == NULL || job->options.worker[0] == NULL))
        return lmn_fail(err, LMN_E_INVALID, "a job needs a command that starts its workers");
    if (job->options.keep_warm > LMN_JOB_WARM_END)
        return lmn_fail(err, LMN_E_INVALID, "keep_warm is %u", job->options.keep_warm);
    if (job->options.first_commit > LMN_JOB_FIRST_COMMIT_NEVER)
        return lmn_fail(err, LMN_E_INVALID, "first_commit is %u", job->options.first_commit);
    return LMN_OK;
}

static enum lmn_status name_job(struct lmn_job *job, struct lmn_error *err)
{
    char token[LMN__TOKEN_CHARS];
    enum lmn_status st;

    if (job->options.id != NULL) {
        st = lmn__job_check_id(job->options.id, err);
        if (st == LMN_OK)
            snprintf(job->id, sizeof job->id, "%s", job->options.id);
        job->options.id = job->id;
        return st;
    }
    st = lmn__random_token(token, err);
    snprintf(job->id, sizeof job->id, "%.*s", ID_DIGITS, token);
    return st;
}

static enum lmn_status init_locks(struct lmn_job *job, struct lmn_error *err)
{
    enum lmn_status st = lmn__mutex_init(&job->mutex, err);

    if (st != LMN_OK)
        return st;
    st = lmn__cond_init(&job->cond, err);
    if (st != LMN_OK)
        goto no_cond;
    st = lmn__cond_init(&job->committed, err);
    if (st != LMN_OK)
        goto no_committed;
    st = lmn__wake_init(&job->wake, err);
    if (st == LMN_OK)
        return LMN_OK;
    lmn__cond_deinit(&job->committed);
no_committed:
    lmn__cond_deinit(&job->cond);
no_cond:
    lmn__mutex_deinit(&job->mutex);
    return st;
}

/* Everything but the thread. */
static enum lmn_status job_init(struct lmn_job *job, const struct lmn_job_function *function,
                                uint32_t function_count, const struct lmn_job_options *options,
                                struct lmn_error *err)
{
    struct lmn_store *store = job->given->store;
    enum lmn_status st = copy_options(job, options, err);

    if (st == LMN_OK)
        st = copy_functions(job, function, function_count, err);
    if (st == LMN_OK)
        st = lmn__job_order_fills(job, err);
    if (st == LMN_OK)
        st = name_job(job, err);
    if (st != LMN_OK)
        return st;
    if (strcmp(store->ops->kind, "local") != 0 || !lmn__host_whole_path(store->name, job->root))
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "jobs need a table in a folder of this machine, not in %.200s",
                        store->name);
    job->read_version = lmn_table_version(job->given);
    job->started_ns = lmn__clock_monotonic_ns();
    job->started_at_ns = lmn__clock_now_ns();
    memcpy(job->locked.status.id, job->id, sizeof job->id);
    lmn__log_init(&job->log, job->env, job->root, job->id);
    job->log.secret = job->options.secret;
    lmn__record_forget_cancel(store, job->id);
    lmn__record_index(job->id, job->root);
    if (job->options.hub != NULL)
        return lmn__hub_begin(job->options.hub, store, job->id, job->root,
                              job->options.threads != 0 ? job->options.threads : 1,
                              job->options.worker_env, err);
    return LMN_OK;
}

static void job_free(struct lmn_job *job)
{
    struct lmn_env *env = job->env;

    lmn__machine_free(job->machine);
    lmn__log_deinit(&job->log);
    lmn__free(env, job->worker);
    lmn__free(env, job->slot);
    lmn__free(env, job->receipt);
    lmn__saved_deinit(&job->saved);
    lmn__socket_close(&job->inside_fd);
    lmn__manifest_release(job->named);
    lmn__pin_release(&job->pin);
    lmn_table_release(job->table);
    lmn_table_release(job->given);
    lmn__arena_deinit(&job->arena);
    lmn__free(env, job);
    lmn_env_release(env);
}

static void deinit_locks(struct lmn_job *job)
{
    lmn__wake_deinit(&job->wake);
    lmn__cond_deinit(&job->committed);
    lmn__cond_deinit(&job->cond);
    lmn__mutex_deinit(&job->mutex);
}

enum lmn_status lmn_job_start(struct lmn_table *table, const struct lmn_job_function *function,
                              uint32_t function_count, const struct lmn_job_options *options,
                              struct lmn_job **job_out, struct lmn_error *err)
{
    struct lmn_job *job = lmn__calloc(table->env, 1, sizeof *job);
    enum lmn_status st;

    *job_out = NULL;
    if (job == NULL)
        return lmn__no_memory(err, "a job", sizeof *job);
    job->env = lmn_env_acquire(table->env);
    job->given = lmn_table_acquire(table);
    job->inside_fd = -1;
    job->places.lease.fd = -1;
    lmn__arena_init(&job->arena, job->env, 0);
    lmn__saved_init(&job->saved, job->env);
    st = job_init(job, function, function_count, options, err);
    if (st == LMN_OK)
        st = init_locks(job, err);
    if (st != LMN_OK) {
        job_free(job);
        return st;
    }
    st = lmn__thread_start(job->env, lmn__job_drive, job, &job->driver, err);
    if (st != LMN_OK) {
        deinit_locks(job);
        job_free(job);
        return st;
    }
    *job_out = job;
    return LMN_OK;
}

/* The socket of a worker that is wanted in this process; -1 when the job has ended. */
static int next_inside(struct lmn_job *job)
{
    int fd;

    lmn__mutex_lock(&job->mutex);
    while (job->inside_fd < 0 && !job->locked.ended)
        lmn__cond_wait(&job->cond, &job->mutex);
    fd = job->inside_fd;
    job->inside_fd = -1;
    lmn__mutex_unlock(&job->mutex);
    return fd;
}

enum lmn_status lmn_job_serve(struct lmn_job *job, const struct lmn_worker_ops *ops,
                              struct lmn_error *err)
{
    int fd;

    if (!job->options.in_process)
        return lmn_fail(err, LMN_E_INVALID, "job %s has workers of its own", job->id);
    /* A worker ends when there is nothing to do for it; another stage of the job wants it again. */
    while ((fd = next_inside(job)) >= 0) {
        struct lmn_error failure = { 0 };
        enum lmn_status st = lmn_worker_serve(fd, ops, &failure);

        /* The job closes its end also while the last word is on its way. */
        if (st == LMN_OK || lmn__socket_is_closed(&failure))
            continue;
        if (err != NULL)
            *err = failure;
        return st;
    }
    return LMN_OK;
}

void lmn_job_status(struct lmn_job *job, struct lmn_job_status *status_out)
{
    lmn__mutex_lock(&job->mutex);
    *status_out = job->locked.status;
    lmn__mutex_unlock(&job->mutex);
}

bool lmn_job_wait(struct lmn_job *job, uint64_t timeout_ms)
{
    uint64_t now_ns = lmn__clock_monotonic_ns(), until_ns = UINT64_MAX;
    bool ended, timely = true;

    if (timeout_ms < (UINT64_MAX - now_ns) / 1000000)
        until_ns = now_ns + timeout_ms * 1000000;
    lmn__mutex_lock(&job->mutex);
    while (!job->locked.ended && timely) {
        if (until_ns == UINT64_MAX)
            lmn__cond_wait(&job->cond, &job->mutex);
        else
            timely = lmn__cond_wait_until(&job->cond, &job->mutex, until_ns);
    }
    ended = job->locked.ended;
    lmn__mutex_unlock(&job->mutex);
    return ended;
}

void lmn_job_stop(struct lmn_job *job, bool now)
{
    lmn__mutex_lock(&job->mutex);
    job->locked.stop = true;
    job->locked.stop_now = job->locked.stop_now || now;
    lmn__mutex_unlock(&job->mutex);
    lmn__wake_now(&job->wake);
}

void lmn_job_free(struct lmn_job *job)
{
    if (job == NULL)
        return;
    if (!lmn_job_wait(job, 0))
        lmn_job_stop(job, false);
    lmn__thread_join(&job->driver);
    deinit_locks(job);
    job_free(job);
}

uint32_t lmn_job_end_workers(void)
{
    return lmn__crew_end_idle();
}
