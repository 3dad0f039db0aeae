/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "output.h"
#include "table.h"
#include "version.h"

struct arguments {
    const char *path, *version;
    struct list columns;
    bool ids, row_ids, blobs;
    struct output output;
};

static int parse(int argc, char **argv, struct arguments *arguments, int *rest_out)
{
    const struct argument options[] = {
        { "columns", ARGUMENT_LIST, &arguments->columns },
        { "ids", ARGUMENT_FLAG, &arguments->ids },
        { "row-ids", ARGUMENT_FLAG, &arguments->row_ids },
        { "blobs", ARGUMENT_FLAG, &arguments->blobs },
        { "version", ARGUMENT_TEXT, &arguments->version },
        { "json", ARGUMENT_FLAG, &arguments->output.json },
        { "arrow", ARGUMENT_FLAG, &arguments->output.arrow },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int code = arguments_read(&cmd_take, options, argc, argv, rest_out);

    if (code != EXIT_DONE)
        return code;
    if (output_wrong(&arguments->output) != NULL)
        return usage(&cmd_take, "%s", output_wrong(&arguments->output));
    if (argc - *rest_out < 2)
        return usage(&cmd_take, "a table and the numbers of rows are wanted");
    arguments->path = argv[(*rest_out)++];
    return EXIT_DONE;
}

static enum lmn_status take(const struct arguments *arguments, const uint64_t *row, uint64_t count,
                            struct lmn_error *err)
{
    struct lmn_scan_options scan = {
        .column = arguments->columns.count != 0 ? arguments->columns.item : NULL,
        .column_count = arguments->columns.count,
        .with_row_id = arguments->row_ids,
        .blobs = arguments->blobs ? LMN_BLOB_BYTES : LMN_BLOB_DESCRIPTORS,
    };
    struct output output = arguments->output;
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_table *table;
    enum lmn_status st = open_table(arguments->path, arguments->version, &table, err);

    if (st == LMN_OK)
        st = arguments->ids ? lmn_table_take_ids(table, row, count, &scan, &schema, &array, err)
                            : lmn_table_take(table, row, count, &scan, &schema, &array, err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return st;
    output.shown = (struct number){ true, count };
    return output_array(&output, &schema, &array, err);
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    uint64_t *row, count = 0;
    struct lmn_error err;
    int rest, code = parse(argc, argv, &arguments, &rest);

    if (code != EXIT_DONE)
        return code;
    row = calloc((size_t)argc, sizeof *row);
    if (row == NULL)
        return EXIT_FAILED;
    for (; code == EXIT_DONE && rest < argc; rest++) {
        if (!number_read(argv[rest], &row[count++]))
            code = usage(&cmd_take, "\"%s\" is no number of a row", argv[rest]);
    }
    if (code == EXIT_DONE && take(&arguments, row, count, &err) != LMN_OK)
        code = fail(&err);
    free(row);
    return code;
}

const struct command cmd_take = {
    "take", "show rows of a table by their numbers",
    "usage: leman take TABLE ROW ... [--ids] [--columns NAME,...] [--row-ids] [--blobs]\n"
    "                  [--version V] [--json | --arrow]\n"
    "\n"
    "Shows rows by their position in the table, counted from 0, in the order given.\n"
    "\n"
    "  --ids          the numbers are row ids, as `leman scan --row-ids` shows them\n"
    "  --columns A,B  these columns only, in this order; also fields: info.width\n"
    "  --row-ids      a column _rowid\n"
    "  --blobs        the bytes of blob columns, not where they are\n"
    "  --version V    another version: " VERSION_HELP
    "  --json         print every row as a JSON object, one per line\n"
    "  --arrow        write every row as an Arrow IPC stream\n"
    "\n" NAMES_HELP,
    run
};
