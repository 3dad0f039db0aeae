/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "input.h"
#include "json.h"

struct arguments {
    const char *path, *file, *message, *matched, *not_matched;
    struct list on;
    bool insert, json;
    struct lmn_merge_options merge;
    struct rows_options source;
};

/* The action that a word names, of those that stand in `names`, which ends with NULL. */
static bool action_read(const char *word, const char *const *names,
                        const enum lmn_merge_action *action, enum lmn_merge_action *action_out)
{
    for (; word != NULL && *names != NULL; names++, action++) {
        if (strcmp(word, *names) == 0) {
            *action_out = *action;
            return true;
        }
    }
    return word == NULL;
}

/* What becomes of rows, from the words that were given. */
static int choose(struct arguments *arguments)
{
    static const char *const matched[] = { "update", "skip", "delete", "fail", NULL };
    static const char *const not_matched[] = { "insert", "skip", "fail", NULL };
    static const enum lmn_merge_action on_matched[] = { LMN_MERGE_UPDATE, LMN_MERGE_SKIP,
                                                        LMN_MERGE_DELETE, LMN_MERGE_FAIL };
    static const enum lmn_merge_action on_not_matched[] = { LMN_MERGE_INSERT, LMN_MERGE_SKIP,
                                                            LMN_MERGE_FAIL };
    struct lmn_merge_options *merge = &arguments->merge;

    merge->matched = arguments->insert ? LMN_MERGE_FAIL : LMN_MERGE_UPDATE;
    merge->not_matched = LMN_MERGE_INSERT;
    if (merge->not_in_source_where != NULL)
        merge->not_in_source = LMN_MERGE_DELETE;
    if (arguments->insert && arguments->matched != NULL)
        return usage(&cmd_upsert, "--insert or --matched, not both");
    if (!action_read(arguments->matched, matched, on_matched, &merge->matched))
        return usage(&cmd_upsert, "--matched wants update, skip, delete or fail, not \"%.40s\"",
                     arguments->matched);
    if (!action_read(arguments->not_matched, not_matched, on_not_matched, &merge->not_matched))
        return usage(&cmd_upsert, "--not-matched wants insert, skip or fail, not \"%.40s\"",
                     arguments->not_matched);
    if (merge->matched_where != NULL && merge->matched != LMN_MERGE_UPDATE &&
        merge->matched != LMN_MERGE_DELETE)
        return usage(&cmd_upsert, "--matched-where goes with --matched update or delete");
    return EXIT_DONE;
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "on", ARGUMENT_LIST, &arguments->on },
        { "insert", ARGUMENT_FLAG, &arguments->insert },
        { "matched", ARGUMENT_TEXT, &arguments->matched },
        { "matched-where", ARGUMENT_TEXT, &arguments->merge.matched_where },
        { "not-matched", ARGUMENT_TEXT, &arguments->not_matched },
        { "delete-rest", ARGUMENT_TEXT, &arguments->merge.not_in_source_where },
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
    return choose(arguments);
}

/* The key is told, or that of the table, whose names are in *own_out then. */
static enum lmn_status find_key(const struct arguments *arguments, struct lmn_table *table,
                                struct lmn_merge_options *merge, struct lmn_name_list *own_out,
                                struct lmn_error *err)
{
    enum lmn_status st = lmn_table_primary_key(table, own_out, err);

    merge->on = arguments->on.item;
    merge->on_count = arguments->on.count;
    if (st != LMN_OK || merge->on_count != 0)
        return st;
    merge->on = (const char *const *)own_out->name;
    merge->on_count = (uint32_t)own_out->count;
    return merge->on_count != 0
               ? LMN_OK
               : lmn_fail(err, LMN_E_INVALID,
                          "%.200s has no primary key: --on NAME,... says which columns tell rows "
                          "apart",
                          arguments->path);
}

/* Rows of the file; none, of the key, when it is empty: --delete-rest looks at the others. */
static enum lmn_status open_source(const struct arguments *arguments, struct lmn_table *table,
                                   const struct lmn_merge_options *merge, struct input *input,
                                   struct lmn_error *err)
{
    const struct lmn_scan_options none = { .column = merge->on,
                                           .column_count = merge->on_count,
                                           .limited = true };
    enum lmn_status st = input_open(input, arguments->file, &arguments->source, table, err);

    return st == LMN_OK && input->empty ? lmn_table_scan(table, &none, &input->stream, err) : st;
}

static enum lmn_status upsert(const struct arguments *arguments, struct lmn_table *table,
                              struct lmn_merge_result *result, struct lmn_error *err)
{
    static struct input input;
    struct lmn_merge_options merge = arguments->merge;
    struct lmn_name_list own = { 0 };
    enum lmn_status st = find_key(arguments, table, &merge, &own, err);

    merge.write.message = arguments->message;
    if (st == LMN_OK)
        st = open_source(arguments, table, &merge, &input, err);
    if (st == LMN_OK)
        st = lmn_table_merge(table, &input.stream, &merge, result, err);
    lmn_name_list_free(&own);
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
        json_number("deleted", result->deleted);
        json_close('}');
        json_end();
    } else {
        printf("version %llu: %llu rows inserted, %llu updated", version,
               (unsigned long long)result->inserted, (unsigned long long)result->updated);
        if (result->deleted != 0)
            printf(", %llu deleted", (unsigned long long)result->deleted);
        printf("\n");
    }
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    struct lmn_merge_result result;
    struct lmn_table *table;
    struct lmn_error err;
    int code = parse(argc, argv, &arguments);
    enum lmn_status st;

    if (code != EXIT_DONE)
        return code;
    st = open_table(arguments.path, NULL, &table, &err);
    if (st == LMN_OK)
        st = upsert(&arguments, table, &result, &err);
    if (st == LMN_OK)
        print_result(table, &result, arguments.json);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_upsert = {
    "upsert", "insert and replace rows of a table by key",
    "usage: leman upsert TABLE FILE [--on NAME,...] [--insert | --matched ACTION]\n"
    "                    [--matched-where E] [--not-matched ACTION] [--delete-rest E]\n"
    "                    [--message TEXT] [--json] [OPTION OF THE FILE ...]\n"
    "\n"
    "Rows of the file whose key is in the table replace those, the others are inserted, as one\n"
    "version. Columns that the file lacks stay as they are in rows that are replaced.\n"
    "\n"
    "  --on A,B           the key; otherwise the table's primary key\n"
    "  --insert           do not replace: a key that is there fails the command\n"
    "  --matched A        what becomes of rows whose key is there: update, skip, delete or fail\n"
    "  --matched-where E  update or delete only where this holds: \"source.at > target.at\"\n"
    "  --not-matched A    what becomes of other rows of the file: insert, skip or fail\n"
    "  --delete-rest E    delete rows of the table whose key is not in the file and that match:\n"
    "                     \"true\", \"region = 'eu'\"\n"
    "  --message TEXT     kept with the version\n"
    "  --json             say what was done as a JSON object\n"
    "\n" ROWS_HELP "\n" NAMES_HELP,
    run
};
