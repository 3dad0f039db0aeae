/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/protocol.h"

#include <string.h>

#include "base/math.h"

#define FIELD(type, number_, kind_, flags_, member)                                                \
    { .number = number_, .kind = kind_, .flags = flags_, .offset = offsetof(struct type, member) }
#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))
#define MESSAGE(name_, type, fields)                                                               \
    { .name = name_, .field = fields, .field_count = COUNT(fields), .size = sizeof(struct type) }

static const struct lmn__pb_field fill_fields[] = {
    FIELD(lmn__setup_fill, 1, LMN__PB_BYTES, 0, name),
    FIELD(lmn__setup_fill, 2, LMN__PB_BYTES, 0, code),
    FIELD(lmn__setup_fill, 3, LMN__PB_U64, 0, function),
    FIELD(lmn__setup_fill, 4, LMN__PB_BYTES, LMN__PB_REPEATED, output),
    FIELD(lmn__setup_fill, 5, LMN__PB_BYTES, LMN__PB_REPEATED, input),
    FIELD(lmn__setup_fill, 6, LMN__PB_U32, 0, batch_rows),
    FIELD(lmn__setup_fill, 7, LMN__PB_U64, 0, checkpoint_rows),
    FIELD(lmn__setup_fill, 8, LMN__PB_BYTES, 0, dir),
    FIELD(lmn__setup_fill, 9, LMN__PB_BOOL, 0, metered),
    FIELD(lmn__setup_fill, 10, LMN__PB_BOOL, 0, paid),
    FIELD(lmn__setup_fill, 11, LMN__PB_BOOL, 0, alone),
    FIELD(lmn__setup_fill, 12, LMN__PB_BOOL, 0, again),
    FIELD(lmn__setup_fill, 13, LMN__PB_BOOL, 0, lazy_blobs),
};
static const struct lmn__pb_message fill_pb = MESSAGE("SetupFill", lmn__setup_fill, fill_fields);

static const struct lmn__pb_field setup_fields[] = {
    FIELD(lmn__setup_message, 1, LMN__PB_U32, 0, protocol),
    FIELD(lmn__setup_message, 2, LMN__PB_U64, 0, engine_pid),
    FIELD(lmn__setup_message, 3, LMN__PB_U32, 0, slot),
    FIELD(lmn__setup_message, 4, LMN__PB_BYTES, 0, root),
    FIELD(lmn__setup_message, 5, LMN__PB_U64, 0, version),
    FIELD(lmn__setup_message, 6, LMN__PB_BOOL, 0, unsynced),
    { .number = 7,
      .kind = LMN__PB_MESSAGE,
      .flags = LMN__PB_REPEATED,
      .offset = offsetof(struct lmn__setup_message, fill),
      .message = &fill_pb },
    FIELD(lmn__setup_message, 8, LMN__PB_BOOL, 0, segments),
    FIELD(lmn__setup_message, 9, LMN__PB_U64, 0, memory_bytes),
};
const struct lmn__pb_message lmn__setup_pb = MESSAGE("Setup", lmn__setup_message, setup_fields);

static const struct lmn__pb_field task_fields[] = {
    FIELD(lmn__task_message, 1, LMN__PB_U64, 0, task),
    FIELD(lmn__task_message, 3, LMN__PB_U32, 0, fill),
    FIELD(lmn__task_message, 4, LMN__PB_U64, 0, version),
    FIELD(lmn__task_message, 5, LMN__PB_U64, 0, fragment_id),
    FIELD(lmn__task_message, 6, LMN__PB_U64, 0, layout),
    FIELD(lmn__task_message, 7, LMN__PB_U64, 0, ordinal),
    FIELD(lmn__task_message, 8, LMN__PB_U64, LMN__PB_REPEATED, first),
    FIELD(lmn__task_message, 9, LMN__PB_U64, LMN__PB_REPEATED, count),
    FIELD(lmn__task_message, 10, LMN__PB_U64, 0, batch_rows_max),
    FIELD(lmn__task_message, 11, LMN__PB_BOOL, 0, gaps_are_dead),
    FIELD(lmn__task_message, 12, LMN__PB_U64, 0, looks),
    FIELD(lmn__task_message, 13, LMN__PB_U64, LMN__PB_REPEATED, saved_ordinal),
    FIELD(lmn__task_message, 14, LMN__PB_U64, LMN__PB_REPEATED, saved_kind),
    FIELD(lmn__task_message, 15, LMN__PB_BYTES, LMN__PB_REPEATED, saved),
    FIELD(lmn__task_message, 16, LMN__PB_U64, 0, parts),
    FIELD(lmn__task_message, 17, LMN__PB_U64, 0, since),
};
const struct lmn__pb_message lmn__task_pb = MESSAGE("Task", lmn__task_message, task_fields);

