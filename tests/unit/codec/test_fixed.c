/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of fixed size out of every encoding that holds them, whole, in ranges, and cut short.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec/bitpack.h"
#include "codec/compress.h"
#include "codec/fixed.h"

enum { COUNT_MAX = 5000 };

static struct lmn__scratch scratch;
static struct lmn__vec first_buffer, second_buffer;
static uint8_t expected[COUNT_MAX * 16];

static int set_up(void **state)
{
    (void)state;
    lmn__scratch_init(&scratch, test_env());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmn__vec_deinit(&first_buffer);
    lmn__vec_deinit(&second_buffer);
    lmn__scratch_deinit(&scratch);
    return live_allocations() == 0 ? 0 : -1;
}

static void put(struct lmn__vec *vec, const void *data, size_t len)
{
    CHECK_OK(lmn__vec_put(vec, test_env()->pool, data, len, NULL));
}

/* Random values of `width` bits in words of `bits`, in `expected`; the buffers are emptied. */
static void make_values(uint32_t bits, uint32_t width, uint64_t count)
{
    uint64_t seed = bits * 1000 + width;

    first_buffer.len = second_buffer.len = 0;
    for (uint64_t i = 0; i < count * (bits / 8); i++)
        expected[i] = (uint8_t)test_random(&seed);
    for (uint64_t i = 0; bits <= 64 && i < count; i++) {
        uint64_t value = lmn__load_uint(expected + i * (bits / 8), bits / 8);

        lmn__store_uint(expected + i * (bits / 8), bits / 8,
                        width == 64 ? value : value & (((uint64_t)1 << width) - 1));
    }
}

/* A buffer in memory of its exact size. */
static struct lmn__span exact(const struct lmn__vec *vec, size_t len)
{
    uint8_t *copy = malloc(len);

    if (len != 0)
        memcpy(copy, vec->data, len);
    return (struct lmn__span){ copy, len };
}

/* Decode a range with the buffers cut to so many bytes. */
static enum lmn_status decode(const struct lmn__encoding *encoding, size_t first_len,
                              size_t second_len, uint32_t bits, uint64_t count, uint64_t first,
                              uint64_t take, struct lmn_error *err)
{
    struct lmn__span buffer[2] = { exact(&first_buffer, first_len),
                                   exact(&second_buffer, second_len) };
    uint8_t *out = malloc(take * (bits / 8) + LMN__VEC_SLACK);
    enum lmn_status st = lmn__fixed_decode(&scratch, encoding, buffer,
                                           lmn__fixed_buffer_count(encoding), bits, count, first,
                                           take, out, err);

    if (st == LMN_OK)
        CHECK_BYTES(out, expected + first * (bits / 8), take * (bits / 8));
    free(out);
    free((void *)buffer[0].data);
    free((void *)buffer[1].data);
    return st;
}

/* All of the values, and parts of them. */
static void check_ranges(const struct lmn__encoding *encoding, uint32_t bits, uint64_t count)
{
    size_t one = first_buffer.len, two = second_buffer.len;
    uint64_t seed = count;
    struct lmn_error err;

    CHECK_STATUS(decode(encoding, one, two, bits, count, 0, count, &err), LMN_OK, &err);
    for (int i = 0; i < 20; i++) {
        uint64_t first = test_random(&seed) % count;
        uint64_t take = 1 + test_random(&seed) % (i % 2 == 0 ? count - first : 1);

        CHECK_STATUS(decode(encoding, one, two, bits, count, first, take, &err), LMN_OK, &err);
    }
}

/* The same, and every way to cut the buffers. */
static void check_values(const struct lmn__encoding *encoding, uint32_t bits, uint64_t count)
{
    size_t one = first_buffer.len, two = second_buffer.len;
    struct lmn_error err;

    check_ranges(encoding, bits, count);
    for (size_t cut = 0; cut < one; cut += 1 + one / 300)
        CHECK_STATUS(decode(encoding, cut, two, bits, count, 0, count, &err), LMN_E_CORRUPT, &err);
    for (size_t cut = 0; cut < two; cut++)
        CHECK_STATUS(decode(encoding, one, cut, bits, count, 0, count, &err), LMN_E_CORRUPT, &err);
}

static void test_fixed__flat(void **state)
{
    static const uint32_t widths[] = { 8, 16, 32, 40, 64, 128 };

    (void)state;
    for (int i = 0; i < 6; i++) {
        const struct lmn__encoding flat = { .kind = LMN__ENC_FLAT, .bits = widths[i] };

        make_values(widths[i], 64, 100);
        put(&first_buffer, expected, 100 * widths[i] / 8);
        check_values(&flat, widths[i], 100);
    }
}

