/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job leaves for others to read while it runs and afterwards, in the table's folder:
 *
 *   _leman/jobs/<id>/record.json   rewritten as a whole; begins with {"state": "..."
 *   _leman/jobs/<id>/cancel        made by whoever wants the job to stop
 *   _leman/jobs/<id>/log*.jsonl    what its functions print; see log.h
 *
 * and in the user's state directory jobs/<id>, the folder of the table, so that an id is enough to
 * find it. A record of a job that was killed still says that it runs; whether its process is there
 * tells.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/json_write.h"
#include "engine/job.h"
#include "engine/record.h"
#include "os/clock.h"
#include "store/draft.h"
#include "store/object.h"

enum { RECORD_BYTES_MAX = 1 << 20, TIME_CHARS = 40 };

static const char *const state_names[] = { "planning", "waiting",     "running", "stopping",
                                           "done",     "done_failed", "stopped", "failed" };

const char *lmn__record_state(enum lmn_job_state state)
{
    return state_names[state];
}

void lmn__record_path(const char *id, const char *name, char path_out[LMN__RECORD_PATH_CHARS])
{
    snprintf(path_out, LMN__RECORD_PATH_CHARS, "_leman/jobs/%s/%s", id, name);
}

static void put_time(struct lmn__json_writer *writer, const char *key, int64_t ns)
{
    char text[TIME_CHARS];

    lmn__clock_text(ns, text, sizeof text);
    lmn__json_text(writer, key, text);
}

static void put_counters(struct lmn__json_writer *writer, const struct lmn_job_status *status)
{
    lmn__json_number(writer, "rows_planned", status->rows_planned);
    lmn__json_number(writer, "rows_resumed", status->rows_resumed);
    lmn__json_number(writer, "rows_computed", status->rows_computed);
    lmn__json_number(writer, "rows_checkpointed", status->rows_checkpointed);
    lmn__json_number(writer, "rows_committed", status->rows_committed);
    lmn__json_number(writer, "rows_failed", status->rows_failed);
    lmn__json_number(writer, "bytes_written", status->bytes_written);
    lmn__json_number(writer, "workers", status->workers);
    lmn__json_number(writer, "workers_ready", status->workers_ready);
    lmn__json_number(writer, "worker_deaths", status->worker_deaths);
    lmn__json_number(writer, "memory_bytes", status->memory_bytes);
    lmn__json_number(writer, "elapsed_ms", status->elapsed_ms);
    lmn__json_number(writer, "read_ms", status->read_ms);
    lmn__json_number(writer, "call_ms", status->call_ms);
    lmn__json_number(writer, "write_ms", status->write_ms);
    lmn__json_number(writer, "wait_ms", status->wait_ms);
    lmn__json_number(writer, "log_lines", status->log_lines);
    lmn__json_number(writer, "log_lines_dropped", status->log_lines_dropped);
    lmn__json_number(writer, "version", status->version);
    lmn__json_number(writer, "calls", status->calls);
    lmn__json_number(writer, "tokens", status->tokens);
    lmn__json_real(writer, "cost", status->cost);
}

static void put_pace(struct lmn__json_writer *writer, const struct lmn_job_status *status)
{
    lmn__json_real(writer, "rate", status->rate);
    lmn__json_real(writer, "rate_recent", status->rate_recent);
    lmn__json_real(writer, "read_rate", status->read_rate);
    lmn__json_real(writer, "write_rate", status->write_rate);
    lmn__json_number(writer, "eta_ms", status->eta_ms);
    lmn__json_number(writer, "eta_low_ms", status->eta_low_ms);
    lmn__json_number(writer, "eta_high_ms", status->eta_high_ms);
    lmn__json_number(writer, "checkpoint_age_ms", status->checkpoint_age_ms);
    lmn__json_number(writer, "commit_age_ms", status->commit_age_ms);
    lmn__json_text(writer, "verdict", status->verdict);
}

static void put_fills(struct lmn__json_writer *writer, const struct lmn_job *job)
{
    lmn__json_open(writer, "fills", '[');
    for (uint32_t i = 0; i < job->fill_count; i++) {
        const struct lmn_job_function *function = &job->fill[i].function;

        lmn__json_open(writer, NULL, '{');
        lmn__json_text(writer, "function", function->name);
        lmn__json_text(writer, "version", function->version);
        lmn__json_number(writer, "field_id", (uint64_t)job->fill[i].field_id);
        if (job->fill[i].rows_fit != 0)
            lmn__json_number(writer, "batch_rows_max", job->fill[i].rows_fit);
        lmn__json_open(writer, "columns", '[');
        for (uint32_t k = 0; k < function->output_count; k++)
            lmn__json_text(writer, NULL, job->fill[i].column[k]);
        lmn__json_close(writer, ']');
        lmn__json_close(writer, '}');
    }
    lmn__json_close(writer, ']');
}

static void put_events(struct lmn__json_writer *writer, const struct lmn_job *job)
{
    uint32_t kept = job->event_count < LMN__JOB_EVENTS_MAX ? job->event_count : LMN__JOB_EVENTS_MAX;

    lmn__json_number(writer, "event_count", job->event_count);
    lmn__json_open(writer, "events", '[');
    for (uint32_t i = job->event_count - kept; i < job->event_count; i++) {
        uint32_t at = i % LMN__JOB_EVENTS_MAX;

        lmn__json_open(writer, NULL, '{');
        put_time(writer, "time", job->event_at_ns[at]);
        lmn__json_text(writer, "text", job->event[at]);
        lmn__json_close(writer, '}');
    }
    lmn__json_close(writer, ']');
}

static void put_record(struct lmn_job *job, const struct lmn_job_status *status,
                       struct lmn__buf *buf)
{
    struct lmn__json_writer writer = { buf, false };
    char host[256];

    lmn__host_name(host, sizeof host);
    lmn__json_open(&writer, NULL, '{');
    lmn__json_text(&writer, "state", state_names[status->state]);
    lmn__json_text(&writer, "id", job->id);
    lmn__json_text(&writer, "table", job->root);
    put_fills(&writer, job);
    if (job->options.where != NULL)
        lmn__json_text(&writer, "where", job->options.where);
    put_counters(&writer, status);
    put_pace(&writer, status);
    lmn__stats_write(job, &writer);
    lmn__json_number(&writer, "pid", (uint64_t)lmn__process_self());
    lmn__json_text(&writer, "host", host);
    if (job->options.command != NULL)
        lmn__json_text(&writer, "command", job->options.command);
    put_time(&writer, "started", job->started_at_ns);
    put_time(&writer, status->state >= LMN_JOB_DONE ? "ended" : "updated", lmn__clock_now_ns());
    if (status->message[0] != '\0')
        lmn__json_text(&writer, "message", status->message);
    if (status->error.status != LMN_OK)
        lmn__json_text(&writer, "error", status->error.message);
    put_events(&writer, job);
    lmn__json_close(&writer, '}');
    lmn__buf_put_u8(buf, '\n');
}

static enum lmn_status put_file(struct lmn_store *store, const char *path,
                                const struct lmn__buf *buf, bool durable, struct lmn_error *err)
{
    struct lmn__draft draft;
    enum lmn_status st = lmn__draft_open(store, path, &draft, err);

    if (st != LMN_OK)
        return st;
    st = lmn__draft_write_at(&draft, 0, buf->data, buf->len, err);
    if (st == LMN_OK)
        return lmn__draft_publish(&draft, LMN__PUBLISH_REPLACE, durable, err);
    lmn__draft_abort(&draft);
    return st;
}

/* A record that cannot be written is a pity, and no reason to end a job. */
void lmn__job_write_record(struct lmn_job *job, bool durable)
{
    char path[LMN__RECORD_PATH_CHARS];
    struct lmn_job_status status;
    struct lmn__buf buf;
    struct lmn_error ignored;

    lmn_job_status(job, &status);
    lmn__buf_init(&buf, job->env, RECORD_BYTES_MAX);
    put_record(job, &status, &buf);
    lmn__record_path(job->id, "record.json", path);
    if (!buf.failed && put_file(job->given->store, path, &buf, durable && !job->options.unsynced,
                                &ignored) != LMN_OK)
        lmn__job_note(job, "%.150s", ignored.message);
    lmn__buf_deinit(&buf);
}

bool lmn__job_is_cancelled(struct lmn_job *job)
{
    char path[LMN__RECORD_PATH_CHARS];
    struct lmn__store_stat stat;
    struct lmn_error ignored;
    struct lmn_store *store = job->given->store;

    lmn__record_path(job->id, "cancel", path);
    return store->ops->stat(store, path, &stat, &ignored) == LMN_OK;
}

void lmn__record_forget_cancel(struct lmn_store *store, const char *id)
{
    char path[LMN__RECORD_PATH_CHARS];
    struct lmn_error ignored;
    enum lmn_status st;

    lmn__record_path(id, "cancel", path);
    st = store->ops->remove(store, path, &ignored);
    (void)st; /* it is seldom there */
}

void lmn__record_forget_logs(struct lmn_store *store, const char *id)
{
    static const char *const names[] = { "log.jsonl", "log.1.jsonl" };
    char path[LMN__RECORD_PATH_CHARS];
    struct lmn_error ignored;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        lmn__record_path(id, names[i], path);
        (void)store->ops->remove(store, path, &ignored);
    }
}

