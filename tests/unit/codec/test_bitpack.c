/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three kernels of bit-packing against a plain model of the FastLanes order.
 */
#include <string.h>

#include "check.h"
/* The source itself: both forms of a kernel are run, whatever the processor would choose. */
#include "codec/bitpack.c"

static const uint32_t words[] = { 8, 16, 32, 64 };

enum { WORDS = sizeof words / sizeof words[0] };

/* Random values of `width` bits; memory behind the packed group must stay as it is. */
struct group {
    uint8_t value[LMN__PACK_COUNT * 8];
    uint8_t packed[LMN__PACK_COUNT * 8 + 1];
    uint8_t back[LMN__PACK_COUNT * 8 + 1];
};

static void fill(struct group *group, uint32_t width, uint32_t bits, uint64_t seed)
{
    for (uint32_t i = 0; i < LMN__PACK_COUNT; i++)
        lmn__store_uint(group->value + (size_t)i * (bits / 8), bits / 8,
                        test_random(&seed) & low_bits(width));
    memset(group->packed, 0xee, sizeof group->packed);
    memset(group->back, 0xee, sizeof group->back);
}

/* Value number `index`, bit by bit: row r of lane l is value order[r / 8] * 16 + r % 8 * 128 + l.
 */
static uint64_t model_unpack(const uint8_t *packed, uint32_t width, uint32_t bits, uint32_t index)
{
    static const uint32_t order[8] = { 0, 4, 2, 6, 1, 5, 3, 7 };
    uint32_t lanes = LMN__PACK_COUNT / bits;
    uint64_t value = 0;

    for (uint32_t row = 0; row < bits; row++) {
        uint32_t first = order[row / 8] * 16 + row % 8 * 128;

        if (index < first || index - first >= lanes)
            continue;
        for (uint32_t b = 0; b < width; b++) {
            uint32_t at = row * width + b;
            uint32_t word = at / bits * lanes + (index - first), bit = word * bits + at % bits;

            value |= (uint64_t)(packed[bit / 8] >> bit % 8 & 1) << b;
        }
        return value;
    }
    check_fail(__FILE__, __LINE__, "value %u is in no lane", index);
}

static void test_bitpack__kernels_agree(void **state)
{
    static struct group group;

    (void)state;
    for (int w = 0; w < WORDS; w++) {
        uint32_t bits = words[w], bytes = bits / 8;

        for (uint32_t width = 0; width <= bits; width++) {
            fill(&group, width, bits, width * 100 + bits);
            lmn__bits_pack(group.value, width, bits, group.packed);
            CHECK_EQ(group.packed[lmn__packed_bytes(width)], 0xee);
            lmn__bits_unpack(group.packed, width, bits, group.back);
            CHECK_BYTES(group.back, group.value, LMN__PACK_COUNT * bytes);
            CHECK_EQ(group.back[LMN__PACK_COUNT * bytes], 0xee);
        }
    }
}

static void test_bitpack__wide_and_plain_kernels_agree(void **state)
{
    static struct group wide, plain;

    (void)state;
    if (!lmn__processor_is_wide())
        skip();
    for (int w = 0; w < WORDS; w++) {
        uint32_t bits = words[w];

        for (uint32_t width = 1; width <= bits; width++) {
            fill(&wide, width, bits, width + bits);
            fill(&plain, width, bits, width + bits);
            pack_rows_wide(wide.value, width, bits, wide.packed);
            pack_rows_body(plain.value, width, bits, plain.packed);
            unpack_rows_wide(wide.packed, width, bits, wide.back);
            unpack_rows_body(plain.packed, width, bits, plain.back);
            CHECK_BYTES(wide.packed, plain.packed, sizeof plain.packed);
            CHECK_BYTES(wide.back, plain.back, sizeof plain.back);
            for (size_t count = 0; count < 40; count++)
                CHECK_EQ(or_words_wide(wide.value, count), or_words_body(plain.value, count));
        }
    }
}

