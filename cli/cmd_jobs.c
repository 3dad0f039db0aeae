/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arguments.h"
#include "progress.h"
#include "record.h"
#include "table.h"

enum { FOLLOW_NS = 500000000 };

static unsigned long long number(struct piece record, const char *key)
{
    return piece_number(piece_member(record, key));
}

static void print_columns(struct piece record)
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

/* One job on one line. */
static void print_short(struct piece record)
{
    char id[80], state[32], started[40], table[512];

    piece_text(piece_member(record, "started"), started, sizeof started);
    started[19] = '\0';
    printf("%-12s %-12s %s  %llu/%llu rows, %llu failed  %s  ",
           piece_text(piece_member(record, "id"), id, sizeof id),
           piece_text(piece_member(record, "state"), state, sizeof state), started,
           number(record, "rows_committed"), number(record, "rows_planned"),
           number(record, "rows_failed"),
           piece_text(piece_member(record, "table"), table, sizeof table));
    print_columns(record);
    printf("\n");
}

static void print_text(struct piece record, const char *key, const char *label)
{
    char text[1024];

    if (piece_text(piece_member(record, key), text, sizeof text)[0] != '\0')
        printf("%-18s %s\n", label, text);
}

static void print_long(struct piece record)
{
    struct piece events = piece_member(record, "events"), event;
    char memory[32], time_text[40], text[256];

    print_text(record, "id", "Job");
    print_text(record, "state", "State");
    print_text(record, "table", "Table");
    printf("%-18s ", "Columns");
    print_columns(record);
    printf("\n");
    print_text(record, "where", "Where");
    printf("%-18s %llu\n", "Rows planned", number(record, "rows_planned"));
    printf("%-18s %llu\n", "Rows resumed", number(record, "rows_resumed"));
    printf("%-18s %llu\n", "Rows checkpointed", number(record, "rows_checkpointed"));
    printf("%-18s %llu\n", "Rows committed", number(record, "rows_committed"));
    printf("%-18s %llu\n", "Rows failed", number(record, "rows_failed"));
    bytes_text(number(record, "memory_bytes"), memory, sizeof memory);
    printf("%-18s %llu, %llu died, %s\n", "Workers", number(record, "workers"),
           number(record, "worker_deaths"), memory);
    printf("%-18s %.1f s (reading %.1f s, calls %.1f s, writing %.1f s, of all workers)\n", "Time",
           (double)number(record, "elapsed_ms") / 1000, (double)number(record, "read_ms") / 1000,
           (double)number(record, "call_ms") / 1000, (double)number(record, "write_ms") / 1000);
    print_text(record, "command", "Command");
    print_text(record, "message", "Message");
    print_text(record, "error", "Error");
    while (piece_next(&events, &event))
        printf("%.19s  %s\n", piece_text(piece_member(event, "time"), time_text, sizeof time_text),
               piece_text(piece_member(event, "text"), text, sizeof text));
}

/* The jobs of one table. */
static enum lmn_status list_table(const char *path, bool json, struct lmn_error *err)
{
    struct lmn_table *table;
    struct piece records, record;
    char *text = NULL;
    enum lmn_status st = open_table(path, NULL, &table, err);

    if (st == LMN_OK)
        st = lmn_job_records(table, NULL, &text, err);
    if (st == LMN_OK && json)
        printf("%s\n", text);
    if (st == LMN_OK && !json) {
        records = piece_of(text);
        while (piece_next(&records, &record))
            print_short(record);
    }
    lmn_text_free(text);
    lmn_table_release(table);
    return st;
}

/* The jobs of this user; those whose table is gone are left out. */
static enum lmn_status list_all(bool json, struct lmn_error *err)
{
    struct piece entries, entry;
    char id[80], path[4096], *index, *text;
    bool follows = false;
    enum lmn_status st = lmn_job_index(&index, err);

    if (st != LMN_OK)
        return st;
    entries = piece_of(index);
    if (json)
        printf("[");
    while (piece_next(&entries, &entry)) {
        struct lmn_table *table;
        struct lmn_error ignored;

        piece_text(piece_member(entry, "id"), id, sizeof id);
        piece_text(piece_member(entry, "table"), path, sizeof path);
        if (open_table(path, NULL, &table, &ignored) != LMN_OK)
            continue;
        if (lmn_job_records(table, id, &text, &ignored) == LMN_OK) {
            if (json)
                printf("%s%s", follows ? ", " : "", text);
            else
                print_short(piece_of(text));
            follows = true;
            lmn_text_free(text);
        }
        lmn_table_release(table);
    }
    if (json)
        printf("]\n");
    lmn_text_free(index);
    return LMN_OK;
}

