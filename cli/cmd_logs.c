/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arguments.h"
#include "follow.h"
#include "record.h"

enum { TEXT_CHARS = 1 << 14, FOLLOW_NS = 300000000 };

/* What is asked for, and what was shown. */
struct view {
    struct lmn_table *table;
    const char *id;
    struct lmn_job_log_options wanted;
    bool json;
    char *text;        /* the lines that were there last */
    struct piece last; /* the last of them */
};

/* One line: when, who, for which rows, what. */
static void print_entry(struct piece entry)
{
    struct piece row = piece_member(entry, "row"), dropped = piece_member(entry, "dropped");
    unsigned long long rows = piece_number(piece_member(entry, "rows"));
    char time_text[40], level[32], text[TEXT_CHARS];

    printf("%.19s  worker %llu",
           piece_text(piece_member(entry, "time"), time_text, sizeof time_text),
           (unsigned long long)piece_number(piece_member(entry, "worker")));
    if (dropped.text != NULL) {
        printf("  %llu lines were dropped: it printed too fast\n",
               (unsigned long long)piece_number(dropped));
        return;
    }
    if (row.text != NULL && rows == 1)
        printf("  row %llu", (unsigned long long)piece_number(row));
    else if (row.text != NULL)
        printf("  %llu rows from row %llu on", rows, (unsigned long long)piece_number(row));
    printf("  %s  %s%s\n", piece_text(piece_member(entry, "level"), level, sizeof level),
           piece_text(piece_member(entry, "text"), text, sizeof text),
           piece_member(entry, "cut").text != NULL ? " ..." : "");
}

/* Lines behind the last one that was shown: the oldest ones may be gone meanwhile. */
static struct piece skip_shown(struct piece entries, struct piece last)
{
    struct piece rest = entries, entry, behind = entries;

    while (last.text != NULL && piece_next(&rest, &entry)) {
        if (entry.len == last.len && memcmp(entry.text, last.text, last.len) == 0)
            behind = rest;
    }
    return behind;
}

/* Show what has come since the last time; as JSON one object on each line. */
static enum lmn_status show_new(struct view *view, struct lmn_error *err)
{
    struct piece entries, entry, last = { NULL, 0 };
    char *text;
    enum lmn_status st = lmn_job_logs(view->table, view->id, &view->wanted, &text, err);

    if (st != LMN_OK)
        return st;
    entries = piece_of(text);
    for (struct piece rest = skip_shown(entries, view->last); piece_next(&rest, &entry);) {
        last = entry;
        if (view->json)
            printf("%.*s\n", (int)entry.len, entry.text);
        else
            print_entry(entry);
    }
    fflush(stdout);
    if (last.text == NULL) { /* nothing has come */
        lmn_text_free(text);
        return LMN_OK;
    }
    lmn_text_free(view->text);
    view->text = text;
    view->last = last;
    return LMN_OK;
}

/* Show lines as they come, until the job has ended. */
static enum lmn_status follow(struct view *view, struct lmn_error *err)
{
    const struct timespec pause = { 0, FOLLOW_NS };
    bool running = true;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && running) {
        char *record;

        st = lmn_job_records(view->table, view->id, &record, err);
        if (st != LMN_OK)
            break;
        running = follow_is_running(record); /* asked first: an end has all lines before it */
        lmn_text_free(record);
        st = show_new(view, err);
        if (running)
            nanosleep(&pause, NULL);
    }
    return st;
}

/* All lines that there are. */
static enum lmn_status show_all(struct view *view, struct lmn_error *err)
{
    enum lmn_status st;

    if (!view->json)
        return show_new(view, err);
    st = lmn_job_logs(view->table, view->id, &view->wanted, &view->text, err);
    if (st == LMN_OK)
        printf("%s\n", view->text);
    return st;
}

static int run(int argc, char **argv)
{
    const char *path = NULL;
    struct number worker = { 0 }, row = { 0 };
    bool followed = false;
    struct view view = { 0 };
    const struct argument options[] = {
        { "table", ARGUMENT_TEXT, &path },      { "worker", ARGUMENT_NUMBER, &worker },
        { "row", ARGUMENT_NUMBER, &row },       { "json", ARGUMENT_FLAG, &view.json },
        { "follow", ARGUMENT_FLAG, &followed }, { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_logs, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_logs, "the id of one job is wanted");
    view.wanted = (struct lmn_job_log_options){ worker.given, row.given, worker.value, row.value };
    view.id = argv[rest];
    st = open_job_table(view.id, path, &view.table, &err);
    if (st == LMN_OK)
        st = followed ? follow(&view, &err) : show_all(&view, &err);
    lmn_text_free(view.text);
    lmn_table_release(view.table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_logs = {
    "logs", "show what the functions of a job have printed",
    "usage: leman logs ID [--worker N] [--row R] [--follow] [--table PATH] [--json]\n"
    "\n"
    "Shows what functions printed and logged in the workers of a job: time, worker, row, level,\n"
    "text. Lines that C code printed in a call of many rows show all of these. The last 8 to 16\n"
    "MiB are kept, and of each worker 2,000 lines at once and 200 a second.\n"
    "\n"
    "  --worker N    of that worker only\n"
    "  --row R       of calls with that row id only\n"
    "  --follow      go on until the job has ended\n"
    "  --table PATH  the table of the job, when it was started by another user or machine\n"
    "  --json        as a JSON array; with --follow one object on each line\n",
    run
};
