/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lz4 and zstd in their frames: round trips, sizes that lie, frames that are cut or damaged.
 */
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "check.h"
#include "codec/compress.h"

enum { TEXT_BYTES = 100000, LZ4_PREFIX = 4, ZSTD_PREFIX = 8 };

static uint8_t text[TEXT_BYTES];
static struct lmn__scratch scratch;
static struct lmn__vec out;

static int set_up(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (size_t i = 0; i < TEXT_BYTES; i++)
        text[i] = (uint8_t)("abcdefgh"[test_random(&seed) % 8]);
    lmn__scratch_init(&scratch, test_env());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmn__vec_deinit(&out);
    lmn__scratch_deinit(&scratch);
    return live_allocations() == 0 ? 0 : -1;
}

/* A frame of the first `len` bytes of the text; the caller frees it. */
static struct lmn__span make_lz4(size_t len)
{
    int bound = LZ4_compressBound((int)len), got;
    uint8_t *frame = malloc(LZ4_PREFIX + (size_t)bound);

    lmn__store_u32(frame, (uint32_t)len);
    got = LZ4_compress_default((const char *)text, (char *)frame + LZ4_PREFIX, (int)len, bound);
    CHECK(got > 0);
    return (struct lmn__span){ frame, LZ4_PREFIX + (size_t)got };
}

/* The same with zstd; without `sized` the frame does not say how much it holds. */
static struct lmn__span make_zstd(size_t len, bool prefix, bool sized)
{
    size_t bound = ZSTD_compressBound(len), head = prefix ? ZSTD_PREFIX : 0, got;
    uint8_t *frame = malloc(head + bound);
    ZSTD_CCtx *writer = ZSTD_createCCtx();

    if (prefix)
        lmn__store_u64(frame, len);
    ZSTD_CCtx_setParameter(writer, ZSTD_c_contentSizeFlag, sized);
    got = ZSTD_compress2(writer, frame + head, bound, text, len);
    CHECK(!ZSTD_isError(got));
    ZSTD_freeCCtx(writer);
    return (struct lmn__span){ frame, head + got };
}

static void check_opens(enum lmn__scheme scheme, struct lmn__span frame, size_t len)
{
    struct lmn_error err;

    CHECK_STATUS(lmn__decompress(&scratch, scheme, frame, &out, &err), LMN_OK, &err);
    CHECK_EQ(out.len, len);
    CHECK_BYTES(out.data, text, len);
    /* Behind what is there already. */
    CHECK_STATUS(lmn__decompress_append(&scratch, scheme, frame, &out, &err), LMN_OK, &err);
    CHECK_EQ(out.len, 2 * len);
    CHECK_BYTES(out.data, text, len);
    CHECK_BYTES(out.data + len, text, len);
}

static void test_compress__lz4(void **state)
{
    static const size_t sizes[] = { 1, 13, 1000, TEXT_BYTES };

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct lmn__span frame = make_lz4(sizes[i]);

        check_opens(LMN__SCHEME_LZ4, frame, sizes[i]);
        free((void *)frame.data);
    }
}

static void test_compress__zstd_in_all_forms(void **state)
{
    static const size_t sizes[] = { 1, 13, 1000, TEXT_BYTES };

    (void)state;
    for (int i = 0; i < 16; i++) {
        struct lmn__span frame = make_zstd(sizes[i / 4], i & 1, i & 2);

        check_opens(LMN__SCHEME_ZSTD, frame, sizes[i / 4]);
        free((void *)frame.data);
    }
}

static void test_compress__what_it_writes_it_reads(void **state)
{
    struct lmn__vec frame = { 0 };
    struct lmn_error err;

    (void)state;
    for (int level = 1; level < 10; level += 4) {
        frame.len = 0;
        CHECK_STATUS(
            lmn__compress_zstd(&scratch, level, (struct lmn__span){ text, 5000 }, &frame, &err),
            LMN_OK, &err);
        CHECK(frame.len < 5000);
        CHECK_EQ(lmn__load_u64(frame.data), 5000);
        check_opens(LMN__SCHEME_ZSTD, (struct lmn__span){ frame.data, frame.len }, 5000);
    }
    lmn__vec_deinit(&frame);
}

static void test_compress__nothing_is_nothing(void **state)
{
    static const struct lmn__span nothing = { NULL, 0 };
    struct lmn__vec frame = { 0 };

    (void)state;
    CHECK_OK(lmn__compress_zstd(&scratch, 1, nothing, &frame, NULL));
    CHECK_EQ(frame.len, 0);
    CHECK_OK(lmn__decompress(&scratch, LMN__SCHEME_LZ4, nothing, &out, NULL));
    CHECK_EQ(out.len, 0);
    CHECK_OK(lmn__decompress(&scratch, LMN__SCHEME_ZSTD, nothing, &out, NULL));
    CHECK_EQ(out.len, 0);
    lmn__vec_deinit(&frame);
}

