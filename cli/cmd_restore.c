/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "json.h"
#include "table.h"

static void print_done(uint64_t version, uint64_t restored, bool json)
{
    if (json) {
        json_open(NULL, '{');
        json_number("version", version);
        json_number("restored", restored);
        json_close('}');
        json_end();
    } else {
        printf("version %llu has the content of version %llu\n", (unsigned long long)version,
               (unsigned long long)restored);
    }
}

static int run(int argc, char **argv)
{
    bool json = false;
    const struct argument options[] = {
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_table *table = NULL;
    uint64_t version;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_restore, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 2)
        return usage(&cmd_restore, "a table and a version are wanted");
    st = find_version(argv[rest], argv[rest + 1], &version, &err);
    if (st == LMN_OK)
        st = open_version(argv[rest], version, &table, &err);
    if (st == LMN_OK)
        st = lmn_table_restore(table, version, &err);
    if (st == LMN_OK)
        print_done(lmn_table_version(table), version, json);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_restore = {
    "restore", "bring an earlier version of a table back",
    "usage: leman restore TABLE VERSION [--json]\n"
    "\n"
    "Makes a version with the content of an earlier one, given by number or by name. The versions\n"
    "between stay. A table whose newest version is damaged is brought back so.\n"
    "\n"
    "  --json  say what was done as a JSON object\n",
    run
};
