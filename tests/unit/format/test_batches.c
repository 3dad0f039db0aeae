/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches by number: their order, what is passed over, limit and offset, failures.
 *
 * labels: threads
 */
#include <errno.h>
#include <leman/table_scan.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arrow/builder.h"
#include "arrow/producer.h"
#include "base/bytes.h"
#include "check.h"
#include "format/batches.h"

/* Batch i has (i mod 4) rows, numbered on; the batch `bad` fails. */
struct numbers {
    atomic_uint_fast64_t read_count;
    uint64_t bad;
    int freed;
};

static const struct lmn__layout number_layout = { .kind = LMN__LAYOUT_FIXED, .bits = 64 };
static const struct lmn__layout *const children[] = { &number_layout };
static const struct lmn__layout batch_layout = { .kind = LMN__LAYOUT_STRUCT,
                                                 .child_count = 1,
                                                 .child = children };

static uint64_t rows_before(uint64_t index)
{
    static const uint64_t part[] = { 0, 0, 1, 3 };

    return index / 4 * 6 + part[index % 4];
}

static enum lmn_status numbers_read(void *context, struct lmn__scratch *scratch, uint64_t index,
                                    struct ArrowArray *array_out, struct lmn_error *err)
{
    struct numbers *numbers = context;
    uint64_t rows = index % 4;
    struct lmn__builder root;
    uint8_t *at;

    (void)scratch;
    atomic_fetch_add(&numbers->read_count, 1);
    if (index == numbers->bad)
        return lmn_fail(err, LMN_E_CORRUPT, "batch %d is bad", (int)index);
    CHECK_OK(lmn__builder_init(&root, test_env(), &batch_layout, err));
    CHECK_OK(lmn__builder_add_valid(&root, rows, err));
    CHECK_OK(lmn__builder_add_valid(&root.child[0], rows, err));
    CHECK_OK(lmn__builder_extend(&root.child[0], rows, &at, err));
    for (uint64_t i = 0; i < rows; i++)
        lmn__store_u64(at + i * 8, rows_before(index) + i);
    CHECK_OK(lmn__builder_finish(&root, array_out, err));
    lmn__builder_deinit(&root);
    return LMN_OK;
}

static enum lmn_status numbers_schema(void *context, struct ArrowSchema *schema_out,
                                      struct lmn_error *err)
{
    (void)context;
    *schema_out = (struct ArrowSchema){ 0 };
    return lmn_fail(err, LMN_E_UNSUPPORTED, "numbers have no schema");
}

static void numbers_free(void *context)
{
    struct numbers *numbers = context;

    numbers->freed++;
}

static void open_numbers(struct numbers *numbers, const struct lmn__batches_options *options,
                         struct ArrowArrayStream *stream)
{
    struct lmn__batch_source source = { numbers, numbers_read, numbers_schema, numbers_free };
    struct lmn_error err;

    CHECK_OK(lmn__batches_open(test_env(), &source, options, stream, &err));
}

/* Read to the end: rows come from `first` on without a gap. Their number. */
static uint64_t read_all(struct ArrowArrayStream *stream, uint64_t first, enum lmn_status *status)
{
    struct ArrowArray array;
    struct lmn_error err;
    uint64_t rows = 0;

    while ((*status = lmn__stream_next(stream, &array, &err)) == LMN_OK && array.release != NULL) {
        const struct ArrowArray *child = array.children[0];
        const uint8_t *values = child->buffers[1];

        CHECK(array.length > 0);
        CHECK_EQ(array.offset, 0);
        CHECK_EQ(child->length, array.length);
        for (int64_t i = 0; i < child->length; i++)
            CHECK_EQ(lmn__load_u64(values + (child->offset + i) * 8), first + rows++);
        array.release(&array);
    }
    return rows;
}

