/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "fill.h"
#include "json.h"
#include "progress.h"
#include "record.h"
#include "value.h"

static const char *state_name(enum lmn_job_state state)
{
    switch (state) {
    case LMN_JOB_DONE:
        return "done";
    case LMN_JOB_DONE_FAILED:
        return "done_failed";
    case LMN_JOB_STOPPED:
        return "stopped";
    default:
        return "failed";
    }
}

int fill_exit_code(const struct lmn_job_status *status, bool killed)
{
    switch (status->state) {
    case LMN_JOB_DONE:
        return EXIT_DONE;
    case LMN_JOB_DONE_FAILED:
        return EXIT_FAILED_ROWS;
    case LMN_JOB_STOPPED:
        return killed ? EXIT_KILLED : EXIT_STOPPED;
    default:
        break;
    }
    switch (status->error.status) {
    case LMN_E_CONFLICT:
    case LMN_E_UNAVAILABLE:
        return EXIT_CONFLICT;
    case LMN_E_INVALID:
    case LMN_E_NOT_FOUND:
        return EXIT_USAGE;
    default:
        return EXIT_FAILED;
    }
}

static void report_json(const struct lmn_job_status *status)
{
    json_open(NULL, '{');
    json_text("id", status->id);
    json_text("state", state_name(status->state));
    json_number("rows_planned", status->rows_planned);
    json_number("rows_resumed", status->rows_resumed);
    json_number("rows_computed", status->rows_computed);
    json_number("rows_checkpointed", status->rows_checkpointed);
    json_number("rows_committed", status->rows_committed);
    json_number("rows_failed", status->rows_failed);
    json_number("worker_deaths", status->worker_deaths);
    json_number("elapsed_ms", status->elapsed_ms);
    json_number("version", status->version);
    if (status->error.status != LMN_OK)
        json_text("error", status->error.message);
    json_close('}');
    json_end();
}

/* Where to find what functions have printed. */
static void report_said(const struct lmn_job_status *status)
{
    uint64_t lines = status->log_lines + status->log_lines_dropped;

    if (lines > 0)
        printf("functions printed %llu lines: leman logs %s\n", (unsigned long long)lines,
               status->id);
}

static void report_text(const struct lmn_job_status *status, const char *command)
{
    struct text message = { 0 };

    if (status->state == LMN_JOB_FAILED || status->state == LMN_JOB_STOPPED) {
        people_put_lines(&message, status->error.message);
        fprintf(stderr, "leman: job %s: %s\n", status->id, message.data);
        text_free(&message);
    }
    if (status->rows_planned == 0 && status->state == LMN_JOB_DONE) {
        printf("job %s: nothing to do\n", status->id);
        return;
    }
    printf(
        "job %s: %llu of %llu rows committed, %llu computed, %llu kept from before, %llu failed, "
        "%.1f s\n",
        status->id, (unsigned long long)status->rows_committed,
        (unsigned long long)status->rows_planned, (unsigned long long)status->rows_computed,
        (unsigned long long)status->rows_resumed, (unsigned long long)status->rows_failed,
        (double)status->elapsed_ms / 1000);
    if ((status->state == LMN_JOB_STOPPED || status->state == LMN_JOB_FAILED) && command != NULL &&
        status->rows_checkpointed > status->rows_committed)
        printf("%llu rows are kept; to go on: %s\n",
               (unsigned long long)(status->rows_checkpointed - status->rows_committed), command);
    else if (status->state == LMN_JOB_STOPPED && command != NULL)
        printf("to go on: %s\n", command);
    report_said(status);
}

int fill_report(const struct lmn_job_status *status, bool json, bool killed, const char *command)
{
    if (json)
        report_json(status);
    else
        report_text(status, command);
    return fill_exit_code(status, killed);
}

static void print_sum(struct piece plan)
{
    struct piece lines = piece_member(plan, "resources"), line;
    char what[32], why[128], memory[32];

    while (piece_next(&lines, &line)) {
        struct piece cpus = piece_member(line, "cpus"), gpus = piece_member(line, "gpus");

        bytes_text(piece_number(piece_member(line, "memory_bytes")), memory, sizeof memory);
        printf("  %-8s %3llu  %6.*s CPU  %6.*s GPU  %10s  %s\n",
               piece_text(piece_member(line, "what"), what, sizeof what),
               (unsigned long long)piece_number(piece_member(line, "count")), (int)cpus.len,
               cpus.text, (int)gpus.len, gpus.text, memory,
               piece_text(piece_member(line, "why"), why, sizeof why));
    }
}

/* What of a function's rows is to be done. */
static void print_rows(struct piece function)
{
    uint64_t bytes = piece_number(piece_member(function, "rewritten_bytes"));
    char text[32];

    printf("%llu rows to compute in %llu fragments: %llu pending, %llu failed, %llu stale, %llu "
           "finished; %llu are kept, and %llu were computed before\n",
           (unsigned long long)piece_number(piece_member(function, "todo")),
           (unsigned long long)piece_number(piece_member(function, "fragments")),
           (unsigned long long)piece_number(piece_member(function, "pending")),
           (unsigned long long)piece_number(piece_member(function, "failed")),
           (unsigned long long)piece_number(piece_member(function, "stale")),
           (unsigned long long)piece_number(piece_member(function, "finished")),
           (unsigned long long)piece_number(piece_member(function, "kept")),
           (unsigned long long)piece_number(piece_member(function, "resumed")));
    bytes_text(bytes, text, sizeof text);
    if (bytes != 0)
        printf("%s of the column are written again: pages without changed rows as they are\n",
               text);
}

void fill_print_plan(const char *text, bool json)
{
    struct piece plan = piece_of(text), functions = piece_member(plan, "functions"), function;
    struct piece machine = piece_member(plan, "machine"), cpus = piece_member(machine, "cpus");
    struct piece needed = piece_member(piece_member(plan, "disk"), "needed_bytes");
    char memory[32], disk[32], blocker[512];

    if (json) {
        printf("%s\n", text);
        return;
    }
    while (piece_next(&functions, &function))
        print_rows(function);
    printf("about %llu tasks for %llu workers\n",
           (unsigned long long)piece_number(piece_member(plan, "tasks")),
           (unsigned long long)piece_number(piece_member(plan, "workers")));
    print_sum(plan);
    bytes_text(piece_number(piece_member(machine, "memory_bytes")), memory, sizeof memory);
    printf("machine: %.*s CPU, %llu GPU, %s; %llu workers fit\n", (int)cpus.len, cpus.text,
           (unsigned long long)piece_number(piece_member(machine, "gpus")), memory,
           (unsigned long long)piece_number(piece_member(plan, "workers")));
    bytes_text(piece_number(needed), disk, sizeof disk);
    bytes_text(piece_number(piece_member(piece_member(plan, "disk"), "free_bytes")), memory,
               sizeof memory);
    printf("disk: %s needed, %s free\n",
           needed.len > 0 && needed.text[0] != 'n' ? disk : "an unknown amount", memory);
    if (piece_text(piece_member(plan, "blocker"), blocker, sizeof blocker)[0] != '\0')
        printf("it can never start: %s\n", blocker);
}