static int run_jobs(int argc, char **argv)
{
    bool json = false;
    const struct argument options[] = {
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_jobs, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest > 1)
        return usage(&cmd_jobs, "at most one table is wanted, not %d", argc - rest);
    st = rest < argc ? list_table(argv[rest], json, &err) : list_all(json, &err);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

static bool is_running(struct piece record)
{
    char state[32];

    piece_text(piece_member(record, "state"), state, sizeof state);
    return strcmp(state, "planning") == 0 || strcmp(state, "waiting") == 0 ||
           strcmp(state, "running") == 0 || strcmp(state, "stopping") == 0;
}

/* The counters of a record, as far as a line of progress shows them. */
static void print_progress(struct piece record)
{
    struct lmn_job_status status = { .rows_planned = number(record, "rows_planned"),
                                     .rows_resumed = number(record, "rows_resumed"),
                                     .rows_computed = number(record, "rows_computed"),
                                     .rows_checkpointed = number(record, "rows_checkpointed"),
                                     .rows_committed = number(record, "rows_committed"),
                                     .rows_failed = number(record, "rows_failed"),
                                     .workers_ready = (uint32_t)number(record, "workers_ready"),
                                     .memory_bytes = number(record, "memory_bytes"),
                                     .elapsed_ms = number(record, "elapsed_ms") };
    char line[512];

    piece_text(piece_member(record, "message"), status.message, sizeof status.message);
    progress_line(&status, line, sizeof line);
    printf("%s\n", line);
    fflush(stdout);
}

/* Show a job again and again until it has ended. */
static enum lmn_status follow(struct lmn_table *table, const char *id, struct lmn_error *err)
{
    const struct timespec pause = { 0, FOLLOW_NS };
    uint64_t before = UINT64_MAX;
    enum lmn_status st = LMN_OK;
    bool running = true;

    while (st == LMN_OK && running) {
        char *text;

        st = lmn_job_records(table, id, &text, err);
        if (st != LMN_OK)
            break;
        running = is_running(piece_of(text));
        if (running && number(piece_of(text), "elapsed_ms") != before) {
            print_progress(piece_of(text));
            before = number(piece_of(text), "elapsed_ms");
        }
        lmn_text_free(text);
        if (running)
            nanosleep(&pause, NULL);
    }
    return st;
}

static int run_job(int argc, char **argv)
{
    bool json = false, followed = false;
    const char *path = NULL;
    const struct argument options[] = {
        { "table", ARGUMENT_TEXT, &path },
        { "follow", ARGUMENT_FLAG, &followed },
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_table *table;
    struct lmn_error err;
    char *text = NULL;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_job, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_job, "the id of one job is wanted");
    st = open_job_table(argv[rest], path, &table, &err);
    if (st == LMN_OK && followed)
        st = follow(table, argv[rest], &err);
    if (st == LMN_OK)
        st = lmn_job_records(table, argv[rest], &text, &err);
    if (st == LMN_OK && json)
        printf("%s\n", text);
    else if (st == LMN_OK)
        print_long(piece_of(text));
    lmn_text_free(text);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_jobs = { "jobs", "list jobs, newest first",
                                  "usage: leman jobs [TABLE] [--json]\n"
                                  "\n"
                                  "Lists the jobs of a table, or all that this user has started on "
                                  "this machine: id, state, start,\n"
                                  "rows, table, columns. A job that was killed is \"interrupted\"; "
                                  "the command that started it goes\n"
                                  "on from its last checkpoint.\n"
                                  "\n"
                                  "  --json  the whole records as a JSON array\n",
                                  run_jobs };

const struct command cmd_job = {
    "job", "show one job",
    "usage: leman job ID [--table PATH] [--follow] [--json]\n"
    "\n"
    "Shows the record of a job: counters, times, why it failed or stopped, what happened.\n"
    "\n"
    "  --table PATH  the table of the job, when it was started by another user or machine\n"
    "  --follow      show its progress until it has ended\n"
    "  --json        the record as a JSON object\n",
    run_job
};
