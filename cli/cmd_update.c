/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"
#include "table.h"

static int run(int argc, char **argv)
{
    static struct list set;
    static struct lmn_assignment assignment[LIST_MAX];
    const char *where = NULL;
    bool json = false;
    const struct argument options[] = {
        { "set", ARGUMENT_ITEMS, &set },
        { "where", ARGUMENT_TEXT, &where },
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_table *table;
    uint64_t count;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_update, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_update, "one table is wanted, not %d", argc - rest);
    if (set.count == 0)
        return usage(&cmd_update, "--set COLUMN=EXPRESSION says what becomes of the rows");
    for (uint32_t i = 0; i < set.count; i++) {
        if (!assignment_read((char *)set.item[i], &assignment[i]))
            return usage(&cmd_update, "--set wants COLUMN=EXPRESSION, not \"%s\"", set.item[i]);
    }
    interrupt_calls();
    st = open_table(argv[rest], NULL, &table, &err);
    if (st == LMN_OK)
        st = lmn_table_update(table, where, assignment, set.count, &count, &err);
    if (st == LMN_OK)
        st = print_written(table, json, "updated", count, &err);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_update = {
    "update", "set columns of rows of a table",
    "usage: leman update TABLE --set COLUMN=EXPRESSION ... [--where EXPRESSION] [--json]\n"
    "\n"
    "Sets columns of the rows that match, or of all rows.\n"
    "\n"
    "  --set C=E  column C becomes E, an expression over the row: \"n=n + 1\", \"label='cat'\"\n"
    "  --where E  which rows, as in SQL: \"width > 100 and label is not null\"\n"
    "  --json     say what was done as a JSON object\n"
    "\n" NAMES_HELP,
    run
};
