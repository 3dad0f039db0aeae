/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "arguments.h"
#include "record.h"

enum { TEXT_CHARS = 1 << 14 };

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

static int run(int argc, char **argv)
{
    const char *path = NULL;
    struct number worker = { 0 }, row = { 0 };
    bool json = false;
    const struct argument options[] = {
        { "table", ARGUMENT_TEXT, &path }, { "worker", ARGUMENT_NUMBER, &worker },
        { "row", ARGUMENT_NUMBER, &row },  { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_job_log_options wanted = { 0 };
    struct lmn_table *table;
    struct piece entries, entry;
    struct lmn_error err;
    char *text = NULL;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_logs, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_logs, "the id of one job is wanted");
    wanted = (struct lmn_job_log_options){ worker.given, row.given, worker.value, row.value };
    st = open_job_table(argv[rest], path, &table, &err);
    if (st == LMN_OK)
        st = lmn_job_logs(table, argv[rest], &wanted, &text, &err);
    if (st == LMN_OK && json)
        printf("%s\n", text);
    if (st == LMN_OK && !json) {
        entries = piece_of(text);
        while (piece_next(&entries, &entry))
            print_entry(entry);
    }
    lmn_text_free(text);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_logs = {
    "logs", "show what the functions of a job have printed",
    "usage: leman logs ID [--worker N] [--row R] [--table PATH] [--json]\n"
    "\n"
    "Shows what functions printed and logged in the workers of a job: time, worker, row, level,\n"
    "text. Lines that C code printed in a call of many rows show all of these. The last 8 to 16\n"
    "MiB are kept, and of each worker 2,000 lines at once and 200 a second.\n"
    "\n"
    "  --worker N    of that worker only\n"
    "  --row R       of calls with that row id only\n"
    "  --table PATH  the table of the job, when it was started by another user or machine\n"
    "  --json        as a JSON array\n",
    run
};