static const struct lmn__pb_field grant_fields[] = {
    FIELD(lmn__grant_message, 1, LMN__PB_U32, 0, file),
    FIELD(lmn__grant_message, 2, LMN__PB_U64, 0, bytes),
};
const struct lmn__pb_message lmn__grant_pb = MESSAGE("Grant", lmn__grant_message, grant_fields);

static const struct lmn__pb_field answer_fields[] = {
    FIELD(lmn__answer_message, 1, LMN__PB_U32, 0, status),
    FIELD(lmn__answer_message, 2, LMN__PB_U32, 0, os_errno),
    FIELD(lmn__answer_message, 3, LMN__PB_BYTES, 0, message),
    FIELD(lmn__answer_message, 4, LMN__PB_U64, 0, position),
    FIELD(lmn__answer_message, 5, LMN__PB_U64, 0, task),
};
const struct lmn__pb_message lmn__answer_pb = MESSAGE("Answer", lmn__answer_message, answer_fields);

static const struct lmn__pb_field result_fields[] = {
    FIELD(lmn__result_message, 1, LMN__PB_U64, 0, task),
    FIELD(lmn__result_message, 3, LMN__PB_U64, 0, ordinal),
    FIELD(lmn__result_message, 4, LMN__PB_U64, 0, count),
    FIELD(lmn__result_message, 5, LMN__PB_U64, 0, failed_count),
    FIELD(lmn__result_message, 6, LMN__PB_BYTES, 0, receipt),
    FIELD(lmn__result_message, 7, LMN__PB_U64, 0, bytes),
    FIELD(lmn__result_message, 8, LMN__PB_U64, 0, rows_fit),
};
const struct lmn__pb_message lmn__result_pb = MESSAGE("Result", lmn__result_message, result_fields);

static const struct lmn__pb_field permit_fields[] = {
    FIELD(lmn__permit_message, 1, LMN__PB_U64, 0, calls),
    FIELD(lmn__permit_message, 2, LMN__PB_U64, 0, tokens),
    FIELD(lmn__permit_message, 3, LMN__PB_U64, 0, done),
    FIELD(lmn__permit_message, 4, LMN__PB_U64, 0, charged),
    FIELD(lmn__permit_message, 5, LMN__PB_U64, 0, used),
    FIELD(lmn__permit_message, 6, LMN__PB_U64, 0, pause_ms),
};
const struct lmn__pb_message lmn__permit_pb = MESSAGE("Permit", lmn__permit_message, permit_fields);

static const struct lmn__pb_field permitted_fields[] = {
    FIELD(lmn__permitted_message, 1, LMN__PB_U64, 0, calls),
    FIELD(lmn__permitted_message, 2, LMN__PB_U64, 0, tokens_each),
    FIELD(lmn__permitted_message, 3, LMN__PB_U64, 0, wait_ms),
    FIELD(lmn__permitted_message, 4, LMN__PB_BOOL, 0, ended),
};
const struct lmn__pb_message lmn__permitted_pb = MESSAGE("Permitted", lmn__permitted_message,
                                                         permitted_fields);

static const struct lmn__pb_field hello_fields[] = {
    FIELD(lmn__hello_message, 1, LMN__PB_U32, 0, protocol),
    FIELD(lmn__hello_message, 2, LMN__PB_BYTES, 0, token),
    FIELD(lmn__hello_message, 3, LMN__PB_BYTES, 0, agent),
    FIELD(lmn__hello_message, 4, LMN__PB_BYTES, 0, node),
    FIELD(lmn__hello_message, 5, LMN__PB_BYTES, 0, machine),
    FIELD(lmn__hello_message, 6, LMN__PB_BYTES, 0, nonce),
    FIELD(lmn__hello_message, 7, LMN__PB_U32, 0, thread),
    FIELD(lmn__hello_message, 8, LMN__PB_U32, 0, threads),
};
const struct lmn__pb_message lmn__hello_pb = MESSAGE("Hello", lmn__hello_message, hello_fields);

static const struct lmn__pb_field welcome_fields[] = {
    FIELD(lmn__welcome_message, 1, LMN__PB_BYTES, LMN__PB_REPEATED, variable),
};
const struct lmn__pb_message lmn__welcome_pb = MESSAGE("Welcome", lmn__welcome_message,
                                                       welcome_fields);

static const struct lmn__pb_field board_fields[] = {
    FIELD(lmn__board_message, 1, LMN__PB_U32, 0, board),
    FIELD(lmn__board_message, 2, LMN__PB_U64, 0, task),
    FIELD(lmn__board_message, 3, LMN__PB_BYTES, 0, items),
};
const struct lmn__pb_message lmn__board_pb = MESSAGE("Board", lmn__board_message, board_fields);

