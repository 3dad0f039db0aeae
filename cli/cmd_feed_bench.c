/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "table.h"
#include "version.h"

struct arguments {
    const char *path, *version, *where, *shuffle, *cache;
    struct list columns;
    struct number batch_size, batches, threads, prefetch, seed, block_size;
    bool json;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "columns", ARGUMENT_LIST, &arguments->columns },
        { "where", ARGUMENT_TEXT, &arguments->where },
        { "batch-size", ARGUMENT_COUNT, &arguments->batch_size },
        { "batches", ARGUMENT_NUMBER, &arguments->batches },
        { "shuffle", ARGUMENT_TEXT, &arguments->shuffle },
        { "block-size", ARGUMENT_NUMBER, &arguments->block_size },
        { "seed", ARGUMENT_NUMBER, &arguments->seed },
        { "threads", ARGUMENT_COUNT, &arguments->threads },
        { "prefetch", ARGUMENT_COUNT, &arguments->prefetch },
        { "cache", ARGUMENT_TEXT, &arguments->cache },
        { "version", ARGUMENT_TEXT, &arguments->version },
        { "json", ARGUMENT_FLAG, &arguments->json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_feed_bench, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_feed_bench, "one table is wanted, not %d", argc - rest);
    arguments->path = argv[rest];
    return EXIT_DONE;
}

/* False when there is no such way to shuffle. */
static bool read_shuffle(const char *name, enum lmn_feed_shuffle *shuffle_out)
{
    static const char *const names[] = { "full", "none", "block" };

    *shuffle_out = LMN_SHUFFLE_FULL;
    for (int i = 0; name != NULL && i < 3; i++) {
        if (strcmp(name, names[i]) == 0) {
            *shuffle_out = (enum lmn_feed_shuffle)i;
            return true;
        }
    }
    return name == NULL;
}

static double ratio(uint64_t a, uint64_t b)
{
    return b != 0 ? (double)a / (double)b : 0;
}

static void print_json(const struct lmn_feed_stats *stats)
{
    json_open(NULL, '{');
    json_number("batches", stats->batches);
    json_number("rows", stats->rows);
    json_number("bytes", stats->bytes);
    json_number("elapsed_ns", stats->elapsed_ns);
    json_number("wait_ns", stats->wait_ns);
    json_number("busy_ns", stats->busy_ns);
    json_number("store_ns", stats->store_ns);
    json_number("cache_ns", stats->cache_ns);
    json_number("store_requests", stats->store_requests);
    json_number("store_bytes", stats->store_bytes);
    json_number("cache_hit_bytes", stats->cache_hit_bytes);
    json_close('}');
    json_end();
}

static void print_text(const struct lmn_feed_stats *stats)
{
    double seconds = (double)stats->elapsed_ns / 1e9, busy = (double)stats->busy_ns / 1e9;
    double store = (double)stats->store_ns / 1e9, cache = (double)stats->cache_ns / 1e9;

    printf("rows        %llu in %llu batches, %.3f s\n", (unsigned long long)stats->rows,
           (unsigned long long)stats->batches, seconds);
    printf("speed       %.0f rows/s, %.1f MB/s\n", (double)stats->rows / seconds,
           (double)stats->bytes / seconds / 1e6);
    printf("store       %.2f requests a row, %.2f bytes read for a byte of a batch\n",
           ratio(stats->store_requests, stats->rows), ratio(stats->store_bytes, stats->bytes));
    if (stats->cache_hit_bytes != 0)
        printf("cache       %.2f bytes read for a byte of a batch\n",
               ratio(stats->cache_hit_bytes, stats->bytes));
    printf("consumer    waited %.3f s, %.0f%% of the time\n", (double)stats->wait_ns / 1e9,
           100 * ratio(stats->wait_ns, stats->elapsed_ns));
    printf("threads     busy %.3f s: %.0f%% store, %.0f%% cache, %.0f%% decoding and copying\n",
           busy, 100 * store / busy, 100 * cache / busy, 100 * (busy - store - cache) / busy);
}