static void check_limits(uint32_t threads)
{
    static const uint64_t edge[] = { 0, 1, 2, 5, 6, 7, 50, 59, 60, 61, UINT64_MAX };
    enum { EDGES = sizeof edge / sizeof edge[0], BATCHES = 40, ROWS = 60 };

    for (int o = 0; o < EDGES; o++) {
        for (int l = 0; l < EDGES; l++) {
            struct numbers numbers = { .bad = UINT64_MAX };
            const struct lmn__batches_options options = { .batch_count = BATCHES,
                                                          .batch_bytes = 1,
                                                          .threads = threads,
                                                          .limited = true,
                                                          .limit = edge[l],
                                                          .offset = edge[o] };
            uint64_t left = edge[o] < ROWS ? ROWS - edge[o] : 0;
            struct ArrowArrayStream stream;
            enum lmn_status st;

            open_numbers(&numbers, &options, &stream);
            CHECK_EQ(read_all(&stream, edge[o], &st), left < edge[l] ? left : edge[l]);
            CHECK_EQ(st, LMN_OK);
            stream.release(&stream);
            CHECK_EQ(numbers.freed, 1);
        }
    }
    CHECK_EQ(live_allocations(), 0);
}

static void test_batches__limit_and_offset(void **state)
{
    (void)state;
    check_limits(1);
    check_limits(3);
}

/* What the limit does not need is not read: at most a few batches in flight behind it. */
static void test_batches__limit_stops_workers(void **state)
{
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct numbers numbers = { .bad = UINT64_MAX };
        const struct lmn__batches_options options = {
            .batch_count = 1000000, .threads = threads, .limited = true, .limit = 6
        };
        struct ArrowArrayStream stream;
        enum lmn_status st;

        (void)state;
        open_numbers(&numbers, &options, &stream);
        CHECK_EQ(read_all(&stream, 0, &st), 6);
        stream.release(&stream);
        CHECK(atomic_load(&numbers.read_count) <= 4 + 4 * threads);
    }
}

/* Batches that are larger than they were said to be, and how far ahead of the consumer they are. */
struct large {
    atomic_uint_fast64_t taken, lead_max;
};

enum { LARGE_ROWS = 1000, LARGE_BATCHES = 500 };

static enum lmn_status large_read(void *context, struct lmn__scratch *scratch, uint64_t index,
                                  struct ArrowArray *array_out, struct lmn_error *err)
{
    struct large *large = context;
    uint64_t lead = index - atomic_load(&large->taken), before = atomic_load(&large->lead_max);
    struct lmn__builder root;
    uint8_t *at;

    (void)scratch;
    while (lead > before && !atomic_compare_exchange_weak(&large->lead_max, &before, lead))
        ;
    CHECK_OK(lmn__builder_init(&root, test_env(), &batch_layout, err));
    CHECK_OK(lmn__builder_add_valid(&root, LARGE_ROWS, err));
    CHECK_OK(lmn__builder_add_valid(&root.child[0], LARGE_ROWS, err));
    CHECK_OK(lmn__builder_extend(&root.child[0], LARGE_ROWS, &at, err));
    memset(at, 0, (size_t)LARGE_ROWS * 8);
    CHECK_OK(lmn__builder_finish(&root, array_out, err));
    lmn__builder_deinit(&root);
    return LMN_OK;
}

static void keep_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static enum lmn_status large_schema(void *context, struct ArrowSchema *schema_out,
                                    struct lmn_error *err)
{
    static struct ArrowSchema column = { .format = "l", .name = "n", .release = keep_schema };
    static struct ArrowSchema *columns[] = { &column };

    (void)context;
    (void)err;
    *schema_out = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = 1, .children = columns, .release = keep_schema
    };
    return LMN_OK;
}

static void large_free(void *context)
{
    (void)context;
}

/* Two that wait, one in each thread's hands, and one that the consumer is about to count. */
static void test_batches__ahead_by_what_they_take(void **state)
{
    struct large large = { 0 };
    struct lmn__batch_source source = { &large, large_read, large_schema, large_free };
    const struct lmn__batches_options options = {
        .batch_count = LARGE_BATCHES, .batch_bytes = 1, .prefetch_bytes_max = 16000, .threads = 2
    };
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__batches_open(test_env(), &source, &options, &stream, &err));
    for (int i = 0; i < LARGE_BATCHES; i++) {
        CHECK_OK(lmn__stream_next(&stream, &array, &err));
        atomic_fetch_add(&large.taken, 1);
        CHECK_EQ(array.length, LARGE_ROWS);
        array.release(&array);
    }
    stream.release(&stream);
    CHECK(atomic_load(&large.lead_max) <= 5);
    CHECK_EQ(live_allocations(), 0);
}

