/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builders: validity that comes late, empty values of every kind, limits of offsets, the check.
 */
#include <string.h>

#include "arrow/builder.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "check.h"
#include "columns.h"

static void check_validity(const struct lmn__builder *builder, const char *expected)
{
    uint64_t nulls = 0;

    CHECK_EQ(builder->length, strlen(expected));
    for (uint64_t i = 0; i < builder->length; i++) {
        bool valid = !builder->has_validity || lmn__bit_get(builder->validity.data, i);

        CHECK_EQ(valid, expected[i] == '1');
        nulls += !valid;
    }
    CHECK_EQ(builder->null_count, nulls);
}

static void test_builder__validity_begins_with_the_first_null(void **state)
{
    static const uint8_t bits[] = { 0xb6, 0xff };
    const struct lmn__layout *layout = FIXED(8);
    struct lmn__builder builder;

    (void)state;
    CHECK_OK(lmn__builder_init(&builder, test_env(), layout, NULL));
    CHECK_OK(lmn__builder_add_valid(&builder, 9, NULL));
    CHECK_OK(lmn__builder_add_bits(&builder, bits, 8, 3, NULL));
    CHECK(!builder.has_validity);
    CHECK_EQ(live_allocations(), 0);
    CHECK_OK(lmn__builder_add_null(&builder, 0, NULL));
    CHECK(!builder.has_validity);
    CHECK_OK(lmn__builder_add_null(&builder, 2, NULL));
    check_validity(&builder, "11111111111100");
    CHECK_OK(lmn__builder_add_bits(&builder, bits, 1, 5, NULL));
    CHECK_OK(lmn__builder_add_valid(&builder, 3, NULL));
    check_validity(&builder, "1111111111110011011111");
    lmn__builder_deinit(&builder);
    CHECK_EQ(live_allocations(), 0);
}

static void test_builder__bits(void **state)
{
    static const uint8_t bits[] = { 0x35, 0x02 };
    const struct lmn__layout *layout = FIXED(1);
    struct lmn__builder builder;

    (void)state;
    CHECK_OK(lmn__builder_init(&builder, test_env(), layout, NULL));
    for (int i = 0; i < 50; i++) {
        CHECK_OK(lmn__builder_add_valid(&builder, 10, NULL));
        CHECK_OK(lmn__builder_put_bits(&builder, bits, 0, 10, NULL));
        CHECK_OK(lmn__builder_add_valid(&builder, 3, NULL));
        CHECK_OK(lmn__builder_put_bits(&builder, NULL, 0, 3, NULL));
    }
    CHECK_OK(lmn__builder_check(&builder, 650, NULL));
    for (uint64_t i = 0; i < 650; i++)
        CHECK_EQ(lmn__bit_get(builder.values.data, i), i % 13 < 10 && lmn__bit_get(bits, i % 13));
    lmn__builder_deinit(&builder);
}

/* Null slots of every kind have values of no meaning, and so have their children. */
static void test_builder__empty_values(void **state)
{
    const struct lmn__layout *const layouts[] = {
        NOTHING,
        FIXED(1),
        FIXED(64),
        FIXED(0),
        VARIABLE(32),
        VARIABLE(64),
        LIST(32, FIXED(8)),
        LIST(64, VARIABLE(32)),
        FIXED_LIST(3, FIXED_LIST(2, FIXED(16))),
        PAIR(VARIABLE(32), LIST(32, FIXED(1))),
        DICTIONARY(8, 128, VARIABLE(32)),
    };

    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        struct lmn__builder builder;
        struct ArrowArray array;

        CHECK_OK(lmn__builder_init(&builder, test_env(), layouts[i], NULL));
        for (uint64_t count = 0; count < 5; count++) {
            CHECK_OK(lmn__builder_add_null(&builder, count, NULL));
            CHECK_OK(lmn__builder_put_empty(&builder, count, NULL));
        }
        CHECK_OK(lmn__builder_check(&builder, 10, NULL));
        CHECK_OK(lmn__builder_finish(&builder, &array, NULL));
        CHECK_EQ(array.null_count, 10);
        array.release(&array);
        lmn__builder_deinit(&builder);
    }
    CHECK_EQ(live_allocations(), 0);
}

static void test_builder__offsets_over_the_limit(void **state)
{
    const struct lmn__layout *small = VARIABLE(32), *large = VARIABLE(64);
    struct lmn__builder builder;
    uint8_t *offsets, *data;
    struct lmn_error err;
    uint64_t base;

    (void)state;
    CHECK_OK(lmn__builder_init(&builder, test_env(), small, NULL));
    CHECK_OK(lmn__builder_extend_variable(&builder, 1, 10, &offsets, &data, &base, &err));
    CHECK_EQ(base, 0);
    CHECK_STATUS(
        lmn__builder_extend_variable(&builder, 1, INT32_MAX - 9, &offsets, &data, &base, &err),
        LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "2 GiB");
    CHECK(offsets == NULL && data == NULL);
    CHECK_STATUS(
        lmn__builder_extend_variable(&builder, 1, UINT64_MAX, &offsets, &data, &base, &err),
        LMN_E_INVALID, &err);
    /* Inside of the offsets' range, but not of the pool's. */
    CHECK_STATUS(
        lmn__builder_extend_variable(&builder, 1, INT32_MAX - 10, &offsets, &data, &base, &err),
        LMN_E_NO_MEMORY, &err);
    CHECK_STATUS(
        lmn__builder_extend_variable(&builder, UINT64_MAX / 2, 1, &offsets, &data, &base, &err),
        LMN_E_NO_MEMORY, &err);
    CHECK_EQ(builder.values.len, 10);
    CHECK_EQ(builder.offsets.len, 8);
    lmn__builder_deinit(&builder);
    CHECK_OK(lmn__builder_init(&builder, test_env(), large, NULL));
    CHECK_STATUS(
        lmn__builder_extend_variable(&builder, 1, (uint64_t)1 << 63, &offsets, &data, &base, &err),
        LMN_E_INVALID, &err);
    lmn__builder_deinit(&builder);
    CHECK_EQ(live_allocations(), 0);
}

