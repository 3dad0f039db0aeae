/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/roaring.h"
#include "check.h"

enum { BITS = 400000, CONTAINER = 65536 };

struct fixture {
    struct lmn__arena arena;
    struct lmn__buf buf;
    uint8_t *bits;
    uint8_t *again;
};

static int begin(void **state)
{
    static struct fixture fixture;

    lmn__arena_init(&fixture.arena, test_env(), 0);
    lmn__buf_init(&fixture.buf, test_env(), 0);
    fixture.bits = calloc(1, lmn__bits_bytes(BITS));
    fixture.again = calloc(1, lmn__bits_bytes(BITS));
    CHECK(fixture.bits != NULL && fixture.again != NULL);
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    free(fixture->bits);
    free(fixture->again);
    lmn__buf_deinit(&fixture->buf);
    lmn__arena_deinit(&fixture->arena);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

/* Bytes as a literal, without its NUL. */
#define SPAN(literal) ((struct lmn__span){ (const uint8_t *)(literal), sizeof(literal) - 1 })

static struct lmn__span buf_span(const struct lmn__buf *buf)
{
    return (struct lmn__span){ buf->data, buf->len };
}

/* The members of fixture->bits come back from both forms, and both write the same bytes. */
static void check_round_trip(struct fixture *fixture, uint64_t bit_count)
{
    uint64_t expected = lmn__bits_count(fixture->bits, 0, bit_count), count, list_count;
    struct lmn__buf list_buf;
    uint32_t *member;
    struct lmn_error err;

    lmn__buf_reset(&fixture->buf);
    lmn__roaring_from_bits(fixture->bits, bit_count, &fixture->buf);
    CHECK(!fixture->buf.failed);
    memset(fixture->again, 0, lmn__bits_bytes(BITS));
    CHECK_STATUS(
        lmn__roaring_to_bits(buf_span(&fixture->buf), fixture->again, bit_count, &count, &err),
        LMN_OK, &err);
    CHECK_EQ(count, expected);
    CHECK_EQ(lmn__bits_count(fixture->again, 0, bit_count), expected);
    CHECK_STATUS(
        lmn__roaring_to_list(buf_span(&fixture->buf), &fixture->arena, &member, &list_count, &err),
        LMN_OK, &err);
    CHECK_EQ(list_count, expected);
    for (uint64_t i = 0; i < list_count; i++) {
        CHECK(i == 0 || member[i] > member[i - 1]);
        CHECK(lmn__bit_get(fixture->bits, member[i]) && lmn__bit_get(fixture->again, member[i]));
    }
    lmn__buf_init(&list_buf, test_env(), 0);
    lmn__roaring_from_list(member, list_count, &list_buf);
    CHECK_EQ(list_buf.len, fixture->buf.len);
    CHECK_BYTES(list_buf.data, fixture->buf.data, list_buf.len);
    lmn__buf_deinit(&list_buf);
}

static void test_roaring__empty_set(void **state)
{
    struct fixture *fixture = *state;

    check_round_trip(fixture, 0);
    check_round_trip(fixture, BITS);
    CHECK_EQ(fixture->buf.len, 8);
    CHECK_BYTES(fixture->buf.data, "\x3a\x30\0\0\0\0\0\0", 8);
}

/* Random sets of every density, as scattered members and as runs. */
static void test_roaring__random_sets_round_trip(void **state)
{
    struct fixture *fixture = *state;
    uint64_t random = 7;

    for (uint32_t round = 0; round < 60; round++) {
        uint64_t members = UINT64_C(1) << (round % 19), bit_count = 0;

        memset(fixture->bits, 0, lmn__bits_bytes(BITS));
        while (bit_count == 0)
            bit_count = test_random(&random) % BITS;
        for (uint64_t i = 0; i < members; i++) {
            uint64_t first = test_random(&random) % bit_count;
            uint64_t run = round % 3 == 0 ? test_random(&random) % 3000 : 1;

            lmn__bits_fill(fixture->bits, first, run < bit_count - first ? run : bit_count - first,
                           true);
            i += round % 3 == 0 ? run / 2 : 0;
        }
        check_round_trip(fixture, bit_count);
    }
}

/* Bits behind the end of the set are not looked at. */
static void test_roaring__writes_below_bit_count_only(void **state)
{
    struct fixture *fixture = *state;
    uint64_t count;
    struct lmn_error err;

    lmn__bits_fill(fixture->bits, 0, BITS, true);
    for (uint64_t bit_count = CONTAINER - 3; bit_count < CONTAINER + 68; bit_count++) {
        lmn__buf_reset(&fixture->buf);
        lmn__roaring_from_bits(fixture->bits, bit_count, &fixture->buf);
        CHECK_STATUS(
            lmn__roaring_to_bits(buf_span(&fixture->buf), fixture->again, bit_count, &count, &err),
            LMN_OK, &err);
        CHECK_EQ(count, bit_count);
    }
}

/* The largest members lie in the last container of all. */
static void test_roaring__largest_members(void **state)
{
    static const uint32_t member[] = { 0, 65535, 65536, 0xffff0000, 0xfffffffe, 0xffffffff };
    struct fixture *fixture = *state;
    uint32_t *again;
    uint64_t count;
    struct lmn_error err;

    lmn__roaring_from_list(member, 6, &fixture->buf);
    CHECK_OK(lmn__roaring_to_list(buf_span(&fixture->buf), &fixture->arena, &again, &count, &err));
    CHECK_EQ(count, 6);
    CHECK_BYTES(again, member, sizeof member);
}

/* An array of two and a bitmap: the bytes of the specification. */
static void test_roaring__array_and_bitmap_bytes(void **state)
{
    static const char header[] = "\x3a\x30\0\0\2\0\0\0" /* cookie, 2 containers */
                                 "\0\0\1\0\1\0\x88\x13" /* 2 members, 5001 members */
                                 "\x18\0\0\0\x1c\0\0\0" /* at 24 and 28 */
                                 "\5\0\7\0";            /* 5, 7 */
    struct fixture *fixture = *state;

    lmn__bit_set(fixture->bits, 5);
    lmn__bit_set(fixture->bits, 7);
    for (uint32_t i = 0; i < 5001; i++)
        lmn__bit_set(fixture->bits, CONTAINER + i * 3);
    check_round_trip(fixture, BITS);
    CHECK_EQ(fixture->buf.len, 28 + 8192);
    CHECK_BYTES(fixture->buf.data, header, 28);
    CHECK_BYTES(fixture->buf.data + 28, fixture->bits + CONTAINER / 8, 8192);
}

/* Runs are written where they are smaller; up to three containers there are no offsets. */
static void test_roaring__run_bytes(void **state)
{
    static const char three[] = "\x3b\x30\2\0\x03"             /* 3 containers, two of runs */
                                "\0\0\xff\xff\1\0\1\0\2\0\0\0" /* keys and counts */
                                "\1\0\0\0\xff\xff"             /* all 65536 */
                                "\1\0\7\0\1\0"                 /* 7, 8 */
                                "\4\0";                        /* 4 */
    struct fixture *fixture = *state;

    lmn__bits_fill(fixture->bits, 0, CONTAINER, true);
    lmn__bits_fill(fixture->bits, CONTAINER + 7, 2, true);
    lmn__bit_set(fixture->bits, 2 * CONTAINER + 4);
    lmn__buf_reset(&fixture->buf);
    /* Two members are smaller as an array; read what another writer makes of them. */
    check_round_trip(fixture, BITS);
    {
        uint64_t count;
        struct lmn_error err;

        memset(fixture->again, 0, lmn__bits_bytes(BITS));
        CHECK_STATUS(lmn__roaring_to_bits(SPAN(three), fixture->again, BITS, &count, &err), LMN_OK,
                     &err);
        CHECK_EQ(count, CONTAINER + 3);
        CHECK_BYTES(fixture->again, fixture->bits, lmn__bits_bytes(BITS));
    }
    CHECK_EQ(fixture->buf.data[4], 1);
    CHECK_EQ(fixture->buf.len, 4 + 1 + 12 + 6 + 4 + 2);
    lmn__bit_set(fixture->bits, 3 * CONTAINER);
    check_round_trip(fixture, BITS);
    CHECK_EQ(fixture->buf.len, 4 + 1 + 16 + 16 + 6 + 4 + 2 + 2);
}

static void check_corrupt(struct fixture *fixture, struct lmn__span bytes, const char *part)
{
    /* Exactly as long as the input, so that a read past its end is seen. */
    uint8_t *copy = malloc(bytes.len != 0 ? bytes.len : 1);
    uint32_t *member;
    uint64_t count;
    struct lmn_error err;

    CHECK(copy != NULL);
    memcpy(copy, bytes.data, bytes.len);
    bytes.data = copy;
    CHECK_STATUS(lmn__roaring_to_bits(bytes, fixture->again, BITS, &count, &err), LMN_E_CORRUPT,
                 &err);
    CHECK_HAS(err.message, part);
    CHECK_STATUS(lmn__roaring_to_list(bytes, &fixture->arena, &member, &count, &err), LMN_E_CORRUPT,
                 &err);
    CHECK_HAS(err.message, part);
    CHECK(member == NULL && count == 0);
    free(copy);
}

static void test_roaring__corrupt_headers(void **state)
{
    struct fixture *fixture = *state;

    check_corrupt(fixture, SPAN("\x3c\x30\0\0\0\0\0\0"), "begin with 12348");
    check_corrupt(fixture, SPAN("\x3a\x30\1\0\0\0\0\0"), "begin with");
    check_corrupt(fixture, SPAN("\x3a\x30\0\0\1\0\1\0"), "65537 containers");
    check_corrupt(fixture, SPAN("\x3a\x30\0\0\xff\xff\xff\xff"), "4294967295 containers");
    check_corrupt(fixture, SPAN("\x3a\x30\0\0\0\0\1\0"), "header of 65536 containers");
    check_corrupt(fixture, SPAN("\x3b\x30\xff\xff"), "header of 65536 containers");
    check_corrupt(fixture, SPAN("\x3a\x30\0\0\0\0\0\0x"), "9 bytes");
}

static void test_roaring__corrupt_containers(void **state)
{
    struct fixture *fixture = *state;

    check_corrupt(fixture, SPAN("\x3a\x30\0\0\1\0\0\0\0\0\1\0\x10\0\0\0\7\0\7\0"), "in order");
    check_corrupt(fixture, SPAN("\x3a\x30\0\0\1\0\0\0\0\0\0\0\x11\0\0\0\7\0"), "is at 17");
    check_corrupt(fixture, SPAN("\x3a\x30\0\0\2\0\0\0\1\0\0\0\1\0\0\0\x18\0\0\0\x1a\0\0\0\7\0\7\0"),
                  "is for 1");
    check_corrupt(fixture, SPAN("\x3b\x30\0\0\1\0\0\1\0\1\0\7\0\2\0"), "does not hold 2");
    check_corrupt(fixture, SPAN("\x3b\x30\0\0\1\0\0\1\0\1\0\xff\xff\1\0"), "does not hold 2");
    check_corrupt(fixture, SPAN("\x3b\x30\0\0\1\0\0\2\0\2\0\7\0\1\0\x8\0\0\0"), "does not hold 3");
    check_corrupt(fixture, SPAN("\x3b\x30\0\0\1\0\0\0\0\0\0"), "does not hold 1");
    check_corrupt(fixture, SPAN("\x3b\x30\0\0\1\0\0\0\0\xff\xff\0\0\0\0"), "is cut");
}

static void test_roaring__member_outside_is_corrupt(void **state)
{
    struct fixture *fixture = *state;
    uint64_t count;
    struct lmn_error err;

    for (uint64_t last = 1000; last < BITS; last += 37777) {
        memset(fixture->bits, 0, lmn__bits_bytes(BITS));
        for (uint64_t i = 0; i < last; i += 1 + last % 3)
            lmn__bit_set(fixture->bits, i);
        lmn__bit_set(fixture->bits, last);
        lmn__buf_reset(&fixture->buf);
        lmn__roaring_from_bits(fixture->bits, last + 1, &fixture->buf);
        CHECK_STATUS(
            lmn__roaring_to_bits(buf_span(&fixture->buf), fixture->again, last, &count, &err),
            LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "expected below");
        CHECK_OK(
            lmn__roaring_to_bits(buf_span(&fixture->buf), fixture->again, last + 1, &count, &err));
    }
}

/* A set with every kind of container, cut at every byte and with damaged bytes. */
static void test_roaring__corrupt_cut_and_flipped(void **state)
{
    struct fixture *fixture = *state;
    uint64_t random = 3, count;
    struct lmn__span bytes;

    for (uint32_t i = 0; i < 40; i++)
        lmn__bit_set(fixture->bits, i * 5);
    lmn__bits_fill(fixture->bits, CONTAINER + 100, 9000, true);
    for (uint32_t i = 0; i < 5001; i++)
        lmn__bit_set(fixture->bits, 2 * CONTAINER + i * 3);
    lmn__roaring_from_bits(fixture->bits, BITS, &fixture->buf);
    bytes = buf_span(&fixture->buf);
    for (bytes.len = 0; bytes.len < fixture->buf.len; bytes.len++)
        check_corrupt(fixture, bytes, "roaring bitmap");
    for (int i = 0; i < 20000; i++) {
        uint8_t *at = fixture->buf.data + test_random(&random) % (i % 2 == 0 ? 160 : bytes.len);
        uint8_t before = *at;

        *at = (uint8_t)test_random(&random);
        (void)!lmn__roaring_to_bits(bytes, fixture->again, BITS, &count, NULL);
        *at = before;
    }
}

static void test_roaring__faults(void **state)
{
    struct fixture *fixture = *state;

    lmn__bits_fill(fixture->bits, 100, 5000, true);
    for (uint32_t i = 0; i < 90000; i += 7)
        lmn__bit_set(fixture->bits, 200000 + i);
    for (uint64_t nth = 1;; nth++) {
        struct lmn_error err = { 0 };
        struct lmn__arena arena;
        struct lmn__buf buf;
        uint32_t *member;
        uint64_t count;
        enum lmn_status st;

        lmn__arena_init(&arena, test_env(), 0);
        lmn__buf_init(&buf, test_env(), 0);
        fault_arm(FAULT_ALLOC, nth);
        lmn__roaring_from_bits(fixture->bits, BITS, &buf);
        st = lmn__buf_status(&buf, "the set", &err);
        if (st == LMN_OK)
            st = lmn__roaring_to_list(buf_span(&buf), &arena, &member, &count, &err);
        fault_disarm();
        lmn__buf_deinit(&buf);
        lmn__arena_deinit(&arena);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK_EQ(st, LMN_E_NO_MEMORY);
        CHECK(err.message[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_roaring__empty_set, begin, end),
        cmocka_unit_test_setup_teardown(test_roaring__random_sets_round_trip, begin, end),
        cmocka_unit_test_setup_teardown(test_roaring__writes_below_bit_count_only, begin, end),
        cmocka_unit_test_setup_teardown(test_roaring__largest_members, begin, end),
        cmocka_unit_test_setup_teardown(test_roaring__array_and_bitmap_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_roaring__run_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_roaring__corrupt_headers, begin, end),
        cmocka_unit_test_setup_teardown(test_roaring__corrupt_containers, begin, end),
        cmocka_unit_test_setup_teardown(test_roaring__member_outside_is_corrupt, begin, end),
        cmocka_unit_test_setup_teardown(test_roaring__corrupt_cut_and_flipped, begin, end),
        cmocka_unit_test_setup_teardown(test_roaring__faults, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
