/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "arguments.h"
#include "record.h"

typedef enum lmn_status (*job_verb_fn)(struct lmn_table *table, const char *id,
                                       struct lmn_error *err);

/* Do something to jobs that are named by their ids. */
static int run_verb(const struct command *command, job_verb_fn verb, const char *done, int argc,
                    char **argv)
{
    const char *path = NULL;
    const struct argument options[] = {
        { "table", ARGUMENT_TEXT, &path },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_error err;
    enum lmn_status st = LMN_OK;
    int rest, code = arguments_read(command, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (rest == argc)
        return usage(command, "the id of a job is wanted");
    for (; st == LMN_OK && rest < argc; rest++) {
        struct lmn_table *table;

        st = open_job_table(argv[rest], path, &table, &err);
        if (st == LMN_OK)
            st = verb(table, argv[rest], &err);
        if (st == LMN_OK)
            printf("job %s %s\n", argv[rest], done);
        lmn_table_release(table);
    }
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

static int run_cancel(int argc, char **argv)
{
    return run_verb(&cmd_cancel, lmn_job_cancel, "is asked to stop", argc, argv);
}

static int run_discard(int argc, char **argv)
{
    return run_verb(&cmd_discard, lmn_job_discard, "is discarded", argc, argv);
}

const struct command cmd_cancel = {
    "cancel", "stop a job, wherever it runs",
    "usage: leman cancel ID ... [--table PATH]\n"
    "\n"
    "Asks a job to stop. It checkpoints what runs, commits what is whole and ends within seconds;\n"
    "the same command goes on from there.\n"
    "\n"
    "  --table PATH  the table of the job, when it was started by another user or machine\n",
    run_cancel
};

const struct command cmd_discard = {
    "discard", "drop what a job has computed and not committed",
    "usage: leman discard ID ... [--table PATH]\n"
    "\n"
    "Drops results that are in no version of the table, and the record of the job. A job that "
    "runs\n"
    "has to be cancelled first.\n"
    "\n"
    "  --table PATH  the table of the job, when it was started by another user or machine\n",
    run_discard
};