static void test_fixed__inline_bitpacking(void **state)
{
    static const uint64_t counts[] = { 1, 4, 900, 1024 };

    (void)state;
    for (uint32_t bits = 8; bits <= 64; bits *= 2) {
        const struct lmn__encoding packing = { .kind = LMN__ENC_INLINE, .bits = bits };

        for (uint32_t width = 0; width <= bits; width += 5) {
            uint8_t head[8], packed[LMN__PACK_COUNT * 8];

            make_values(bits, width, LMN__PACK_COUNT);
            lmn__store_uint(head, bits / 8, width);
            lmn__bits_pack(expected, width, bits, packed);
            put(&first_buffer, head, bits / 8);
            put(&first_buffer, packed, lmn__packed_bytes(width));
            for (int i = 0; i < 4; i++)
                check_values(&packing, bits, counts[i]);
        }
    }
}

/* Groups of 1024; a tail as words, and the same tail as one more group. */
static void test_fixed__out_of_line_bitpacking(void **state)
{
    static const uint64_t counts[] = { 1, 300, 1024, 1025, 2050, 3072 };

    (void)state;
    for (int i = 0; i < 12; i++) {
        const struct lmn__encoding packing = { .kind = LMN__ENC_OUT_OF_LINE,
                                               .bits = 16,
                                               .packed_bits = 5 };
        uint64_t count = counts[i / 2], whole = count / LMN__PACK_COUNT, tail = count % 1024;
        uint8_t packed[LMN__PACK_COUNT * 2];
        bool words = i % 2 == 0;

        make_values(16, 5, count);
        memset(expected + count * 2, 0, LMN__PACK_COUNT * 2);
        for (uint64_t g = 0; g < whole + (tail != 0 && !words); g++) {
            lmn__bits_pack(expected + g * LMN__PACK_COUNT * 2, 5, 16, packed);
            put(&first_buffer, packed, lmn__packed_bytes(5));
        }
        if (words)
            put(&first_buffer, expected + whole * LMN__PACK_COUNT * 2, tail * 2);
        /* A packed tail that is cut to the size of its words is taken for them. */
        if (words || tail == 0)
            check_values(&packing, 16, count);
        else
            check_ranges(&packing, 16, count);
    }
}

static void make_runs(uint32_t bits, uint64_t runs, uint64_t *count_out)
{
    uint64_t seed = bits, count = 0;

    first_buffer.len = second_buffer.len = 0;
    for (uint64_t i = 0; i < runs; i++) {
        uint64_t value = test_random(&seed);
        uint8_t len = (uint8_t)(i == 3 ? 255 : test_random(&seed) % 9);

        put(&first_buffer, &value, bits / 8);
        put(&second_buffer, &len, 1);
        for (uint32_t k = 0; k < len; k++)
            memcpy(expected + count++ * (bits / 8), &value, bits / 8);
    }
    /* The last run must not be empty, so that every cut is missed. */
    put(&first_buffer, &seed, bits / 8);
    put(&second_buffer, "\1", 1);
    memcpy(expected + count++ * (bits / 8), &seed, bits / 8);
    *count_out = count;
}

static void test_fixed__runs(void **state)
{
    (void)state;
    for (uint32_t bits = 8; bits <= 64; bits *= 2) {
        const struct lmn__encoding rle = { .kind = LMN__ENC_RLE, .bits = bits };
        uint64_t count;

        make_runs(bits, 60, &count);
        CHECK_EQ(lmn__fixed_buffer_count(&rle), 2);
        check_values(&rle, bits, count);
    }
}

static void test_fixed__byte_stream_split(void **state)
{
    (void)state;
    for (uint32_t bits = 32; bits <= 64; bits += 32) {
        const struct lmn__encoding split = { .kind = LMN__ENC_BYTE_SPLIT, .bits = bits };

        make_values(bits, bits, 77);
        for (uint32_t byte = 0; byte < bits / 8; byte++) {
            for (uint64_t i = 0; i < 77; i++)
                put(&first_buffer, expected + i * (bits / 8) + byte, 1);
        }
        check_values(&split, bits, 77);
    }
}

static void test_fixed__inside_zstd(void **state)
{
    const struct lmn__encoding flat = { .kind = LMN__ENC_FLAT, .bits = 32 };
    const struct lmn__encoding zstd = { .kind = LMN__ENC_GENERAL,
                                        .scheme = LMN__SCHEME_ZSTD,
                                        .child = &flat };

    (void)state;
    make_values(32, 3, 200);
    CHECK_OK(
        lmn__compress_zstd(&scratch, 1, (struct lmn__span){ expected, 800 }, &first_buffer, NULL));
    check_values(&zstd, 32, 200);
}