static enum lmn_status drain(struct lmn_feed *feed, uint64_t batches, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < batches; i++) {
        struct ArrowArray batch;

        st = lmn_feed_next(feed, &batch, err);
        if (st == LMN_OK && batch.release == NULL)
            break;
        if (st == LMN_OK)
            batch.release(&batch);
    }
    return st;
}

static enum lmn_status measure(struct lmn_table *table, const struct lmn_feed_options *options,
                               uint64_t batches, struct lmn_feed_stats *stats_out,
                               struct lmn_error *err)
{
    struct lmn_feed *feed;
    enum lmn_status st = lmn_feed_open(table, options, &feed, err);

    if (st == LMN_OK)
        st = drain(feed, batches, err);
    if (st == LMN_OK)
        lmn_feed_stats(feed, stats_out);
    if (st == LMN_OK && stats_out->rows == 0)
        st = lmn_fail(err, LMN_E_INVALID, "there are no rows to read");
    lmn_feed_close(feed);
    return st;
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    struct lmn_feed_options options = { .unpinned = true, .blobs = LMN_BLOB_BYTES };
    struct lmn_feed_stats stats;
    struct lmn_table *table;
    struct lmn_error err;
    enum lmn_status st;
    int code = parse(argc, argv, &arguments);

    if (code != EXIT_DONE)
        return code;
    if (!read_shuffle(arguments.shuffle, &options.shuffle))
        return usage(&cmd_feed_bench, "--shuffle is full, block or none, not %s",
                     arguments.shuffle);
    options.column = arguments.columns.count != 0 ? arguments.columns.item : NULL;
    options.column_count = arguments.columns.count;
    options.where = arguments.where;
    options.seed = arguments.seed.value;
    options.block_rows = arguments.block_size.value;
    options.batch_rows = (uint32_t)arguments.batch_size.value;
    options.threads = (uint32_t)arguments.threads.value;
    options.prefetch = (uint32_t)arguments.prefetch.value;
    options.cache_dir = arguments.cache;
    options.epochs = arguments.batches.given ? 0 : 1;
    st = open_table(arguments.path, arguments.version, &table, &err);
    if (st == LMN_OK)
        st = measure(table, &options,
                     arguments.batches.given ? arguments.batches.value : UINT64_MAX, &stats, &err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return fail(&err);
    if (arguments.json)
        print_json(&stats);
    else
        print_text(&stats);
    return EXIT_DONE;
}

const struct command cmd_feed_bench = {
    "feed-bench", "measure how quickly a table feeds training",
    "usage: leman feed-bench TABLE [--columns NAME,...] [--where EXPRESSION] [--batch-size N]\n"
    "                        [--batches N] [--shuffle full|block|none] [--block-size N] [--seed "
    "N]\n"
    "                        [--threads N] [--prefetch N] [--cache DIR] [--version V] [--json]\n"
    "\n"
    "Reads batches as a feed does, by default those of one epoch, and says how many rows and "
    "bytes\n"
    "came in a second, how much was read for them, and what the time went to.\n"
    "\n"
    "  --columns A,B   these columns only\n"
    "  --where E       rows that match only\n"
    "  --batch-size N  rows of a batch; 64 unless given\n"
    "  --batches N     so many batches, of as many epochs as that takes\n"
    "  --shuffle S     full unless given\n"
    "  --block-size N  rows of a block, with --shuffle block\n"
    "  --seed N        of the order\n"
    "  --threads N     that read; one per processor unless given\n"
    "  --prefetch N    batches that are read ahead; 4 unless given\n"
    "  --cache DIR     read through the cache in this directory\n"
    "  --version V     another version: " VERSION_HELP "  --json          say it as a JSON object\n"
    "\n" NAMES_HELP,
    run
};
