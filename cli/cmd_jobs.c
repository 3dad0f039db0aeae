/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "follow.h"
#include "job_report.h"
#include "output.h"
#include "table.h"

static unsigned long long number(struct piece record, const char *key)
{
    return piece_number(piece_member(record, key));
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
    job_print_columns(record);
    printf("\n");
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

/* Rows that are in no version yet. */
static enum lmn_status peek(struct lmn_table *table, const char *id, uint64_t rows, bool json,
                            struct lmn_error *err)
{
    const struct output output = { .json = json };
    struct ArrowSchema schema;
    struct ArrowArray array;
    enum lmn_status st = lmn_job_peek(table, id, NULL, rows, &schema, &array, err);

    return st == LMN_OK ? output_array(&output, &schema, &array, err) : st;
}

static int run_job(int argc, char **argv)
{
    bool json = false, followed = false;
    struct number peeked = { 0 };
    const char *path = NULL;
    const struct argument options[] = {
        { "table", ARGUMENT_TEXT, &path },    { "follow", ARGUMENT_FLAG, &followed },
        { "peek", ARGUMENT_NUMBER, &peeked }, { "json", ARGUMENT_FLAG, &json },
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
        st = follow_job(table, argv[rest], &err);
    if (st == LMN_OK && peeked.given)
        st = peek(table, argv[rest], peeked.value, json, &err);
    else if (st == LMN_OK)
        st = lmn_job_records(table, argv[rest], &text, &err);
    if (text == NULL)
        json = false;
    if (st == LMN_OK && json)
        printf("%s\n", text);
    else if (st == LMN_OK && text != NULL)
        job_report(piece_of(text));
    if (st == LMN_OK && followed && text != NULL)
        code = follow_exit_code(text);
    lmn_text_free(text);
    lmn_table_release(table);
    return st == LMN_OK ? code : fail(&err);
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
    "usage: leman job ID [--table PATH] [--follow | --peek N] [--json]\n"
    "\n"
    "Shows the record of a job: counters, times, why it failed or stopped, what happened.\n"
    "\n"
    "  --table PATH  the table of the job, when it was started by another user or machine\n"
    "  --follow      show its progress and what happens until it has ended, from any terminal;\n"
    "                the exit code is then that of the job: 0, 1, 3 or 4\n"
    "  --peek N      show up to N rows that it has computed and not committed\n"
    "  --json        the record as a JSON object\n",
    run_job
};
