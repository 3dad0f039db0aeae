/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding a message makes two passes over its bytes when it has repeated fields: the first
 * counts their elements, so that each array is allocated once and at its true size.
 */
#include "base/proto.h"

#include <assert.h>

#include "base/math.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

enum { DEPTH_MAX = 32 };

struct reader {
    const uint8_t *start, *at, *end;
    const struct lmn__pb_message *message;
};

struct token {
    uint32_t number;
    uint32_t wire;
    uint64_t scalar;
    struct lmn__span bytes;
};

static const struct lmn__pb_field entry_fields[] = {
    { 1, LMN__PB_BYTES, 0, offsetof(struct lmn__pb_entry, key), 0, NULL },
    { 2, LMN__PB_BYTES, 0, offsetof(struct lmn__pb_entry, value), 0, NULL },
};

const struct lmn__pb_message lmn__pb_entry_message = { "MapEntry", entry_fields,
                                                       2,          sizeof(struct lmn__pb_entry),
                                                       0,          false };

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t value = 0;

    for (uint32_t shift = 0; shift < 64; shift += 7) {
        uint8_t byte;

        if (*at == end)
            return false;
        byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool read_payload(struct reader *reader, struct token *token)
{
    uint64_t len;

    switch (token->wire) {
    case WIRE_VARINT:
        return read_varint(&reader->at, reader->end, &token->scalar);
    case WIRE_FIXED64:
        len = 8;
        break;
    case WIRE_FIXED32:
        len = 4;
        break;
    case WIRE_BYTES:
        if (!read_varint(&reader->at, reader->end, &len))
            return false;
        break;
    default:
        return false;
    }
    if (len > (uint64_t)(reader->end - reader->at))
        return false;
    token->bytes = (struct lmn__span){ reader->at, len };
    reader->at += len;
    return true;
}

static enum lmn_status next_token(struct reader *reader, struct token *token, struct lmn_error *err)
{
    size_t offset = (size_t)(reader->at - reader->start);
    uint64_t tag;

    if (!read_varint(&reader->at, reader->end, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX / 8)
        return lmn_fail(err, LMN_E_CORRUPT, "%s: bad field tag at byte %zu", reader->message->name,
                        offset);
    token->number = (uint32_t)(tag >> 3);
    token->wire = tag & 7;
    if (!read_payload(reader, token))
        return lmn_fail(err, LMN_E_CORRUPT,
                        "%s: field %u at byte %zu does not fit (wire type %u, %zu bytes in all)",
                        reader->message->name, token->number, offset, token->wire,
                        (size_t)(reader->end - reader->start));
    return LMN_OK;
}

static const struct lmn__pb_field *find_field(const struct lmn__pb_message *message,
                                              uint32_t number, uint16_t *index_out)
{
    for (uint16_t i = 0; i < message->field_count; i++) {
        if (message->field[i].number == number) {
            *index_out = i;
            return &message->field[i];
        }
    }
    return NULL;
}

static size_t count_varints(struct lmn__span bytes)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes.len; i++)
        count += bytes.data[i] < 0x80;
    return count;
}

static enum lmn_status wrong_wire(const struct lmn__pb_message *message, const struct token *token,
                                  struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CORRUPT, "%s: field %u has wire type %u", message->name,
                    token->number, token->wire);
}

/* First pass: how many elements each repeated field has, and how many bytes are unknown. */
static enum lmn_status count_elements(struct reader reader, size_t *count, size_t *unknown_bytes,
                                      struct lmn_error *err)
{
    while (reader.at < reader.end) {
        const uint8_t *start = reader.at;
        const struct lmn__pb_field *field;
        struct token token;
        uint16_t index;
        enum lmn_status st = next_token(&reader, &token, err);

        if (st != LMN_OK)
            return st;
        field = find_field(reader.message, token.number, &index);
        if (field == NULL)
            *unknown_bytes += (size_t)(reader.at - start);
        else if (field->kind < LMN__PB_BYTES && token.wire == WIRE_BYTES)
            count[index] += count_varints(token.bytes);
        else
            count[index]++;
    }
    return LMN_OK;
}

