/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job stands, as OpenMetrics text in a file that collectors read. It is written beside its
 * place and renamed, so that a reader never sees half of it.
 */
#include "engine/metrics.h"

#include <stdio.h>
#include <string.h>

#include "os/file.h"

enum { METRICS_BYTES_MAX = 1 << 20, TEMPORARY_CHARS = LMN__HOST_PATH_CHARS + 16 };

static const uint64_t METRICS_NS = 5000000000ull;

/* A text as the value of a label. */
static void put_label(struct lmn__buf *buf, const char *name, const char *value)
{
    lmn__buf_printf(buf, "%s=\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '\\' || *value == '"')
            lmn__buf_put_u8(buf, '\\');
        if (*value == '\n')
            lmn__buf_put(buf, "\\n", 2);
        else
            lmn__buf_put_u8(buf, (uint8_t)*value);
    }
    lmn__buf_put_u8(buf, '"');
}

/* A metric of one sample; `suffix` is what its type adds to the name of the sample. */
struct metric {
    const char *name, *type, *unit, *help;
    double value;
};

static void put_metric(struct lmn__buf *buf, const char *id, const struct metric *metric)
{
    bool counter = strcmp(metric->type, "counter") == 0;

    lmn__buf_printf(buf, "# TYPE leman_job_%s %s\n", metric->name, metric->type);
    if (metric->unit != NULL)
        lmn__buf_printf(buf, "# UNIT leman_job_%s %s\n", metric->name, metric->unit);
    lmn__buf_printf(buf, "# HELP leman_job_%s %s\n", metric->name, metric->help);
    lmn__buf_printf(buf, "leman_job_%s%s{", metric->name, counter ? "_total" : "");
    put_label(buf, "job", id);
    lmn__buf_printf(buf, "} %.17g\n", metric->value);
}

static void put_info(struct lmn__buf *buf, const struct lmn_job *job)
{
    lmn__buf_printf(buf, "# TYPE leman_job info\n# HELP leman_job What the job is.\n");
    lmn__buf_printf(buf, "leman_job_info{");
    put_label(buf, "job", job->id);
    lmn__buf_put_u8(buf, ',');
    put_label(buf, "table", job->root);
    lmn__buf_put_u8(buf, ',');
    put_label(buf, "column", job->fill[0].function.output[0]);
    lmn__buf_put_u8(buf, ',');
    put_label(buf, "function", job->fill[0].function.name);
    lmn__buf_printf(buf, "} 1\n");
}

static void put_state(struct lmn__buf *buf, const struct lmn_job *job, enum lmn_job_state state)
{
    lmn__buf_printf(buf, "# TYPE leman_job_state stateset\n"
                         "# HELP leman_job_state Which of its states the job is in.\n");
    for (int i = LMN_JOB_PLANNING; i <= LMN_JOB_FAILED; i++) {
        lmn__buf_printf(buf, "leman_job_state{");
        put_label(buf, "job", job->id);
        lmn__buf_put_u8(buf, ',');
        put_label(buf, "leman_job_state", lmn__record_state((enum lmn_job_state)i));
        lmn__buf_printf(buf, "} %d\n", i == (int)state);
    }
}

static struct metric seconds(const char *name, const char *type, const char *help, uint64_t ms)
{
    return (struct metric){ name, type, "seconds", help, (double)ms / 1000 };
}

void lmn__metrics_put(struct lmn__buf *buf, const struct lmn_job *job,
                      const struct lmn_job_status *status)
{
    const struct metric metrics[] = {
        { "rows_planned", "gauge", NULL, "Rows to be computed.", (double)status->rows_planned },
        { "rows_resumed", "gauge", NULL, "Rows with a result before this run.",
          (double)status->rows_resumed },
        { "rows_computed", "counter", NULL, "Rows computed in this run.",
          (double)status->rows_computed },
        { "rows_checkpointed", "gauge", NULL, "Rows whose result is durable.",
          (double)status->rows_checkpointed },
        { "rows_committed", "gauge", NULL, "Rows in a version.", (double)status->rows_committed },
        { "rows_failed", "gauge", NULL, "Rows that failed.", (double)status->rows_failed },
        { "written_bytes", "counter", "bytes", "Values written.", (double)status->bytes_written },
        { "workers", "gauge", NULL, "Workers that are ready.", status->workers_ready },
        { "worker_deaths", "counter", NULL, "Workers that died.", status->worker_deaths },
        { "memory_bytes", "gauge", "bytes", "In memory of workers.", (double)status->memory_bytes },
        seconds("elapsed_seconds", "gauge", "Since the job began.", status->elapsed_ms),
        seconds("read_seconds", "counter", "Reading, of all workers.", status->read_ms),
        seconds("call_seconds", "counter", "In the function, of all workers.", status->call_ms),
        seconds("write_seconds", "counter", "Writing, of all workers.", status->write_ms),
        seconds("wait_seconds", "gauge", "Waiting, of all workers.", status->wait_ms),
        { "calls", "counter", NULL, "Calls, as far as they are counted.", (double)status->calls },
        { "tokens", "counter", NULL, "Tokens that calls have used.", (double)status->tokens },
        { "cost", "counter", NULL, "What calls have cost.", status->cost },
        { "rows_per_second", "gauge", NULL, "Over the last five minutes.", status->rate_recent },
        seconds("eta_seconds", "gauge", "Until it is done; 0: not known.", status->eta_ms),
        seconds("checkpoint_age_seconds", "gauge", "Since the last checkpoint.",
                status->checkpoint_age_ms),
        seconds("commit_age_seconds", "gauge", "Since the last commit.", status->commit_age_ms),
    };

    put_info(buf, job);
    put_state(buf, job, status->state);
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        put_metric(buf, job->id, &metrics[i]);
    lmn__buf_printf(buf, "# EOF\n");
}

static enum lmn_status write_file(const char *path, const struct lmn__buf *buf,
                                  struct lmn_error *err)
{
    char temporary[TEMPORARY_CHARS];
    struct lmn__file file;
    enum lmn_status st;

    snprintf(temporary, sizeof temporary, "%s.new", path);
    st = lmn__file_remove(temporary, err);
    if (st != LMN_OK && st != LMN_E_NOT_FOUND)
        return st;
    st = lmn__file_open(temporary, LMN__FILE_CREATE, &file, err);
    if (st != LMN_OK)
        return st;
    st = lmn__file_write_at(&file, temporary, 0, buf->data, buf->len, err);
    lmn__file_close(&file);
    return st == LMN_OK ? lmn__file_rename(temporary, path, err) : st;
}

void lmn__metrics_update(struct lmn_job *job, const struct lmn_job_status *status, uint64_t now_ns,
                         bool last)
{
    struct lmn__buf buf;
    struct lmn_error err;
    enum lmn_status st;

    if (job->options.metrics == NULL || (!last && now_ns < job->metrics_ns))
        return;
    job->metrics_ns = now_ns + METRICS_NS;
    lmn__buf_init(&buf, job->env, METRICS_BYTES_MAX);
    lmn__metrics_put(&buf, job, status);
    st = lmn__buf_status(&buf, "metrics", &err);
    if (st == LMN_OK)
        st = write_file(job->options.metrics, &buf, &err);
    if (st != LMN_OK && !job->metrics_told) {
        job->metrics_told = true;
        lmn__job_note(job, "metrics: %.180s", err.message);
    }
    lmn__buf_deinit(&buf);
}
