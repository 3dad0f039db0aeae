/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "output.h"
#include "record.h"
#include "table.h"

enum { SHOWN = 6, SHOWN_MAX = 1000, COLUMNS_MAX = 64 };

struct arguments {
    const char *path, *column;
    struct number limit;
    bool swap, discard, json;
};

/* The columns of one function change together. */
struct columns {
    const char *name[COLUMNS_MAX];
    uint32_t count;
    char text[2048];
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "limit", ARGUMENT_NUMBER, &arguments->limit },
        { "swap", ARGUMENT_FLAG, &arguments->swap },
        { "discard", ARGUMENT_FLAG, &arguments->discard },
        { "json", ARGUMENT_FLAG, &arguments->json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_compare, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 2)
        return usage(&cmd_compare, "a table and a column are wanted");
    if (arguments->swap && arguments->discard)
        return usage(&cmd_compare, "--swap and --discard exclude each other");
    if (arguments->limit.given && arguments->limit.value > SHOWN_MAX)
        return usage(&cmd_compare, "--limit is at most %d", SHOWN_MAX);
    arguments->path = argv[rest];
    arguments->column = argv[rest + 1];
    return EXIT_DONE;
}

static void print_counts(const struct arguments *arguments,
                         const struct lmn_refill_comparison *counts)
{
    if (!arguments->json) {
        printf("%s: %llu equal, %llu changed, %llu newly null, %llu failed, %llu not computed "
               "again\n",
               arguments->column, (unsigned long long)counts->equal,
               (unsigned long long)counts->changed, (unsigned long long)counts->newly_null,
               (unsigned long long)counts->failed, (unsigned long long)counts->pending);
        return;
    }
    json_open(NULL, '{');
    json_text("column", arguments->column);
    json_number("equal", counts->equal);
    json_number("changed", counts->changed);
    json_number("newly_null", counts->newly_null);
    json_number("failed", counts->failed);
    json_number("pending", counts->pending);
    json_close('}');
    json_end();
}

/* Some rows that differ, the column beside what it would become. */
static enum lmn_status print_rows(const struct arguments *arguments, struct lmn_table *table,
                                  const uint64_t *row_id, uint64_t count, struct lmn_error *err)
{
    struct output output = { .shown = { true, count } };
    struct lmn_scan_options scan = { .column_count = 2, .with_row_id = true };
    struct ArrowSchema schema;
    struct ArrowArray array;
    const char *column[2] = { arguments->column, NULL };
    char *refill;
    enum lmn_status st = lmn_table_refill_name(table, arguments->column, &refill, err);

    if (st != LMN_OK || refill == NULL)
        return st;
    column[1] = refill;
    scan.column = column;
    st = lmn_table_take_ids(table, row_id, count, &scan, &schema, &array, err);
    if (st == LMN_OK)
        st = output_array(&output, &schema, &array, err);
    lmn_text_free(refill);
    return st;
}

static enum lmn_status compare(const struct arguments *arguments, struct lmn_table *table,
                               struct lmn_error *err)
{
    uint32_t shown = arguments->limit.given ? (uint32_t)arguments->limit.value : SHOWN;
    struct lmn_refill_comparison counts;
    uint64_t row_id[SHOWN_MAX];
    uint32_t count;
    enum lmn_status st = lmn_table_refill_compare(table, arguments->column, row_id, shown, &count,
                                                  &counts, err);

    if (st != LMN_OK)
        return st;
    print_counts(arguments, &counts);
    return count != 0 && !arguments->json ? print_rows(arguments, table, row_id, count, err)
                                          : LMN_OK;
}

static enum lmn_status find_columns(struct lmn_table *table, const char *column,
                                    struct columns *columns, struct lmn_error *err)
{
    char *function;
    size_t used = 0;
    struct piece outputs, output;
    enum lmn_status st = lmn_table_function(table, column, &function, err);

    if (st != LMN_OK)
        return st;
    outputs = piece_member(piece_of(function != NULL ? function : "{}"), "outputs");
    while (piece_next(&outputs, &output) && columns->count < COLUMNS_MAX &&
           sizeof columns->text - used > output.len + 1) {
        char *name = columns->text + used;

        piece_text(output, name, sizeof columns->text - used);
        columns->name[columns->count++] = name;
        used += strlen(name) + 1;
    }
    if (columns->count <= 1) { /* the only one may have been renamed since */
        columns->name[0] = column;
        columns->count = 1;
    }
    lmn_text_free(function);
    return LMN_OK;
}

static enum lmn_status decide(const struct arguments *arguments, struct lmn_table *table,
                              struct lmn_error *err)
{
    struct columns columns = { .count = 0 };
    enum lmn_status st = find_columns(table, arguments->column, &columns, err);

    if (st == LMN_OK)
        st = arguments->swap ? lmn_table_refill_swap(table, columns.name, columns.count, err)
                             : lmn_table_refill_discard(table, columns.name, columns.count, err);
    if (st == LMN_OK && !arguments->json)
        printf("version %llu: %s %s\n", (unsigned long long)lmn_table_version(table),
               arguments->column,
               arguments->swap ? "has the values that were computed again" : "stays as it is");
    return st;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = { 0 };
    struct lmn_table *table;
    struct lmn_error err;
    enum lmn_status st;
    int code = parse(argc, argv, &arguments);

    if (code != EXIT_DONE)
        return code;
    st = open_table(arguments.path, NULL, &table, &err);
    if (st == LMN_OK)
        st = compare(&arguments, table, &err);
    if (st == LMN_OK && (arguments.swap || arguments.discard))
        st = decide(&arguments, table, &err);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_compare = {
    "compare", "compare a column with what a changed function makes of it",
    "usage: leman compare TABLE COLUMN [--limit N] [--swap | --discard] [--json]\n"
    "\n"
    "Shows how the values of a column differ from those that `leman backfill --on-change "
    "recompute\n"
    "--no-swap` has computed beside it: rows that are equal, changed and newly null, and some of\n"
    "them. Columns that one function fills change together.\n"
    "\n"
    "  --limit N  show at most N rows; 6 unless told\n"
    "  --swap     put the new values in the column's place, in one commit; indices on it go\n"
    "  --discard  drop the new values\n"
    "  --json     print the counts as a JSON object\n",
    run
};