static size_t element_bytes(const struct lmn__pb_field *field)
{
    if (field->kind == LMN__PB_MESSAGE)
        return field->message->size;
    return field->kind == LMN__PB_BYTES ? sizeof(struct lmn__span) : sizeof(uint64_t);
}

static void store_scalar(const struct lmn__pb_field *field, uint8_t *out, uint64_t value)
{
    switch (field->kind) {
    case LMN__PB_BOOL: {
        bool flag = value != 0;
        memcpy(out, &flag, sizeof flag);
        break;
    }
    case LMN__PB_U32:
    case LMN__PB_I32: {
        uint32_t word = (uint32_t)value;
        memcpy(out, &word, sizeof word);
        break;
    }
    default:
        memcpy(out, &value, sizeof value);
    }
}

static enum lmn_status decode_message(struct reader reader, struct lmn__arena *arena,
                                      uint32_t depth, uint8_t *out, struct lmn_error *err);

static enum lmn_status decode_child(const struct lmn__pb_field *field, const struct token *token,
                                    struct lmn__arena *arena, uint32_t depth, void *out,
                                    struct lmn_error *err)
{
    struct reader reader = { token->bytes.data, token->bytes.data,
                             token->bytes.data + token->bytes.len, field->message };

    return decode_message(reader, arena, depth + 1, out, err);
}

/* The arrays of repeated fields share their layout: pointer, then count. */
static enum lmn_status store_repeated(const struct lmn__pb_field *field, const struct token *token,
                                      struct lmn__arena *arena, uint32_t depth, uint8_t *place,
                                      struct lmn_error *err)
{
    struct lmn__pb_list list;
    uint8_t *slot;
    enum lmn_status st = LMN_OK;

    memcpy(&list, place, sizeof list);
    slot = list.item != NULL ? (uint8_t *)list.item + list.count * element_bytes(field) : NULL;
    if (field->kind == LMN__PB_MESSAGE) {
        st = decode_child(field, token, arena, depth, slot, err);
        list.count++;
    } else if (field->kind == LMN__PB_BYTES) {
        memcpy(slot, &token->bytes, sizeof token->bytes);
        list.count++;
    } else if (token->wire == WIRE_VARINT) {
        memcpy(slot, &token->scalar, sizeof token->scalar);
        list.count++;
    } else {
        const uint8_t *at = token->bytes.data, *end = at + token->bytes.len;
        uint64_t value;

        for (; at < end; slot += sizeof value, list.count++) {
            if (!read_varint(&at, end, &value))
                return lmn_fail(err, LMN_E_CORRUPT, "field %u: a packed number is cut short",
                                field->number);
            memcpy(slot, &value, sizeof value);
        }
    }
    memcpy(place, &list, sizeof list);
    return st;
}

static enum lmn_status store_field(const struct lmn__pb_message *message,
                                   const struct lmn__pb_field *field, const struct token *token,
                                   struct lmn__arena *arena, uint32_t depth, uint8_t *out,
                                   struct lmn_error *err)
{
    bool repeated = field->flags & LMN__PB_REPEATED;
    bool scalar = field->kind < LMN__PB_BYTES;
    void *child;
    enum lmn_status st;

    if (scalar ? token->wire != WIRE_VARINT && !(repeated && token->wire == WIRE_BYTES)
               : token->wire != WIRE_BYTES)
        return wrong_wire(message, token, err);
    if (repeated)
        return store_repeated(field, token, arena, depth, out + field->offset, err);
    if (scalar) {
        store_scalar(field, out + field->offset, token->scalar);
        if (field->flags & LMN__PB_PRESENCE)
            out[field->has_offset] = true;
        return LMN_OK;
    }
    if (field->kind == LMN__PB_BYTES) {
        memcpy(out + field->offset, &token->bytes, sizeof token->bytes);
        return LMN_OK;
    }
    child = lmn__arena_alloc(arena, field->message->size);
    if (child == NULL)
        return lmn__arena_fail(arena, field->message->name, err);
    st = decode_child(field, token, arena, depth, child, err);
    memcpy(out + field->offset, &child, sizeof child);
    return st;
}

