/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "table.h"
#include "version.h"

enum { SHOWN = 20 };

/* The columns of lmn_table_errors(). */
enum { ROW_ID, TYPE, MESSAGE, TRACEBACK, INPUTS, ATTEMPTS, JOB, TIME, FUNCTION, REPEAT };

struct arguments {
    const char *path, *column, *version;
    struct number limit;
    struct output output;
};

/* A text of the errors; false for null. */
static bool text_at(const struct ArrowArray *batch, int column, int64_t row, const char **text_out,
                    int64_t *len_out)
{
    const struct ArrowArray *array = batch->children[column];
    const int64_t *offset = (const int64_t *)array->buffers[1] + array->offset;

    if (value_is_null(array, row))
        return false;
    *text_out = (const char *)array->buffers[2] + offset[row];
    *len_out = offset[row + 1] - offset[row];
    return true;
}

/* Print a text; its further lines are set in, and nothing in it reaches the terminal as a command.
 */
static void print_lines(const char *text, int64_t len, const char *indent)
{
    while (len > 0 && text[len - 1] == '\n')
        len--;
    for (int64_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            printf("\n%s", indent);
        else if (text[i] == '\t')
            putchar(' ');
        else if ((unsigned char)text[i] < ' ' || text[i] == 127)
            printf("\\u%04x", (unsigned)text[i]);
        else
            putchar(text[i]);
    }
}

static void print_member(const struct ArrowArray *batch, int column, int64_t row,
                         const char *before)
{
    const char *text;
    int64_t len;

    if (!text_at(batch, column, row, &text, &len))
        return;
    printf("%s", before);
    print_lines(text, len, "    ");
}

/* One failed cell: what, why, from what, where. */
static void print_error(const struct ArrowArray *batch, int64_t row)
{
    const struct ArrowArray *id = batch->children[ROW_ID], *attempts = batch->children[ATTEMPTS];

    printf("row %llu", (unsigned long long)((const uint64_t *)id->buffers[1])[id->offset + row]);
    if (value_is_null(batch->children[TYPE], row) && value_is_null(batch->children[MESSAGE], row))
        printf(": why it failed was not kept");
    print_member(batch, TYPE, row, ": ");
    print_member(batch, MESSAGE, row, ": ");
    print_member(batch, INPUTS, row, "\n    inputs: ");
    if (!value_is_null(attempts, row))
        printf("\n    attempts: %u",
               ((const uint32_t *)attempts->buffers[1])[attempts->offset + row]);
    print_member(batch, JOB, row, "\n    job: ");
    print_member(batch, TIME, row, ", ");
    print_member(batch, TRACEBACK, row, "\n    ");
    print_member(batch, REPEAT, row, "\n    repeat: ");
    printf("\n");
}

/* The first cells, and how many there are. */
static enum lmn_status print_errors(struct ArrowArrayStream *stream, uint64_t shown,
                                    struct lmn_error *err)
{
    struct ArrowArray batch;
    uint64_t count = 0;
    int rc;

    while ((rc = stream->get_next(stream, &batch)) == 0 && batch.release != NULL) {
        for (int64_t i = 0; i < batch.length; i++) {
            if (count++ < shown)
                print_error(&batch, i);
        }
        batch.release(&batch);
    }
    if (rc != 0)
        return stream_failed(stream, rc, err);
    printf("%llu failed cell%s", (unsigned long long)count, count == 1 ? "" : "s");
    if (count > shown)
        printf(", the first %llu shown; --limit shows more", (unsigned long long)shown);
    printf("\n");
    return LMN_OK;
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "limit", ARGUMENT_NUMBER, &arguments->limit },
        { "version", ARGUMENT_TEXT, &arguments->version },
        { "json", ARGUMENT_FLAG, &arguments->output.json },
        { "arrow", ARGUMENT_FLAG, &arguments->output.arrow },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_errors, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (output_wrong(&arguments->output) != NULL)
        return usage(&cmd_errors, "%s", output_wrong(&arguments->output));
    if (argc - rest != 2)
        return usage(&cmd_errors, "a table and a column are wanted");
    arguments->path = argv[rest];
    arguments->column = argv[rest + 1];
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = { 0 };
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct lmn_error err;
    enum lmn_status st;
    int code = parse(argc, argv, &arguments);

    if (code != EXIT_DONE)
        return code;
    st = open_table(arguments.path, arguments.version, &table, &err);
    if (st == LMN_OK)
        st = lmn_table_errors(table, arguments.column, &stream, &err);
    lmn_table_release(table);
    if (st == LMN_OK) {
        if (arguments.output.json || arguments.output.arrow)
            st = output_stream(&arguments.output, &stream, &err);
        else
            st = print_errors(&stream, arguments.limit.given ? arguments.limit.value : SHOWN, &err);
        stream.release(&stream);
    }
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_errors = {
    "errors", "show why cells of a column failed",
    "usage: leman errors TABLE COLUMN [--limit N] [--version V] [--json | --arrow]\n"
    "\n"
    "Shows the failed cells of a column that a function fills: the id of the row, the error, the\n"
    "inputs, how often it was tried, the job and the time, the traceback. A cell that was "
    "computed\n"
    "since is left out.\n"
    "\n"
    "  --limit N    at most N cells; 20 unless told\n"
    "  --version V  another version: " VERSION_HELP
    "  --json       print every cell as a JSON object, one per line\n"
    "  --arrow      write every cell as an Arrow IPC stream\n",
    run
};
