/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "table.h"
#include "version.h"

struct arguments {
    const char *path, *version, *to;
    struct list columns;
    struct number bytes, threads;
    bool json;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "columns", ARGUMENT_LIST, &arguments->columns },
        { "to", ARGUMENT_TEXT, &arguments->to },
        { "bytes", ARGUMENT_NUMBER, &arguments->bytes },
        { "threads", ARGUMENT_COUNT, &arguments->threads },
        { "version", ARGUMENT_TEXT, &arguments->version },
        { "json", ARGUMENT_FLAG, &arguments->json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_cache, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 2 || strcmp(argv[rest], "warm") != 0)
        return usage(&cmd_cache, "\"warm\" and one table are wanted");
    if (arguments->to == NULL)
        return usage(&cmd_cache, "--to names the directory of the cache");
    arguments->path = argv[rest + 1];
    return EXIT_DONE;
}

/* A line for each tenth of the rows, on standard error; `context` is the last one printed. */
static bool show_progress(void *context, uint64_t done, uint64_t rows)
{
    uint64_t *shown = context, tenth = rows != 0 ? done / (rows / 10 + 1) : 0;

    if (tenth != *shown)
        fprintf(stderr, "%llu of %llu rows\n", (unsigned long long)done, (unsigned long long)rows);
    *shown = tenth;
    return true;
}

static void print_result(const struct lmn_cache_result *result, bool json)
{
    if (json) {
        json_open(NULL, '{');
        json_number("rows", result->rows);
        json_number("store_bytes", result->store_bytes);
        json_number("hit_bytes", result->hit_bytes);
        json_number("cache_bytes", result->cache_bytes);
        json_bool("full", result->full);
        json_close('}');
        json_end();
        return;
    }
    printf("%llu rows: %.1f MB read from the table, %.1f MB were there; the cache has %.1f MB\n",
           (unsigned long long)result->rows, (double)result->store_bytes / 1e6,
           (double)result->hit_bytes / 1e6, (double)result->cache_bytes / 1e6);
    if (result->full)
        printf("the cache is full: a part of the columns is not in it; --bytes gives it room\n");
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    struct lmn_cache_options options = { 0 };
    struct lmn_cache_result result;
    struct lmn_table *table;
    struct lmn_error err;
    uint64_t shown = 0;
    enum lmn_status st;
    int code = parse(argc, argv, &arguments);

    if (code != EXIT_DONE)
        return code;
    options.column = arguments.columns.count != 0 ? arguments.columns.item : NULL;
    options.column_count = arguments.columns.count;
    options.bytes_max = arguments.bytes.value;
    options.threads = (uint32_t)arguments.threads.value;
    st = open_table(arguments.path, arguments.version, &table, &err);
    if (st == LMN_OK)
        st = lmn_cache_warm(table, arguments.to, &options, show_progress, &shown, &result, &err);
    if (st == LMN_OK)
        print_result(&result, arguments.json);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_cache = {
    "cache", "fill a cache on a quick disk for feeds",
    "usage: leman cache warm TABLE --to DIR [--columns NAME,...] [--bytes N] [--threads N]\n"
    "                        [--version V] [--json]\n"
    "\n"
    "Copies what feeds read of the columns of a table into a directory, which feeds with\n"
    "cache_dir=DIR read from. What is there is not read again: a run that was stopped goes on.\n"
    "\n"
    "  --to DIR       the directory of the cache; processes may share it\n"
    "  --columns A,B  these columns only\n"
    "  --bytes N      as large as the cache may be; 64 GiB unless given. It ends when that is "
    "full\n"
    "  --threads N    that read; one per processor unless given\n"
    "  --version V    another version: " VERSION_HELP
    "  --json         say what was done as a JSON object\n"
    "\n" NAMES_HELP,
    run
};