/* Allocate the arrays of repeated fields and the bytes of unknown ones. */
static enum lmn_status allocate_elements(const struct lmn__pb_message *message, const size_t *count,
                                         size_t unknown_bytes, struct lmn__arena *arena,
                                         uint8_t *out, struct lmn_error *err)
{
    for (uint16_t i = 0; i < message->field_count; i++) {
        const struct lmn__pb_field *field = &message->field[i];
        struct lmn__pb_list list = { 0 };

        if (!(field->flags & LMN__PB_REPEATED) || count[i] == 0)
            continue;
        list.item = lmn__arena_array(arena, count[i], element_bytes(field));
        if (list.item == NULL)
            return lmn__arena_fail(arena, message->name, err);
        memcpy(out + field->offset, &list, sizeof list);
    }
    if (message->keeps_unknown && unknown_bytes != 0) {
        struct lmn__span unknown = { lmn__arena_alloc(arena, unknown_bytes), 0 };

        if (unknown.data == NULL)
            return lmn__arena_fail(arena, message->name, err);
        memcpy(out + message->unknown_offset, &unknown, sizeof unknown);
    }
    return LMN_OK;
}

static void keep_unknown(const struct lmn__pb_message *message, const uint8_t *start,
                         const uint8_t *end, uint8_t *out)
{
    struct lmn__span unknown;

    if (!message->keeps_unknown)
        return;
    memcpy(&unknown, out + message->unknown_offset, sizeof unknown);
    memcpy((uint8_t *)unknown.data + unknown.len, start, (size_t)(end - start));
    unknown.len += (size_t)(end - start);
    memcpy(out + message->unknown_offset, &unknown, sizeof unknown);
}

static enum lmn_status decode_message(struct reader reader, struct lmn__arena *arena,
                                      uint32_t depth, uint8_t *out, struct lmn_error *err)
{
    size_t count[LMN__PB_FIELDS_MAX] = { 0 }, unknown_bytes = 0;
    enum lmn_status st;

    assert(reader.message->field_count <= LMN__PB_FIELDS_MAX);
    if (depth > DEPTH_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "%s: messages nest deeper than %d",
                        reader.message->name, DEPTH_MAX);
    st = count_elements(reader, count, &unknown_bytes, err);
    if (st == LMN_OK)
        st = allocate_elements(reader.message, count, unknown_bytes, arena, out, err);
    while (st == LMN_OK && reader.at < reader.end) {
        const uint8_t *start = reader.at;
        const struct lmn__pb_field *field;
        struct token token;
        uint16_t index;

        st = next_token(&reader, &token, err);
        if (st != LMN_OK)
            break;
        field = find_field(reader.message, token.number, &index);
        if (field == NULL)
            keep_unknown(reader.message, start, reader.at, out);
        else
            st = store_field(reader.message, field, &token, arena, depth, out, err);
    }
    return st;
}

enum lmn_status lmn__pb_decode(const struct lmn__pb_message *message, struct lmn__span bytes,
                               struct lmn__arena *arena, void *out, struct lmn_error *err)
{
    static const uint8_t nothing[1] = { 0 };
    struct reader reader = { .message = message };

    reader.start = reader.at = bytes.len != 0 ? bytes.data : nothing;
    reader.end = reader.start + bytes.len;
    return decode_message(reader, arena, 0, out, err);
}

bool lmn__span_equal(struct lmn__span span, const char *text)
{
    size_t len = strlen(text);

    return span.len == len && (len == 0 || memcmp(span.data, text, len) == 0);
}