static const struct lmn__pb_field page_fields[] = {
    FIELD(lmn__page_message, 1, LMN__PB_BOOL, 0, in_call),
    FIELD(lmn__page_message, 2, LMN__PB_U64, 0, in_call_ns),
    FIELD(lmn__page_message, 3, LMN__PB_U64, 0, call_first),
    FIELD(lmn__page_message, 4, LMN__PB_U64, 0, call_count),
    FIELD(lmn__page_message, 5, LMN__PB_U64, 0, rows),
    FIELD(lmn__page_message, 6, LMN__PB_U64, 0, read_ns),
    FIELD(lmn__page_message, 7, LMN__PB_U64, 0, call_ns),
    FIELD(lmn__page_message, 8, LMN__PB_U64, 0, write_ns),
    FIELD(lmn__page_message, 9, LMN__PB_U32, 0, phase),
    FIELD(lmn__page_message, 10, LMN__PB_U64, 0, memory_bytes),
    FIELD(lmn__page_message, 11, LMN__PB_U64, 0, cpu_ns),
    FIELD(lmn__page_message, 12, LMN__PB_U64, 0, calls),
    FIELD(lmn__page_message, 13, LMN__PB_U64, 0, tokens),
    FIELD(lmn__page_message, 14, LMN__PB_U64, 0, cost_nano),
    FIELD(lmn__page_message, 15, LMN__PB_U64, 0, call_row_id),
    FIELD(lmn__page_message, 16, LMN__PB_U64, 0, read_bytes),
    FIELD(lmn__page_message, 17, LMN__PB_BOOL, 0, warm),
};
const struct lmn__pb_message lmn__page_pb = MESSAGE("Page", lmn__page_message, page_fields);

enum lmn_status lmn__frame_parse(struct lmn__span bytes, struct lmn__frame *frame_out,
                                 size_t *used_out, struct lmn_error *err)
{
    uint32_t len;

    *frame_out = (struct lmn__frame){ 0 };
    *used_out = 0;
    if (bytes.len < LMN__FRAME_HEAD_BYTES)
        return LMN_OK;
    len = lmn__load_u32(bytes.data);
    if (len > LMN__FRAME_BYTES_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "a message of %u bytes between engine and worker", len);
    if (bytes.data[4] == 0 || bytes.data[4] >= LMN__MESSAGE_KINDS)
        return lmn_fail(err, LMN_E_CORRUPT, "a message of kind %u between engine and worker",
                        bytes.data[4]);
    if (bytes.len - LMN__FRAME_HEAD_BYTES < len)
        return LMN_OK;
    frame_out->kind = bytes.data[4];
    frame_out->body = (struct lmn__span){ bytes.data + LMN__FRAME_HEAD_BYTES, len };
    *used_out = LMN__FRAME_HEAD_BYTES + (size_t)len;
    return LMN_OK;
}

void lmn__frame_put(struct lmn__buf *buf, enum lmn__message_kind kind,
                    const struct lmn__pb_message *message, const void *in)
{
    size_t start = buf->len;

    lmn__buf_put_u32(buf, 0);
    lmn__buf_put_u8(buf, (uint8_t)kind);
    lmn__pb_encode(message, in, buf);
    if (!buf->failed)
        lmn__store_u32(buf->data + start, (uint32_t)(buf->len - start - LMN__FRAME_HEAD_BYTES));
}

void lmn__frame_copy(struct lmn__buf *buf, const struct lmn__frame *frame)
{
    lmn__buf_put_u32(buf, (uint32_t)frame->body.len);
    lmn__buf_put_u8(buf, (uint8_t)frame->kind);
    lmn__buf_put(buf, frame->body.data, frame->body.len);
}

enum lmn_status lmn__hello_decode(struct lmn__span body, struct lmn__arena *arena,
                                  struct lmn__hello_message *hello_out, struct lmn_error *err)
{
    enum lmn_status st;

    *hello_out = (struct lmn__hello_message){ 0 };
    st = lmn__pb_decode(&lmn__hello_pb, body, arena, hello_out, err);
    if (st == LMN_OK && (hello_out->agent.len == 0 || hello_out->thread >= hello_out->threads))
        st = lmn_fail(err, LMN_E_CORRUPT, "an agent with %zu bytes of name and thread %u of %u",
                      hello_out->agent.len, hello_out->thread, hello_out->threads);
    return st;
}

enum lmn_status lmn__setup_decode(struct lmn__span body, struct lmn__arena *arena,
                                  struct lmn__setup_message *setup_out, struct lmn_error *err)
{
    enum lmn_status st;

