/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flatbuffer starts with the offset of its root table. A table starts with the signed distance
 * back to its vtable: two 16-bit sizes (of the vtable, of the table), then for each field the
 * offset of its value inside the table, 0 for absent. Texts, vectors and tables lie elsewhere;
 * the field holds the distance from itself. A vector is a 32-bit count and its items.
 */
#include "arrow/flat.h"

#include "base/math.h"

enum { VTABLE_HEAD_BYTES = 4 };

static bool fits(struct lmn__flat *flat, uint64_t at, uint64_t bytes)
{
    if (lmn__range_fits(at, bytes, flat->bytes.len))
        return true;
    flat->bad = true;
    return false;
}

static struct lmn__flat_table table_at(struct lmn__flat *flat, uint64_t at)
{
    struct lmn__flat_table none = { 0 }, table = { .flat = flat, .at = (uint32_t)at };
    const uint8_t *data = flat->bytes.data;
    int64_t vtable;

    if (!fits(flat, at, 4))
        return none;
    vtable = (int64_t)at - (int32_t)lmn__load_u32(data + at);
    if (vtable < 0 || !fits(flat, (uint64_t)vtable, VTABLE_HEAD_BYTES)) {
        flat->bad = true;
        return none;
    }
    table.vtable = (uint32_t)vtable;
    table.vtable_bytes = lmn__load_u16(data + vtable);
    table.bytes = lmn__load_u16(data + vtable + 2);
    if (table.vtable_bytes < VTABLE_HEAD_BYTES || table.bytes < 4 ||
        !fits(flat, table.vtable, table.vtable_bytes) || !fits(flat, at, table.bytes)) {
        flat->bad = true;
        return none;
    }
    return table;
}

struct lmn__flat_table lmn__flat_root(struct lmn__flat *flat)
{
    if (flat->bytes.len > INT32_MAX || !fits(flat, 0, 4)) {
        flat->bad = true;
        return (struct lmn__flat_table){ 0 };
    }
    return table_at(flat, lmn__load_u32(flat->bytes.data));
}

/* Where the value of a field of `width` bytes is; NULL when it is absent. */
static const uint8_t *field_at(const struct lmn__flat_table *table, uint32_t field, uint32_t width)
{
    uint32_t slot = VTABLE_HEAD_BYTES + 2 * field;
    uint16_t offset;

    if (table->flat == NULL || slot + 2 > table->vtable_bytes)
        return NULL;
    offset = lmn__load_u16(table->flat->bytes.data + table->vtable + slot);
    if (offset == 0)
        return NULL;
    if (!lmn__range_fits(offset, width, table->bytes)) {
        table->flat->bad = true;
        return NULL;
    }
    return table->flat->bytes.data + table->at + offset;
}

int64_t lmn__flat_int(const struct lmn__flat_table *table, uint32_t field, uint32_t width,
                      int64_t absent)
{
    const uint8_t *at = field_at(table, field, width);

    if (at == NULL)
        return absent;
    switch (width) {
    case 1:
        return (int8_t)*at;
    case 2:
        return (int16_t)lmn__load_u16(at);
    case 4:
        return (int32_t)lmn__load_u32(at);
    default:
        return (int64_t)lmn__load_u64(at);
    }
}

/* What a reference in a field points at; 0 when it is absent. Nothing lies at 0. */
static uint64_t target_of(const struct lmn__flat_table *table, uint32_t field)
{
    const uint8_t *at = field_at(table, field, 4);

    if (at == NULL)
        return 0;
    return (uint64_t)(at - table->flat->bytes.data) + lmn__load_u32(at);
}

struct lmn__flat_table lmn__flat_table(const struct lmn__flat_table *table, uint32_t field)
{
    uint64_t at = target_of(table, field);

    return at != 0 ? table_at(table->flat, at) : (struct lmn__flat_table){ 0 };
}

struct lmn__flat_vector lmn__flat_vector(const struct lmn__flat_table *table, uint32_t field,
                                         uint32_t width)
{
    struct lmn__flat_vector none = { 0 }, vector = { .flat = table->flat };
    uint64_t at = target_of(table, field);

    if (at == 0 || !fits(table->flat, at, 4))
        return none;
    vector.count = lmn__load_u32(table->flat->bytes.data + at);
    vector.at = (uint32_t)at + 4;
    return fits(table->flat, vector.at, (uint64_t)vector.count * width) ? vector : none;
}

struct lmn__span lmn__flat_text(const struct lmn__flat_table *table, uint32_t field)
{
    struct lmn__flat_vector text = lmn__flat_vector(table, field, 1);

    if (text.flat == NULL)
        return (struct lmn__span){ NULL, 0 };
    return (struct lmn__span){ lmn__flat_items(&text), text.count };
}

struct lmn__flat_table lmn__flat_item(const struct lmn__flat_vector *vector, uint32_t i)
{
    uint64_t at = (uint64_t)vector->at + 4 * (uint64_t)i;

    return table_at(vector->flat, at + lmn__load_u32(vector->flat->bytes.data + at));
}

const uint8_t *lmn__flat_items(const struct lmn__flat_vector *vector)
{
    return vector->flat != NULL ? vector->flat->bytes.data + vector->at : NULL;
}
