/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "detach.h"
#include "fill.h"
#include "progress.h"
#include "python.h"
#include "table.h"

struct arguments {
    const char *table, *column, *function, *timeout, *wait, *call_timeout, *memory, *stall,
        *on_change;
    struct number calls;
    bool dry_run, json, detach, first_commit, no_first_commit;
    struct list inputs;
    struct number concurrency, threads, batch, checkpoint, granularity, rows;
    struct lmn_job_options job;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "c", ARGUMENT_TEXT, &arguments->function },
        { "inputs", ARGUMENT_LIST, &arguments->inputs },
        { "where", ARGUMENT_TEXT, &arguments->job.where },
        { "recompute", ARGUMENT_FLAG, &arguments->job.recompute },
        { "leave-failed", ARGUMENT_FLAG, &arguments->job.leave_failed },
        { "on-change", ARGUMENT_TEXT, &arguments->on_change },
        { "no-swap", ARGUMENT_FLAG, &arguments->job.keep_refills },
        { "concurrency", ARGUMENT_COUNT, &arguments->concurrency },
        { "threads", ARGUMENT_COUNT, &arguments->threads },
        { "batch-size", ARGUMENT_COUNT, &arguments->batch },
        { "checkpoint-size", ARGUMENT_NUMBER, &arguments->checkpoint },
        { "commit-granularity", ARGUMENT_COUNT, &arguments->granularity },
        { "first-commit", ARGUMENT_FLAG, &arguments->first_commit },
        { "no-first-commit", ARGUMENT_FLAG, &arguments->no_first_commit },
        { "max-rows", ARGUMENT_NUMBER, &arguments->rows },
        { "max-calls", ARGUMENT_NUMBER, &arguments->calls },
        { "timeout", ARGUMENT_TEXT, &arguments->timeout },
        { "wait-timeout", ARGUMENT_TEXT, &arguments->wait },
        { "call-timeout", ARGUMENT_TEXT, &arguments->call_timeout },
        { "memory", ARGUMENT_TEXT, &arguments->memory },
        { "job-id", ARGUMENT_TEXT, &arguments->job.id },
        { "dry-run", ARGUMENT_FLAG, &arguments->dry_run },
        { "json", ARGUMENT_FLAG, &arguments->json },
        { "detach", ARGUMENT_FLAG, &arguments->detach },
        { "stall-after", ARGUMENT_TEXT, &arguments->stall },
        { "on-finish", ARGUMENT_TEXT, &arguments->job.on_finish },
        { "metrics", ARGUMENT_TEXT, &arguments->job.metrics },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_backfill, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 2)
        return usage(&cmd_backfill, "a table and a column are wanted");
    arguments->table = argv[rest];
    arguments->column = argv[rest + 1];
    arguments->job.concurrency = (uint32_t)arguments->concurrency.value;
    arguments->job.in_process = arguments->concurrency.given && arguments->concurrency.value == 0;
    arguments->job.threads = (uint32_t)arguments->threads.value;
    arguments->job.commit_granularity = (uint32_t)arguments->granularity.value;
    if (arguments->no_first_commit)
        arguments->job.first_commit = LMN_JOB_FIRST_COMMIT_NEVER;
    else if (arguments->first_commit)
        arguments->job.first_commit = LMN_JOB_FIRST_COMMIT_ALWAYS;
    arguments->job.newest = true;
    arguments->job.limited = arguments->rows.given;
    arguments->job.rows_max = arguments->rows.value;
    arguments->job.calls_max = arguments->calls.value;
    return EXIT_DONE;
}

/* Seconds, with a fraction where wanted, as milliseconds. */
static bool read_seconds(const char *text, uint64_t *ms_out)
{
    char *end;
    double seconds;

    if (text == NULL)
        return true;
    seconds = strtod(text, &end);
    *ms_out = seconds > 0 ? (uint64_t)(seconds * 1000) : 0;
    return *end == '\0' && seconds > 0 && seconds < 1e9;
}

/* Bytes: "4GiB", "500MB", a number. */
static bool read_bytes(const char *text, uint64_t *bytes_out)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = { { "", 1 },     { "B", 1 },      { "KB", 1e3 },      { "MB", 1e6 },
                  { "GB", 1e9 }, { "KiB", 1024 }, { "MiB", 1048576 }, { "GiB", 1073741824 } };
    double value;
    char *end;

    if (text == NULL)
        return true;
    value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].name) == 0) {
            *bytes_out = (uint64_t)(value * units[i].bytes);
            return value > 0;
        }
    }
    return false;
}

