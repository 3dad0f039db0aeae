/* SPDX-License-Identifier: Apache-2.0 */
#include "job_tables.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nanoarrow/nanoarrow.h>

#include "keyed_rows.h"

enum { ERRORS_MAX = 4096 };

static const char VERSION[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

struct function {
    char code[256];
    struct lmn_call_error error[ERRORS_MAX];
};

/* The number behind "word=" in the code; `absent` when it is not there. */
static long long oddity(const struct function *function, const char *word, long long absent)
{
    char pattern[32];
    const char *found;

    snprintf(pattern, sizeof pattern, "%s=", word);
    found = strstr(function->code, pattern);
    return found != NULL ? strtoll(found + strlen(pattern), NULL, 10) : absent;
}

static enum lmn_status setup(void *context, const void *code, uint64_t len, struct lmn_error *err)
{
    static int served;
    struct function *function = context;

    if (len >= sizeof function->code)
        return lmn_fail(err, LMN_E_UDF, "the code has %llu bytes", (unsigned long long)len);
    memcpy(function->code, code, len);
    function->code[len] = '\0';
    if (oddity(function, "setup", -1) >= 0)
        return lmn_fail(err, LMN_E_UDF, "the model is not there");
    if (served++ > 0 && oddity(function, "stale", -1) >= 0)
        return lmn_fail(err, LMN_E_CONFLICT, "an older model is loaded");
    return LMN_OK;
}

/* Take memory until somebody objects. */
static void hog(void)
{
    for (int i = 0; i < 1024; i++) {
        volatile char *piece = malloc(4 << 20);

        for (size_t at = 0; piece != NULL && at < 4 << 20; at += 4096)
            piece[at] = 1;
        usleep(2000);
    }
}

/* What a value does before it is computed. */
static void misbehave(const struct function *function, int64_t value)
{
    if (value == oddity(function, "crash", -1)) {
        signal(SIGSEGV, SIG_DFL); /* sanitizers would end it in their own way */
        raise(SIGSEGV);
    }
    if (value == oddity(function, "say", -1))
        dprintf(STDOUT_FILENO, "value %lld, %s\n", (long long)value,
                getenv("LEMAN_TEST") != NULL ? getenv("LEMAN_TEST") : "nothing");
    if (value == oddity(function, "exit", -1))
        _exit(3);
    if (value == oddity(function, "hog", -1))
        hog();
    while (value == oddity(function, "hang", -1))
        pause();
}

static void compute(struct function *function, const struct lmn_call *call,
                    struct ArrowArray *column, struct lmn_call_result *result)
{
    struct ArrowArrayView view;
    long long slow = oddity(function, "slow", 0);

    CHECK_EQ(ArrowArrayViewInitFromSchema(&view, call->schema->children[0], NULL), 0);
    CHECK_EQ(ArrowArrayViewSetArray(&view, call->input->children[0], NULL), 0);
    for (uint64_t i = 0; i < call->row_count; i++) {
        bool null = ArrowArrayViewIsNull(&view, (int64_t)i);
        int64_t value = null ? -2 : ArrowArrayViewGetIntUnsafe(&view, (int64_t)i);

        misbehave(function, value);
        if (value == oddity(function, "fail", -1)) {
            function->error[result->error_count++] = (struct lmn_call_error){
                i, "{\"type\": \"ValueError\", \"message\": \"it is bad\"}"
            };
            null = true;
        }
        CHECK_EQ(null ? ArrowArrayAppendNull(column, 1) : ArrowArrayAppendInt(column, value + 1),
                 0);
    }
    if (slow > 0)
        usleep((useconds_t)((uint64_t)slow * call->row_count));
    ArrowArrayViewReset(&view);
}

static enum lmn_status apply(void *context, const struct lmn_call *call,
                             struct lmn_call_result *result_out, struct lmn_error *err)
{
    struct function *function = context;
    struct ArrowArray *output = &result_out->output;

    if (oddity(function, "error", -1) >= 0)
        return lmn_fail(err, LMN_E_UDF, "the whole call failed");
    result_out->error = function->error;
    CHECK_EQ(ArrowArrayInitFromSchema(output, call->output, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(output), 0);
    compute(function, call, output->children[0], result_out);
    output->length = (int64_t)call->row_count;
    CHECK_EQ(ArrowArrayFinishBuildingDefault(output, NULL), 0);
    if (oddity(function, "short", -1) >= 0)
        output->length--;
    return LMN_OK;
}

struct lmn_worker_ops job_ops(void)
{
    static struct function function;

    return (struct lmn_worker_ops){ .setup = setup, .apply = apply, .context = &function };
}

void job_worker_main(void)
{
    const char *fds = getenv("LEMAN_WORKER_FDS");
    struct lmn_worker_ops ops = job_ops();
    struct lmn_error err = { 0 };
    enum lmn_status st;

    if (fds == NULL)
        return;
    st = lmn_worker_serve(atoi(fds), &ops, &err);
    if (st != LMN_OK)
        fprintf(stderr, "worker: %s\n", err.message);
    _exit(st == LMN_OK ? 0 : 1);
}

struct lmn_table *job_table(struct lmn_store *store, uint64_t rows, uint64_t fragment_rows)
{
    struct keyed_row *row = calloc(rows, sizeof *row);
    struct lmn_write_options options = { .fragment_rows_max = fragment_rows };
    struct ArrowSchema schema;
    struct lmn_error err = { 0 };
    struct lmn_table *table;

    CHECK(row != NULL);
    for (uint64_t i = 0; i < rows; i++)
        row[i] = (struct keyed_row){ (int64_t)i, i % 7 == 5 ? KEYED_NULL : (int64_t)i, "name" };
    table = keyed_table(store, row, rows, &options);
    free(row);
    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(&schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0], NANOARROW_TYPE_INT64), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], "result"), 0);
    CHECK_STATUS(lmn_table_add_function_columns(
                     table, &schema, "{\"name\": \"next\", \"inputs\": [\"value\"]}", &err),
                 LMN_OK, &err);
    schema.release(&schema);
    return table;
}

