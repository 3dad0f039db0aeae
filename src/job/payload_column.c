/* SPDX-License-Identifier: Apache-2.0 */
#include "job/payload_column.h"

#include <nanoarrow/nanoarrow.h>

#include "arrow/adopt.h"
#include "arrow/compose.h"
#include "arrow/schema.h"
#include "arrow/view.h"
#include "format/schema_write.h"

enum { NUMBER, SIZE };

static enum lmn_status set_struct(struct ArrowSchema *schema, const char *name,
                                  struct lmn_error *err)
{
    static const char *const field[] = { "position", "size" };
    bool failed;

    ArrowSchemaInit(schema);
    failed = ArrowSchemaSetTypeStruct(schema, 2) != NANOARROW_OK ||
             ArrowSchemaSetName(schema, name) != NANOARROW_OK;
    for (int i = 0; !failed && i < 2; i++)
        failed = ArrowSchemaSetType(schema->children[i], NANOARROW_TYPE_UINT64) != NANOARROW_OK ||
                 ArrowSchemaSetName(schema->children[i], field[i]) != NANOARROW_OK;
    return failed ? lmn__no_memory(err, "a schema", 0) : LMN_OK;
}

enum lmn_status lmn__payload_schema(const struct ArrowSchema *schema, struct ArrowSchema *held_out,
                                    struct lmn_error *err)
{
    enum lmn_status st = lmn__arrow_schema_copy(schema, held_out, err);

    for (int64_t i = 0; st == LMN_OK && i < schema->n_children; i++) {
        if (!lmn__arrow_is_blob(schema->children[i]))
            continue;
        held_out->children[i]->release(held_out->children[i]);
        st = set_struct(held_out->children[i], schema->children[i]->name, err);
    }
    if (st != LMN_OK && held_out->release != NULL)
        held_out->release(held_out);
    return st;
}

static uint64_t word_at(const struct ArrowArray *child, uint64_t slot)
{
    return lmn__load_u64((const uint8_t *)child->buffers[1] +
                         (slot + (uint64_t)child->offset) * sizeof(uint64_t));
}

struct lmn__payload lmn__payload_at(const struct ArrowArray *column, uint64_t slot)
{
    slot += (uint64_t)column->offset;
    return (struct lmn__payload){ word_at(column->children[NUMBER], slot),
                                  word_at(column->children[SIZE], slot) };
}

enum lmn_status lmn__payload_column_new(struct lmn_env *env, uint64_t count,
                                        struct ArrowArray *array_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__adopt_new(env, 1, 2, false, array_out, err);

    if (st != LMN_OK)
        return st;
    array_out->length = (int64_t)count;
    array_out->null_count = -1;
    st = lmn__adopt_zeros(env, array_out, 0, lmn__bits_bytes(count), err);
    for (int k = 0; st == LMN_OK && k < 2; k++) {
        st = lmn__adopt_new(env, 2, 0, false, array_out->children[k], err);
        if (st == LMN_OK)
            st = lmn__adopt_zeros(env, array_out->children[k], 1, count * sizeof(uint64_t), err);
        if (st == LMN_OK)
            array_out->children[k]->length = (int64_t)count;
    }
    if (st != LMN_OK)
        lmn__array_release(array_out);
    return st;
}

static void put_word(const struct ArrowArray *child, uint64_t slot, uint64_t word)
{
    lmn__store_u64((uint8_t *)(uintptr_t)child->buffers[1] + slot * sizeof word, word);
}

void lmn__payload_column_set(struct ArrowArray *array, uint64_t slot, struct lmn__payload payload)
{
    lmn__bit_set((uint8_t *)(uintptr_t)array->buffers[0], slot);
    put_word(array->children[NUMBER], slot, payload.number);
    put_word(array->children[SIZE], slot, payload.bytes);
}

enum lmn_status lmn__payload_column_write(struct lmn__payloads *payloads,
                                          const struct ArrowArray *column, uint64_t first,
                                          uint64_t count, struct ArrowArray *array_out,
                                          struct lmn_error *err)
{
    static const struct lmn__layout layout = { .kind = LMN__LAYOUT_VARIABLE, .bits = 64 };
    bool placed = lmn__payload_is_placed(column);
    enum lmn_status st = lmn__payload_column_new(payloads->env, first + count, array_out, err);

    if (st != LMN_OK)
        return st;
    for (uint64_t i = first; st == LMN_OK && i < first + count; i++) {
        struct lmn__payload payload = { 0 };
        struct lmn__span bytes;

        if (lmn__view_is_null(column, i))
            continue;
        if (placed) {
            payload = lmn__payload_at(column, i);
        } else {
            bytes = lmn__view_bytes(&layout, column, i);
            st = lmn__payloads_put(payloads, bytes.data, bytes.len, &payload, err);
        }
        lmn__payload_column_set(array_out, i, payload);
    }
    if (st != LMN_OK)
        lmn__array_release(array_out);
    return st;
}

enum lmn_status lmn__payload_column_settle(const struct lmn__payloads *payloads,
                                           struct ArrowArray *array, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < (uint64_t)array->length; i++) {
        uint64_t position;

        st = lmn__payloads_position(payloads, lmn__payload_at(array, i), &position, err);
        put_word(array->children[NUMBER], i, position);
    }
    return st;
}