/* The words of the call as the user typed them, about. */
static char *join(int argc, char **argv)
{
    size_t bytes = sizeof "leman ";
    char *text, *at;

    for (int i = 0; i < argc; i++)
        bytes += strlen(argv[i]) + 3;
    text = at = malloc(bytes);
    if (text == NULL)
        return NULL;
    at += snprintf(at, bytes, "leman");
    for (int i = 0; i < argc; i++) {
        bool quoted = argv[i][0] == '\0' || strpbrk(argv[i], " '\"$&|<>*?()") != NULL;

        at += snprintf(at, bytes - (size_t)(at - text), quoted ? " '%s'" : " %s", argv[i]);
    }
    return text;
}

/* The word of a job that goes on by itself: its id once it runs, or why it does not. */
static void say_begun(const struct arguments *arguments, struct lmn_job *job, int *fd)
{
    struct lmn_job_status status;
    char text[128];

    do {
        lmn_job_wait(job, 20);
        lmn_job_status(job, &status);
    } while (status.state == LMN_JOB_PLANNING);
    snprintf(text, sizeof text, arguments->json ? "{\"id\": \"%s\"}" : "job %s", status.id);
    if (status.state == LMN_JOB_FAILED || status.state == LMN_JOB_STOPPED)
        detach_say(fd, fill_exit_code(&status, false), status.error.message);
    else
        detach_say(fd, EXIT_DONE, text);
}

/* Run the job, in this process or with workers. Returns the exit code. */
static int run_job(const struct arguments *arguments, struct lmn_table *table,
                   const struct lmn_job_function *function)
{
    struct lmn_worker_ops ops = { 0 };
    struct lmn_job_status status;
    struct lmn_error err;
    struct lmn_job *job;
    bool killed;
    int fd = -1, code;
    enum lmn_status st;

    if (arguments->detach && !detach_split(&fd, &code))
        return code;
    st = lmn_job_start(table, function, 1, &arguments->job, &job, &err);
    if (arguments->detach && st == LMN_OK)
        say_begun(arguments, job, &fd);
    else if (arguments->detach)
        detach_say(&fd, EXIT_USAGE, err.message);
    if (st == LMN_OK && arguments->job.in_process) {
        st = lmn_c_worker_open(&ops, &err);
        if (st == LMN_OK)
            st = lmn_job_serve(job, &ops, &err);
        lmn_c_worker_close(&ops);
    }
    if (st != LMN_OK) {
        lmn_job_free(job);
        return fail(&err);
    }
    killed = progress_wait(job, arguments->json || arguments->detach);
    lmn_job_status(job, &status);
    lmn_job_free(job);
    return fill_report(&status, arguments->json, killed, arguments->job.command);
}

static int run_c(const struct arguments *arguments)
{
    struct fill fill = { .on_change = arguments->on_change };
    struct lmn_table *table;
    struct lmn_error err;
    char *plan;
    int code = EXIT_DONE;
    enum lmn_status st = open_table(arguments->table, NULL, &table, &err);

    if (st == LMN_OK)
        st = fill_open(&fill, table, arguments->column, arguments->function, arguments->inputs.item,
                       arguments->inputs.count, &err);
    fill.function.batch_rows = (uint32_t)arguments->batch.value;
    fill.function.checkpoint_rows = arguments->checkpoint.value;
    if (st == LMN_OK) {
        uint64_t call_ms = 0;

        if (!read_seconds(arguments->call_timeout, &call_ms) ||
            !read_bytes(arguments->memory, &fill.function.memory_bytes))
            code = usage(&cmd_backfill, "--call-timeout is seconds, --memory bytes or 4GiB");
        fill.function.call_timeout_ms = (uint32_t)call_ms;
    }
    if (st == LMN_OK && code == EXIT_DONE && arguments->dry_run) {
        st = lmn_job_plan(table, &fill.function, 1, &arguments->job, &plan, &err);
        if (st == LMN_OK)
            fill_print_plan(plan, arguments->json);
        if (st == LMN_OK)
            lmn_text_free(plan);
    } else if (st == LMN_OK && code == EXIT_DONE) {
        code = run_job(arguments, table, &fill.function);
    }
    fill_close(&fill);
    lmn_table_release(table);
    return st == LMN_OK ? code : fail(&err);
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    static char self[4096];
    static const char *const worker[] = { self, "worker", NULL };
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    char *command;
    int code;

    if (!fill_is_c(argc, argv))
        return python_run("leman.backfill", NULL, argc - 1, argv + 1);
    code = parse(argc, argv, &arguments);
    if (code != EXIT_DONE)
        return code;
    if (len <= 0 || !read_seconds(arguments.timeout, &arguments.job.deadline_ms) ||
        !read_seconds(arguments.wait, &arguments.job.wait_ms) ||
        !read_seconds(arguments.stall, &arguments.job.stall_ms))
        return usage(&cmd_backfill, "--timeout, --wait-timeout and --stall-after are seconds");
    self[len] = '\0';
    command = join(argc, argv);
    arguments.job.command = command;
    arguments.job.worker = worker;
    code = run_c(&arguments);
    free(command);
    return code;
}

