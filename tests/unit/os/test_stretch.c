/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which parts of a file are worth fetching whole.
 *
 * labels: threads
 */
#include "check.h"
#include "os/stretch.h"
#include "os/thread.h"

enum { STRETCH = 4 << 20, ROW = 20000, THREADS = 4, ROUNDS = 20000 };

static struct lmn__stretches stretches;

/* One call that reads one range; true: the stretch around it is worth it. */
static bool visit(uint64_t offset, uint64_t len, struct lmn__file_range *stretch_out)
{
    struct lmn__visit visit = LMN__VISIT_INIT;

    return lmn__stretches_note(&stretches, &visit, &(struct lmn__file_range){ offset, len },
                               stretch_out);
}

/* How many calls of one range it takes until the stretch is worth it; `most` at most. */
static int visits_until_worth(uint64_t offset, uint64_t len, int most,
                              struct lmn__file_range *stretch_out)
{
    for (int i = 1; i <= most; i++) {
        if (visit(offset, len, stretch_out))
            return i;
    }
    return 0;
}

static void begin(uint64_t file_bytes)
{
    lmn__stretches_init(&stretches, test_env(), file_bytes);
}

static void end(void)
{
    lmn__stretches_deinit(&stretches);
    CHECK_EQ(live_allocations(), 0);
}

static void test_stretch__an_eighth_was_read(void **state)
{
    struct lmn__file_range stretch;

    (void)state;
    begin(10u * STRETCH);
    CHECK_EQ(visits_until_worth(3 * STRETCH + 5, ROW, 1000, &stretch), 26); /* of 5 pages */
    CHECK_EQ(stretch.offset, 3 * STRETCH);
    CHECK_EQ(stretch.len, STRETCH);
    CHECK_EQ(visits_until_worth(3 * STRETCH, 1, 1000, &stretch), STRETCH / 8 / 4096);
    end();
}

static void test_stretch__large_reads_come_back_first(void **state)
{
    struct lmn__file_range stretch;

    (void)state;
    begin(STRETCH);
    CHECK_EQ(visits_until_worth(0, 1 << 20, 1000, &stretch), 8);
    CHECK_EQ(visits_until_worth(0, UINT64_MAX, 1000, &stretch), 8);
    end();
}

/* Other stretches do not count; the last one ends with the file. */
static void test_stretch__each_by_itself(void **state)
{
    struct lmn__file_range stretch;

    (void)state;
    begin(2u * STRETCH + ROW);
    for (int i = 0; i < 21; i++) { /* 5 pages, 1 page and 5 pages of the next one */
        CHECK(!visit(0, ROW, &stretch));
        CHECK(!visit(STRETCH - 1, ROW, &stretch));
        CHECK(!visit(STRETCH, ROW, &stretch));
    }
    CHECK(visit(0, 2 * 4096, &stretch));
    CHECK_EQ(stretch.offset, 0);
    CHECK_EQ(visits_until_worth(2 * STRETCH, ROW, 1000, &stretch), 26);
    CHECK_EQ(stretch.offset, 2 * STRETCH);
    CHECK_EQ(stretch.len, ROW);
    end();
}

static void test_stretch__begins_again(void **state)
{
    struct lmn__file_range stretch;

    (void)state;
    begin(STRETCH);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(visits_until_worth(0, ROW, 1000, &stretch), 26);
    end();
}

/* A scan reads many rows of a stretch, and does not come back. */
static void test_stretch__neighbours_are_one_visit(void **state)
{
    struct lmn__visit visit = LMN__VISIT_INIT;
    struct lmn__file_range stretch;
    int fetched = 0;

    (void)state;
    begin(4u * STRETCH);
    for (uint64_t offset = 0; offset < 4 * STRETCH; offset += 2 * ROW)
        fetched += lmn__stretches_note(&stretches, &visit, &(struct lmn__file_range){ offset, ROW },
                                       &stretch);
    CHECK_EQ(fetched, 0);
    for (int i = 0; i < 6; i++) { /* beside the one above */
        visit = LMN__VISIT_INIT;
        CHECK(
            !lmn__stretches_note(&stretches, &visit, &(struct lmn__file_range){ 0, 1 }, &stretch));
    }
    visit = LMN__VISIT_INIT;
    CHECK(lmn__stretches_note(&stretches, &visit, &(struct lmn__file_range){ 0, 1 }, &stretch));
    end();
}

static void test_stretch__no_file_of_that_size(void **state)
{
    struct lmn__file_range stretch;

    (void)state;
    begin(0);
    CHECK_EQ(visits_until_worth(0, ROW, 1000, &stretch), 0);
    end();
    begin(UINT64_MAX);
    CHECK_EQ(visits_until_worth(0, ROW, 1000, &stretch), 0);
    end();
    begin(STRETCH);
    CHECK_EQ(visits_until_worth(STRETCH, ROW, 1000, &stretch), 0);
    fault_arm(FAULT_ALLOC, 1);
    CHECK(!visit(0, ROW, &stretch));
    fault_disarm();
    end();
}

static void visit_often(void *context)
{
    int *found = context;
    struct lmn__file_range stretch;

    for (int i = 0; i < ROUNDS; i++)
        *found += visit((uint64_t)(i % 7) * STRETCH, ROW, &stretch);
}

/* Threads that come together count each other's visits, and each stretch is found by one of them.
 */
static void test_stretch__many_threads(void **state)
{
    struct lmn__thread thread[THREADS];
    int found[THREADS] = { 0 }, all = 0;
    struct lmn_error err;

    (void)state;
    begin(7u * STRETCH);
    for (size_t i = 0; i < THREADS; i++)
        CHECK_OK(lmn__thread_start(test_env(), visit_often, &found[i], &thread[i], &err));
    for (size_t i = 0; i < THREADS; i++) {
        lmn__thread_join(&thread[i]);
        all += found[i];
    }
    CHECK(all > 7 && all <= THREADS * ROUNDS / 26);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stretch__an_eighth_was_read),
        cmocka_unit_test(test_stretch__large_reads_come_back_first),
        cmocka_unit_test(test_stretch__each_by_itself),
        cmocka_unit_test(test_stretch__begins_again),
        cmocka_unit_test(test_stretch__neighbours_are_one_visit),
        cmocka_unit_test(test_stretch__no_file_of_that_size),
        cmocka_unit_test(test_stretch__many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
