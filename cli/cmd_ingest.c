/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ingest.h"
#include "interrupt.h"
#include "json.h"
#include "progress.h"
#include "python.h"

/* Is `kind` one of `kinds`, which spaces part? */
static bool is_one_of(const char *kind, const char *kinds)
{
    size_t len = strlen(kind);

    for (const char *at = kinds; (at = strstr(at, kind)) != NULL; at += len) {
        if ((at == kinds || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* Options that mean something for some kinds are refused for the others. */
static int check_options(const struct ingest_arguments *arguments)
{
    const struct lmn_ingest_options *rows = &arguments->source.ingest;
    const struct {
        const char *name;
        bool given;
        const char *kinds;
    } only[] = {
        { "columns", arguments->columns.count != 0, "webdataset" },
        { "references", arguments->references, "webdataset" },
        { "sample", arguments->sample.given, "webdataset" },
        { "group-size", arguments->group_size.given, "webdataset" },
        { "schema", arguments->schema != NULL, "csv jsonl" },
        { "delimiter", arguments->source.delimiter != NULL, "csv" },
        { "no-header", rows->no_header, "csv" },
        { "null", rows->null_text != NULL, "csv" },
    };

    for (size_t i = 0; i < sizeof only / sizeof only[0]; i++) {
        if (only[i].given && !is_one_of(arguments->kind, only[i].kinds))
            return usage(&cmd_ingest, "--%s is not for %s", only[i].name, arguments->kind);
    }
    return EXIT_DONE;
}

static int parse(int argc, char **argv, struct ingest_arguments *arguments)
{
    const struct argument options[] = {
        { "columns", ARGUMENT_LIST, &arguments->columns },
        { "schema", ARGUMENT_TEXT, &arguments->schema },
        { "primary-key", ARGUMENT_LIST, &arguments->primary_key },
        { "references", ARGUMENT_FLAG, &arguments->references },
        { "on-error", ARGUMENT_TEXT, &arguments->on_error },
        { "report", ARGUMENT_TEXT, &arguments->report },
        { "max-parallelism", ARGUMENT_COUNT, &arguments->parallelism },
        { "commit-mb", ARGUMENT_COUNT, &arguments->commit_mb },
        { "sample", ARGUMENT_COUNT, &arguments->sample },
        { "group-size", ARGUMENT_COUNT, &arguments->group_size },
        { "again", ARGUMENT_FLAG, &arguments->again },
        { "data-version", ARGUMENT_TEXT, &arguments->data_version },
        { "rows-per-fragment", ARGUMENT_NUMBER, &arguments->rows },
        { "bytes-per-fragment", ARGUMENT_NUMBER, &arguments->bytes },
        { "message", ARGUMENT_TEXT, &arguments->message },
        { "json", ARGUMENT_FLAG, &arguments->json },
        { "quiet", ARGUMENT_FLAG, &arguments->quiet },
        CSV_ARGUMENTS(arguments->source),
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_ingest, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest < 3)
        return usage(&cmd_ingest, "a kind, a table and files are wanted");
    arguments->kind = argv[rest];
    arguments->path = argv[rest + 1];
    arguments->pattern = argv + rest + 2;
    arguments->pattern_count = argc - rest - 2;
    if (!ingest_is_native(arguments->kind))
        return usage(&cmd_ingest, "no kind \"%s\"", arguments->kind);
    if (arguments->on_error != NULL && strcmp(arguments->on_error, "fail") != 0 &&
        strcmp(arguments->on_error, "skip") != 0 && strcmp(arguments->on_error, "null") != 0)
        return usage(&cmd_ingest, "--on-error is fail, skip or null, not \"%s\"",
                     arguments->on_error);
    return check_options(arguments);
}

/* What is left of damaged Arrow IPC is found by Python. */
static bool needs_python(const struct ingest_arguments *arguments)
{
    return strcmp(arguments->kind, "arrow") == 0 && arguments->on_error != NULL &&
           strcmp(arguments->on_error, "fail") != 0;
}

static bool show_progress(void *self, const struct lmn_load_progress *progress)
{
    const struct ingest_arguments *arguments = self;
    char line[128];

    if (!arguments->quiet && progress_is_due()) {
        snprintf(line, sizeof line, "%llu of %llu parts, %llu rows, %llu MB",
                 (unsigned long long)(progress->parts_before + progress->parts_done),
                 (unsigned long long)progress->part_count, (unsigned long long)progress->rows,
                 (unsigned long long)(progress->bytes / 1000000));
        progress_show(line);
    }
    return !interrupt_asked();
}

static enum lmn_status load(const struct ingest_arguments *arguments, struct ingest_source *source,
                            struct lmn_table **table_out, struct lmn_load_progress *result,
                            struct lmn_error *err)
{
    struct lmn_load_options options = {
        .write = { .encode.version = arguments->data_version,
                   .fragment_rows_max = arguments->rows.value,
                   .fragment_bytes_max = arguments->bytes.value,
                   .primary_key = arguments->primary_key.item,
                   .primary_key_count = arguments->primary_key.count,
                   .message = arguments->message },
        .parallelism = (uint32_t)arguments->parallelism.value,
        .commit_bytes = arguments->commit_mb.value << 20,
        .again = arguments->again,
        .progress = show_progress,
        .progress_self = (void *)arguments,
    };
    struct lmn_store *store;
    enum lmn_status st = lmn_store_open_local(NULL, arguments->path, &store, err);

    *table_out = NULL;
    if (st != LMN_OK)
        return st;
    st = lmn_table_load_new(store, &source->load, &options, table_out, result, err);
    if (st == LMN_E_EXISTS) {
        st = lmn_table_open(store, NULL, table_out, err);
        if (st == LMN_OK)
            st = lmn_table_load(*table_out, &source->load, &options, result, err);
    }
    lmn_store_release(store);
    return st;
}

static void print_result(const struct ingest_arguments *arguments, struct lmn_table *table,
                         const struct lmn_load_progress *result, unsigned long long problems)
{
    if (!arguments->json) {
        printf("version %llu: %llu rows of %llu parts loaded in %llu commits",
               (unsigned long long)lmn_table_version(table),
               (unsigned long long)result->rows_committed, (unsigned long long)result->parts_done,
               (unsigned long long)result->commits);
        if (result->parts_before != 0)
            printf(", %llu parts were there", (unsigned long long)result->parts_before);
        if (problems != 0)
            printf(", %llu problems", problems);
        printf("\n");
        return;
    }
    json_open(NULL, '{');
    json_number("version", lmn_table_version(table));
    json_number("rows", result->rows_committed);
    json_number("parts", result->parts_done);
    json_number("parts_before", result->parts_before);
    json_number("commits", result->commits);
    json_number("problems", problems);
    json_close('}');
    json_end();
}

static int run(int argc, char **argv)
{
    static struct ingest_arguments arguments;
    static struct ingest_source source;
    struct lmn_load_progress result = { 0 };
    struct lmn_table *table = NULL;
    struct lmn_error err;
    unsigned long long problems;
    enum lmn_status st;
    int code;

    if (argc > 1 && python_knows(argv[1]))
        return python_run("leman.ingest_command", "ingest", argc - 1, argv + 1);
    code = parse(argc, argv, &arguments);
    if (code != EXIT_DONE)
        return code;
    if (needs_python(&arguments))
        return python_run("leman.ingest_command", "ingest", argc - 1, argv + 1);
    interrupt_catch(true);
    st = ingest_open(&arguments, &source, &err);
    if (st == LMN_OK)
        st = load(&arguments, &source, &table, &result, &err);
    progress_clear();
    if (st == LMN_OK)
        print_result(&arguments, table, &result, atomic_load(&source.problem_count));
    problems = atomic_load(&source.problem_count);
    lmn_table_release(table);
    ingest_close(&source);
    if (st == LMN_E_CANCELLED) {
        fprintf(stderr, "leman: stopped with %llu rows committed; the same command goes on\n",
                (unsigned long long)result.rows_committed);
        return EXIT_STOPPED;
    }
    if (st != LMN_OK)
        return fail(&err);
    return problems != 0 ? EXIT_FAILED_ROWS : EXIT_DONE;
}

const struct command cmd_ingest = {
    "ingest", "load shards and files into a table, in parallel",
    "usage: leman ingest KIND TABLE FILES [--columns C,...] [--schema COLUMNS]\n"
    "                    [--references] [--version V]\n"
    "                    [--on-error fail|skip|null] [--report FILE] [--max-parallelism N]\n"
    "                    [--commit-mb N] [--again] [--sample N] [--group-size N]\n"
    "                    [--primary-key NAME,...]\n"
    "                    [--data-version V] [--rows-per-fragment N] [--bytes-per-fragment N]\n"
    "                    [--message TEXT] [--json] [--quiet] [OPTION OF CSV ...]\n"
    "\n"
    "Loads FILES into directory TABLE, which is made when it is not there. FILES is one file, a\n"
    "folder, or a pattern in quotes: \"shards/{000..099}.tar\", \"rows/*.csv\". Kinds:\n"
    "\n"
    "  webdataset     tar archives of samples, also compressed with gzip; a sample is a row,\n"
    "                 its fields are columns\n"
    "  array_record   ArrayRecord files; a record is a row, in column \"record\"\n"
    "  arrow, csv, jsonl\n"
    "                 the files that `leman append` reads, several at once; arrow with\n"
    "                 --on-error needs Python with pyarrow\n"
    "  parquet        Parquet files; needs Python with pyarrow\n"
    "  files          every file is a row: path, bytes, size, mtime; needs Python with pyarrow\n"
    "  space          the current snapshot of a Space dataset in folder FILES; needs Python\n"
    "                 with pyarrow\n"
    "\n"
    "Parts are committed in groups, and the table remembers which it holds: a load that was\n"
    "stopped or killed goes on when the same command is run again, and no part is in the table\n"
    "twice.\n"
    "\n"
    "  --columns C,...    of webdataset: fields that become columns; \"name=field\" gives a name,\n"
    "                     \"json.x\" is a field of a JSON object, \"field?\" may be missing; of\n"
    "                     parquet: names\n"
    "  --schema COLUMNS   of csv and jsonl: \"id int64, score double\"; otherwise the types of "
    "the\n"
    "                     table, or those of the first file\n"
    "  --references       of webdataset and files: bytes stay where they are; the table refers\n"
    "                     to them\n"
    "  --version V        of space: a snapshot, a tag or a branch; otherwise the current snapshot\n"
    "  --on-error X       a bad sample or row, a damaged shard, a file that cannot be read: fail;\n"
    "                     skip it; null for the field of a sample, and otherwise skip it\n"
    "  --report FILE      write what was left out as JSON lines\n"
    "  --max-parallelism N  parts at once; otherwise one per processor\n"
    "  --commit-mb N      a thread commits when its parts have so many megabytes; default 256\n"
    "  --again            load parts that are in the table already once more\n"
    "  --sample N         of webdataset: samples that tell the columns; default 1000\n"
    "  --group-size N     of webdataset: rows of binary columns that a feed reads together; it\n"
    "                     does not change how they are encoded\n"
    "  --primary-key A,B, --data-version V, --rows-per-fragment N, --bytes-per-fragment N,\n"
    "  --message TEXT     as for `leman create`\n"
    "  --json             say what was done as a JSON object\n"
    "  --quiet            show no progress\n"
    "\n" CSV_HELP "\n" NAMES_HELP "\n"
    "exit codes: 3 done, with problems; 4 stopped, and the same command goes on\n",
    run
};
