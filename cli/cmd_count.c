/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "json.h"
#include "table.h"
#include "version.h"

static int run(int argc, char **argv)
{
    const char *version = NULL, *where = NULL;
    bool json = false;
    const struct argument options[] = {
        { "where", ARGUMENT_TEXT, &where },
        { "version", ARGUMENT_TEXT, &version },
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_table *table;
    uint64_t count;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_count, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_count, "one table is wanted, not %d", argc - rest);
    st = open_table(argv[rest], version, &table, &err);
    if (st == LMN_OK)
        st = lmn_table_count(table, where, &count, &err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return fail(&err);
    if (json) {
        json_open(NULL, '{');
        json_number("rows", count);
        json_close('}');
        json_end();
    } else {
        printf("%llu\n", (unsigned long long)count);
    }
    return EXIT_DONE;
}

const struct command cmd_count = {
    "count", "count the rows of a table",
    "usage: leman count TABLE [--where EXPRESSION] [--version V] [--json]\n"
    "\n"
    "  --where E    the rows that match, as in SQL: \"width > 100 and label is not null\"\n"
    "  --version V  another version: " VERSION_HELP "  --json       say it as a JSON object\n",
    run
};
