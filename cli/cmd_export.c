/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "python.h"
#include "table.h"

struct arguments {
    const char *path, *file, *column, *where, *version, *options;
    bool json;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "column", ARGUMENT_TEXT, &arguments->column },
        { "where", ARGUMENT_TEXT, &arguments->where },
        { "version", ARGUMENT_TEXT, &arguments->version },
        { "options", ARGUMENT_TEXT, &arguments->options },
        { "json", ARGUMENT_FLAG, &arguments->json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_export, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 3)
        return usage(&cmd_export, "a kind, a table and a file are wanted, not %d arguments",
                     argc - rest);
    if (strcmp(argv[rest], "array_record") != 0)
        return usage(&cmd_export, "no kind \"%s\"; there are parquet and array_record", argv[rest]);
    if (arguments->column == NULL)
        return usage(&cmd_export, "--column says which one becomes the records");
    arguments->path = argv[rest + 1];
    arguments->file = argv[rest + 2];
    return EXIT_DONE;
}

static enum lmn_status write_records(const struct arguments *arguments, uint64_t *count_out,
                                     struct lmn_error *err)
{
    struct lmn_array_record_write_options write = { .column = arguments->column,
                                                    .options = arguments->options };
    struct lmn_scan_options scan = { .column = &arguments->column,
                                     .column_count = 1,
                                     .where = arguments->where,
                                     .blobs = LMN_BLOB_BYTES };
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    enum lmn_status st = open_table(arguments->path, arguments->version, &table, err);

    if (st != LMN_OK)
        return st;
    st = lmn_table_scan(table, &scan, &stream, err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return st;
    st = lmn_array_record_write(NULL, arguments->file, &stream, &write, count_out, err);
    stream.release(&stream);
    return st;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = { 0 };
    uint64_t count;
    struct lmn_error err;
    int code;

    if (argc > 1 && strcmp(argv[1], "parquet") == 0)
        return python_run("leman.ingest_command", "export", argc - 1, argv + 1);
    code = parse(argc, argv, &arguments);
    if (code != EXIT_DONE)
        return code;
    if (write_records(&arguments, &count, &err) != LMN_OK)
        return fail(&err);
    if (arguments.json) {
        json_open(NULL, '{');
        json_number("records", count);
        json_close('}');
        json_end();
    } else {
        printf("%llu records written\n", (unsigned long long)count);
    }
    return EXIT_DONE;
}

const struct command cmd_export = {
    "export", "write rows of a table to a file of another format",
    "usage: leman export array_record TABLE FILE --column NAME [--options TEXT] [--where EXPR]\n"
    "                    [--version V] [--json]\n"
    "       leman export parquet TABLE FILE [--columns NAME,...] [--where EXPR] [--version V]\n"
    "                    [--compression C]\n"
    "\n"
    "Writes a column as the records of an ArrayRecord file, or rows as a Parquet file, which "
    "needs\n"
    "Python with pyarrow. The file is there as a whole or not at all.\n"
    "\n"
    "  --column NAME   of bytes or texts\n"
    "  --options TEXT  as the array_record library takes them: \"group_size:64,zstd:3\",\n"
    "                  \"uncompressed\", \"brotli:5\", \"snappy\", \"max_parallelism:4\"\n"
    "  --where EXPR    only these rows\n"
    "  --version V     a number, tag, tag:NAME; of array_record also a time or branch:NAME\n"
    "  --json          say what was done as a JSON object\n",
    run
};
