/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "base/math.h"
#include "check.h"

static void test_math__add_and_mul_tell_overflow(void **state)
{
    uint64_t out;

    (void)state;
    CHECK(lmn__add_u64(UINT64_MAX - 1, 1, &out) && out == UINT64_MAX);
    CHECK(!lmn__add_u64(UINT64_MAX, 1, &out));
    CHECK(lmn__mul_u64(UINT32_MAX, UINT32_MAX, &out) && out == 0xfffffffe00000001u);
    CHECK(!lmn__mul_u64((uint64_t)1 << 32, (uint64_t)1 << 32, &out));
    CHECK(lmn__mul_u64(UINT64_MAX, 0, &out) && out == 0);
}

static void test_math__range_fits_without_wrapping(void **state)
{
    (void)state;
    CHECK(lmn__range_fits(0, 0, 0));
    CHECK(lmn__range_fits(3, 7, 10));
    CHECK(!lmn__range_fits(3, 8, 10));
    CHECK(lmn__range_fits(10, 0, 10));
    CHECK(!lmn__range_fits(11, 0, 10));
    CHECK(!lmn__range_fits(UINT64_MAX, 2, 10));
    CHECK(!lmn__range_fits(2, UINT64_MAX, 10));
    CHECK(lmn__range_fits(1, UINT64_MAX - 1, UINT64_MAX));
}

static void test_math__roundings(void **state)
{
    (void)state;
    CHECK_EQ(lmn__align_up(0, 64), 0);
    CHECK_EQ(lmn__align_up(1, 64), 64);
    CHECK_EQ(lmn__align_up(64, 64), 64);
    CHECK_EQ(lmn__align_up(65, 64), 128);
    CHECK_EQ(lmn__div_up(0, 3), 0);
    CHECK_EQ(lmn__div_up(3, 3), 1);
    CHECK_EQ(lmn__div_up(4, 3), 2);
    CHECK(lmn__div_up(UINT64_MAX, 2) == (uint64_t)1 << 63);
    CHECK(lmn__min_u64(1, UINT64_MAX) == 1 && lmn__max_u64(1, UINT64_MAX) == UINT64_MAX);
}

static void test_math__bit_width(void **state)
{
    (void)state;
    CHECK_EQ(lmn__bit_width(0), 0);
    for (uint32_t i = 0; i < 64; i++) {
        CHECK_EQ(lmn__bit_width((uint64_t)1 << i), i + 1);
        CHECK_EQ(lmn__bit_width(UINT64_MAX >> (63 - i)), i + 1);
    }
}

static void test_bytes__integers_of_any_width_and_place(void **state)
{
    uint8_t bytes[16];

    (void)state;
    for (uint32_t at = 0; at < 8; at++) {
        for (uint32_t width = 1; width <= 8; width *= 2) {
            uint64_t value = 0x8877665544332211u & (UINT64_MAX >> (64 - 8 * width));

            memset(bytes, 0xee, sizeof bytes);
            lmn__store_uint(bytes + at, width, 0x8877665544332211u);
            CHECK(lmn__load_uint(bytes + at, width) == value);
            for (uint32_t i = 0; i < sizeof bytes; i++)
                CHECK_EQ(bytes[i], i < at || i >= at + width ? 0xeeu : (i - at + 1) * 0x11u);
        }
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_math__add_and_mul_tell_overflow),
        cmocka_unit_test(test_math__range_fits_without_wrapping),
        cmocka_unit_test(test_math__roundings),
        cmocka_unit_test(test_math__bit_width),
        cmocka_unit_test(test_bytes__integers_of_any_width_and_place),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