enum lmn_status lmn__record_read(struct lmn_store *store, const char *id, struct lmn__buf *buf,
                                 struct lmn_error *err)
{
    char path[LMN__RECORD_PATH_CHARS];
    struct lmn__object object;
    enum lmn_status st;

    lmn__record_path(id, "record.json", path);
    st = lmn__object_open(store, path, &object, err);
    if (st != LMN_OK)
        return st == LMN_E_NOT_FOUND
                   ? lmn_fail(err, st, "%.200s has no job \"%.64s\"", store->name, id)
                   : st;
    if (object.bytes > RECORD_BYTES_MAX)
        st = lmn_fail(err, LMN_E_CORRUPT, "%s has %llu bytes, too many for a record", object.name,
                      (unsigned long long)object.bytes);
    else if (!lmn__buf_reserve(buf, object.bytes))
        st = lmn__no_memory(err, "a job's record", object.bytes);
    else
        st = lmn__object_read(&object, 0, buf->data + buf->len, object.bytes, err);
    if (st == LMN_OK)
        buf->len += object.bytes;
    lmn__object_close(&object);
    return st;
}

bool lmn__record_runs(struct lmn__span record)
{
    struct lmn__span value;
    char state[32], host[256], own[256];
    uint64_t pid;
    struct lmn_error ignored;
    int named = 0;

    if (lmn__json_member(record, "state", &value, &ignored) != LMN_OK ||
        !lmn__json_to_text(value, state, sizeof state))
        return false;
    for (int i = 0; i < (int)LMN_JOB_DONE; i++)
        named |= strcmp(state, state_names[i]) == 0;
    if (!named || lmn__json_member(record, "host", &value, &ignored) != LMN_OK ||
        !lmn__json_to_text(value, host, sizeof host) ||
        lmn__json_member(record, "pid", &value, &ignored) != LMN_OK ||
        !lmn__json_to_u64(value, &pid))
        return false;
    lmn__host_name(own, sizeof own);
    return strcmp(host, own) != 0 || lmn__process_exists((int64_t)pid);
}

bool lmn__record_unfinished(struct lmn__span record)
{
    struct lmn__span value;
    char state[32];
    struct lmn_error ignored;

    if (lmn__json_member(record, "state", &value, &ignored) != LMN_OK ||
        !lmn__json_to_text(value, state, sizeof state))
        return false;
    for (int i = 0; i < (int)LMN_JOB_DONE; i++) {
        if (strcmp(state, state_names[i]) == 0)
            return true;
    }
    return false;
}
