/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "json.h"
#include "table.h"
#include "value.h"
#include "version.h"

static void print_text(void *context, const char *finding)
{
    struct text text = { 0 };

    (void)context;
    printf("%s\n", people_text(&text, finding));
    text_free(&text);
}

static void print_json(void *context, const char *finding)
{
    (void)context;
    json_text(NULL, finding);
}

static enum lmn_status verify(struct lmn_table *table, bool json, struct lmn_verify_result *result,
                              struct lmn_error *err)
{
    enum lmn_status st;

    if (json) {
        json_open(NULL, '{');
        json_open("findings", '[');
    }
    st = lmn_table_verify(table, json ? print_json : print_text, NULL, result, err);
    if (json) {
        json_close(']');
        json_number("files", result->files);
        json_number("pages", result->pages);
        json_number("bytes", result->bytes);
        json_close('}');
        json_end();
    } else if (st == LMN_OK) {
        printf("%llu findings in %llu files, %llu pages, %llu bytes\n",
               (unsigned long long)result->findings, (unsigned long long)result->files,
               (unsigned long long)result->pages, (unsigned long long)result->bytes);
    }
    return st;
}

static int run(int argc, char **argv)
{
    const char *version = NULL;
    bool json = false;
    const struct argument options[] = {
        { "version", ARGUMENT_TEXT, &version },
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_verify_result result = { 0 };
    struct lmn_table *table;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_verify, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_verify, "one table is wanted, not %d", argc - rest);
    st = open_table(argv[rest], version, &table, &err);
    if (st == LMN_OK)
        st = verify(table, json, &result, &err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return fail(&err);
    return result.findings == 0 ? EXIT_DONE : EXIT_FAILED;
}

const struct command cmd_verify = {
    "verify", "read every page of a table and say what is wrong",
    "usage: leman verify TABLE [--version V] [--json]\n"
    "\n"
    "Reads every page of every file of a version, statistics, deletions and row ids, and the tags\n"
    "of the table. Prints one line for each thing that is wrong, with file, column and page; "
    "exits\n"
    "with 1 when there is any.\n"
    "\n"
    "  --version V  another version: " VERSION_HELP "  --json       an object instead of lines\n",
    run
};