/* A block has both buffers of runs in one, the size of the first before them. */
static void test_fixed__runs_in_a_block(void **state)
{
    const struct lmn__encoding rle = { .kind = LMN__ENC_RLE, .bits = 16 };
    struct lmn__vec block = { 0 };
    uint64_t count, head;
    struct lmn_error err;
    uint8_t *out;

    (void)state;
    make_runs(16, 40, &count);
    head = first_buffer.len;
    put(&block, &head, sizeof head);
    put(&block, first_buffer.data, first_buffer.len);
    put(&block, second_buffer.data, second_buffer.len);
    out = malloc(count * 2 + LMN__VEC_SLACK);
    CHECK_EQ(
        lmn__fixed_level_count(&rle, (struct lmn__span){ block.data, block.len }, (uint16_t)count),
        count);
    for (size_t len = 0; len <= block.len; len++) {
        struct lmn__span part = exact(&block, len);

        CHECK_STATUS(lmn__fixed_decode_block(&scratch, &rle, part, 16, count, 0, count, out, &err),
                     len == block.len ? LMN_OK : LMN_E_CORRUPT, &err);
        free((void *)part.data);
    }
    CHECK_BYTES(out, expected, count * 2);
    lmn__store_u64(block.data, UINT64_MAX - 3);
    CHECK_STATUS(lmn__fixed_decode_block(&scratch, &rle,
                                         (struct lmn__span){ block.data, block.len }, 16, count, 0,
                                         count, out, &err),
                 LMN_E_CORRUPT, &err);
    free(out);
    lmn__vec_deinit(&block);
}

/* The header's 16 bits wrap; the size of the block tells how often. */
static void test_fixed__counts_levels_beyond_16_bits(void **state)
{
    const struct lmn__encoding flat = { .kind = LMN__ENC_FLAT, .bits = 16 };
    const struct lmn__encoding packing = { .kind = LMN__ENC_OUT_OF_LINE,
                                           .bits = 16,
                                           .packed_bits = 1 };
    const uint64_t counts[] = { 5, 65535, 65536, 70000, 200000 };

    (void)state;
    for (int i = 0; i < 5; i++) {
        uint64_t count = counts[i], groups = (count + 1023) / 1024;

        CHECK_EQ(
            lmn__fixed_level_count(&flat, (struct lmn__span){ NULL, count * 2 }, (uint16_t)count),
            count);
        CHECK_EQ(lmn__fixed_level_count(&packing, (struct lmn__span){ NULL, groups * 128 },
                                        (uint16_t)count),
                 count);
    }
}

static void test_fixed__refuses_other_widths_and_kinds(void **state)
{
    const struct lmn__encoding flat = { .kind = LMN__ENC_FLAT, .bits = 32 };
    const struct lmn__encoding strings = { .kind = LMN__ENC_VARIABLE, .bits = 32 };
    const struct lmn__encoding wide = { .kind = LMN__ENC_INLINE, .bits = 8 };
    struct lmn_error err;

    (void)state;
    make_values(32, 32, 10);
    put(&first_buffer, expected, 40);
    CHECK_STATUS(decode(&flat, 40, 0, 16, 10, 0, 10, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(decode(&strings, 40, 0, 32, 10, 0, 10, &err), LMN_E_UNSUPPORTED, &err);
    first_buffer.data[0] = 9; /* bits per value */
    CHECK_STATUS(decode(&wide, 40, 0, 8, 10, 0, 10, &err), LMN_E_CORRUPT, &err);
}

static void test_fixed__booleans(void **state)
{
    const struct lmn__encoding flat = { .kind = LMN__ENC_FLAT, .bits = 1 };
    const struct lmn__encoding other = { .kind = LMN__ENC_FLAT, .bits = 8 };
    const struct lmn__span bytes = { (const uint8_t *)"\x5a\x01", 2 };
    const uint8_t *bits;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__fixed_open_bits(&scratch, &flat, bytes, 16, &bits, &err));
    CHECK(bits == bytes.data);
    CHECK_STATUS(lmn__fixed_open_bits(&scratch, &flat, bytes, 17, &bits, &err), LMN_E_CORRUPT,
                 &err);
    CHECK_STATUS(lmn__fixed_open_bits(&scratch, &other, bytes, 2, &bits, &err), LMN_E_UNSUPPORTED,
                 &err);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_fixed__flat),
        cmocka_unit_test(test_fixed__inline_bitpacking),
        cmocka_unit_test(test_fixed__out_of_line_bitpacking),
        cmocka_unit_test(test_fixed__runs),
        cmocka_unit_test(test_fixed__byte_stream_split),
        cmocka_unit_test(test_fixed__inside_zstd),
        cmocka_unit_test(test_fixed__runs_in_a_block),
        cmocka_unit_test(test_fixed__counts_levels_beyond_16_bits),
        cmocka_unit_test(test_fixed__refuses_other_widths_and_kinds),
        cmocka_unit_test(test_fixed__booleans),
    };

    return cmocka_run_group_tests(cases, set_up, tear_down);
}
