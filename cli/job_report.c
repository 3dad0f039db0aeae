/* SPDX-License-Identifier: Apache-2.0 */
#include "job_report.h"

#include <stdio.h>
#include <string.h>

#include "progress.h"

static unsigned long long number(struct piece record, const char *key)
{
    return piece_number(piece_member(record, key));
}

struct lmn_job_status job_status_of(struct piece record)
{
    struct lmn_job_status status = {
        .rows_planned = number(record, "rows_planned"),
        .rows_resumed = number(record, "rows_resumed"),
        .rows_computed = number(record, "rows_computed"),
        .rows_checkpointed = number(record, "rows_checkpointed"),
        .rows_committed = number(record, "rows_committed"),
        .rows_failed = number(record, "rows_failed"),
        .workers_ready = (uint32_t)number(record, "workers_ready"),
        .memory_bytes = number(record, "memory_bytes"),
        .elapsed_ms = number(record, "elapsed_ms"),
        .rate = piece_real(piece_member(record, "rate")),
        .rate_recent = piece_real(piece_member(record, "rate_recent")),
        .read_rate = piece_real(piece_member(record, "read_rate")),
        .write_rate = piece_real(piece_member(record, "write_rate")),
        .eta_ms = number(record, "eta_ms"),
        .eta_low_ms = number(record, "eta_low_ms"),
        .eta_high_ms = number(record, "eta_high_ms"),
        .checkpoint_age_ms = number(record, "checkpoint_age_ms"),
        .commit_age_ms = number(record, "commit_age_ms"),
    };

    piece_text(piece_member(record, "message"), status.message, sizeof status.message);
    return status;
}

void job_print_columns(struct piece record)
{
    struct piece fills = piece_member(record, "fills"), fill, column;
    char name[128];
    bool follows = false;

    while (piece_next(&fills, &fill)) {
        struct piece columns = piece_member(fill, "columns");

        while (piece_next(&columns, &column)) {
            printf("%s%s", follows ? "," : "", piece_text(column, name, sizeof name));
            follows = true;
        }
    }
}

static void print_text(struct piece record, const char *key, const char *label)
{
    char text[1024];

    if (piece_text(piece_member(record, key), text, sizeof text)[0] != '\0')
        printf("%-18s %s\n", label, text);
}

static void print_counters(struct piece record)
{
    printf("%-18s %llu\n", "Rows planned", number(record, "rows_planned"));
    printf("%-18s %llu\n", "Rows resumed", number(record, "rows_resumed"));
    printf("%-18s %llu\n", "Rows checkpointed", number(record, "rows_checkpointed"));
    printf("%-18s %llu\n", "Rows committed", number(record, "rows_committed"));
    printf("%-18s %llu\n", "Rows failed", number(record, "rows_failed"));
}

static void print_age(const char *label, uint64_t ms)
{
    char text[32];

    if (ms == 0)
        return;
    duration_text(ms, text, sizeof text);
    printf("%-18s %s ago\n", label, text);
}

/* How fast it goes, and how long it will. */
static void print_pace(struct piece record)
{
    struct lmn_job_status status = job_status_of(record);
    char text[128];

    rate_text(&status, text, sizeof text);
    if (status.rate > 0)
        printf("%-18s %s, reading %.1f MB/s, writing %.1f MB/s\n", "Rate", text,
               status.read_rate / 1e6, status.write_rate / 1e6);
    eta_text(&status, text, sizeof text);
    if (text[0] != '\0')
        printf("%-18s %s\n", "Time left", text);
    print_age("Checkpointed", status.checkpoint_age_ms);
    print_age("Committed", status.commit_age_ms);
}

