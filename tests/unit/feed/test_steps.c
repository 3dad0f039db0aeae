/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How positions are shared out: each once, whatever the number of ranks and the batch size, and
 * from wherever an epoch is entered.
 */
#include <string.h>

#include "check.h"
#include "feed/steps.h"

enum { ROWS_MAX = 200 };

/* All steps of all ranks from `start` on; how often each position came. */
static void deal(const struct lmn__steps *steps, uint64_t start, uint32_t *seen)
{
    uint64_t count = lmn__steps_count(steps, start);

    memset(seen, 0, ROWS_MAX * sizeof *seen);
    for (uint64_t step = 0; step < count; step++) {
        for (uint64_t rank = 0; rank < steps->rank_count; rank++) {
            struct lmn__share share = lmn__steps_share(steps, start, step, rank);

            CHECK_EQ(share.count != 0, step < lmn__steps_of_rank(steps, start, rank));
            CHECK(share.count <= steps->batch_rows);
            if (steps->remainder != LMN_REMAINDER_UNEVEN)
                CHECK_EQ(share.count, steps->batch_rows);
            for (uint64_t i = 0; i < share.count; i++)
                seen[(share.first + i) % steps->row_count]++;
        }
    }
}

static void test_steps__every_position_once(void **state)
{
    uint32_t seen[ROWS_MAX];

    (void)state;
    for (uint64_t rows = 1; rows < ROWS_MAX; rows += 13) {
        for (uint64_t i = 0; i < (uint64_t)3 * 8 * 8; i++) {
            const struct lmn__steps steps = { rows, 1 + i % 8, 1 + i / 8 % 8,
                                              (enum lmn_feed_remainder)(i / 64) };
            uint64_t width = steps.batch_rows * steps.rank_count;

            for (uint64_t start = 0; start < rows; start += width) {
                uint64_t more = 0, less = 0;

                deal(&steps, start, seen);
                for (uint64_t k = start; k < rows; k++) {
                    more += seen[k] > 1;
                    less += seen[k] == 0;
                }
                CHECK(steps.remainder == LMN_REMAINDER_DROP ? less < width : less == 0);
                CHECK(steps.remainder == LMN_REMAINDER_PAD || more == 0);
            }
        }
    }
}

/* Numbers, places and what follows agree over several epochs. */
static void test_steps__numbers(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < (uint64_t)3 * 5 * 5; i++) {
        const struct lmn__steps steps = { 57, 1 + i % 5 * 3, 1 + i / 5 % 5,
                                          (enum lmn_feed_remainder)(i / 25) };
        uint64_t width = steps.batch_rows * steps.rank_count;
        struct lmn__place next = { 2, width < 57 ? width : 0, 0 };

        if (lmn__steps_count(&steps, 0) == 0)
            continue;
        for (uint64_t number = 0; number < 60; number++) {
            struct lmn__place place = lmn__steps_find(&steps, 2, next.position, 0);

            place = lmn__steps_find(&steps, 2, width < 57 ? width : 0, number);
            if (lmn__steps_count(&steps, width < 57 ? width : 0) != 0 || number != 0) {
                CHECK_EQ(place.epoch, next.epoch);
                CHECK_EQ(place.position + place.step * width, next.position);
            }
            CHECK_EQ(lmn__steps_number(&steps, 2, width < 57 ? width : 0, place), number);
            next = lmn__steps_after(&steps, place);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps__every_position_once),
        cmocka_unit_test(test_steps__numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