/* The batches before the failure are seen, then the failure, again and again. */
static void test_batches__failure_in_order(void **state)
{
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct numbers numbers = { .bad = 10 };
        const struct lmn__batches_options options = { .batch_count = 1000, .threads = threads };
        struct ArrowArrayStream stream;
        struct ArrowSchema schema;
        struct ArrowArray array;
        struct lmn_error err;
        enum lmn_status st;

        (void)state;
        open_numbers(&numbers, &options, &stream);
        CHECK_EQ(read_all(&stream, 0, &st), rows_before(10));
        CHECK_EQ(st, LMN_E_CORRUPT);
        CHECK(stream.get_next(&stream, &array) != 0);
        CHECK_STR(stream.get_last_error(&stream), "batch 10 is bad");
        /* To ask for something else in between does not make an end of it. */
        CHECK_STATUS(lmn__stream_schema(&stream, &schema, &err), LMN_E_CORRUPT, &err);
        CHECK_STATUS(lmn_file_scan_next(&stream, &array, &err), LMN_E_CORRUPT, &err);
        CHECK_STR(err.message, "batch 10 is bad");
        stream.release(&stream);
        CHECK_EQ(numbers.freed, 1);
    }
    CHECK_EQ(live_allocations(), 0);
}

/* A consumer that goes away leaves no thread and no batch behind. */
static void test_batches__released_early(void **state)
{
    struct numbers numbers = { .bad = UINT64_MAX };
    const struct lmn__batches_options options = { .batch_count = 1000, .threads = 3 };
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    struct lmn_error err;

    (void)state;
    open_numbers(&numbers, &options, &stream);
    CHECK_OK(lmn__stream_next(&stream, &array, &err));
    array.release(&array);
    stream.release(&stream);
    CHECK_EQ(numbers.freed, 1);
    CHECK_EQ(live_allocations(), 0);
}

/* A child has none of the threads: the stream fails there, and goes on in its parent. */
static void test_batches__forked(void **state)
{
    struct numbers numbers = { .bad = UINT64_MAX };
    const struct lmn__batches_options options = { .batch_count = 1000, .threads = 3 };
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    struct lmn_error err = { 0 };
    enum lmn_status st;
    int status;
    pid_t child;

    (void)state;
    open_numbers(&numbers, &options, &stream);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        st = lmn__stream_next(&stream, &array, &err);
        stream.release(&stream);
        _exit(st == LMN_E_UNSUPPORTED && strstr(err.message, "fork") != NULL ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(read_all(&stream, 0, &st), 1500);
    CHECK_EQ(st, LMN_OK);
    stream.release(&stream);
    CHECK_EQ(live_allocations(), 0);
}

/* A stream of somebody else, whose private data are nothing of this library: what it answers. */
static int foreign_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out)
{
    *array_out = (struct ArrowArray){ 0 };
    return *(const int *)stream->private_data;
}

static const char *foreign_error(struct ArrowArrayStream *stream)
{
    return *(const int *)stream->private_data == EINVAL ? "of their own" : NULL;
}

static void foreign_release(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

static void test_batches__streams_of_others(void **state)
{
    static const struct {
        int answer;
        enum lmn_status status;
        const char *message;
    } cases[] = {
        { 0, LMN_OK, "" },
        { EINVAL, LMN_E_INVALID, "of their own" },
        { ENOMEM, LMN_E_NO_MEMORY, "an Arrow stream failed" },
        { EIO, LMN_E_IO, "an Arrow stream failed" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ArrowArrayStream stream = { .get_next = foreign_next,
                                           .get_last_error = foreign_error,
                                           .release = foreign_release,
                                           .private_data = (void *)(uintptr_t)&cases[i].answer };
        struct ArrowArray array;
        struct lmn_error err = { 0 };

        CHECK_STATUS(lmn_file_scan_next(&stream, &array, &err), cases[i].status, &err);
        CHECK_HAS(err.message, cases[i].message);
        CHECK_STATUS(lmn_table_scan_next(&stream, &array, &err), cases[i].status, &err);
        CHECK(array.release == NULL);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_batches__limit_and_offset),
        cmocka_unit_test(test_batches__limit_stops_workers),
        cmocka_unit_test(test_batches__ahead_by_what_they_take),
        cmocka_unit_test(test_batches__failure_in_order),
        cmocka_unit_test(test_batches__released_early),
        cmocka_unit_test(test_batches__forked),
        cmocka_unit_test(test_batches__streams_of_others),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
