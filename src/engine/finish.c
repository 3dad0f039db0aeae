/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command that a user wants run when a job has ended. It is told of the job in its environment,
 * and it outlives this process. The job waits for it, not for ever, so that its failure becomes an
 * event.
 */
#include <stdio.h>
#include <string.h>

#include "engine/metrics.h"

static const uint64_t WAIT_NS = 60000000000ull;

enum { VARIABLES = 7, VARIABLE_CHARS = LMN__HOST_PATH_CHARS + 64 };

static void await_end(struct lmn_job *job, struct lmn__process *process)
{
    struct lmn__poll poll = { .fd = process->fd, .wants_in = true };
    char text[64] = "";

    if (process->fd >= 0)
        lmn__poll_wait(&poll, 1, WAIT_NS);
    if (!lmn__process_reap(process, false, text, sizeof text))
        lmn__job_note(job, "on_finish still runs after %llu s",
                      (unsigned long long)(WAIT_NS / 1000000000));
    else if (strcmp(text, "exit code 0") != 0)
        lmn__job_note(job, "on_finish ended with %s", text);
}

static void run_command(struct lmn_job *job)
{
    const char *argument[] = { "/bin/sh", "-c", job->options.on_finish, NULL };
    const char *environment[VARIABLES + 1] = { 0 };
    struct lmn__process_options options = { .argument = argument, .environment = environment };
    char(*text)[VARIABLE_CHARS];
    struct lmn__process process;
    struct lmn_job_status status;
    struct lmn_error err;

    text = lmn__alloc(job->env, VARIABLES * sizeof *text);
    if (text == NULL)
        return;
    lmn_job_status(job, &status);
    snprintf(text[0], VARIABLE_CHARS, "LEMAN_JOB=%s", job->id);
    snprintf(text[1], VARIABLE_CHARS, "LEMAN_JOB_STATE=%s", lmn__record_state(status.state));
    snprintf(text[2], VARIABLE_CHARS, "LEMAN_JOB_TABLE=%s", job->root);
    snprintf(text[3], VARIABLE_CHARS, "LEMAN_JOB_COLUMN=%s", job->fill[0].function.output[0]);
    snprintf(text[4], VARIABLE_CHARS, "LEMAN_JOB_ROWS_COMMITTED=%llu",
             (unsigned long long)status.rows_committed);
    snprintf(text[5], VARIABLE_CHARS, "LEMAN_JOB_ROWS_FAILED=%llu",
             (unsigned long long)status.rows_failed);
    snprintf(text[6], VARIABLE_CHARS, "LEMAN_JOB_ERROR=%s", status.error.message);
    for (int i = 0; i < VARIABLES; i++)
        environment[i] = text[i];
    if (lmn__process_start(&options, &process, &err) == LMN_OK)
        await_end(job, &process);
    else
        lmn__job_note(job, "on_finish: %.180s", err.message);
    lmn__free(job->env, text);
}

void lmn__job_end(struct lmn_job *job)
{
    struct lmn_job_status status;
    uint32_t events = job->event_count;

    lmn_job_status(job, &status);
    lmn__metrics_update(job, &status, 0, true);
    if (job->options.on_finish != NULL)
        run_command(job);
    if (job->event_count != events)
        lmn__job_write_record(job, true);
}
