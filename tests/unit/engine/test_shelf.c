/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that outlive the worker that finished them. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "engine/saved.h"
#include "os/shared.h"

static struct lmn__shared make_shelves(uint32_t threads)
{
    struct lmn__shared shared;
    struct lmn_error err;

    CHECK_STATUS(lmn__shared_new(lmn__shelf_memory_bytes(threads), &shared, &err), LMN_OK, &err);
    return shared;
}

static uint64_t count_items(const struct lmn__board *board)
{
    struct lmn__board_item item;
    uint64_t at = 0, count = 0;

    while (lmn__board_next(board, &at, &item))
        count++;
    return count;
}

static void test_board__round_trip(void **state)
{
    struct lmn__shared shared = make_shelves(2);
    struct lmn__board *board = lmn__shelf_board(shared.memory, 1, 1);
    struct lmn__board_item item;
    uint64_t at = 0;

    (void)state;
    lmn__board_clear(board, 7);
    CHECK_EQ(count_items(board), 0);
    CHECK(lmn__board_put(board, 100, 3, "seven b", 7));
    CHECK(lmn__board_put(board, 101, 0, NULL, 0));
    CHECK(lmn__board_put(board, 105, UINT32_MAX, "x", 1));
    CHECK_EQ(atomic_load(&board->task), 7);
    CHECK(lmn__board_next(board, &at, &item));
    CHECK(item.ordinal == 100 && item.kind == 3 && item.len == 7);
    CHECK_BYTES(item.data, "seven b", 7);
    CHECK(lmn__board_next(board, &at, &item));
    CHECK(item.ordinal == 101 && item.len == 0);
    CHECK(lmn__board_next(board, &at, &item));
    CHECK(item.ordinal == 105 && item.kind == UINT32_MAX && item.data[0] == 'x');
    CHECK(!lmn__board_next(board, &at, &item));
    CHECK_EQ(count_items(lmn__shelf_board(shared.memory, 1, 0)), 0);
    lmn__board_clear(board, 8);
    CHECK_EQ(count_items(board), 0);
    lmn__shared_close(&shared);
}

/* Items go from one board to another as they are; what is too long for a board does not. */
static void test_board__copy(void **state)
{
    struct lmn__shared shared = make_shelves(1);
    struct lmn__board *from = lmn__shelf_board(shared.memory, 0, 0);
    struct lmn__board *to = lmn__shelf_board(shared.memory, 0, 1);
    struct lmn__span items;
    struct lmn__board_item item;
    uint64_t at = 0;

    (void)state;
    lmn__board_clear(from, 7);
    CHECK(lmn__board_copy(to, 3, lmn__board_items(from)));
    CHECK_EQ(count_items(to), 0);
    CHECK(lmn__board_put(from, 100, 3, "seven b", 7));
    CHECK(lmn__board_put(from, 101, 0, NULL, 0));
    CHECK(lmn__board_copy(to, 7, lmn__board_items(from)));
    CHECK_EQ(atomic_load(&to->task), 7);
    CHECK_EQ(count_items(to), 2);
    CHECK(lmn__board_next(to, &at, &item));
    CHECK(item.ordinal == 100 && item.kind == 3 && item.len == 7);
    CHECK_BYTES(item.data, "seven b", 7);
    items = (struct lmn__span){ shared.memory, LMN__BOARD_BYTES };
    CHECK(!lmn__board_copy(to, 8, items));
    CHECK_EQ(count_items(to), 2);
    lmn__shared_close(&shared);
}

/* What a job left is gone for the next, and memory that nobody has used stays so. */
static void test_shelf__reset(void **state)
{
    struct lmn__shared shared = make_shelves(2);
    struct lmn__page *page = shared.memory;
    struct lmn__board *board = lmn__shelf_board(shared.memory, 1, 1);
    struct stat info;

    (void)state;
    atomic_store(&page[1].rows, 5);
    lmn__board_clear(board, 7);
    CHECK(lmn__board_put(board, 100, 3, "seven b", 7));
    lmn__shelf_reset(shared.memory, 2);
    CHECK_EQ(atomic_load(&page[1].rows), 0);
    CHECK_EQ(atomic_load(&board->task), 0);
    CHECK_EQ(count_items(board), 0);
    CHECK_EQ(fstat(shared.fd, &info), 0);
    CHECK(info.st_blocks * 512 < LMN__BOARD_BYTES);
    lmn__shared_close(&shared);
}

