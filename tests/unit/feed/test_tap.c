/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a feed's reads tell the store below them. The store of the test hears it.
 */
#include "check.h"
#include "feed/tap.h"
#include "store/object.h"
#include "stores.h"

static struct {
    uint64_t offset;
    size_t count;
    bool only;
} told;

static void hear(struct lmn__store_file *file, const struct lmn__file_range *range, size_t count,
                 bool only)
{
    (void)file;
    told.offset = range->offset;
    told.count = count;
    told.only = only;
}

static void test_tap__wants_nothing_beside_what_it_reads(void **state)
{
    struct lmn_store *memory = test_store_memory(), *tap;
    const struct lmn__store_ops *ops = memory->ops;
    struct lmn__store_ops hearing = *ops;
    struct lmn__tap_counts counts = { 0 };
    struct lmn__file_range range[] = { { 2, 3 }, { 6, 1 } };
    struct lmn__object object;
    struct lmn_error err;

    (void)state;
    test_store_write(memory, "a", "0123456789", 10);
    hearing.will_read = hear;
    memory->ops = &hearing;
    CHECK_OK(lmn__store_open_tap(memory, NULL, &counts, &tap, &err));
    CHECK_OK(lmn__object_open(tap, "a", &object, &err));
    lmn__object_will_read(&object, range, 2);
    CHECK_EQ(told.offset, 2);
    CHECK_EQ(told.count, 2);
    CHECK(told.only);
    lmn__object_close(&object);
    lmn_store_release(tap);
    memory->ops = ops;
    lmn_store_release(memory);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tap__wants_nothing_beside_what_it_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
