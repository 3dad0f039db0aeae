/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"
#include "table.h"

static enum lmn_status diff(char **argument, const char *newer, const struct output *output,
                            struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct lmn_table *table = NULL;
    uint64_t from, to;
    enum lmn_status st = find_version(argument[0], argument[1], &from, err);

    if (st == LMN_OK)
        st = find_version(argument[0], newer, &to, err);
    if (st == LMN_OK)
        st = open_version(argument[0], to, &table, err);
    if (st == LMN_OK)
        st = lmn_table_diff(table, from, to, &stream, err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return st;
    st = output_stream(output, &stream, err);
    stream.release(&stream);
    return st;
}

static int run(int argc, char **argv)
{
    struct output output = { 0 };
    const struct argument options[] = {
        { "json", ARGUMENT_FLAG, &output.json },
        { "arrow", ARGUMENT_FLAG, &output.arrow },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_error err;
    int rest, code = arguments_read(&cmd_diff, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (output_wrong(&output) != NULL)
        return usage(&cmd_diff, "%s", output_wrong(&output));
    if (argc - rest != 2 && argc - rest != 3)
        return usage(&cmd_diff, "a table and one or two versions are wanted");
    if (diff(argv + rest, argc - rest == 3 ? argv[rest + 2] : NULL, &output, &err) != LMN_OK)
        return fail(&err);
    return EXIT_DONE;
}

const struct command cmd_diff = {
    "diff", "show what happened to rows between two versions",
    "usage: leman diff TABLE OLD [NEW] [--json | --arrow]\n"
    "\n"
    "Shows the rows that were inserted, updated or deleted between two versions, given by number\n"
    "or by name; NEW is the newest unless given. Column _change says which; deleted rows are "
    "shown\n"
    "as they were.\n"
    "\n"
    "  --json   print every row as a JSON object, one per line\n"
    "  --arrow  write every row as an Arrow IPC stream\n",
    run
};
