/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include "json.h"
#include "table.h"

static const struct {
    char unit;
    uint64_t seconds;
} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };

/* A number and a unit: "36h". */
static bool read_age(const char *text, uint64_t *seconds_out)
{
    unsigned int value;
    char unit, more;

    if (sscanf(text, "%9u%c%c", &value, &unit, &more) != 2)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (units[i].unit == unit) {
            *seconds_out = value * units[i].seconds;
            return text[0] >= '0' && text[0] <= '9';
        }
    }
    return false;
}

/* The time so many seconds ago, in microseconds since 1970; what no clock has shown is before all.
 */
static int64_t time_before(uint64_t seconds)
{
    struct timespec now;
    int64_t age_us, time_us;

    clock_gettime(CLOCK_REALTIME, &now);
    if (__builtin_mul_overflow(seconds, 1000000, &age_us) ||
        __builtin_sub_overflow((int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000, age_us,
                               &time_us))
        return INT64_MIN;
    return time_us;
}

static void print_result(const struct lmn_cleanup_result *result, bool dry_run, bool json)
{
    if (json) {
        json_open(NULL, '{');
        json_number("versions", result->versions_removed);
        json_number("files", result->files_removed);
        json_number("bytes", result->bytes_removed);
        json_bool("dry_run", dry_run);
        json_close('}');
        json_end();
    } else {
        printf("%s%llu versions, %llu files, %llu bytes\n", dry_run ? "would remove " : "removed ",
               (unsigned long long)result->versions_removed,
               (unsigned long long)result->files_removed,
               (unsigned long long)result->bytes_removed);
    }
}

static int run(int argc, char **argv)
{
    struct lmn_cleanup_options cleanup = { 0 };
    struct lmn_cleanup_result result;
    const char *age = NULL;
    bool json = false;
    const struct argument options[] = {
        { "older-than", ARGUMENT_TEXT, &age },
        { "ignore-tags", ARGUMENT_FLAG, &cleanup.ignore_tags },
        { "delete-unverified", ARGUMENT_FLAG, &cleanup.remove_unverified },
        { "dry-run", ARGUMENT_FLAG, &cleanup.dry_run },
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_table *table;
    uint64_t seconds;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_cleanup, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_cleanup, "one table is wanted, not %d", argc - rest);
    if (age != NULL && !read_age(age, &seconds))
        return usage(&cmd_cleanup, "--older-than wants a time such as 36h or 7d, not \"%s\"", age);
    if (age != NULL)
        cleanup.older_than_us = time_before(seconds);
    st = open_table(argv[rest], NULL, &table, &err);
    if (st == LMN_OK)
        st = lmn_table_cleanup(table, &cleanup, &result, &err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return fail(&err);
    print_result(&result, cleanup.dry_run, json);
    return EXIT_DONE;
}

const struct command cmd_cleanup = {
    "cleanup", "remove old versions of a table",
    "usage: leman cleanup TABLE [--older-than AGE] [--ignore-tags] [--delete-unverified]\n"
    "                     [--dry-run] [--json]\n"
    "\n"
    "Removes old versions and the files that only they name. The newest version stays. Files that\n"
    "no version names stay for seven days: a writer may be about to commit them.\n"
    "\n"
    "  --older-than AGE     how old, as a number and s, m, h, d or w; 2w unless given\n"
    "  --ignore-tags        versions that have a name go, too, with their tags\n"
    "  --delete-unverified  files that no version names go, however young; nobody may be writing\n"
    "  --dry-run            only say what would be removed\n"
    "  --json               say it as a JSON object\n",
    run
};