const char *const *job_worker_command(void)
{
    static char self[4096];
    static const char *const worker[] = { self, NULL };

    if (self[0] == '\0') /* once: threads read it from then on */
        CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    return worker;
}

struct lmn_job *job_begin_with(struct lmn_table *table, const char *code,
                               struct lmn_job_function function,
                               const struct lmn_job_options *options)
{
    static const char *const output[] = { "result" }, *const input[] = { "value" };
    struct lmn_job_options own = options != NULL ? *options : (struct lmn_job_options){ 0 };
    struct lmn_error err = { 0 };
    struct lmn_job *job;

    function.name = "next";
    function.version = VERSION;
    function.output = output;
    function.output_count = 1;
    function.input = input;
    function.input_count = 1;
    function.code = code;
    function.code_len = strlen(code);
    own.worker = job_worker_command();
    CHECK_STATUS(lmn_table_refresh(table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_job_start(table, &function, 1, &own, &job, &err), LMN_OK, &err);
    return job;
}

struct lmn_job *job_begin(struct lmn_table *table, const char *code,
                          const struct lmn_job_options *options)
{
    return job_begin_with(table, code, (struct lmn_job_function){ 0 }, options);
}

struct lmn_job_status job_end(struct lmn_job *job)
{
    struct lmn_job_status status;

    CHECK(lmn_job_wait(job, 120000));
    lmn_job_status(job, &status);
    lmn_job_free(job);
    return status;
}

struct lmn_job_status job_run(struct lmn_table *table, const char *code,
                              const struct lmn_job_options *options)
{
    struct lmn_job *job = job_begin(table, code, options);
    struct lmn_worker_ops ops = job_ops();
    struct lmn_error err = { 0 };

    if (options != NULL && options->in_process)
        CHECK_STATUS(lmn_job_serve(job, &ops, &err), LMN_OK, &err);
    return job_end(job);
}

static bool is_in(const int64_t *list, uint64_t count, int64_t value)
{
    for (uint64_t i = 0; i < count; i++) {
        if (list[i] == value)
            return true;
    }
    return false;
}

/* Check one batch of value, result and ledger; returns its pending cells. */
static uint64_t check_batch(struct ArrowArrayView *view, const int64_t *failed,
                            uint64_t failed_count)
{
    uint64_t pending = 0;

    for (int64_t i = 0; i < view->length; i++) {
        bool null = ArrowArrayViewIsNull(view->children[0], i);
        int64_t value = null ? -2 : ArrowArrayViewGetIntUnsafe(view->children[0], i);
        bool has = !ArrowArrayViewIsNull(view->children[1], i);
        bool bad = is_in(failed, failed_count, value);

        if (ArrowArrayViewIsNull(view->children[2], i)) {
            CHECK(!has);
            pending++;
            continue;
        }
        CHECK_EQ(ArrowArrayViewGetIntUnsafe(view->children[2]->children[0], i), bad ? 2 : 1);
        CHECK_EQ(has, !null && !bad);
        if (has)
            CHECK_EQ(ArrowArrayViewGetIntUnsafe(view->children[1], i), value + 1);
    }
    return pending;
}

uint64_t job_check(struct lmn_store *store, const int64_t *failed, uint64_t failed_count)
{
    static const char *const column[] = { "value", "result", "_leman_result" };
    const struct lmn_scan_options options = { .column = column, .column_count = 3 };
    struct ArrowArrayStream stream;
    struct ArrowArrayView view;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    uint64_t pending = 0;

    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_scan(table, &options, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_EQ(ArrowArrayViewInitFromSchema(&view, &schema, NULL), 0);
    for (;;) {
        CHECK_EQ(stream.get_next(&stream, &batch), 0);
        if (batch.release == NULL)
            break;
        CHECK_EQ(ArrowArrayViewSetArray(&view, &batch, NULL), 0);
        pending += check_batch(&view, failed, failed_count);
        batch.release(&batch);
    }
    ArrowArrayViewReset(&view);
    schema.release(&schema);
    stream.release(&stream);
    lmn_table_release(table);
    return pending;
}