    *setup_out = (struct lmn__setup_message){ 0 };
    st = lmn__pb_decode(&lmn__setup_pb, body, arena, setup_out, err);
    if (st != LMN_OK)
        return st;
    if (setup_out->protocol != LMN__PROTOCOL_VERSION)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "the engine speaks version %u of the workers' protocol, this worker %d: "
                        "both have to come from one installation",
                        setup_out->protocol, LMN__PROTOCOL_VERSION);
    if (setup_out->fill.count == 0)
        return lmn_fail(err, LMN_E_CORRUPT, "a setup without functions");
    return LMN_OK;
}

/* Rows that need not be computed: some of the task's. */
static enum lmn_status check_saved(const struct lmn__task_message *task, struct lmn_error *err)
{
    uint64_t rows = 0, next = task->ordinal;

    for (size_t i = 0; i < task->count.count; i++)
        rows += task->count.item[i];
    if (task->saved_ordinal.count != task->saved.count ||
        task->saved_kind.count != task->saved.count)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "a task with %zu numbers of %zu rows that it need not "
                        "compute",
                        task->saved_ordinal.count, task->saved.count);
    for (size_t i = 0; i < task->saved.count; i++) {
        uint64_t ordinal = task->saved_ordinal.item[i];

        if (ordinal < next || ordinal - task->ordinal >= rows ||
            task->saved_kind.item[i] > UINT32_MAX)
            return lmn_fail(err, LMN_E_CORRUPT,
                            "a task of %llu rows from %llu on need not compute row %llu",
                            (unsigned long long)rows, (unsigned long long)task->ordinal,
                            (unsigned long long)ordinal);
        next = ordinal + 1;
    }
    return LMN_OK;
}

enum lmn_status lmn__task_decode(struct lmn__span body, struct lmn__arena *arena,
                                 struct lmn__task_message *task_out, struct lmn_error *err)
{
    uint64_t end = 0;
    enum lmn_status st;

    *task_out = (struct lmn__task_message){ 0 };
    st = lmn__pb_decode(&lmn__task_pb, body, arena, task_out, err);
    if (st != LMN_OK)
        return st;
    if (task_out->first.count == 0 || task_out->first.count != task_out->count.count)
        return lmn_fail(err, LMN_E_CORRUPT, "a task of %zu starts and %zu lengths of rows",
                        task_out->first.count, task_out->count.count);
    for (size_t i = 0; i < task_out->first.count; i++) {
        uint64_t first = task_out->first.item[i], count = task_out->count.item[i];

        if (count == 0 || first < end || count > UINT64_MAX / 2 || first > UINT64_MAX / 2)
            return lmn_fail(err, LMN_E_CORRUPT,
                            "a task whose range %zu, %llu rows from %llu on, "
                            "is empty or does not rise",
                            i, (unsigned long long)count, (unsigned long long)first);
        end = first + count;
    }
    return check_saved(task_out, err);
}

enum lmn_status lmn__welcome_decode(struct lmn__span body, struct lmn__arena *arena,
                                    struct lmn__welcome_message *welcome_out, struct lmn_error *err)
{
    enum lmn_status st;

    *welcome_out = (struct lmn__welcome_message){ 0 };
    st = lmn__pb_decode(&lmn__welcome_pb, body, arena, welcome_out, err);
    for (size_t i = 0; st == LMN_OK && i < welcome_out->variable.count; i++) {
        struct lmn__span text = welcome_out->variable.item[i];
        const uint8_t *equals = text.len > 0 ? memchr(text.data, '=', text.len) : NULL;

        if (equals == NULL || equals == text.data || memchr(text.data, '\0', text.len) != NULL)
            st = lmn_fail(err, LMN_E_CORRUPT, "variable %zu of an agent's worker is no NAME=value",
                          i);
    }
    return st;
}

struct lmn__answer_message lmn__answer_of(const struct lmn_error *err)
{
    return (struct lmn__answer_message){
        .status = err->status,
        .os_errno = (uint32_t)err->os_errno,
        .message = { (const uint8_t *)err->message, strlen(err->message) },
    };
}

enum lmn_status lmn__answer_error(const struct lmn__answer_message *answer, struct lmn_error *err)
{
    enum lmn_status status = answer->status <= LMN_E_UDF ? (enum lmn_status)answer->status
                                                         : LMN_E_UDF;
    int len = (int)(answer->message.len < sizeof err->message ? answer->message.len
                                                              : sizeof err->message);

    if (status == LMN_OK)
        return LMN_OK;
    lmn_fail(err, status, "%.*s", len, (const char *)answer->message.data);
    if (err != NULL)
        err->os_errno = (int)answer->os_errno;
    return status;
}
