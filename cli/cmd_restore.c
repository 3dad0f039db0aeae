/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "table.h"

static int run(int argc, char **argv)
{
    const struct argument options[] = { { NULL, ARGUMENT_FLAG, NULL } };
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
        st = open_table(argv[rest], NULL, &table, &err);
    if (st == LMN_OK)
        st = lmn_table_restore(table, version, &err);
    if (st == LMN_OK)
        printf("version %llu has the content of version %llu\n",
               (unsigned long long)lmn_table_version(table), (unsigned long long)version);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_restore = {
    "restore", "bring an earlier version of a table back",
    "usage: leman restore TABLE VERSION\n"
    "\n"
    "Makes a version with the content of an earlier one, given by number or by name. The versions\n"
    "between stay.\n",
    run
};