const struct command cmd_backfill = {
    "backfill", "fill a column by running a function over its rows",
    "usage: leman backfill TABLE COLUMN [--fn FILE.py:NAME | --c LIB.so:NAME] [--inputs A,B]\n"
    "                      [--where EXPR] [--recompute] [--leave-failed] [--max-rows N]\n"
    "                      [--max-calls N] [--max-cost COST]\n"
    "                      [--on-change WHAT] [--no-swap] [--stale-inputs WHAT] [--trust HASH]\n"
    "                      [--concurrency N] [--threads N] [--batch-size N]\n"
    "                      [--checkpoint-size N] [--commit-granularity N] [--[no-]first-commit]\n"
    "                      [--timeout S] [--wait-timeout S] [--call-timeout S] [--memory BYTES]\n"
    "                      [--engine local|ray] [--job-id ID] [--dry-run [--sample N]] [--detach]\n"
    "                      [--on-finish COMMAND] [--metrics FILE] [--stall-after S] [--json]\n"
    "\n"
    "Computes the rows of a column that are pending, failed or stale. What is computed is kept at\n"
    "every moment: after a kill, a crash or Ctrl-C the same command goes on from there. The "
    "column\n"
    "is added when it is not there. Without a function, the one that the column was added with "
    "runs.\n"
    "\n"
    "  --fn FILE.py:NAME       a function of Python, made by @leman.udf\n"
    "  --c LIB.so:NAME         a function of a shared object; see leman/udf.h\n"
    "  --inputs A,B            columns that the function is given, in its order\n"
    "  --where EXPR            only rows for which it holds\n"
    "  --recompute             finished rows, too\n"
    "  --leave-failed          do not try failed rows again\n"
    "  --max-rows N            at most so many rows\n"
    "  --max-calls N           stop, resumably, after so many calls\n"
    "  --max-cost COST         (--fn) stop when leman.usage(cost=) has added up to it\n"
    "  --on-change WHAT        what becomes of values of an earlier version of the function:\n"
    "                          recompute (all rows, beside the column, which changes at the end),\n"
    "                          keep (they count as of this version), new_rows (only rows that "
    "were\n"
    "                          never computed)\n"
    "  --no-swap               leave what was computed again beside the column; see leman compare\n"
    "  --stale-inputs WHAT     (--fn) refill: columns that this one is computed from first, where\n"
    "                          they are not up to date; refuse, which is the default\n"
    "  --concurrency N         worker processes; 0 runs in this process; by default what fits, 8 "
    "at\n"
    "                          most\n"
    "  --threads N             threads of each worker\n"
    "  --batch-size N          rows of a call; by default found by time\n"
    "  --checkpoint-size N     rows of a checkpoint; by default 10 s or 64 MiB\n"
    "  --commit-granularity N  commit every N fragments; by default once a minute\n"
    "  --first-commit          commit the first rows of the first fragment ahead of the others;\n"
    "                          --no-first-commit: do not; by default where it becomes large\n"
    "  --timeout S             stop after so many seconds; what is computed is kept\n"
    "  --wait-timeout S        wait so long for what other jobs hold; 600 unless given\n"
    "  --call-timeout S        (--c) a call that takes longer fails its row; of a function in\n"
    "                          Python @leman.udf(timeout=) says it\n"
    "  --memory BYTES          a worker that takes more (\"4GiB\") fails its row\n"
    "  --engine ray            (--fn) run it on a Ray cluster; see docs/guide/ray.md\n"
    "  --trust sha256:HASH     (functions in Python) run this code, which others have stored\n"
    "  --job-id ID             the job's name for `leman job`\n"
    "  --dry-run               say what would be done, and what it needs\n"
    "  --sample N              (--fn) of --dry-run: run N rows, and say what all of them take\n"
    "  --detach                print the job's id as soon as it runs, and let it go on without "
    "the\n"
    "                          terminal; `leman job ID --follow` shows it from any other\n"
    "  --on-finish COMMAND     run it by the shell when the job has ended; LEMAN_JOB and\n"
    "                          LEMAN_JOB_STATE are in its environment\n"
    "  --metrics FILE          keep FILE as OpenMetrics text, renewed every five seconds\n"
    "  --stall-after S         a worker that finishes no batch for so long is an event; 300 "
    "unless\n"
    "                          given\n"
    "  --json                  say what was done as a JSON object\n"
    "\n"
    "exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 done with failed rows, 4 stopped and\n"
    "resumable, 5 held by another, or a changed function without --on-change, 130 killed by a\n"
    "second Ctrl-C\n",
    run
};
