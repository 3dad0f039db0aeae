/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "job/receipt.h"

enum { COLUMNS = 4 };

/* A receipt that is right, to be changed by the tests: column 0 in place, the others held. */
struct example {
    uint64_t first[3], count[3], column[COLUMNS];
    struct lmn__receipt_pages pages;
    struct lmn__receipt_hold hold;
    struct lmn__receipt_error error[2];
    struct lmn__receipt receipt;
};

static void example_init(struct example *example)
{
    static const uint8_t text[] = "{\"type\":\"E\"}";

    *example = (struct example){ .first = { 10, 20, 40 },
                                 .count = { 5, 20, 2 },
                                 .column = { 1, 2, 3 },
                                 .pages = { 0, 128, 1 << 20, { text, 4 } },
                                 .hold = { .position = 64, .bytes = 1000, .checksum = UINT64_MAX },
                                 .error = { { 12, { text, 12 } }, { 41, { text, 12 } } } };
    example->hold.column = (struct lmn__pb_u64s){ example->column, 3 };
    example->receipt = (struct lmn__receipt){ .fragment_id = 7,
                                              .layout = UINT64_MAX - 5,
                                              .first = { example->first, 3 },
                                              .count = { example->count, 3 },
                                              .row_count = 27,
                                              .failed_count = 2,
                                              .pages = { &example->pages, 1 },
                                              .holds = { &example->hold, 1 },
                                              .errors = { example->error, 2 } };
}

/* Encode the example and decode it again. */
static enum lmn_status decode(const struct example *example, struct lmn_error *err)
{
    struct lmn__receipt receipt;
    struct lmn__arena arena;
    struct lmn__buf buf;
    enum lmn_status st;

    lmn__arena_init(&arena, test_env(), 0);
    lmn__buf_init(&buf, test_env(), 0);
    lmn__receipt_encode(&example->receipt, &buf);
    CHECK_OK(lmn__buf_status(&buf, "a receipt", err));
    st = lmn__receipt_decode((struct lmn__span){ buf.data, buf.len }, COLUMNS, &arena, &receipt,
                             err);
    lmn__buf_deinit(&buf);
    lmn__arena_deinit(&arena);
    CHECK_EQ(live_allocations(), 0);
    return st;
}

static void test_receipt__comes_back_as_it_was(void **state)
{
    struct lmn__receipt receipt;
    struct example example;
    struct lmn__arena arena;
    struct lmn__buf buf;
    struct lmn_error err;
    const struct lmn__receipt_hold *hold;

    (void)state;
    example_init(&example);
    lmn__arena_init(&arena, test_env(), 0);
    lmn__buf_init(&buf, test_env(), 0);
    lmn__receipt_encode(&example.receipt, &buf);
    CHECK_STATUS(lmn__receipt_decode((struct lmn__span){ buf.data, buf.len }, COLUMNS, &arena,
                                     &receipt, &err),
                 LMN_OK, &err);
    CHECK_EQ(receipt.fragment_id, 7);
    CHECK(receipt.layout == UINT64_MAX - 5);
    CHECK_EQ(receipt.first.count, 3);
    CHECK_BYTES(receipt.first.item, example.first, sizeof example.first);
    CHECK_BYTES(receipt.count.item, example.count, sizeof example.count);
    hold = receipt.holds.item;
    CHECK_EQ(hold->position, 64);
    CHECK(hold->checksum == UINT64_MAX);
    CHECK_EQ(((const struct lmn__receipt_error *)receipt.errors.item)[1].row, 41);
    lmn__buf_deinit(&buf);
    lmn__arena_deinit(&arena);
}

static void expect_corrupt(const struct example *example, const char *part)
{
    struct lmn_error err;

    CHECK_STATUS(decode(example, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, part);
}

static void test_receipt__corrupt_ranges(void **state)
{
    struct example example;

    (void)state;
    example_init(&example);
    example.first[1] = 14;
    expect_corrupt(&example, "range 1");
    example_init(&example);
    example.count[0] = 0;
    expect_corrupt(&example, "range 0");
    example_init(&example);
    example.first[2] = UINT64_MAX;
    expect_corrupt(&example, "range 2");
    example_init(&example);
    example.receipt.row_count = 28;
    expect_corrupt(&example, "28 rows");
    example_init(&example);
    example.receipt.failed_count = 28;
    expect_corrupt(&example, "28 of them failed");
    example_init(&example);
    example.receipt.count.count = 2;
    expect_corrupt(&example, "3 first rows and 2 counts");
    example.receipt.first.count = example.receipt.count.count = 0;
    expect_corrupt(&example, "0 first rows");
}

static void test_receipt__corrupt_columns(void **state)
{
    struct example example;

    (void)state;
    example_init(&example);
    example.column[0] = 0;
    expect_corrupt(&example, "column 0 of 4 is there twice");
    example_init(&example);
    example.column[2] = COLUMNS;
    expect_corrupt(&example, "column 4 of 4");
    example_init(&example);
    example.hold.column.count = 2;
    expect_corrupt(&example, "column 3 of 4 is missing");
}

static void test_receipt__corrupt_places(void **state)
{
    struct example example;

    (void)state;
    example_init(&example);
    example.pages.position = 100;
    expect_corrupt(&example, "position 100");
    example_init(&example);
    example.hold.bytes = 0;
    expect_corrupt(&example, "0 bytes");
    example_init(&example);
    example.hold.bytes = UINT64_MAX - 10;
    expect_corrupt(&example, "position 64");
    example_init(&example);
    example.pages.descriptor.len = 0;
    expect_corrupt(&example, "not described");
}

static void test_receipt__corrupt_errors(void **state)
{
    struct example example;

    (void)state;
    example_init(&example);
    example.error[0].row = 16;
    expect_corrupt(&example, "row 16");
    example_init(&example);
    example.error[1].row = 12;
    expect_corrupt(&example, "row 12");
    example_init(&example);
    example.error[1].row = 42;
    expect_corrupt(&example, "row 42");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receipt__comes_back_as_it_was),
        cmocka_unit_test(test_receipt__corrupt_ranges),
        cmocka_unit_test(test_receipt__corrupt_columns),
        cmocka_unit_test(test_receipt__corrupt_places),
        cmocka_unit_test(test_receipt__corrupt_errors),
    };

    return cmocka_run_group_tests_name("receipt", tests, NULL, NULL);
}
