/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include "json.h"
#include "table.h"

/* As in ISO 8601, in UTC. */
static const char *time_text(int64_t timestamp_us, char *text, size_t len)
{
    time_t seconds = (time_t)(timestamp_us / 1000000);
    struct tm parts;
    char date[32];

    gmtime_r(&seconds, &parts);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, len, "%s.%06lldZ", date, (long long)(timestamp_us % 1000000));
    return text;
}

static void print_json_list(const struct lmn_version_list *list)
{
    char time[64];

    for (uint64_t i = 0; i < list->count; i++) {
        const struct lmn_version_entry *entry = &list->entry[i];

        json_open(NULL, '{');
        json_number("version", entry->version);
        json_text("time", time_text(entry->timestamp_us, time, sizeof time));
        json_text("operation", entry->operation);
        json_number("rows", entry->row_count);
        json_number("fragments", entry->fragment_count);
        json_text("message", entry->message);
        json_close('}');
        json_end();
    }
}

static void print_list(const struct lmn_version_list *list)
{
    char time[64];

    printf("%8s  %-20s  %-16s %12s %10s  %s\n", "version", "time", "operation", "rows", "fragments",
           "message");
    for (uint64_t i = 0; i < list->count; i++) {
        const struct lmn_version_entry *entry = &list->entry[i];

        time_text(entry->timestamp_us, time, sizeof time);
        printf("%8llu  %.19sZ  %-16s %12llu %10llu  %s\n", (unsigned long long)entry->version, time,
               entry->operation, (unsigned long long)entry->row_count,
               (unsigned long long)entry->fragment_count, entry->message);
    }
}

static int run(int argc, char **argv)
{
    bool json = false;
    const struct argument options[] = {
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_version_list list;
    struct lmn_table *table;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_versions, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_versions, "one table is wanted, not %d", argc - rest);
    st = open_table(argv[rest], NULL, &table, &err);
    if (st == LMN_OK)
        st = lmn_table_versions(table, &list, &err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return fail(&err);
    if (json)
        print_json_list(&list);
    else
        print_list(&list);
    lmn_version_list_free(&list);
    return EXIT_DONE;
}

const struct command cmd_versions = {
    "versions", "list the versions of a table",
    "usage: leman versions TABLE [--json]\n"
    "\n"
    "Lists all versions that are left, oldest first: when they were made, by what, and how many\n"
    "rows and fragments they have. Times are in UTC.\n"
    "\n"
    "  --json  print every version as a JSON object, one per line\n",
    run
};
