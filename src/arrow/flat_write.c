/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts are put before what is there already, so the place of a part is its distance from the
 * end, which later parts do not change. A vtable is put before each table; equal ones are not
 * shared, which costs a few bytes per field of a schema.
 */
#include "arrow/flat.h"
#include "base/math.h"

enum { CAP_MIN = 1024, VTABLE_HEAD_BYTES = 4 };

void lmn__flat_writer_init(struct lmn__flat_writer *writer, struct lmn_env *env)
{
    *writer = (struct lmn__flat_writer){ .env = env };
}

void lmn__flat_writer_deinit(struct lmn__flat_writer *writer)
{
    lmn__free(writer->env, writer->data);
    *writer = (struct lmn__flat_writer){ .env = writer->env };
}

/* Room for `bytes` more; where they go, or NULL. */
static uint8_t *extend(struct lmn__flat_writer *writer, size_t bytes)
{
    uint64_t need;

    if (writer->failed || !lmn__add_u64(writer->len, bytes, &need) || need > INT32_MAX) {
        writer->failed = true;
        return NULL;
    }
    if (need > writer->cap) {
        size_t cap = lmn__max_u64(lmn__max_u64(need, 2 * writer->cap), CAP_MIN);
        uint8_t *data = lmn__alloc(writer->env, cap);

        if (data == NULL) {
            writer->failed = true;
            return NULL;
        }
        if (writer->len != 0)
            memcpy(data + cap - writer->len, writer->data + writer->cap - writer->len, writer->len);
        lmn__free(writer->env, writer->data);
        writer->data = data;
        writer->cap = cap;
    }
    writer->len = need;
    return writer->data + writer->cap - need;
}

/* Pad so that what starts `bytes` before here is aligned to `align`, seen from the end. */
static void pad(struct lmn__flat_writer *writer, size_t bytes, size_t align)
{
    size_t over = (writer->len + bytes) % align;
    uint8_t *at = over != 0 ? extend(writer, align - over) : NULL;

    if (at != NULL)
        memset(at, 0, align - over);
}

static lmn__flat_ref put_counted(struct lmn__flat_writer *writer, const void *items, size_t count,
                                 size_t bytes)
{
    uint8_t *at = extend(writer, 4 + bytes);

    if (at == NULL)
        return 0;
    lmn__store_u32(at, (uint32_t)count);
    if (bytes != 0)
        memcpy(at + 4, items, bytes);
    return (lmn__flat_ref)writer->len;
}

lmn__flat_ref lmn__flat_put_text(struct lmn__flat_writer *writer, const char *text, size_t len)
{
    uint8_t *end;

    pad(writer, len + 1 + 4, 4);
    end = extend(writer, 1);
    if (end == NULL)
        return 0;
    *end = 0;
    return put_counted(writer, text, len, len);
}

lmn__flat_ref lmn__flat_put_items(struct lmn__flat_writer *writer, const void *items, size_t count,
                                  size_t width, size_t align)
{
    pad(writer, count * width, align > 4 ? align : 4);
    return put_counted(writer, items, count, count * width);
}

lmn__flat_ref lmn__flat_put_refs(struct lmn__flat_writer *writer, const lmn__flat_ref *refs,
                                 size_t count)
{
    uint8_t *at;

    pad(writer, 4 * count + 4, 4);
    at = extend(writer, 4 * count + 4);
    if (at == NULL)
        return 0;
    lmn__store_u32(at, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        lmn__store_u32(at + 4 + 4 * i, (uint32_t)(writer->len - 4 - 4 * i) - refs[i]);
    return (lmn__flat_ref)writer->len;
}

void lmn__flat_set(struct lmn__flat_writer *writer, uint32_t field, uint32_t width, int64_t value)
{
    writer->field[field].width = (uint8_t)width;
    writer->field[field].is_ref = false;
    writer->field[field].value = (uint64_t)value;
}

void lmn__flat_set_ref(struct lmn__flat_writer *writer, uint32_t field, lmn__flat_ref ref)
{
    lmn__flat_set(writer, field, ref != 0 ? 4 : 0, ref);
    writer->field[field].is_ref = true;
}

/* Put the values of one width; `place` gets their distance from the end. */
static void put_fields(struct lmn__flat_writer *writer, uint32_t width, uint32_t *place)
{
    for (uint32_t i = 0; i < LMN__FLAT_FIELDS_MAX; i++) {
        uint64_t value = writer->field[i].value;
        uint8_t *at;

        if (writer->field[i].width != width)
            continue;
        pad(writer, width, width);
        at = extend(writer, width);
        if (at == NULL)
            return;
        if (writer->field[i].is_ref)
            value = writer->len - value;
        lmn__store_uint(at, width, value);
        place[i] = (uint32_t)writer->len;
    }
}

lmn__flat_ref lmn__flat_put_table(struct lmn__flat_writer *writer)
{
    uint32_t place[LMN__FLAT_FIELDS_MAX] = { 0 }, end, table, vtable_bytes = VTABLE_HEAD_BYTES;
    uint8_t *at;

    pad(writer, 0, 8);
    end = (uint32_t)writer->len;
    for (uint32_t width = 8; width != 0; width /= 2)
        put_fields(writer, width, place);
    pad(writer, 4, 4);
    extend(writer, 4); /* the distance to the vtable, stored below */
    table = (uint32_t)writer->len;
    for (uint32_t i = 0; i < LMN__FLAT_FIELDS_MAX; i++) {
        if (place[i] != 0)
            vtable_bytes = VTABLE_HEAD_BYTES + 2 * (i + 1);
    }
    pad(writer, vtable_bytes, 2);
    at = extend(writer, vtable_bytes);
    if (at == NULL)
        return 0;
    lmn__store_u16(at, (uint16_t)vtable_bytes);
    lmn__store_u16(at + 2, (uint16_t)(table - end));
    for (uint32_t i = 0; VTABLE_HEAD_BYTES + 2 * (i + 1) <= vtable_bytes; i++)
        lmn__store_u16(at + VTABLE_HEAD_BYTES + 2 * i,
                       (uint16_t)(place[i] != 0 ? table - place[i] : 0));
    lmn__store_u32(writer->data + writer->cap - table, (uint32_t)writer->len - table);
    memset(writer->field, 0, sizeof writer->field);
    return table;
}

enum lmn_status lmn__flat_finish(struct lmn__flat_writer *writer, lmn__flat_ref root,
                                 struct lmn__span *bytes_out, struct lmn_error *err)
{
    uint8_t *at;

    *bytes_out = (struct lmn__span){ 0 };
    pad(writer, 4, 8);
    at = extend(writer, 4);
    if (at == NULL)
        return lmn__no_memory(err, "Arrow IPC metadata", writer->len);
    lmn__store_u32(at, (uint32_t)writer->len - root);
    *bytes_out = (struct lmn__span){ at, writer->len };
    return LMN_OK;
}
