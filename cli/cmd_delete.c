/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"
#include "table.h"

static int run(int argc, char **argv)
{
    const char *where = NULL;
    bool json = false;
    const struct argument options[] = {
        { "where", ARGUMENT_TEXT, &where },
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_table *table;
    uint64_t count;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_delete, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_delete, "one table is wanted, not %d", argc - rest);
    if (where == NULL)
        return usage(&cmd_delete, "--where says which rows; \"true\" are all of them");
    interrupt_calls();
    st = open_table(argv[rest], NULL, &table, &err);
    if (st == LMN_OK)
        st = lmn_table_delete(table, where, &count, &err);
    if (st == LMN_OK)
        st = print_written(table, json, "deleted", count, &err);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_delete = {
    "delete", "delete rows of a table",
    "usage: leman delete TABLE --where EXPRESSION [--json]\n"
    "\n"
    "Deletes the rows that match. Earlier versions keep them until `leman cleanup`.\n"
    "\n"
    "  --where E  which rows, as in SQL: \"width > 100 and label is not null\"\n"
    "  --json     say what was done as a JSON object\n",
    run
};
