/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "output.h"
#include "select.h"

enum { SHOWN_ROWS = 10 };

struct arguments {
    const char *path;
    struct output output;
    struct select_options select;
    struct lmn_ingest_options ingest;
};

/* Lance files end with their magic. */
static bool is_lance(const char *path)
{
    FILE *file = strcmp(path, "-") != 0 ? fopen(path, "rb") : NULL;
    char magic[4] = "";
    bool is;

    if (file == NULL)
        return false;
    is = fseek(file, -4, SEEK_END) == 0 && fread(magic, 1, sizeof magic, file) == sizeof magic &&
         memcmp(magic, "LANC", sizeof magic) == 0;
    fclose(file);
    return is;
}

static enum lmn_status show_stream(const struct arguments *arguments,
                                   struct ArrowArrayStream *stream, struct lmn_error *err)
{
    struct output output = arguments->output;
    enum lmn_status st = select_stream(stream, &arguments->select, err);

    if (st != LMN_OK)
        return st;
    output.shown = (struct number){ arguments->select.limited, arguments->select.row_limit };
    return output_stream(&output, stream, err);
}

/* The start and the end of a Lance file, without what lies between. */
static enum lmn_status show_ends(struct lmn_file *file, struct lmn_read_options *read,
                                 struct lmn_error *err)
{
    uint64_t rows = lmn_file_row_count(file);
    uint64_t starts[2] = { 0, rows - SHOWN_ROWS };
    struct print_options options = { .head = SHOWN_ROWS, .tail = SHOWN_ROWS };
    struct print_table *table;
    struct ArrowSchema schema;
    enum lmn_status st = lmn_file_schema(file, read, &schema, err);

    if (st != LMN_OK)
        return st;
    print_options_terminal(&options, stdout);
    table = print_table_new(&schema, &options);
    for (int i = 0; st == LMN_OK && i < 2; i++) {
        struct ArrowArrayStream stream;

        read->rows_limited = true;
        read->row_start = starts[i];
        read->row_count = SHOWN_ROWS;
        st = lmn_file_scan(file, read, &stream, err);
        if (st != LMN_OK)
            break;
        st = output_rows(&stream, &schema, table, err);
        stream.release(&stream);
        if (i == 0)
            print_table_skip(table, rows - 2 * SHOWN_ROWS);
    }
    if (st == LMN_OK)
        print_table_end(table, stdout);
    print_table_free(table);
    schema.release(&schema);
    return st;
}

static enum lmn_status show_lance(struct arguments *arguments, struct lmn_error *err)
{
    struct lmn_read_options read = { .column = arguments->select.column,
                                     .column_count = arguments->select.column_count };
    struct ArrowArrayStream stream;
    struct lmn_file *file;
    enum lmn_status st = open_file(arguments->path, &file, err);

    if (st != LMN_OK)
        return st;
    if (!arguments->output.json && !arguments->output.arrow && !arguments->select.limited &&
        lmn_file_row_count(file) > 2 * SHOWN_ROWS) {
        st = show_ends(file, &read, err);
    } else {
        arguments->select.column_count = 0; /* the file selects them, by path */
        if (arguments->select.limited && arguments->select.row_limit < lmn_file_row_count(file)) {
            read.rows_limited = true;
            read.row_count = arguments->select.row_limit;
        }
        st = lmn_file_scan(file, &read, &stream, err);
        if (st == LMN_OK) {
            st = show_stream(arguments, &stream, err);
            stream.release(&stream);
        }
    }
    lmn_file_release(file);
    return st;
}

static enum lmn_status show(struct arguments *arguments, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    enum lmn_status st;

    if (arguments->ingest.format == NULL && is_lance(arguments->path))
        return show_lance(arguments, err);
    st = lmn_ingest_open(NULL, arguments->path, &arguments->ingest, &stream, err);
    if (st != LMN_OK)
        return st;
    st = show_stream(arguments, &stream, err);
    stream.release(&stream);
    return st;
}

/* EXIT_DONE, or what usage() answered. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
    static struct list columns;
    struct number limit = { 0 };
    const char *delimiter = NULL;
    const struct argument options[] = {
        { "json", ARGUMENT_FLAG, &arguments->output.json },
        { "arrow", ARGUMENT_FLAG, &arguments->output.arrow },
        { "columns", ARGUMENT_LIST, &columns },
        { "limit", ARGUMENT_NUMBER, &limit },
        { "format", ARGUMENT_TEXT, &arguments->ingest.format },
        { "delimiter", ARGUMENT_TEXT, &delimiter },
        { "no-header", ARGUMENT_FLAG, &arguments->ingest.no_header },
        { "null", ARGUMENT_TEXT, &arguments->ingest.null_text },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_show, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (output_wrong(&arguments->output) != NULL)
        return usage(&cmd_show, "%s", output_wrong(&arguments->output));
    if (delimiter != NULL && !delimiter_read(delimiter, &arguments->ingest.delimiter))
        return usage(&cmd_show, "--delimiter wants one character, not \"%s\"", delimiter);
    if (limit.value >= UINT32_MAX)
        return usage(&cmd_show, "--limit wants a number below %u", UINT32_MAX);
    if (argc - rest != 1)
        return usage(&cmd_show, "one file is wanted, not %d", argc - rest);
    arguments->path = argv[rest];
    arguments->select.column = columns.count != 0 ? columns.item : NULL;
    arguments->select.column_count = columns.count;
    arguments->select.limited = limit.given;
    arguments->select.row_limit = limit.value;
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    struct lmn_error err;
    int code = parse(argc, argv, &arguments);

    if (code != 0)
        return code;
    return show(&arguments, &err) == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_show = {
    "show", "show the rows of a file",
    "usage: leman show FILE [--json | --arrow] [--columns NAME,...] [--limit N]\n"
    "                       [--format arrow|csv|jsonl] [--delimiter C] [--no-header] [--null "
    "TEXT]\n"
    "\n"
    "Shows the rows of a Lance data file, an Arrow IPC stream or file, a CSV file or JSON lines;\n"
    "\"-\" reads standard input. As a table the first and last 10 rows are shown, and columns as\n"
    "far as the terminal is wide.\n"
    "\n"
    "  --json         print every row as a JSON object, one per line\n"
    "  --arrow        write every row as an Arrow IPC stream\n"
    "  --columns A,B  these columns only, in this order; of a Lance file also fields: info.width\n"
    "  --limit N      the first N rows only\n"
    "  --format F     do not guess the format of the file\n"
    "  --delimiter C  between the fields of a CSV file; \\t is a tab\n"
    "  --no-header    the first record of a CSV file is a row, not names\n"
    "  --null TEXT    what stands for null in a CSV file; by default an empty field\n"
    "\n" NAMES_HELP,
    run
};
