/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One limit for the pages of several files.
 */
#include <stdio.h>

#include "arrays.h"
#include "format/page_cache.h"
#include "stores.h"

enum { FILES = 5, ROWS = 2000, TAKEN = 3 };

static struct sample sample[FILES];

static int setup(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < FILES; i++)
        sample_init(&sample[i], ROWS, 40 + i);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++)
        sample_deinit(&sample[i]);
    return 0;
}

struct fixture {
    struct lmn_store *store;
    struct lmn__page_cache *cache;
    struct lmn_file *file[FILES];
};

static void open_files(struct fixture *fixture, uint64_t bytes_max)
{
    struct lmn_error err;

    fixture->store = test_store_memory();
    CHECK_OK(lmn__page_cache_new(test_env(), bytes_max, &fixture->cache, &err));
    for (int i = 0; i < FILES; i++) {
        char path[32];

        snprintf(path, sizeof path, "%d.lance", i);
        CHECK_OK(sample_write(&sample[i], fixture->store, path, NULL, ROWS, &err));
        CHECK_OK(
            lmn__file_open_cached(fixture->store, path, fixture->cache, &fixture->file[i], &err));
    }
}

static void close_files(struct fixture *fixture)
{
    for (int i = 0; i < FILES; i++)
        lmn_file_release(fixture->file[i]);
    lmn__page_cache_release(fixture->cache);
    lmn_store_release(fixture->store);
    CHECK_EQ(live_allocations(), 0);
}

/* Take rows of a file and compare them. */
static void take(struct fixture *fixture, int i)
{
    static const uint64_t row[TAKEN] = { 1990, 3, 700 };
    struct ArrowArray array;
    struct lmn_error err;

    CHECK_STATUS(lmn_file_take(fixture->file[i], row, TAKEN, NULL, &array, &err), LMN_OK, &err);
    for (uint64_t k = 0; k < TAKEN; k++)
        CHECK(same_slots(&sample[i].schema, &sample[i].rows, row[k], &array, k, 1));
    array.release(&array);
}

static void test_page_cache__files_do_not_get_each_others_pages(void **state)
{
    struct fixture fixture;
    uint64_t bytes = 0;

    (void)state;
    open_files(&fixture, 1 << 20);
    for (int i = 0; i < FILES; i++) {
        take(&fixture, i);
        CHECK(lmn__page_cache_bytes(fixture.cache) > bytes);
        bytes = lmn__page_cache_bytes(fixture.cache);
    }
    for (int i = 0; i < FILES; i++)
        take(&fixture, i);
    CHECK_EQ(lmn__page_cache_bytes(fixture.cache), bytes);
    close_files(&fixture);
}

static void test_page_cache__a_file_that_is_closed_leaves_nothing(void **state)
{
    struct fixture fixture;
    uint64_t bytes;

    (void)state;
    open_files(&fixture, 1 << 20);
    take(&fixture, 0);
    bytes = lmn__page_cache_bytes(fixture.cache);
    for (int i = 1; i < FILES; i++) {
        take(&fixture, i);
        lmn_file_release(fixture.file[i]);
        fixture.file[i] = NULL;
        CHECK_EQ(lmn__page_cache_bytes(fixture.cache), bytes);
    }
    take(&fixture, 0);
    CHECK_EQ(lmn__page_cache_bytes(fixture.cache), bytes);
    close_files(&fixture);
}

static void test_page_cache__all_files_share_the_limit(void **state)
{
    struct fixture fixture;
    uint64_t one;

    (void)state;
    open_files(&fixture, 1 << 20);
    take(&fixture, 0);
    one = lmn__page_cache_bytes(fixture.cache);
    close_files(&fixture);
    open_files(&fixture, one * 2);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < FILES; i++) {
            take(&fixture, i);
            CHECK(lmn__page_cache_bytes(fixture.cache) <= one * 2);
        }
    }
    CHECK(lmn__page_cache_bytes(fixture.cache) > one / 2);
    close_files(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_cache__files_do_not_get_each_others_pages),
        cmocka_unit_test(test_page_cache__a_file_that_is_closed_leaves_nothing),
        cmocka_unit_test(test_page_cache__all_files_share_the_limit),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
