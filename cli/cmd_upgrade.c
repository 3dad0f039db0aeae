/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "interrupt.h"
#include "json.h"
#include "table.h"

static int run(int argc, char **argv)
{
    bool json = false;
    const struct argument options[] = {
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_table *table;
    struct lmn_table_info before, after;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_upgrade, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_upgrade, "one table is wanted, not %d", argc - rest);
    interrupt_calls();
    st = open_table(argv[rest], NULL, &table, &err);
    if (st == LMN_OK)
        st = lmn_table_info(table, &before, &err);
    if (st == LMN_OK)
        st = lmn_table_upgrade(table, &err);
    if (st == LMN_OK)
        st = lmn_table_info(table, &after, &err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return fail(&err);
    if (json) {
        json_open(NULL, '{');
        json_number("version", after.version);
        json_text("data_version", after.file_version);
        json_close('}');
        json_end();
    } else if (before.version == after.version) {
        printf("%s: files are of version %s already\n", argv[rest], after.file_version);
    } else {
        printf("%s: version %llu has files of version %s\n", argv[rest],
               (unsigned long long)after.version, after.file_version);
    }
    return EXIT_DONE;
}

const struct command cmd_upgrade = {
    "upgrade", "rewrite a table of file version 2.0 as 2.1",
    "usage: leman upgrade TABLE [--json]\n"
    "\n"
    "Rows keep their order and, where these are stable, their ids; schema and tags stay. Indices "
    "of\n"
    "other programs have to be built again. A table of version 2.1 or later is left as it is.\n"
    "\n"
    "  --json  say what was done as a JSON object\n",
    run
};
