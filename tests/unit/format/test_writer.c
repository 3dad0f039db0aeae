/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows written to a file in memory and read back, whole and in parts.
 *
 * labels: threads
 */
#include <leman/leman.h>

#include "arrays.h"
#include "check.h"
#include "format/writer.h"
#include "stores.h"

enum { ROWS = 5000 };

static struct sample sample;

static int make_rows(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 1);
    return 0;
}

static int free_rows(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

/* Scan everything and compare with the rows that were written. */
static void check_scan(struct lmn_file *file, uint32_t threads, uint32_t batch_rows)
{
    const struct lmn_read_options options = { .threads = threads, .batch_rows_max = batch_rows };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t at = 0;

    CHECK_STATUS(lmn_file_scan(file, &options, &stream, &err), LMN_OK, &err);
    for (;;) {
        if (stream.get_next(&stream, &batch) != 0)
            check_fail(__FILE__, __LINE__, "%s", stream.get_last_error(&stream));
        if (batch.release == NULL)
            break;
        CHECK(same_slots(&sample.schema, &sample.rows, at, &batch, 0, (uint64_t)batch.length));
        at += (uint64_t)batch.length;
        batch.release(&batch);
    }
    CHECK_EQ(at, ROWS);
    stream.release(&stream);
}

static void check_take(struct lmn_file *file)
{
    uint64_t wanted[200], seed = 5;
    struct ArrowArray taken;
    struct lmn_error err;

    for (int i = 0; i < 200; i++)
        wanted[i] = test_random(&seed) % ROWS;
    CHECK_STATUS(lmn_file_take(file, wanted, 200, NULL, &taken, &err), LMN_OK, &err);
    for (uint64_t i = 0; i < 200; i++)
        CHECK(same_slots(&sample.schema, &sample.rows, wanted[i], &taken, i, 1));
    taken.release(&taken);
}

static void check_file(struct lmn_store *store)
{
    struct lmn_file *file;
    struct lmn_error err;

    CHECK_STATUS(lmn_file_open(store, "a/b.lance", NULL, &file, &err), LMN_OK, &err);
    CHECK_EQ(lmn_file_row_count(file), ROWS);
    check_scan(file, 1, 0);
    check_scan(file, 3, 333);
    check_take(file);
    lmn_file_release(file);
}

static void check_options(const struct lmn_file_writer_options *options, uint64_t batch_rows)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_error err;

    CHECK_STATUS(sample_write(&sample, store, "a/b.lance", options, batch_rows, &err), LMN_OK,
                 &err);
    check_file(store);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_writer__rows_come_back(void **state)
{
    static const char *const versions[] = { "2.1", "2.2" };
    static const uint64_t page_bytes[] = { 1024, 20000, 0 };

    (void)state;
    for (int v = 0; v < 2; v++) {
        for (int p = 0; p < 3; p++) {
            struct lmn_file_writer_options options = {
                .encode = { .version = versions[v], .page_bytes_max = page_bytes[p] },
                .threads = (uint32_t)p + 1
            };

            check_options(&options, p == 1 ? 77 : ROWS);
        }
    }
}

static void test_writer__zstd_comes_back(void **state)
{
    const struct lmn_file_writer_options options = { .encode = { .zstd_level = 3,
                                                                 .page_bytes_max = 30000 } };

    (void)state;
    check_options(&options, 1000);
}

/* To start threads takes longer than to make a few small pages. */
static void test_writer__threads_begin_with_large_files(void **state)
{
    const struct lmn_file_writer_options options = { .encode = { .page_bytes_max = 4096 },
                                                     .threads = 3 };
    struct lmn_store *store = test_store_memory();
    struct lmn_file_writer *writer;
    struct ArrowArray few = sample.rows;
    struct lmn_error err;

    (void)state;
    few.length = 100;
    CHECK_OK(lmn_file_writer_open(store, "x.lance", &sample.schema, &options, &writer, &err));
    CHECK_OK(lmn_file_writer_write(writer, &few, &err));
    CHECK(lmn_file_writer_bytes(writer) != 0);
    CHECK_EQ(writer->thread_count, 0);
    for (int i = 0; i < 20; i++)
        CHECK_OK(lmn_file_writer_write(writer, &sample.rows, &err));
    CHECK_EQ(writer->thread_count, 3);
    CHECK_OK(lmn_file_writer_finish(writer, NULL, &err));
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* What is not written yet counts as it came; then as it lies in the file. */
static void test_writer__flush_gives_all_a_place(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_file_writer *writer;
    struct ArrowArray part = sample.rows;
    struct lmn_error err;
    uint64_t placed;

    (void)state;
    CHECK_OK(lmn_file_writer_open(store, "a/b.lance", &sample.schema, NULL, &writer, &err));
    CHECK_OK(lmn_file_writer_flush(writer, &err));
    CHECK_EQ(lmn_file_writer_bytes(writer), 0);
    part.length = 100;
    CHECK_OK(lmn_file_writer_write(writer, &part, &err));
    CHECK_EQ(writer->locked.position, 0);
    CHECK(lmn_file_writer_bytes(writer) > 100);
    CHECK_OK(lmn_file_writer_flush(writer, &err));
    placed = writer->locked.position;
    CHECK(placed > 100);
    CHECK_EQ(lmn_file_writer_bytes(writer), placed);
    CHECK_OK(lmn_file_writer_flush(writer, &err));
    CHECK_EQ(lmn_file_writer_bytes(writer), placed);
    part.offset += 100;
    part.length = ROWS - 100;
    CHECK_OK(lmn_file_writer_write(writer, &part, &err));
    CHECK_OK(lmn_file_writer_finish(writer, NULL, &err));
    check_file(store);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_writer__no_rows(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_file_writer *writer;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_file *file;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn_file_writer_open(store, "x.lance", &sample.schema, NULL, &writer, &err));
    CHECK_OK(lmn_file_writer_finish(writer, NULL, &err));
    CHECK_STATUS(lmn_file_open(store, "x.lance", NULL, &file, &err), LMN_OK, &err);
    CHECK_EQ(lmn_file_row_count(file), 0);
    CHECK_OK(lmn_file_scan(file, NULL, &stream, &err));
    CHECK_EQ(stream.get_next(&stream, &batch), 0);
    CHECK(batch.release == NULL);
    stream.release(&stream);
    CHECK_OK(lmn_file_take(file, NULL, 0, NULL, &batch, &err));
    CHECK_EQ(batch.length, 0);
    batch.release(&batch);
    lmn_file_release(file);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_writer__aborted_leaves_no_file(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_file_writer *writer;
    struct lmn_file *file;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn_file_writer_open(store, "x.lance", &sample.schema, NULL, &writer, &err));
    CHECK_OK(lmn_file_writer_write(writer, &sample.rows, &err));
    lmn_file_writer_abort(writer);
    CHECK_STATUS(lmn_file_open(store, "x.lance", NULL, &file, &err), LMN_E_NOT_FOUND, &err);
    CHECK_EQ(test_store_count(store, ""), 0);
    lmn_store_release(store);
}

static void test_writer__does_not_replace_unasked(void **state)
{
    struct lmn_file_writer_options options = { .replace = true };
    struct lmn_store *store = test_store_memory();
    struct lmn_error err;

    (void)state;
    CHECK_OK(sample_write(&sample, store, "x.lance", NULL, ROWS, &err));
    CHECK_STATUS(sample_write(&sample, store, "x.lance", NULL, ROWS, &err), LMN_E_EXISTS, &err);
    CHECK_STATUS(sample_write(&sample, store, "x.lance", &options, ROWS, &err), LMN_OK, &err);
    CHECK_EQ(test_store_count(store, ""), 1);
    lmn_store_release(store);
}

static void test_writer__refuses_options(void **state)
{
    static const struct lmn_encode_options bad[] = { { .version = "2.0" },
                                                     { .version = "2.3" },
                                                     { .zstd_level = 23 },
                                                     { .zstd_level = -1 },
                                                     { .page_bytes_max = 10 } };
    struct lmn_store *store = test_store_memory();
    struct lmn_file_writer *writer;
    struct lmn_error err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct lmn_file_writer_options options = { .encode = bad[i] };

        CHECK_STATUS(
            lmn_file_writer_open(store, "x.lance", &sample.schema, &options, &writer, &err),
            LMN_E_INVALID, &err);
        CHECK(writer == NULL);
        CHECK_HAS(err.message, "x.lance");
    }
    CHECK_EQ(test_store_count(store, ""), 0);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_writer__refuses_undeclared_nulls(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_file_writer *writer;
    struct lmn_error err;

    (void)state;
    sample.schema.children[1]->flags = 0;
    CHECK_OK(lmn_file_writer_open(store, "x.lance", &sample.schema, NULL, &writer, &err));
    CHECK_STATUS(lmn_file_writer_write(writer, &sample.rows, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "\"maybe\"");
    lmn_file_writer_abort(writer);
    sample.schema.children[1]->flags = ARROW_FLAG_NULLABLE;
    lmn_store_release(store);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_writer__rows_come_back),
        cmocka_unit_test(test_writer__zstd_comes_back),
        cmocka_unit_test(test_writer__threads_begin_with_large_files),
        cmocka_unit_test(test_writer__flush_gives_all_a_place),
        cmocka_unit_test(test_writer__no_rows),
        cmocka_unit_test(test_writer__aborted_leaves_no_file),
        cmocka_unit_test(test_writer__does_not_replace_unasked),
        cmocka_unit_test(test_writer__refuses_options),
        cmocka_unit_test(test_writer__refuses_undeclared_nulls),
    };

    return cmocka_run_group_tests(cases, make_rows, free_rows);
}
