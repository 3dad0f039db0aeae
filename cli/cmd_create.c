/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"
#include "schema.h"

struct arguments {
    const char *path, *file, *data_version, *message, *schema;
    struct list primary_key;
    struct number rows, bytes;
    bool overwrite, exist_ok, json;
    struct rows_options source;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "primary-key", ARGUMENT_LIST, &arguments->primary_key },
        { "schema", ARGUMENT_TEXT, &arguments->schema },
        { "data-version", ARGUMENT_TEXT, &arguments->data_version },
        { "rows-per-fragment", ARGUMENT_NUMBER, &arguments->rows },
        { "bytes-per-fragment", ARGUMENT_NUMBER, &arguments->bytes },
        { "message", ARGUMENT_TEXT, &arguments->message },
        { "overwrite", ARGUMENT_FLAG, &arguments->overwrite },
        { "exist-ok", ARGUMENT_FLAG, &arguments->exist_ok },
        { "json", ARGUMENT_FLAG, &arguments->json },
        ROWS_ARGUMENTS(arguments->source),
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_create, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 2 && (argc - rest != 1 || arguments->schema == NULL))
        return usage(&cmd_create, "a table and a file are wanted, not %d arguments", argc - rest);
    if (arguments->overwrite && arguments->exist_ok)
        return usage(&cmd_create, "one of --overwrite and --exist-ok, not both");
    arguments->path = argv[rest];
    arguments->file = argc - rest == 2 ? argv[rest + 1] : NULL;
    return EXIT_DONE;
}

/* Takes `stream` over. */
static enum lmn_status make(const struct arguments *arguments, struct ArrowArrayStream *stream,
                            struct lmn_table **table_out, struct lmn_error *err)
{
    struct lmn_write_options write = { .encode.version = arguments->data_version,
                                       .fragment_rows_max = arguments->rows.value,
                                       .fragment_bytes_max = arguments->bytes.value,
                                       .primary_key = arguments->primary_key.item,
                                       .primary_key_count = arguments->primary_key.count,
                                       .message = arguments->message };
    struct lmn_store *store;
    enum lmn_status st = LMN_E_NOT_FOUND;

    if (arguments->overwrite)
        st = open_table(arguments->path, NULL, table_out, err);
    if (st == LMN_OK)
        return lmn_table_overwrite(*table_out, stream, &write, err);
    if (st == LMN_E_NOT_FOUND)
        st = lmn_store_open_local(NULL, arguments->path, &store, err);
    if (st != LMN_OK) {
        stream->release(stream);
        return st;
    }
    st = lmn_table_create(store, stream, &write, table_out, err);
    lmn_store_release(store);
    return st;
}

/* Open the rows, of the columns that --schema gives; without a file there are none. */
static enum lmn_status open_source(const struct arguments *arguments, struct input *input,
                                   struct lmn_error *err)
{
    struct rows_options source = arguments->source;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    enum lmn_status st = LMN_OK;

    if (arguments->schema != NULL)
        st = schema_read(arguments->schema, &schema, err);
    if (st != LMN_OK)
        return st;
    if (arguments->file == NULL) {
        schema_stream(&schema, &stream);
        input_take(input, &stream);
        return LMN_OK;
    }
    source.ingest.schema = arguments->schema != NULL ? &schema : NULL;
    st = input_open(input, arguments->file, &source, NULL, err);
    return st == LMN_OK && input->empty ? input_refuse_empty(arguments->file, err) : st;
}

static enum lmn_status create(const struct arguments *arguments, struct lmn_error *err)
{
    static struct input input;
    struct lmn_table *table = NULL;
    enum lmn_status st;

    if (arguments->exist_ok) {
        st = open_table(arguments->path, NULL, &table, err);
        if (st == LMN_OK)
            st = print_written(table, arguments->json, "created", 0, err);
        lmn_table_release(table);
        if (st != LMN_E_NOT_FOUND)
            return st;
        table = NULL;
    }
    st = open_source(arguments, &input, err);
    if (st == LMN_OK)
        st = make(arguments, &input.stream, &table, err);
    if (st == LMN_OK)
        st = print_written(table, arguments->json, "created", input.rows, err);
    lmn_table_release(table);
    return st;
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    struct lmn_error err;
    int code = parse(argc, argv, &arguments);

    if (code != EXIT_DONE)
        return code;
    return create(&arguments, &err) == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_create = {
    "create", "make a table of the rows of a file",
    "usage: leman create TABLE [FILE] [--schema COLUMNS] [--overwrite | --exist-ok]\n"
    "                    [--primary-key NAME,...]\n"
    "                    [--data-version V] [--rows-per-fragment N] [--bytes-per-fragment N]\n"
    "                    [--message TEXT] [--json] [OPTION OF THE FILE ...]\n"
    "\n"
    "Makes a table in directory TABLE of the rows of an Arrow IPC file or stream, a CSV file or\n"
    "JSON lines; \"-\" reads standard input. In a directory NAME.lance of a database, programs\n"
    "find it by NAME.\n"
    "\n"
    "  --schema COLUMNS   of a CSV file or JSON lines: \"id int64, tags list<string> not null\";\n"
    "                     types are written as `leman columns` prints them. Without FILE\n"
    "                     the table has no rows\n"
    "  --overwrite        a table that is there gets a version with these rows instead\n"
    "  --exist-ok         a table that is there stays as it is\n"
    "  --primary-key A,B  the columns that tell rows apart, for `leman upsert`\n"
    "  --data-version V   of the data files: 2.1, or 2.2 (maps need it)\n"
    "  --rows-per-fragment N, --bytes-per-fragment N\n"
    "                     where data files are cut\n"
    "  --message TEXT     kept with the version\n"
    "  --json             say what was done as a JSON object\n"
    "\n" ROWS_HELP "\n" NAMES_HELP,
    run
};
