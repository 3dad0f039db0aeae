/* SPDX-License-Identifier: Apache-2.0 */
/* Frames, messages, and the channels that carry them. */
#include <string.h>

#include "check.h"
#include "engine/channel.h"
#include "os/shared.h"
#include "os/socket.h"

static struct lmn__span span(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static void test_frame__round_trip(void **state)
{
    struct lmn__result_message in = { 7, 100, 32, 2, 999, span("receipt"), 8 }, out = { 0 };
    struct lmn__arena arena;
    struct lmn__frame frame;
    struct lmn__buf buf;
    size_t used;

    (void)state;
    lmn__buf_init(&buf, test_env(), 0);
    lmn__arena_init(&arena, test_env(), 0);
    lmn__frame_put(&buf, LMN__MESSAGE_RESULT, &lmn__result_pb, &in);
    /* Every shorter piece is a frame that is not all there. */
    for (size_t len = 0; len < buf.len; len++) {
        CHECK_OK(lmn__frame_parse((struct lmn__span){ buf.data, len }, &frame, &used, NULL));
        CHECK(frame.body.data == NULL && used == 0);
    }
    CHECK_OK(lmn__frame_parse((struct lmn__span){ buf.data, buf.len }, &frame, &used, NULL));
    CHECK_EQ(frame.kind, LMN__MESSAGE_RESULT);
    CHECK_EQ(used, buf.len);
    CHECK_OK(lmn__pb_decode(&lmn__result_pb, frame.body, &arena, &out, NULL));
    CHECK(out.task == 7 && out.ordinal == 100 && out.count == 32 && out.failed_count == 2);
    CHECK(lmn__span_equal(out.receipt, "receipt") && out.rows_fit == 8);
    lmn__arena_deinit(&arena);
    lmn__buf_deinit(&buf);
    CHECK_EQ(live_allocations(), 0);
}

static void test_frame__corrupt(void **state)
{
    uint8_t bytes[8] = { 0, 0, 0, 0x7f, LMN__MESSAGE_TASK };
    struct lmn__span span_of = { bytes, sizeof bytes };
    struct lmn__frame frame;
    struct lmn_error err;
    size_t used;

    (void)state;
    CHECK_STATUS(lmn__frame_parse(span_of, &frame, &used, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "2130706432 bytes");
    memset(bytes, 0, sizeof bytes);
    CHECK_STATUS(lmn__frame_parse(span_of, &frame, &used, &err), LMN_E_CORRUPT, &err);
    bytes[4] = LMN__MESSAGE_KINDS;
    CHECK_STATUS(lmn__frame_parse(span_of, &frame, &used, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "kind");
}

static enum lmn_status decode_task(const uint64_t *first, const uint64_t *count, size_t ranges,
                                   size_t counts, struct lmn_error *err)
{
    uint64_t firsts[4] = { 0 }, lengths[4] = { 0 };
    struct lmn__task_message in = { .first = { firsts, ranges }, .count = { lengths, counts } };
    struct lmn__task_message out;
    struct lmn__arena arena;
    struct lmn__buf buf;
    enum lmn_status st;

    memcpy(firsts, first, ranges * sizeof *first);
    memcpy(lengths, count, counts * sizeof *count);
    lmn__buf_init(&buf, test_env(), 0);
    lmn__arena_init(&arena, test_env(), 0);
    lmn__pb_encode(&lmn__task_pb, &in, &buf);
    st = lmn__task_decode((struct lmn__span){ buf.data, buf.len }, &arena, &out, err);
    lmn__arena_deinit(&arena);
    lmn__buf_deinit(&buf);
    return st;
}

static void test_task__ranges_are_checked(void **state)
{
    const uint64_t first[] = { 0, 10 }, count[] = { 5, 5 };
    const uint64_t low[] = { 10, 12 }, none[] = { 5, 0 }, huge[] = { 5, UINT64_MAX };
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(decode_task(first, count, 2, 2, &err), LMN_OK, &err);
    CHECK_STATUS(decode_task(first, count, 0, 0, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(decode_task(first, count, 2, 1, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(decode_task(low, count, 2, 2, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(decode_task(first, none, 2, 2, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(decode_task(first, huge, 2, 2, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "does not rise");
}

static enum lmn_status decode_welcome(struct lmn__span variable, struct lmn_error *err)
{
    struct lmn__welcome_message in = { .variable = { &variable, 1 } }, out;
    struct lmn__arena arena;
    struct lmn__buf buf;
    enum lmn_status st;

    lmn__buf_init(&buf, test_env(), 0);
    lmn__arena_init(&arena, test_env(), 0);
    lmn__pb_encode(&lmn__welcome_pb, &in, &buf);
    st = lmn__welcome_decode((struct lmn__span){ buf.data, buf.len }, &arena, &out, err);
    CHECK(st != LMN_OK || (out.variable.count == 1 && out.variable.item[0].len == variable.len));
    lmn__arena_deinit(&arena);
    lmn__buf_deinit(&buf);
    return st;
}

static void test_welcome__variables_are_checked(void **state)
{
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(decode_welcome(span("NAME=value"), &err), LMN_OK, &err);
    CHECK_STATUS(decode_welcome(span("NAME="), &err), LMN_OK, &err);
    CHECK_STATUS(decode_welcome(span("NAME"), &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(decode_welcome(span("=value"), &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(decode_welcome(span(""), &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(decode_welcome((struct lmn__span){ (const uint8_t *)"A=b\0c", 5 }, &err),
                 LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "variable 0 of an agent's worker");
}

/* A task of rows 100 to 109 that need not compute `count` of them. */
static enum lmn_status decode_kept(const uint64_t *ordinal, size_t count, size_t kinds,
                                   struct lmn_error *err)
{
    uint64_t first = 0, rows = 10, numbers[4] = { 0 }, kind[4] = { 1, 1, 1, 1 };
    struct lmn__span bytes[4] = { span("a"), span("b"), span("c"), span("d") };
    struct lmn__task_message in = { .ordinal = 100,
                                    .first = { &first, 1 },
                                    .count = { &rows, 1 },
                                    .saved_ordinal = { numbers, count },
                                    .saved_kind = { kind, kinds },
                                    .saved = { bytes, count } };
    struct lmn__task_message out;
    struct lmn__arena arena;
    struct lmn__buf buf;
    enum lmn_status st;

    memcpy(numbers, ordinal, count * sizeof *ordinal);
    lmn__buf_init(&buf, test_env(), 0);
    lmn__arena_init(&arena, test_env(), 0);
    lmn__pb_encode(&lmn__task_pb, &in, &buf);
    st = lmn__task_decode((struct lmn__span){ buf.data, buf.len }, &arena, &out, err);
    CHECK(st != LMN_OK || lmn__span_equal(out.saved.item[count - 1], count == 2 ? "b" : "a"));
    lmn__arena_deinit(&arena);
    lmn__buf_deinit(&buf);
    return st;
}

static void test_task__kept_rows_are_checked(void **state)
{
    const uint64_t good[] = { 100, 109 }, low[] = { 99 }, high[] = { 110 }, twice[] = { 105, 105 };
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(decode_kept(good, 2, 2, &err), LMN_OK, &err);
    CHECK_STATUS(decode_kept(good, 2, 1, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(decode_kept(low, 1, 1, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(decode_kept(high, 1, 1, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "need not compute row 110");
    CHECK_STATUS(decode_kept(twice, 2, 2, &err), LMN_E_CORRUPT, &err);
}

static void test_setup__is_checked(void **state)
{
    struct lmn__setup_fill fill = { .name = span("f"), .code = span("code") };
    struct lmn__setup_message in = { .protocol = LMN__PROTOCOL_VERSION, .fill = { &fill, 1 } }, out;
    struct lmn__arena arena;
    struct lmn_error err;
    struct lmn__buf buf;

    (void)state;
    lmn__buf_init(&buf, test_env(), 0);
    lmn__arena_init(&arena, test_env(), 0);
    lmn__pb_encode(&lmn__setup_pb, &in, &buf);
    CHECK_STATUS(lmn__setup_decode((struct lmn__span){ buf.data, buf.len }, &arena, &out, &err),
                 LMN_OK, &err);
    lmn__buf_reset(&buf);
    in.protocol++;
    lmn__pb_encode(&lmn__setup_pb, &in, &buf);
    CHECK_STATUS(lmn__setup_decode((struct lmn__span){ buf.data, buf.len }, &arena, &out, &err),
                 LMN_E_UNSUPPORTED, &err);
    CHECK_HAS(err.message, "one installation");
    lmn__arena_deinit(&arena);
    lmn__buf_deinit(&buf);
}

static void test_answer__carries_an_error(void **state)
{
    struct lmn_error err = { LMN_E_IO, 28, "no room" }, back = { 0 };
    struct lmn__answer_message answer = lmn__answer_of(&err);

    (void)state;
    CHECK_EQ(lmn__answer_error(&answer, &back), LMN_E_IO);
    CHECK_STR(back.message, "no room");
    CHECK_EQ(back.os_errno, 28);
    answer.status = 4711; /* a later version's */
    CHECK_EQ(lmn__answer_error(&answer, &back), LMN_E_UDF);
    answer.status = LMN_OK;
    CHECK_EQ(lmn__answer_error(&answer, &back), LMN_OK);
}

/* A message larger than a socket's buffer goes in pieces; a descriptor goes with the first. */
static void test_channel__large_with_descriptor(void **state)
{
    enum { BYTES = 3 << 20 };
    uint8_t *code = lmn__calloc(test_env(), 1, BYTES);
    struct lmn__setup_fill fill = { .code = { code, BYTES } };
    struct lmn__setup_message setup = { .protocol = LMN__PROTOCOL_VERSION, .fill = { &fill, 1 } };
    struct lmn__channel a, b;
    struct lmn__shared shared;
    struct lmn__frame frame = { 0 };
    struct lmn_error err;
    bool closed = false;
    int pair[2];

    (void)state;
    CHECK_OK(lmn__socket_pair(pair, &err));
    lmn__channel_init(&a, test_env(), pair[0]);
    lmn__channel_init(&b, test_env(), pair[1]);
    CHECK_OK(lmn__shared_new(4096, &shared, &err));
    ((char *)shared.memory)[5] = 42;
    CHECK_OK(lmn__channel_put(&a, LMN__MESSAGE_SETUP, &lmn__setup_pb, &setup, &err));
    a.pass = lmn__shared_fd(&shared);
    while (frame.body.data == NULL) {
        CHECK_OK(lmn__channel_flush(&a, false, &err));
        CHECK_OK(lmn__channel_receive(&b, true, &closed, &err));
        CHECK(!closed);
        CHECK_OK(lmn__channel_next(&b, &frame, &err));
    }
    CHECK(!lmn__channel_pending(&a));
    CHECK(frame.body.len > BYTES);
    lmn__shared_close(&shared);
    CHECK(b.pass >= 0);
    CHECK_OK(lmn__shared_open(b.pass, 4096, &shared, &err));
    b.pass = -1;
    CHECK_EQ(((char *)shared.memory)[5], 42);
    lmn__shared_close(&shared);
    lmn__channel_deinit(&a);
    CHECK_OK(lmn__channel_wait(&b, &frame, &err));
    CHECK(frame.body.data == NULL); /* the end of the stream */
    lmn__channel_deinit(&b);
    lmn__free(test_env(), code);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frame__round_trip),
        cmocka_unit_test(test_frame__corrupt),
        cmocka_unit_test(test_task__ranges_are_checked),
        cmocka_unit_test(test_welcome__variables_are_checked),
        cmocka_unit_test(test_task__kept_rows_are_checked),
        cmocka_unit_test(test_setup__is_checked),
        cmocka_unit_test(test_answer__carries_an_error),
        cmocka_unit_test(test_channel__large_with_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
