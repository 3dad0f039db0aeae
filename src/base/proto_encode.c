/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"

#include "base/math.h"

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static size_t varint_bytes(uint64_t value)
{
    return value == 0 ? 1 : (lmn__bit_width(value) + 6) / 7;
}

static size_t tagged_bytes(uint32_t number, size_t len)
{
    return varint_bytes((uint64_t)number << 3) + varint_bytes(len) + len;
}

void lmn__pb_put_varint(struct lmn__buf *buf, uint64_t value)
{
    uint8_t bytes[10];
    size_t len = 0;

    for (; value > 0x7f; value >>= 7)
        bytes[len++] = (uint8_t)(value | 0x80);
    bytes[len++] = (uint8_t)value;
    lmn__buf_put(buf, bytes, len);
}

static void put_tag_len(struct lmn__buf *buf, uint32_t number, size_t len)
{
    lmn__pb_put_varint(buf, (uint64_t)number << 3 | WIRE_BYTES);
    lmn__pb_put_varint(buf, len);
}

void lmn__pb_put_tag_bytes(struct lmn__buf *buf, uint32_t number, struct lmn__span bytes)
{
    put_tag_len(buf, number, bytes.len);
    lmn__buf_put(buf, bytes.data, bytes.len);
}

static uint64_t load_scalar(const struct lmn__pb_field *field, const uint8_t *in)
{
    switch (field->kind) {
    case LMN__PB_BOOL:
        return *in;
    case LMN__PB_U32:
        return lmn__load_u32(in);
    case LMN__PB_I32:
        return (uint64_t)(int64_t)(int32_t)lmn__load_u32(in);
    default:
        return lmn__load_u64(in);
    }
}

static size_t message_bytes(const struct lmn__pb_message *message, const uint8_t *in);

static size_t packed_bytes(const struct lmn__pb_list *list)
{
    const uint64_t *item = list->item;
    size_t len = 0;

    for (size_t i = 0; i < list->count; i++)
        len += varint_bytes(item[i]);
    return len;
}

static size_t repeated_bytes(const struct lmn__pb_field *field, const struct lmn__pb_list *list)
{
    size_t len = 0;

    if (list->count == 0)
        return 0;
    if (field->kind == LMN__PB_MESSAGE) {
        for (size_t i = 0; i < list->count; i++)
            len += tagged_bytes(field->number,
                                message_bytes(field->message, (const uint8_t *)list->item +
                                                                  i * field->message->size));
    } else if (field->kind == LMN__PB_BYTES) {
        for (size_t i = 0; i < list->count; i++)
            len += tagged_bytes(field->number, ((const struct lmn__span *)list->item)[i].len);
    } else {
        len = tagged_bytes(field->number, packed_bytes(list));
    }
    return len;
}

/* Is a field that is not repeated written at all? Proto3 leaves defaults out. */
static bool is_written(const struct lmn__pb_field *field, const uint8_t *in)
{
    struct lmn__span bytes;
    const void *child;

    if (field->kind == LMN__PB_MESSAGE) {
        memcpy(&child, in + field->offset, sizeof child);
        return child != NULL;
    }
    if (field->kind == LMN__PB_BYTES) {
        memcpy(&bytes, in + field->offset, sizeof bytes);
        return field->flags & LMN__PB_PRESENCE ? bytes.data != NULL : bytes.len != 0;
    }
    if (field->flags & LMN__PB_PRESENCE)
        return in[field->has_offset];
    return load_scalar(field, in + field->offset) != 0;
}

static size_t field_bytes(const struct lmn__pb_field *field, const uint8_t *in)
{
    struct lmn__pb_list list;
    struct lmn__span bytes;
    const uint8_t *child;

    if (field->flags & LMN__PB_REPEATED) {
        memcpy(&list, in + field->offset, sizeof list);
        return repeated_bytes(field, &list);
    }
    if (!is_written(field, in))
        return 0;
    if (field->kind == LMN__PB_MESSAGE) {
        memcpy(&child, in + field->offset, sizeof child);
        return tagged_bytes(field->number, message_bytes(field->message, child));
    }
    if (field->kind == LMN__PB_BYTES) {
        memcpy(&bytes, in + field->offset, sizeof bytes);
        return tagged_bytes(field->number, bytes.len);
    }
    return varint_bytes((uint64_t)field->number << 3) +
           varint_bytes(load_scalar(field, in + field->offset));
}

static size_t message_bytes(const struct lmn__pb_message *message, const uint8_t *in)
{
    size_t len = 0;

    for (uint16_t i = 0; i < message->field_count; i++)
        len += field_bytes(&message->field[i], in);
    if (message->keeps_unknown) {
        struct lmn__span unknown;

        memcpy(&unknown, in + message->unknown_offset, sizeof unknown);
        len += unknown.len;
    }
    return len;
}

static void put_child(const struct lmn__pb_field *field, const uint8_t *child, struct lmn__buf *buf)
{
    put_tag_len(buf, field->number, message_bytes(field->message, child));
    lmn__pb_encode(field->message, child, buf);
}

static void put_repeated(const struct lmn__pb_field *field, const struct lmn__pb_list *list,
                         struct lmn__buf *buf)
{
    if (list->count == 0)
        return;
    if (field->kind == LMN__PB_MESSAGE) {
        for (size_t i = 0; i < list->count; i++)
            put_child(field, (const uint8_t *)list->item + i * field->message->size, buf);
    } else if (field->kind == LMN__PB_BYTES) {
        for (size_t i = 0; i < list->count; i++)
            lmn__pb_put_tag_bytes(buf, field->number, ((const struct lmn__span *)list->item)[i]);
    } else {
        put_tag_len(buf, field->number, packed_bytes(list));
        for (size_t i = 0; i < list->count; i++)
            lmn__pb_put_varint(buf, ((const uint64_t *)list->item)[i]);
    }
}

static void put_field(const struct lmn__pb_field *field, const uint8_t *in, struct lmn__buf *buf)
{
    struct lmn__pb_list list;
    struct lmn__span bytes;
    const uint8_t *child;

    if (field->flags & LMN__PB_REPEATED) {
        memcpy(&list, in + field->offset, sizeof list);
        put_repeated(field, &list, buf);
    } else if (!is_written(field, in)) {
        return;
    } else if (field->kind == LMN__PB_MESSAGE) {
        memcpy(&child, in + field->offset, sizeof child);
        put_child(field, child, buf);
    } else if (field->kind == LMN__PB_BYTES) {
        memcpy(&bytes, in + field->offset, sizeof bytes);
        lmn__pb_put_tag_bytes(buf, field->number, bytes);
    } else {
        lmn__pb_put_varint(buf, (uint64_t)field->number << 3 | WIRE_VARINT);
        lmn__pb_put_varint(buf, load_scalar(field, in + field->offset));
    }
}

void lmn__pb_encode(const struct lmn__pb_message *message, const void *in, struct lmn__buf *buf)
{
    for (uint16_t i = 0; i < message->field_count; i++)
        put_field(&message->field[i], in, buf);
    if (message->keeps_unknown) {
        struct lmn__span unknown;

        memcpy(&unknown, (const uint8_t *)in + message->unknown_offset, sizeof unknown);
        lmn__buf_put(buf, unknown.data, unknown.len);
    }
}