/* What the time of the workers went into. */
static void print_time(struct piece record)
{
    static const struct {
        const char *key, *label;
    } parts[] = { { "read_ms", "reading" },
                  { "call_ms", "function" },
                  { "write_ms", "writing" },
                  { "wait_ms", "waiting" } };
    unsigned long long total = 0;
    char text[32];

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        total += number(record, parts[i].key);
    duration_text(number(record, "elapsed_ms"), text, sizeof text);
    printf("%-18s %s", "Time", text);
    for (size_t i = 0; total > 0 && i < sizeof parts / sizeof parts[0]; i++)
        printf("%s%s %llu%%", i > 0 ? ", " : "; ", parts[i].label,
               100 * number(record, parts[i].key) / total);
    printf("\n");
    print_text(record, "verdict", "Verdict");
}

static void print_workers(struct piece record)
{
    struct piece gpus = piece_member(record, "gpus"), gpu;
    char memory[32], whole[32];

    bytes_text(number(record, "memory_bytes"), memory, sizeof memory);
    printf("%-18s %llu, %llu died, %s\n", "Workers", number(record, "workers"),
           number(record, "worker_deaths"), memory);
    while (piece_next(&gpus, &gpu)) {
        bytes_text(number(gpu, "memory_used_bytes"), memory, sizeof memory);
        bytes_text(number(gpu, "memory_bytes"), whole, sizeof whole);
        printf("%-18s %llu%% busy, %s of %s\n", "GPU", number(gpu, "busy_percent"), memory, whole);
    }
}

static void print_disk(struct piece record)
{
    struct piece disk = piece_member(record, "disk");
    char needed[32], free_text[32];

    if (disk.text == NULL)
        return;
    bytes_text(number(disk, "needed_bytes"), needed, sizeof needed);
    bytes_text(number(disk, "free_bytes"), free_text, sizeof free_text);
    printf("%-18s about %s to come, %s free\n", "Disk", needed, free_text);
}

static void print_tasks(struct piece record, const char *key, const char *label)
{
    struct piece tasks = piece_member(record, key), task;
    char bytes[32];

    while (piece_next(&tasks, &task)) {
        bytes_text(number(task, "bytes"), bytes, sizeof bytes);
        printf("%-18s fragment %llu, %llu rows from row %llu on: %.1f s, %s%s\n", label,
               number(task, "fragment"), number(task, "rows"), number(task, "first_row"),
               (double)number(task, "ms") / 1000, bytes,
               piece_member(task, "running").text != NULL ? ", runs" : "");
        label = "";
    }
}

/* What calls have used, where functions say it. */
static void print_usage(struct piece record)
{
    if (number(record, "calls") == 0 && number(record, "tokens") == 0)
        return;
    printf("%-18s %llu calls, %llu tokens, cost %g\n", "Usage", number(record, "calls"),
           number(record, "tokens"), piece_real(piece_member(record, "cost")));
}

static void print_errors(struct piece record)
{
    struct piece errors = piece_member(record, "top_errors"), error;
    const char *label = "Errors";
    char text[256];

    for (; piece_next(&errors, &error); label = "")
        printf("%-18s %llu times %s\n", label, number(error, "count"),
               piece_text(piece_member(error, "error"), text, sizeof text));
}

void job_report(struct piece record)
{
    struct piece events = piece_member(record, "events"), event;
    char time_text[40], text[256];

    print_text(record, "id", "Job");
    print_text(record, "state", "State");
    print_text(record, "table", "Table");
    printf("%-18s ", "Columns");
    job_print_columns(record);
    printf("\n");
    print_text(record, "where", "Where");
    print_counters(record);
    print_pace(record);
    print_time(record);
    print_workers(record);
    print_disk(record);
    print_tasks(record, "slowest_tasks", "Slowest tasks");
    print_tasks(record, "largest_tasks", "Largest tasks");
    print_errors(record);
    print_usage(record);
    print_text(record, "command", "Command");
    print_text(record, "message", "Message");
    print_text(record, "error", "Error");
    while (piece_next(&events, &event))
        printf("%.19s  %s\n", piece_text(piece_member(event, "time"), time_text, sizeof time_text),
               piece_text(piece_member(event, "text"), text, sizeof text));
}
