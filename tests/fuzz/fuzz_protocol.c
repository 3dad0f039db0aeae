/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: bytes as they come from the other end of a worker's socket. Frames are taken one after the
 * other and their messages decoded; what decodes is encoded and must decode again.
 */
#include "engine/protocol.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_again(const struct lmn__pb_message *message, const void *in,
                        struct lmn__arena *arena)
{
    struct lmn__buf buf;
    void *again = lmn__arena_alloc(arena, message->size);

    lmn__buf_init(&buf, fuzz_env(), 0);
    lmn__pb_encode(message, in, &buf);
    if (again != NULL && lmn__buf_status(&buf, "", NULL) == LMN_OK &&
        lmn__pb_decode(message, (struct lmn__span){ buf.data, buf.len }, arena, again, NULL) ==
            LMN_E_CORRUPT)
        abort();
    lmn__buf_deinit(&buf);
}

static void decode(const struct lmn__frame *frame, struct lmn__arena *arena)
{
    struct lmn__setup_message setup;
    struct lmn__task_message task;
    struct lmn__grant_message grant = { 0 };
    struct lmn__answer_message answer = { 0 };
    struct lmn__result_message result = { 0 };
    struct lmn__permit_message permit = { 0 };
    struct lmn__permitted_message permitted = { 0 };
    struct lmn__hello_message hello;
    struct lmn__page_message page = { 0 };
    struct lmn__welcome_message welcome;
    struct lmn__board_message board = { 0 };
    struct lmn_error err;

    switch (frame->kind) {
    case LMN__MESSAGE_SETUP:
        if (lmn__setup_decode(frame->body, arena, &setup, &err) == LMN_OK)
            check_again(&lmn__setup_pb, &setup, arena);
        break;
    case LMN__MESSAGE_TASK:
        if (lmn__task_decode(frame->body, arena, &task, &err) == LMN_OK)
            check_again(&lmn__task_pb, &task, arena);
        break;
    case LMN__MESSAGE_GRANT:
        if (lmn__pb_decode(&lmn__grant_pb, frame->body, arena, &grant, &err) == LMN_OK)
            check_again(&lmn__grant_pb, &grant, arena);
        break;
    case LMN__MESSAGE_RESULT:
        if (lmn__pb_decode(&lmn__result_pb, frame->body, arena, &result, &err) == LMN_OK)
            check_again(&lmn__result_pb, &result, arena);
        break;
    case LMN__MESSAGE_PERMIT:
        if (lmn__pb_decode(&lmn__permit_pb, frame->body, arena, &permit, &err) == LMN_OK)
            check_again(&lmn__permit_pb, &permit, arena);
        break;
    case LMN__MESSAGE_PERMITTED:
        if (lmn__pb_decode(&lmn__permitted_pb, frame->body, arena, &permitted, &err) == LMN_OK)
            check_again(&lmn__permitted_pb, &permitted, arena);
        break;
    case LMN__MESSAGE_HELLO:
        if (lmn__hello_decode(frame->body, arena, &hello, &err) == LMN_OK)
            check_again(&lmn__hello_pb, &hello, arena);
        break;
    case LMN__MESSAGE_PAGE:
        if (lmn__pb_decode(&lmn__page_pb, frame->body, arena, &page, &err) == LMN_OK)
            check_again(&lmn__page_pb, &page, arena);
        break;
    case LMN__MESSAGE_WELCOME:
        if (lmn__welcome_decode(frame->body, arena, &welcome, &err) == LMN_OK)
            check_again(&lmn__welcome_pb, &welcome, arena);
        break;
    case LMN__MESSAGE_BOARD:
        if (lmn__pb_decode(&lmn__board_pb, frame->body, arena, &board, &err) == LMN_OK)
            check_again(&lmn__board_pb, &board, arena);
        break;
    default:
        if (lmn__pb_decode(&lmn__answer_pb, frame->body, arena, &answer, &err) == LMN_OK &&
            lmn__answer_error(&answer, &err) == LMN_OK && answer.status != LMN_OK)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span bytes = { data, len };

    for (;;) {
        struct lmn__frame frame;
        struct lmn__arena arena;
        size_t used;

        if (lmn__frame_parse(bytes, &frame, &used, NULL) != LMN_OK || frame.body.data == NULL)
            return 0;
        lmn__arena_init(&arena, fuzz_env(), 0);
        decode(&frame, &arena);
        lmn__arena_deinit(&arena);
        bytes.data += used;
        bytes.len -= used;
    }
}
