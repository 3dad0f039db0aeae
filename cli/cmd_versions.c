/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include "json.h"
#include "table.h"
#include "value.h"

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
    struct text message = { 0 };
    char time[64];

    printf("%8s  %-20s  %-16s %12s %10s  %s\n", "version", "time", "operation", "rows", "fragments",
           "message");
    for (uint64_t i = 0; i < list->count; i++) {
        const struct lmn_version_entry *entry = &list->entry[i];

        time_text(entry->timestamp_us, time, sizeof time);
        message.len = 0;
        people_put_string(&message, entry->message);
        text_put(&message, "\n", 1);
        printf("%8llu  %.19sZ  %-16s %12llu %10llu  %s", (unsigned long long)entry->version, time,
               entry->operation, (unsigned long long)entry->row_count,
               (unsigned long long)entry->fragment_count, message.data);
    }
    text_free(&message);
}

static enum lmn_status list_versions(struct lmn_table *table, bool json, struct lmn_error *err)
{
    struct lmn_version_list list;
    enum lmn_status st = lmn_table_versions(table, &list, err);

    if (st != LMN_OK)
        return st;
    if (json)
        print_json_list(&list);
    else
        print_list(&list);
    lmn_version_list_free(&list);
    return LMN_OK;
}

static enum lmn_status list_branches(struct lmn_table *table, bool json, struct lmn_error *err)
{
    struct text name = { 0 };
    struct lmn_tag_list list;
    enum lmn_status st = lmn_table_branches(table, &list, err);

    for (uint64_t i = 0; st == LMN_OK && i < list.count; i++) {
        if (json) {
            json_open(NULL, '{');
            json_text("branch", list.entry[i].name);
            json_number("version", list.entry[i].version);
            json_close('}');
            json_end();
        } else {
            printf("%8llu  %s\n", (unsigned long long)list.entry[i].version,
                   people_text(&name, list.entry[i].name));
        }
    }
    text_free(&name);
    if (st == LMN_OK)
        lmn_tag_list_free(&list);
    return st;
}

static int run(int argc, char **argv)
{
    bool json = false, branches = false;
    const struct argument options[] = {
        { "branches", ARGUMENT_FLAG, &branches },
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_table *table;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_versions, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_versions, "one table is wanted, not %d", argc - rest);
    st = open_version(argv[rest], 0, &table, &err);
    if (st == LMN_OK)
        st = branches ? list_branches(table, json, &err) : list_versions(table, json, &err);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_versions = {
    "versions", "list the versions of a table",
    "usage: leman versions TABLE [--branches] [--json]\n"
    "\n"
    "Lists all versions that are left, oldest first: when they were made, by what, and how many\n"
    "rows and fragments they have. Times are in UTC. One that is damaged is \"unreadable\".\n"
    "\n"
    "  --branches  the branches that other programs have made, with the newest version of each;\n"
    "              `leman scan --version branch:NAME` reads one\n"
    "  --json      print every version as a JSON object, one per line\n",
    run
};
