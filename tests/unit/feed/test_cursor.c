/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a state: what is written is read, and what is not right is found out.
 */
#include <string.h>

#include "check.h"
#include "feed/cursor.h"

static struct lmn__segment segments[] = { { 0, 0, 0, 64, 1, LMN_REMAINDER_UNEVEN },
                                          { 7, 0, 448, 32, 4, LMN_REMAINDER_PAD } };

static const struct lmn__cursor sample = {
    .version = 3,
    .data = 0xfeedfacecafef00d,
    .row_count = 1000,
    .columns = "id l, \"text\" u",
    .where = "name = 'a\\b'\n\tand id > 3",
    .transform = "",
    .texts = 12345,
    .shuffle = LMN_SHUFFLE_BLOCK,
    .seed = UINT64_MAX,
    .block_rows = 64,
    .window_rows = 4096,
    .epoch = 0,
    .position = 576,
    .step = 8,
    .segment = segments,
    .segment_count = 2,
};

/* The text of the sample in `buf`. */
static struct lmn__span write_sample(struct lmn__buf *buf)
{
    struct lmn_error err = { 0 };

    lmn__buf_init(buf, test_env(), 0);
    CHECK_STATUS(lmn__cursor_write(&sample, buf, &err), LMN_OK, &err);
    return (struct lmn__span){ buf->data, buf->len };
}

static enum lmn_status read_text(struct lmn__span text, struct lmn_error *err)
{
    struct lmn__cursor cursor;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, test_env(), 0);
    st = lmn__cursor_read(text, &arena, &cursor, err);
    lmn__arena_deinit(&arena);
    return st;
}

static void test_cursor__round_trip(void **state)
{
    struct lmn__arena arena;
    struct lmn__cursor cursor;
    struct lmn__buf buf;
    struct lmn_error err = { 0 };
    struct lmn__span text = write_sample(&buf);

    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(lmn__cursor_read(text, &arena, &cursor, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__cursor_match(&sample, &cursor, &err), LMN_OK, &err);
    CHECK_EQ(cursor.position, 576);
    CHECK_EQ(cursor.step, 8);
    CHECK_EQ(cursor.seed, UINT64_MAX);
    CHECK_EQ(cursor.segment_count, 2);
    CHECK_BYTES(cursor.segment, segments, sizeof segments);
    CHECK_STR(cursor.where, "name = 'a\\b'  and id > 3");
    lmn__arena_deinit(&arena);
    lmn__buf_deinit(&buf);
}

/* Cut anywhere, and with any one byte changed. */
static void test_cursor__corrupt_bytes(void **state)
{
    struct lmn__buf buf;
    struct lmn_error err = { 0 };
    struct lmn__span text = write_sample(&buf);

    (void)state;
    for (size_t len = 0; len < text.len; len++)
        CHECK_EQ(read_text((struct lmn__span){ text.data, len }, &err), LMN_E_CORRUPT);
    for (size_t i = 0; i < text.len; i++) {
        enum lmn_status st;

        buf.data[i] ^= 1;
        err.message[0] = '\0';
        st = read_text(text, &err);
        CHECK(st == LMN_E_CORRUPT || st == LMN_E_UNSUPPORTED);
        CHECK(err.message[0] != '\0');
        buf.data[i] ^= 1;
    }
    CHECK_OK(read_text(text, &err));
    lmn__buf_deinit(&buf);
}

/* A text whose check is right and whose numbers are not. */
static void test_cursor__corrupt_numbers(void **state)
{
    struct lmn__segment wrong[2] = { segments[0], segments[1] };
    struct lmn__cursor cursor = sample;
    struct lmn_error err = { 0 };
    struct lmn__buf buf;

    (void)state;
    cursor.segment = wrong;
    for (int i = 0; i < 5; i++) {
        memcpy(wrong, segments, sizeof segments);
        cursor.position = i == 0 ? 1001 : 576;
        wrong[1].position = i == 1 ? 1001 : 448;
        wrong[1].step = i == 2 ? 9 : 7;
        wrong[1].rank_count = i == 3 ? 0 : 4;
        wrong[0].step = i == 4 ? 1 : 0;
        lmn__buf_init(&buf, test_env(), 0);
        CHECK_OK(lmn__cursor_write(&cursor, &buf, &err));
        CHECK_EQ(read_text((struct lmn__span){ buf.data, buf.len }, &err), LMN_E_CORRUPT);
        lmn__buf_deinit(&buf);
    }
}

static void test_cursor__faults(void **state)
{
    struct lmn__buf buf;
    struct lmn__span text = write_sample(&buf);
    int64_t before = live_allocations();

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = read_text(text, &err);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_OK(st);
            break;
        }
        CHECK_EQ(st, LMN_E_NO_MEMORY);
        CHECK(err.message[0] != '\0');
    }
    fault_disarm();
    lmn__buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cursor__round_trip),
        cmocka_unit_test(test_cursor__corrupt_bytes),
        cmocka_unit_test(test_cursor__corrupt_numbers),
        cmocka_unit_test(test_cursor__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
