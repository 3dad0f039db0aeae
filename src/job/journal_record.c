/* SPDX-License-Identifier: Apache-2.0 */
#include "job/journal_record.h"

#include "base/error.h"
#include "base/hash.h"

enum { LENGTH_BYTES = 4, CHECKSUM_BYTES = 8, HEAD_BYTES = LENGTH_BYTES + CHECKSUM_BYTES };

static const struct lmn__pb_field fill_fields[] = {
    { 1, LMN__PB_U32, 0, offsetof(struct lmn__record_fill, format), 0, NULL },
    { 2, LMN__PB_I32, 0, offsetof(struct lmn__record_fill, field_id), 0, NULL },
    { 3, LMN__PB_U64, 0, offsetof(struct lmn__record_fill, version), 0, NULL },
    { 4, LMN__PB_U32, 0, offsetof(struct lmn__record_fill, column_count), 0, NULL },
};
static const struct lmn__pb_message fill_message = { "Fill", fill_fields,
                                                     4,      sizeof(struct lmn__record_fill),
                                                     0,      false };

static const struct lmn__pb_field epoch_fields[] = {
    { 1, LMN__PB_U64, 0, offsetof(struct lmn__record_epoch, number), 0, NULL },
    { 2, LMN__PB_BYTES, 0, offsetof(struct lmn__record_epoch, job), 0, NULL },
    { 3, LMN__PB_U64, 0, offsetof(struct lmn__record_epoch, process), 0, NULL },
    { 4, LMN__PB_BYTES, 0, offsetof(struct lmn__record_epoch, host), 0, NULL },
    { 5, LMN__PB_I64, 0, offsetof(struct lmn__record_epoch, time_ns), 0, NULL },
};
static const struct lmn__pb_message epoch_message = { "Epoch", epoch_fields,
                                                      5,       sizeof(struct lmn__record_epoch),
                                                      0,       false };

static const struct lmn__pb_field mark_fields[] = {
    { 1, LMN__PB_U32, 0, offsetof(struct lmn__record_mark, file), 0, NULL },
    { 2, LMN__PB_U64, 0, offsetof(struct lmn__record_mark, fragment_id), 0, NULL },
    { 3, LMN__PB_U64, 0, offsetof(struct lmn__record_mark, layout), 0, NULL },
    { 4, LMN__PB_U64, 0, offsetof(struct lmn__record_mark, position), 0, NULL },
};
static const struct lmn__pb_message mark_message = { "Mark", mark_fields,
                                                     4,      sizeof(struct lmn__record_mark),
                                                     0,      false };

static const struct lmn__pb_field publish_fields[] = {
    { 1, LMN__PB_U64, 0, offsetof(struct lmn__record_publish, fragment_id), 0, NULL },
    { 2, LMN__PB_U64, 0, offsetof(struct lmn__record_publish, layout), 0, NULL },
    { 3, LMN__PB_U64, 0, offsetof(struct lmn__record_publish, version), 0, NULL },
    { 4, LMN__PB_BYTES, 0, offsetof(struct lmn__record_publish, path), 0, NULL },
    { 5, LMN__PB_BOOL, 0, offsetof(struct lmn__record_publish, direct), 0, NULL },
};
static const struct lmn__pb_message publish_message = {
    "Publish", publish_fields, 5, sizeof(struct lmn__record_publish), 0, false
};

static const struct lmn__pb_field retire_fields[] = {
    { 1, LMN__PB_U64, LMN__PB_REPEATED, offsetof(struct lmn__record_retire, fragment_id), 0, NULL },
    { 2, LMN__PB_U64, LMN__PB_REPEATED, offsetof(struct lmn__record_retire, layout), 0, NULL },
};
static const struct lmn__pb_message retire_message = { "Retire", retire_fields,
                                                       2,        sizeof(struct lmn__record_retire),
                                                       0,        false };

static const struct lmn__pb_field record_fields[] = {
    { 1, LMN__PB_MESSAGE, 0, offsetof(struct lmn__record, fill), 0, &fill_message },
    { 2, LMN__PB_MESSAGE, 0, offsetof(struct lmn__record, epoch), 0, &epoch_message },
    { 3, LMN__PB_MESSAGE, 0, offsetof(struct lmn__record, mark), 0, &mark_message },
    { 4, LMN__PB_BYTES, 0, offsetof(struct lmn__record, receipt), 0, NULL },
    { 5, LMN__PB_MESSAGE, 0, offsetof(struct lmn__record, publish), 0, &publish_message },
    { 6, LMN__PB_MESSAGE, 0, offsetof(struct lmn__record, retire), 0, &retire_message },
};
static const struct lmn__pb_message record_message = { "Record", record_fields,
                                                       6,        sizeof(struct lmn__record),
                                                       0,        false };

void lmn__record_put(struct lmn__buf *buf, const struct lmn__record *record, uint64_t *chain)
{
    size_t start = buf->len, len;
    uint64_t checksum;

    lmn__buf_put_u32(buf, 0);
    lmn__buf_put_u64(buf, *chain);
    lmn__pb_encode(&record_message, record, buf);
    len = buf->len - start - HEAD_BYTES;
    if (len > INT32_MAX)
        buf->failed = true;
    if (buf->failed)
        return;
    checksum = lmn__hash64(buf->data + start + LENGTH_BYTES, CHECKSUM_BYTES + len);
    lmn__store_u32(buf->data + start, (uint32_t)len);
    lmn__store_u64(buf->data + start + LENGTH_BYTES, checksum);
    *chain = checksum;
}

/* The checksum that a message has behind `chain`. Its bytes lie behind those of a checksum, so the
 * two are hashed as one run, from a copy of what is there instead. */
static enum lmn_status checksum_of(struct lmn__arena *arena, uint64_t chain,
                                   struct lmn__span message, uint64_t *checksum_out,
                                   struct lmn_error *err)
{
    struct lmn__buf buf;
    enum lmn_status st;

    lmn__buf_init(&buf, arena->env, 0);
    lmn__buf_put_u64(&buf, chain);
    lmn__buf_put(&buf, message.data, message.len);
    st = lmn__buf_status(&buf, "a record", err);
    if (st == LMN_OK)
        *checksum_out = lmn__hash64(buf.data, buf.len);
    lmn__buf_deinit(&buf);
    return st;
}

enum lmn_status lmn__record_next(struct lmn__span bytes, size_t *at, uint64_t *chain,
                                 struct lmn__arena *arena, struct lmn__record *record_out,
                                 bool *more_out, struct lmn_error *err)
{
    const uint8_t *head = bytes.data + *at;
    size_t left = bytes.len - *at;
    struct lmn__span message;
    uint64_t checksum;
    enum lmn_status st;

    *record_out = (struct lmn__record){ 0 };
    *more_out = false;
    if (left < HEAD_BYTES)
        return LMN_OK;
    message = (struct lmn__span){ head + HEAD_BYTES, lmn__load_u32(head) };
    if (message.len == 0 || message.len > left - HEAD_BYTES)
        return LMN_OK;
    st = checksum_of(arena, *chain, message, &checksum, err);
    if (st != LMN_OK || checksum != lmn__load_u64(head + LENGTH_BYTES))
        return st;
    st = lmn__pb_decode(&record_message, message, arena, record_out, err);
    if (st != LMN_OK)
        return lmn__fail_within(err, st, "the record at byte %zu", *at);
    *more_out = true;
    *chain = checksum;
    *at += HEAD_BYTES + message.len;
    return LMN_OK;
}
