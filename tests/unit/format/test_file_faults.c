/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing and reading a file while every allocation and store operation fails in its turn.
 */
#include <leman/leman.h>

#include "arrays.h"
#include "check.h"
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

/* Every allocation and every store operation fails once: an error, and nothing is left. */
static void test_writer__faults(void **state)
{
    const struct lmn_file_writer_options options = { .threads = 1, .replace = true };
    struct lmn_store *memory = test_store_memory();
    struct lmn_store *store = test_store_faulty(memory);
    struct lmn_file_writer *writer;
    struct lmn_error err;
    int64_t before;
    enum lmn_status st;

    (void)state;
    /* The store keeps some memory after its first file, whatever became of that. */
    CHECK_OK(lmn_file_writer_open(store, "x.lance", &sample.schema, &options, &writer, &err));
    lmn_file_writer_abort(writer);
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = sample_write(&sample, store, "x.lance", &options, ROWS, &err);
        fault_disarm();
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        if (st == LMN_OK) /* the fault was in clean-up, or made a smaller choice of size */
            continue;
        CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(err.message[0] != '\0');
        if (test_store_count(memory, "") == 0)
            CHECK_EQ(live_allocations(), before);
    }
    lmn_store_release(store);
    lmn_store_release(memory);
    CHECK_EQ(live_allocations(), 0);
}

static enum lmn_status read_all(struct lmn_store *store, struct lmn_error *err)
{
    const struct lmn_read_options options = { .threads = 1 };
    uint64_t wanted[3] = { 4000, 1, 4000 };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_file *file;
    enum lmn_status st = lmn_file_open(store, "x.lance", NULL, &file, err);
    int rc;

    if (st != LMN_OK)
        return st;
    st = lmn_file_take(file, wanted, 3, &options, &batch, err);
    if (st == LMN_OK) {
        batch.release(&batch);
        st = lmn_file_scan(file, &options, &stream, err);
    }
    lmn_file_release(file);
    if (st != LMN_OK)
        return st;
    while ((rc = stream.get_next(&stream, &batch)) == 0 && batch.release != NULL)
        batch.release(&batch);
    if (rc != 0)
        st = lmn_fail(err, rc == 12 ? LMN_E_NO_MEMORY : LMN_E_IO, "%s",
                      stream.get_last_error(&stream));
    stream.release(&stream);
    return st;
}

static void test_reader__faults(void **state)
{
    struct lmn_store *memory = test_store_memory();
    struct lmn_store *store = test_store_faulty(memory);
    struct lmn_error err;
    int64_t before;
    enum lmn_status st;

    (void)state;
    CHECK_OK(sample_write(&sample, memory, "x.lance", NULL, ROWS, &err));
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = read_all(store, &err);
        fault_disarm();
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        if (st == LMN_OK) /* a larger buffer was not to be had, a smaller one was */
            continue;
        CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(err.message[0] != '\0');
    }
    lmn_store_release(store);
    lmn_store_release(memory);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_writer__faults),
        cmocka_unit_test(test_reader__faults),
    };

    return cmocka_run_group_tests(cases, make_rows, free_rows);
}
