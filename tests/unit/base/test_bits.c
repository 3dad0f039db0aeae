/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "check.h"

enum { BITS_MAX = 400, ROUNDS = 20000 };

/* `count` random bits in memory of exactly their size, so that a sanitizer sees every overrun. */
static uint8_t *random_bits(uint64_t count, uint64_t *seed)
{
    size_t bytes = lmn__bits_bytes(count);
    uint8_t *bits = malloc(bytes != 0 ? bytes : 1);

    for (size_t i = 0; i < bytes; i++)
        bits[i] = (uint8_t)test_random(seed);
    return bits;
}

static uint8_t *copy_of(const uint8_t *bits, uint64_t count)
{
    size_t bytes = lmn__bits_bytes(count);
    uint8_t *copy = malloc(bytes != 0 ? bytes : 1);

    memcpy(copy, bits, bytes);
    return copy;
}

static void test_bits__single_bits(void **state)
{
    uint8_t bits[3] = { 0 };

    (void)state;
    lmn__bit_set(bits, 0);
    lmn__bit_set(bits, 11);
    lmn__bit_put(bits, 23, true);
    CHECK_BYTES(bits, "\x01\x08\x80", 3);
    CHECK(lmn__bit_get(bits, 11) && !lmn__bit_get(bits, 10));
    lmn__bit_clear(bits, 11);
    lmn__bit_put(bits, 23, false);
    lmn__bit_put(bits, 0, true);
    CHECK_BYTES(bits, "\x01\x00\x00", 3);
}

static void test_bits__bytes_for_bits(void **state)
{
    (void)state;
    CHECK_EQ(lmn__bits_bytes(0), 0);
    CHECK_EQ(lmn__bits_bytes(1), 1);
    CHECK_EQ(lmn__bits_bytes(8), 1);
    CHECK_EQ(lmn__bits_bytes(9), 2);
    CHECK(lmn__bits_bytes(UINT64_MAX) == ((uint64_t)1 << 61));
}

static void test_bits__fill_matches_single_bits(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t total = test_random(&seed) % BITS_MAX;
        uint64_t first = test_random(&seed) % (total + 1);
        uint64_t count = test_random(&seed) % (total - first + 1);
        bool value = test_random(&seed) & 1;
        uint8_t *bits = random_bits(total, &seed), *expected = copy_of(bits, total);

        for (uint64_t i = first; i < first + count; i++)
            lmn__bit_put(expected, i, value);
        lmn__bits_fill(bits, first, count, value);
        CHECK_BYTES(bits, expected, lmn__bits_bytes(total));
        free(bits);
        free(expected);
    }
}

static void test_bits__copy_matches_single_bits(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t total = test_random(&seed) % BITS_MAX;
        uint64_t src_total = test_random(&seed) % BITS_MAX;
        uint64_t first = test_random(&seed) % (total + 1);
        uint64_t src_first = test_random(&seed) % (src_total + 1);
        uint64_t room = total - first < src_total - src_first ? total - first
                                                              : src_total - src_first;
        uint64_t count = round & 1 ? room : test_random(&seed) % (room + 1);
        uint8_t *src = random_bits(src_total, &seed);
        uint8_t *dst = random_bits(total, &seed), *expected = copy_of(dst, total);

        for (uint64_t i = 0; i < count; i++)
            lmn__bit_put(expected, first + i, lmn__bit_get(src, src_first + i));
        lmn__bits_copy(dst, first, src, src_first, count);
        CHECK_BYTES(dst, expected, lmn__bits_bytes(total));
        free(src);
        free(dst);
        free(expected);
    }
}

static void test_bits__count_matches_single_bits(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t total = test_random(&seed) % BITS_MAX;
        uint64_t first = test_random(&seed) % (total + 1);
        uint64_t count = round & 1 ? total - first : test_random(&seed) % (total - first + 1);
        uint8_t *bits = random_bits(total, &seed);
        uint64_t expected = 0;

        for (uint64_t i = first; i < first + count; i++)
            expected += lmn__bit_get(bits, i);
        CHECK_EQ(lmn__bits_count(bits, first, count), expected);
        free(bits);
    }
}

static void test_bits__run_matches_single_bits(void **state)
{
    enum { BITS = 300 };
    uint64_t seed = 11;

    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        uint8_t bits[BITS / 8 + 1];
        uint64_t at = test_random(&seed) % BITS, end = at + test_random(&seed) % (BITS - at + 1);
        bool value = turn % 2 != 0;
        uint64_t expected = at;

        memset(bits, value ? 0xff : 0, sizeof bits);
        for (int i = 0; i < turn % 5; i++)
            lmn__bit_put(bits, test_random(&seed) % BITS, !value);
        while (expected < end && lmn__bit_get(bits, expected) == value)
            expected++;
        CHECK_EQ(lmn__bits_run(bits, at, end, value), expected - at);
    }
}

static void test_bits__next_matches_single_bits(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t end = 1 + test_random(&seed) % BITS_MAX, at = test_random(&seed) % end, count;
        uint8_t *bits = random_bits(end, &seed);
        uint64_t word = lmn__bits_next(bits, at, end, &count);

        CHECK(count <= end - at && (count >= 57 || count == end - at));
        for (uint64_t i = 0; i < 64; i++)
            CHECK_EQ((word >> i) & 1, i < count && lmn__bit_get(bits, at + i));
        free(bits);
    }
}

static void test_bits__no_bits_need_no_memory(void **state)
{
    (void)state;
    lmn__bits_fill(NULL, 0, 0, true);
    lmn__bits_copy(NULL, 0, NULL, 0, 0);
    CHECK_EQ(lmn__bits_count(NULL, 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_bits__single_bits),
        cmocka_unit_test(test_bits__bytes_for_bits),
        cmocka_unit_test(test_bits__fill_matches_single_bits),
        cmocka_unit_test(test_bits__copy_matches_single_bits),
        cmocka_unit_test(test_bits__count_matches_single_bits),
        cmocka_unit_test(test_bits__run_matches_single_bits),
        cmocka_unit_test(test_bits__next_matches_single_bits),
        cmocka_unit_test(test_bits__no_bits_need_no_memory),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
