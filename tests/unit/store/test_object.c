/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "store/object.h"
#include "stores.h"

static int begin(void **state)
{
    struct lmn_store *store = test_store_memory();

    test_store_write(store, "d/a", "0123456789", 10);
    test_store_write(store, "empty", "", 0);
    *state = store;
    return 0;
}

static int end(void **state)
{
    lmn_store_release(*state);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static struct lmn__object open_object(struct lmn_store *store, const char *path)
{
    struct lmn__object object;
    struct lmn_error err;
    enum lmn_status st = lmn__object_open(store, path, &object, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return object;
}

static void test_object__reads_ranges(void **state)
{
    struct lmn__object object = open_object(*state, "d/a");
    struct lmn_error err;
    char data[10];

    CHECK_EQ(object.bytes, 10);
    CHECK_STR(object.name, "memory/d/a");
    CHECK_OK(lmn__object_read(&object, 0, data, 10, &err));
    CHECK_BYTES(data, "0123456789", 10);
    CHECK_OK(lmn__object_read(&object, 7, data, 3, &err));
    CHECK_BYTES(data, "789", 3);
    CHECK_OK(lmn__object_read(&object, 10, NULL, 0, &err));
    lmn__object_close(&object);
    lmn__object_close(&object);
}

static void test_object__reads_blocks(void **state)
{
    struct lmn__object object = open_object(*state, "d/a");
    struct lmn__block *block;
    struct lmn_error err;

    CHECK_OK(lmn__object_read_block(&object, 2, 5, &block, &err));
    lmn__object_close(&object); /* the block does not need it */
    CHECK_BYTES(block->data, "23456", 5);
    lmn__block_release(block);
    object = open_object(*state, "empty");
    CHECK_OK(lmn__object_read_block(&object, 0, 0, &block, &err));
    CHECK(block != NULL);
    lmn__block_release(block);
    lmn__object_close(&object);
}

static void check_outside(const struct lmn__object *object, uint64_t offset, size_t len)
{
    struct lmn__block *block = (void *)object;
    struct lmn_error err;

    CHECK_STATUS(lmn__object_read(object, offset, NULL, len, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "memory/d/a");
    CHECK_HAS(err.message, "10 bytes");
    CHECK_STATUS(lmn__object_read_block(object, offset, len, &block, &err), LMN_E_CORRUPT, &err);
    CHECK(block == NULL);
}

static void test_object__corrupt_range_outside(void **state)
{
    struct lmn__object object = open_object(*state, "d/a");

    check_outside(&object, 0, 11);
    check_outside(&object, 10, 1);
    check_outside(&object, 11, 0);
    check_outside(&object, UINT64_MAX, 2);
    check_outside(&object, 1, SIZE_MAX);
    check_outside(&object, 0, (size_t)1 << 50); /* refused before memory is asked for */
    lmn__object_close(&object);
}

static struct {
    struct lmn__file_range range[4];
    size_t count;
} told;

static void hear(struct lmn__store_file *file, const struct lmn__file_range *range, size_t count,
                 bool only)
{
    (void)file;
    CHECK(!only);
    CHECK(count <= 4);
    memcpy(told.range, range, count * sizeof *range);
    told.count = count;
}

static void test_object__tells_of_reads_inside_it(void **state)
{
    struct lmn_store *store = *state;
    struct lmn__object object = open_object(store, "d/a");
    const struct lmn__store_ops *ops = store->ops;
    struct lmn__store_ops hearing = *ops;
    struct lmn__file_range range[] = { { 4, 2 }, { 9, 2 }, { UINT64_MAX, 2 }, { 0, 10 } };

    CHECK(ops->will_read == NULL);
    hearing.will_read = hear;
    store->ops = &hearing;
    lmn__object_will_read(&object, range, 4);
    store->ops = ops;
    CHECK_EQ(told.count, 2);
    CHECK_EQ(told.range[0].offset, 4);
    CHECK_EQ(told.range[1].len, 10);
    lmn__object_close(&object);
}

static void test_object__missing_is_not_found(void **state)
{
    struct lmn__object object;
    struct lmn_error err;

    CHECK_STATUS(lmn__object_open(*state, "b", &object, &err), LMN_E_NOT_FOUND, &err);
    CHECK(object.store == NULL && object.file == NULL && object.name == NULL);
    lmn__object_close(&object);
    CHECK_STATUS(lmn__object_open(*state, "../b", &object, &err), LMN_E_INVALID, &err);
}

static void test_object__stays_readable_after_removal(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__object object;
    struct lmn_error err;
    char data[3];

    (void)state;
    test_store_write(store, "a", "one", 3);
    object = open_object(store, "a");
    CHECK_OK(store->ops->remove(store, "a", &err));
    lmn_store_release(store); /* the object keeps its own reference */
    CHECK_OK(lmn__object_read(&object, 0, data, 3, &err));
    CHECK_BYTES(data, "one", 3);
    lmn__object_close(&object);
}

static enum lmn_status read_twice(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn__object object;
    struct lmn__block *block = NULL;
    char data[4];
    enum lmn_status st = lmn__object_open(store, "d/a", &object, err);

    if (st == LMN_OK)
        st = lmn__object_read(&object, 1, data, sizeof data, err);
    if (st == LMN_OK)
        st = lmn__object_read_block(&object, 0, 10, &block, err);
    lmn__block_release(block);
    lmn__object_close(&object);
    return st;
}

static void test_object__faults_leave_nothing(void **state)
{
    struct lmn_store *faulty = test_store_faulty(*state);
    int64_t before = live_allocations();
    uint64_t nth = 1;

    for (;; nth++) {
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = read_twice(faulty, &err);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_OK(st);
            break;
        }
        CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(err.message[0] != '\0');
    }
    fault_disarm();
    CHECK(nth > 8); /* one name, three files in each other, two reads, a block */
    lmn_store_release(faulty);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(test_object__reads_ranges),          CASE(test_object__reads_blocks),
        CASE(test_object__corrupt_range_outside), CASE(test_object__tells_of_reads_inside_it),
        CASE(test_object__missing_is_not_found),  CASE(test_object__stays_readable_after_removal),
        CASE(test_object__faults_leave_nothing),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