/* Every cut of a frame, in memory of that size. */
static void check_cuts(enum lmn__scheme scheme, struct lmn__span frame)
{
    for (size_t cut = 1; cut < frame.len; cut++) {
        uint8_t *part = malloc(cut);
        struct lmn_error err;

        memcpy(part, frame.data, cut);
        CHECK_STATUS(lmn__decompress(&scratch, scheme, (struct lmn__span){ part, cut }, &out, &err),
                     LMN_E_CORRUPT, &err);
        free(part);
    }
    free((void *)frame.data);
}

static void test_compress__corrupt_cut_short(void **state)
{
    (void)state;
    check_cuts(LMN__SCHEME_LZ4, make_lz4(300));
    check_cuts(LMN__SCHEME_ZSTD, make_zstd(300, true, true));
    check_cuts(LMN__SCHEME_ZSTD, make_zstd(300, true, false));
    check_cuts(LMN__SCHEME_ZSTD, make_zstd(300, false, true));
    check_cuts(LMN__SCHEME_ZSTD, make_zstd(300, false, false));
}

static void test_compress__corrupt_sizes(void **state)
{
    struct lmn__span lz4 = make_lz4(300), sized = make_zstd(300, true, true);
    struct lmn__span open = make_zstd(300, true, false);
    static const uint64_t lies[] = { 0, 1, 299, 301, 60000, INT32_MAX, UINT32_MAX };
    struct lmn_error err;

    (void)state;
    for (int i = 0; i < 7; i++) {
        lmn__store_u32((uint8_t *)lz4.data, (uint32_t)lies[i]);
        CHECK_STATUS(lmn__decompress(&scratch, LMN__SCHEME_LZ4, lz4, &out, &err), LMN_E_CORRUPT,
                     &err);
        lmn__store_u64((uint8_t *)sized.data, lies[i]);
        CHECK_STATUS(lmn__decompress(&scratch, LMN__SCHEME_ZSTD, sized, &out, &err), LMN_E_CORRUPT,
                     &err);
        lmn__store_u64((uint8_t *)open.data, lies[i]);
        CHECK_STATUS(lmn__decompress(&scratch, LMN__SCHEME_ZSTD, open, &out, &err), LMN_E_CORRUPT,
                     &err);
    }
    free((void *)lz4.data);
    free((void *)sized.data);
    free((void *)open.data);
}

/* A frame of a few bytes that claims more than the pool may hold. */
static void test_compress__size_over_the_limit(void **state)
{
    const uint64_t claim = (uint64_t)2 << 30;
    uint8_t head[24] = { 0 };
    struct lmn_error err;

    (void)state;
    /* The size; magic number, descriptor of a single segment, its size in 8 bytes. */
    lmn__store_u64(head, claim);
    lmn__store_u32(head + 8, ZSTD_MAGICNUMBER);
    head[12] = 0xe0;
    lmn__store_u64(head + 13, claim);
    CHECK_STATUS(lmn__decompress(&scratch, LMN__SCHEME_ZSTD,
                                 (struct lmn__span){ head, sizeof head }, &out, &err),
                 LMN_E_NO_MEMORY, &err);
}

static void test_compress__corrupt_bits(void **state)
{
    struct lmn__span frame[3];

    (void)state;
    frame[0] = make_lz4(300);
    frame[1] = make_zstd(300, true, true);
    frame[2] = make_zstd(300, false, false);
    for (int f = 0; f < 3; f++) {
        uint8_t *data = (uint8_t *)frame[f].data;

        for (size_t i = 0; i < frame[f].len * 8; i++) {
            enum lmn_status st;

            data[i / 8] = (uint8_t)(data[i / 8] ^ 1u << i % 8);
            st = lmn__decompress(&scratch, f == 0 ? LMN__SCHEME_LZ4 : LMN__SCHEME_ZSTD, frame[f],
                                 &out, NULL);
            CHECK(st == LMN_OK || st == LMN_E_CORRUPT || st == LMN_E_NO_MEMORY);
            data[i / 8] = (uint8_t)(data[i / 8] ^ 1u << i % 8);
        }
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_compress__lz4),
        cmocka_unit_test(test_compress__zstd_in_all_forms),
        cmocka_unit_test(test_compress__what_it_writes_it_reads),
        cmocka_unit_test(test_compress__nothing_is_nothing),
        cmocka_unit_test(test_compress__corrupt_cut_short),
        cmocka_unit_test(test_compress__corrupt_sizes),
        cmocka_unit_test(test_compress__size_over_the_limit),
        cmocka_unit_test(test_compress__corrupt_bits),
    };

    return cmocka_run_group_tests(cases, set_up, tear_down);
}