static void test_board__full(void **state)
{
    struct lmn__shared shared = make_shelves(1);
    struct lmn__board *board = lmn__shelf_board(shared.memory, 0, 1); /* the last of the memory */
    size_t most = LMN__BOARD_BYTES - sizeof *board - 16;
    char *bytes = calloc(1, most + 1);
    uint64_t count = 0;

    (void)state;
    CHECK(bytes != NULL);
    CHECK(!lmn__board_put(board, 0, 0, bytes, most + 1));
    CHECK(lmn__board_put(board, 0, 0, bytes, most));
    CHECK(!lmn__board_put(board, 1, 0, "", 0));
    CHECK_EQ(count_items(board), 1);
    lmn__board_clear(board, 1);
    while (lmn__board_put(board, count, 0, bytes, 1 << 20))
        count++;
    CHECK_EQ(count, 15);
    CHECK_EQ(count_items(board), count);
    free(bytes);
    lmn__shared_close(&shared);
}

/* What a worker left is not trusted. */
static void test_board__corrupt(void **state)
{
    struct lmn__shared shared = make_shelves(1);
    struct lmn__board *board = lmn__shelf_board(shared.memory, 0, 1);

    (void)state;
    CHECK(lmn__board_put(board, 1, 0, "abc", 3));
    atomic_store(&board->used, UINT64_MAX); /* zeroes are empty items, up to the end */
    CHECK(count_items(board) <= LMN__BOARD_BYTES / 16);
    memset(board + 1, 0xff, 64);
    CHECK_EQ(count_items(board), 0);
    atomic_store(&board->used, 15);
    CHECK_EQ(count_items(board), 0);
    lmn__shared_close(&shared);
}

static void test_saved__by_unit_and_row(void **state)
{
    struct lmn__shared shared = make_shelves(1);
    struct lmn__board *board = lmn__shelf_board(shared.memory, 0, 0);
    const struct lmn__saved_row *row;
    struct lmn__saved saved;
    uint64_t count;

    (void)state;
    lmn__saved_init(&saved, test_env());
    CHECK(lmn__saved_find(&saved, 0, 0, 10, &count) == NULL && count == 0);
    CHECK(lmn__board_put(board, 5, 1, "five", 4));
    CHECK(lmn__board_put(board, 6, 1, "six", 3));
    CHECK(lmn__board_put(board, 7, 1, "seven", 5));
    lmn__saved_take(&saved, 2, board, 6, 1);
    lmn__saved_take(&saved, 1, board, 0, 0);
    lmn__saved_take(&saved, 2, board, 6, 1); /* again: a row is there once */
    CHECK_EQ(saved.count, 5);
    row = lmn__saved_find(&saved, 2, 0, 100, &count);
    CHECK_EQ(count, 2);
    CHECK(row[0].ordinal == 5 && lmn__span_equal(row[0].bytes, "five"));
    CHECK(row[1].ordinal == 7 && lmn__span_equal(row[1].bytes, "seven"));
    row = lmn__saved_find(&saved, 1, 6, 1, &count);
    CHECK(count == 1 && lmn__span_equal(row->bytes, "six"));
    CHECK(lmn__saved_find(&saved, 1, 8, 10, &count) == NULL);
    CHECK(lmn__saved_find(&saved, 3, 0, 10, &count) == NULL);
    lmn__saved_deinit(&saved);
    lmn__shared_close(&shared);
    CHECK_EQ(live_allocations(), 0);
}

/* Without memory rows are lost, and nothing else. */
static void test_saved__faults(void **state)
{
    struct lmn__shared shared = make_shelves(1);
    struct lmn__board *board = lmn__shelf_board(shared.memory, 0, 0);

    (void)state;
    for (uint64_t i = 0; i < 200; i++)
        CHECK(lmn__board_put(board, i, 0, "0123456789", 10));
    for (uint64_t nth = 1;; nth++) {
        struct lmn__saved saved;
        uint64_t count;

        lmn__saved_init(&saved, test_env());
        fault_arm(FAULT_ALLOC, nth);
        lmn__saved_take(&saved, 0, board, 0, 0);
        (void)lmn__saved_find(&saved, 0, 0, 200, &count);
        CHECK_EQ(count, saved.count);
        CHECK(fault_fired() || count == 200);
        lmn__saved_deinit(&saved);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired())
            break;
    }
    fault_disarm();
    lmn__shared_close(&shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_board__round_trip), cmocka_unit_test(test_board__copy),
        cmocka_unit_test(test_shelf__reset),      cmocka_unit_test(test_board__full),
        cmocka_unit_test(test_board__corrupt),    cmocka_unit_test(test_saved__by_unit_and_row),
        cmocka_unit_test(test_saved__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
