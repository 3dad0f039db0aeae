/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_part.h - one column of a key: where its values are, and how messages show them.
 *
 * The column is of plain values, or of a dictionary of them. Its layout is in the arena that it was
 * made with.
 */
#ifndef LMN_TABLE_KEY_PART_H
#define LMN_TABLE_KEY_PART_H

#include <leman/arrow_abi.h>

#include "arrow/view.h"

struct lmn__key_part {
    const struct lmn__layout *layout; /* of the values */
    uint32_t index_bytes;             /* of a dictionary; 0: the column holds the values */
    char name[64];
    char format[4]; /* the first letters of the Arrow format, for messages */
};

/*
 * The part of a column of this type.
 *
 * LMN_E_UNSUPPORTED  a type that has no equality here: a nested one
 */
LMN_MUST_USE enum lmn_status lmn__key_part_init(struct lmn__key_part *part,
                                                const struct ArrowSchema *type,
                                                struct lmn__arena *arena, struct lmn_error *err);

/* One value, as far as its type is easily shown. */
void lmn__key_part_text(const struct lmn__key_part *part, const struct ArrowArray *array,
                        uint64_t row, char *text, size_t bytes);

/* Where the value of a row is: there, or in the dictionary. */
static inline const struct ArrowArray *lmn__key_part_values(const struct lmn__key_part *part,
                                                            const struct ArrowArray *array,
                                                            uint64_t *row)
{
    uint32_t bytes = part->index_bytes;

    if (bytes == 0)
        return array;
    *row = lmn__load_uint(
        (const uint8_t *)array->buffers[1] + ((uint64_t)array->offset + *row) * bytes, bytes);
    return array->dictionary;
}

/* A null of the column, or of its dictionary. */
static inline bool lmn__key_part_is_null(const struct lmn__key_part *part,
                                         const struct ArrowArray *array, uint64_t row)
{
    if (lmn__view_is_null(array, row) || part->index_bytes == 0)
        return lmn__view_is_null(array, row);
    array = lmn__key_part_values(part, array, &row);
    return lmn__view_is_null(array, row);
}

/* The bytes of a value; a bit is a byte of its own. */
static inline struct lmn__span lmn__key_part_value(const struct lmn__key_part *part,
                                                   const struct ArrowArray *array, uint64_t row,
                                                   uint8_t *bit)
{
    uint64_t at, width = part->layout->bits / 8;

    array = lmn__key_part_values(part, array, &row);
    at = (uint64_t)array->offset + row;

    if (part->layout->kind == LMN__LAYOUT_VARIABLE)
        return lmn__view_bytes(part->layout, array, row);
    if (part->layout->bits == 1) {
        *bit = lmn__bit_get(array->buffers[1], at);
        return (struct lmn__span){ bit, 1 };
    }
    return (struct lmn__span){ (const uint8_t *)array->buffers[1] + at * width, width };
}

#endif
