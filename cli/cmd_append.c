/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

struct arguments {
    const char *path, *message;
    char **file;
    int file_count;
    struct number rows, bytes;
    bool json;
    struct rows_options source;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "rows-per-fragment", ARGUMENT_NUMBER, &arguments->rows },
        { "bytes-per-fragment", ARGUMENT_NUMBER, &arguments->bytes },
        { "message", ARGUMENT_TEXT, &arguments->message },
        { "json", ARGUMENT_FLAG, &arguments->json },
        ROWS_ARGUMENTS(arguments->source),
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_append, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest < 2)
        return usage(&cmd_append, "a table and at least one file are wanted");
    arguments->path = argv[rest];
    arguments->file = argv + rest + 1;
    arguments->file_count = argc - rest - 1;
    return EXIT_DONE;
}

static enum lmn_status append(const struct arguments *arguments, struct lmn_table *table,
                              const char *file, struct lmn_error *err)
{
    struct lmn_write_options write = { .fragment_rows_max = arguments->rows.value,
                                       .fragment_bytes_max = arguments->bytes.value,
                                       .message = arguments->message };
    static struct input input;
    enum lmn_status st = input_open(&input, file, &arguments->source, table, err);

    if (st == LMN_OK && !input.empty)
        st = lmn_table_append(table, &input.stream, &write, err);
    return st == LMN_OK ? print_written(table, arguments->json, "appended", input.rows, err) : st;
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    struct lmn_table *table;
    struct lmn_error err;
    int code = parse(argc, argv, &arguments);
    enum lmn_status st;

    if (code != EXIT_DONE)
        return code;
    st = open_table(arguments.path, NULL, &table, &err);
    for (int i = 0; st == LMN_OK && i < arguments.file_count; i++)
        st = append(&arguments, table, arguments.file[i], &err);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_append = {
    "append", "append the rows of files to a table",
    "usage: leman append TABLE FILE ... [--message TEXT] [--rows-per-fragment N]\n"
    "                    [--bytes-per-fragment N] [--json] [OPTION OF THE FILE ...]\n"
    "\n"
    "Appends the rows of Arrow IPC, CSV or JSON lines files; \"-\" reads standard input. Each "
    "file\n"
    "is one version, there as a whole or not at all. Columns are matched by name; those that a\n"
    "file lacks become null. Text takes the types of the table.\n"
    "\n"
    "  --message TEXT     kept with the version\n"
    "  --rows-per-fragment N, --bytes-per-fragment N\n"
    "                     where data files are cut\n"
    "  --json             say what was done as a JSON object\n"
    "\n" ROWS_HELP,
    run
};
