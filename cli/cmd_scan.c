/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"
#include "table.h"
#include "version.h"

struct arguments {
    const char *path, *version, *where;
    struct list columns;
    struct number limit, offset;
    bool row_ids, blobs;
    struct output output;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "columns", ARGUMENT_LIST, &arguments->columns },
        { "where", ARGUMENT_TEXT, &arguments->where },
        { "limit", ARGUMENT_NUMBER, &arguments->limit },
        { "offset", ARGUMENT_NUMBER, &arguments->offset },
        { "row-ids", ARGUMENT_FLAG, &arguments->row_ids },
        { "blobs", ARGUMENT_FLAG, &arguments->blobs },
        { "version", ARGUMENT_TEXT, &arguments->version },
        { "json", ARGUMENT_FLAG, &arguments->output.json },
        { "arrow", ARGUMENT_FLAG, &arguments->output.arrow },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_scan, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (output_wrong(&arguments->output) != NULL)
        return usage(&cmd_scan, "%s", output_wrong(&arguments->output));
    if (argc - rest != 1)
        return usage(&cmd_scan, "one table is wanted, not %d", argc - rest);
    arguments->path = argv[rest];
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    struct lmn_scan_options scan = { 0 };
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct lmn_error err;
    enum lmn_status st;
    int code = parse(argc, argv, &arguments);

    if (code != EXIT_DONE)
        return code;
    scan.column = arguments.columns.count != 0 ? arguments.columns.item : NULL;
    scan.column_count = arguments.columns.count;
    scan.where = arguments.where;
    scan.limited = arguments.limit.given;
    scan.limit = arguments.limit.value;
    scan.offset = arguments.offset.value;
    scan.with_row_id = arguments.row_ids;
    scan.blobs = arguments.blobs ? LMN_BLOB_BYTES : LMN_BLOB_DESCRIPTORS;
    st = open_table(arguments.path, arguments.version, &table, &err);
    if (st == LMN_OK && arguments.limit.given) {
        /* All rows that are asked for are shown, and room is made for no more than there are. */
        st = lmn_table_count(table, NULL, &arguments.output.shown.value, &err);
        arguments.output.shown.given = true;
        if (arguments.output.shown.value > scan.limit)
            arguments.output.shown.value = scan.limit;
    }
    if (st == LMN_OK)
        st = lmn_table_scan(table, &scan, &stream, &err);
    lmn_table_release(table);
    if (st == LMN_OK) {
        st = output_stream(&arguments.output, &stream, &err);
        stream.release(&stream);
    }
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_scan = {
    "scan", "show the rows of a table",
    "usage: leman scan TABLE [--columns NAME,...] [--where EXPRESSION] [--limit N] [--offset N]\n"
    "                  [--row-ids] [--blobs] [--version V] [--json | --arrow]\n"
    "\n"
    "Shows the rows of a table in their order: the first and last 10, and columns as far as the\n"
    "terminal is wide.\n"
    "\n"
    "  --columns A,B  these columns only, in this order; also fields: info.width\n"
    "  --where E      the rows that match, as in SQL: \"width > 100 and label is not null\"\n"
    "  --limit N      at most N rows\n"
    "  --offset N     leave out the first N rows\n"
    "  --row-ids      a column _rowid, for `leman take --ids`\n"
    "  --blobs        the bytes of blob columns, not where they are\n"
    "  --version V    another version: " VERSION_HELP
    "  --json         print every row as a JSON object, one per line\n"
    "  --arrow        write every row as an Arrow IPC stream\n"
    "\n" NAMES_HELP,
    run
};
