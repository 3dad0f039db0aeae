/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "interrupt.h"
#include "json.h"
#include "table.h"

static void print_result(uint64_t version, const struct lmn_compact_result *result, bool json)
{
    if (json) {
        json_open(NULL, '{');
        json_number("version", version);
        json_number("fragments_removed", result->fragments_removed);
        json_number("fragments_added", result->fragments_added);
        json_number("rows_rewritten", result->rows_rewritten);
        json_close('}');
        json_end();
    } else {
        printf("version %llu: %llu fragments became %llu, %llu rows rewritten\n",
               (unsigned long long)version, (unsigned long long)result->fragments_removed,
               (unsigned long long)result->fragments_added,
               (unsigned long long)result->rows_rewritten);
    }
}

static int run(int argc, char **argv)
{
    struct lmn_compact_options compact = { 0 };
    struct lmn_compact_result result;
    struct number rows = { 0 };
    bool json = false;
    const struct argument options[] = {
        { "rows-per-fragment", ARGUMENT_NUMBER, &rows },
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_table *table;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_compact, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_compact, "one table is wanted, not %d", argc - rest);
    compact.target_rows_per_fragment = rows.value;
    interrupt_calls();
    st = open_table(argv[rest], NULL, &table, &err);
    if (st == LMN_OK)
        st = lmn_table_compact(table, &compact, &result, &err);
    if (st == LMN_OK)
        print_result(lmn_table_version(table), &result, json);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_compact = {
    "compact", "join small fragments of a table and drop deleted rows",
    "usage: leman compact TABLE [--rows-per-fragment N] [--json]\n"
    "\n"
    "Rewrites fragments that are small or have lost many rows to larger ones. Row ids stay where\n"
    "they are stable; earlier versions keep the old files until `leman cleanup`.\n"
    "\n"
    "  --rows-per-fragment N  as large as fragments shall become; 1,048,576 unless given\n"
    "  --json                 say what was done as a JSON object\n",
    run
};