static void test_bitpack__unpacks_any_part(void **state)
{
    static const uint32_t firsts[] = { 0, 1, 15, 16, 63, 100, 511, 1000, 1023 };
    static const uint32_t counts[] = { 0, 1, 2, 7, 16, 65, 300, 1023 };
    static struct group group;

    (void)state;
    for (int w = 0; w < WORDS; w++) {
        uint32_t bits = words[w], bytes = bits / 8;

        for (uint32_t width = 0; width <= bits; width++) {
            fill(&group, width, bits, width + 7);
            lmn__bits_pack(group.value, width, bits, group.packed);
            for (size_t i = 0; i < 9 * 8; i++) {
                uint32_t first = firsts[i / 8], count = counts[i % 8];

                if (count > LMN__PACK_COUNT - first)
                    count = LMN__PACK_COUNT - first;
                memset(group.back, 0xee, sizeof group.back);
                lmn__bits_unpack_part(group.packed, width, bits, first, count, group.back);
                CHECK_BYTES(group.back, group.value + (size_t)first * bytes, (size_t)count * bytes);
                CHECK_EQ(group.back[(size_t)count * bytes], 0xee); /* and no byte more */
            }
        }
    }
}

static void test_bitpack__order_is_that_of_fastlanes(void **state)
{
    static struct group group;

    (void)state;
    for (int w = 0; w < WORDS; w++) {
        uint32_t bits = words[w], bytes = bits / 8;

        for (uint32_t width = 1; width <= bits; width += 3) {
            fill(&group, width, bits, width);
            lmn__bits_pack(group.value, width, bits, group.packed);
            for (uint32_t i = 0; i < LMN__PACK_COUNT; i++)
                CHECK_EQ(model_unpack(group.packed, width, bits, i),
                         lmn__load_uint(group.value + (size_t)i * bytes, bytes));
        }
    }
}

/* Bits of one value do not reach its neighbours. */
static void test_bitpack__single_values(void **state)
{
    static struct group group;

    (void)state;
    for (int w = 0; w < WORDS; w++) {
        uint32_t bits = words[w], bytes = bits / 8, width = bits - 3;

        for (uint32_t i = 0; i < LMN__PACK_COUNT; i += 41) {
            uint64_t ones = low_bits(width), others = 0;

            memset(group.value, 0, sizeof group.value);
            lmn__store_uint(group.value + (size_t)i * bytes, bytes, ones);
            lmn__bits_pack(group.value, width, bits, group.packed);
            lmn__bits_unpack(group.packed, width, bits, group.back);
            CHECK_EQ(lmn__load_uint(group.back + (size_t)i * bytes, bytes), ones);
            lmn__store_uint(group.back + (size_t)i * bytes, bytes, 0);
            for (uint32_t k = 0; k < LMN__PACK_COUNT * bytes; k++)
                others |= group.back[k];
            CHECK_EQ(others, 0);
        }
    }
}

static void test_bitpack__unaligned(void **state)
{
    static struct group group;
    static uint8_t packed[LMN__PACK_COUNT * 8 + 8], back[LMN__PACK_COUNT * 8 + 8];

    (void)state;
    for (uint32_t shift = 1; shift < 8; shift += 2) {
        fill(&group, 21, 32, shift);
        lmn__bits_pack(group.value, 21, 32, packed + shift);
        lmn__bits_unpack(packed + shift, 21, 32, back + shift);
        CHECK_BYTES(back + shift, group.value, LMN__PACK_COUNT * 4);
    }
}

static void test_words_or__sees_every_word(void **state)
{
    uint8_t memory[100 * 8];

    (void)state;
    for (int w = 0; w < WORDS; w++) {
        uint32_t bits = words[w], bytes = bits / 8;

        for (uint64_t count = 0; count < 100; count++) {
            /* What lies behind the words does not count. */
            memset(memory, 0xff, sizeof memory);
            memset(memory, 0, count * bytes);
            CHECK_EQ(lmn__words_or(memory, bits, count), 0);
            for (uint64_t i = 0; i < count; i++) {
                uint64_t bit = (uint64_t)1 << (i * 7 % bits);

                lmn__store_uint(memory + i * bytes, bytes, bit);
                CHECK_EQ(lmn__words_or(memory, bits, count), bit);
                lmn__store_uint(memory + i * bytes, bytes, 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_bitpack__kernels_agree),
        cmocka_unit_test(test_bitpack__wide_and_plain_kernels_agree),
        cmocka_unit_test(test_bitpack__unpacks_any_part),
        cmocka_unit_test(test_bitpack__order_is_that_of_fastlanes),
        cmocka_unit_test(test_bitpack__single_values),
        cmocka_unit_test(test_bitpack__unaligned),
        cmocka_unit_test(test_words_or__sees_every_word),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