static void test_builder__more_items_than_offsets_count(void **state)
{
    const struct lmn__layout *lists = LIST(32, NOTHING);
    const uint32_t start = 0;
    struct lmn__builder builder;
    struct ArrowArray array;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__builder_init(&builder, test_env(), lists, NULL));
    CHECK_OK(lmn__builder_add_valid(&builder, 1, NULL));
    CHECK_OK(lmn__vec_put(&builder.offsets, test_env()->pool, &start, sizeof start, NULL));
    CHECK_OK(lmn__builder_add_null(&builder.child[0], (uint64_t)INT32_MAX + 1, NULL));
    CHECK_STATUS(lmn__builder_finish(&builder, &array, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "2147483648 items");
    CHECK(array.release == NULL);
    lmn__builder_deinit(&builder);
    CHECK_EQ(live_allocations(), 0);
}

static void test_builder__growth_over_the_limit(void **state)
{
    const struct lmn__layout *layout = FIXED(64), *vectors = FIXED_LIST(INT32_MAX, FIXED(64));
    struct lmn__builder builder;
    struct lmn_error err;
    uint8_t *at;

    (void)state;
    CHECK_OK(lmn__builder_init(&builder, test_env(), layout, NULL));
    CHECK_STATUS(lmn__builder_extend(&builder, UINT64_MAX / 4, &at, &err), LMN_E_NO_MEMORY, &err);
    CHECK_STATUS(lmn__builder_extend(&builder, (uint64_t)1 << 40, &at, &err), LMN_E_NO_MEMORY,
                 &err);
    lmn__builder_deinit(&builder);
    CHECK_OK(lmn__builder_init(&builder, test_env(), vectors, NULL));
    CHECK_STATUS(lmn__builder_put_empty(&builder, UINT64_MAX / 2, &err), LMN_E_NO_MEMORY, &err);
    CHECK_STATUS(lmn__builder_put_empty(&builder, 1000, &err), LMN_E_NO_MEMORY, &err);
    lmn__builder_deinit(&builder);
    CHECK_EQ(live_allocations(), 0);
}

/* What the check has to find: a node whose slots, vectors and children do not agree. */
static void test_builder__check_finds_what_does_not_fit(void **state)
{
    const struct lmn__layout *type = PAIR(FIXED(32), FIXED_LIST(2, VARIABLE(32)));
    const struct lmn__layout *list = LIST(32, FIXED(1));
    struct lmn__builder builder;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__builder_init(&builder, test_env(), type, NULL));
    CHECK_OK(lmn__builder_add_null(&builder, 4, NULL));
    CHECK_OK(lmn__builder_put_empty(&builder, 4, NULL));
    CHECK_OK(lmn__builder_check(&builder, 4, &err));
    CHECK_STATUS(lmn__builder_check(&builder, 5, &err), LMN_E_CORRUPT, &err);
    builder.child[0].values.len--;
    CHECK_STATUS(lmn__builder_check(&builder, 4, &err), LMN_E_CORRUPT, &err);
    builder.child[0].values.len += 2;
    CHECK_STATUS(lmn__builder_check(&builder, 4, &err), LMN_E_CORRUPT, &err);
    builder.child[0].values.len--;
    builder.child[1].child[0].length--;
    CHECK_STATUS(lmn__builder_check(&builder, 4, &err), LMN_E_CORRUPT, &err);
    builder.child[1].child[0].length++;
    builder.child[1].child[0].offsets.len -= 4;
    CHECK_STATUS(lmn__builder_check(&builder, 4, &err), LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
    CHECK_OK(lmn__builder_init(&builder, test_env(), list, NULL));
    CHECK_OK(lmn__builder_add_valid(&builder, 2, NULL));
    CHECK_STATUS(lmn__builder_check(&builder, 2, &err), LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
}

static void test_builder__faults(void **state)
{
    const struct lmn__layout *type = PAIR(DICTIONARY(8, 128, VARIABLE(32)),
                                          LIST(32, FIXED_LIST(2, VARIABLE(64))));
    struct lmn_error err;

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn__builder builder;
        struct ArrowArray array = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__builder_init(&builder, test_env(), type, &err);
        if (st == LMN_OK)
            st = lmn__builder_add_null(&builder, 20, &err);
        if (st == LMN_OK)
            st = lmn__builder_put_empty(&builder, 20, &err);
        if (st == LMN_OK)
            st = lmn__builder_finish(&builder, &array, &err);
        fault_disarm();
        lmn__builder_deinit(&builder);
        CHECK_EQ(array.release != NULL, st == LMN_OK);
        if (array.release != NULL)
            array.release(&array);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        if (st != LMN_OK)
            CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_builder__validity_begins_with_the_first_null),
        cmocka_unit_test(test_builder__bits),
        cmocka_unit_test(test_builder__empty_values),
        cmocka_unit_test(test_builder__offsets_over_the_limit),
        cmocka_unit_test(test_builder__more_items_than_offsets_count),
        cmocka_unit_test(test_builder__growth_over_the_limit),
        cmocka_unit_test(test_builder__check_finds_what_does_not_fit),
        cmocka_unit_test(test_builder__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
