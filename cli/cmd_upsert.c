/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "json.h"
#include "table.h"

struct arguments {
    const char *path, *file, *message;
    struct list on;
    bool insert, json;
    struct rows_options source;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "on", ARGUMENT_LIST, &arguments->on },
        { "insert", ARGUMENT_FLAG, &arguments->insert },
        { "message", ARGUMENT_TEXT, &arguments->message },
        { "json", ARGUMENT_FLAG, &arguments->json },
        ROWS_ARGUMENTS(arguments->source),
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_upsert, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 2)
        return usage(&cmd_upsert, "a table and a file are wanted, not %d arguments", argc - rest);
    arguments->path = argv[rest];
    arguments->file = argv[rest + 1];
    return EXIT_DONE;
}

/* The key is told, or that of the table. */
static enum lmn_status merge(const struct arguments *arguments, struct lmn_table *table,
                             struct ArrowArrayStream *stream, struct lmn_merge_result *result,
                             struct lmn_error *err)
{
    struct lmn_merge_options options = {
        .on = arguments->on.item,
        .on_count = arguments->on.count,
        .matched = arguments->insert ? LMN_MERGE_FAIL : LMN_MERGE_UPDATE,
        .not_matched = LMN_MERGE_INSERT,
        .write.message = arguments->message,
    };
    struct lmn_name_list key;
    enum lmn_status st = lmn_table_primary_key(table, &key, err);

    if (st != LMN_OK) {
        stream->release(stream);
        return st;
    }
    if (options.on_count == 0) {
        options.on = (const char *const *)key.name;
        options.on_count = (uint32_t)key.count;
    }
    st = lmn_table_merge(table, stream, &options, result, err);
    lmn_name_list_free(&key);
    return st;
}

static void print_result(struct lmn_table *table, const struct lmn_merge_result *result, bool json)
{
    unsigned long long version = lmn_table_version(table);

    if (json) {
        json_open(NULL, '{');
        json_number("version", version);
        json_number("inserted", result->inserted);
        json_number("updated", result->updated);
        json_close('}');
        json_end();
    } else {
        printf("version %llu: %llu rows inserted, %llu updated\n", version,
               (unsigned long long)result->inserted, (unsigned long long)result->updated);
    }
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    struct lmn_merge_result result;
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct lmn_error err;
    int code = parse(argc, argv, &arguments);
    enum lmn_status st;

    if (code != EXIT_DONE)
        return code;
    st = open_table(arguments.path, NULL, &table, &err);
    if (st == LMN_OK)
        st = open_rows(arguments.file, &arguments.source, table, &stream, &err);
    if (st == LMN_OK)
        st = merge(&arguments, table, &stream, &result, &err);
    if (st == LMN_OK)
        print_result(table, &result, arguments.json);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_upsert = {
    "upsert", "insert and replace rows of a table by key",
    "usage: leman upsert TABLE FILE [--on NAME,...] [--insert] [--message TEXT] [--json]\n"
    "                    [OPTION OF THE FILE ...]\n"
    "\n"
    "Rows of the file whose key is in the table replace those, the others are inserted, as one\n"
    "version. Columns that the file lacks stay as they are in rows that are replaced.\n"
    "\n"
    "  --on A,B        the key; otherwise the table's primary key\n"
    "  --insert        do not replace: a key that is there fails the command\n"
    "  --message TEXT  kept with the version\n"
    "  --json          say what was done as a JSON object\n"
    "\n" ROWS_HELP,
    run
};
