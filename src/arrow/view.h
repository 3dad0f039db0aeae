/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - look into an Arrow array that somebody else made.
 *
 * The array is taken to be valid, as the Arrow interface demands of its producer. Slots are
 * counted from 0 whatever the array's offset.
 */
#ifndef LMN_ARROW_VIEW_H
#define LMN_ARROW_VIEW_H

#include "arrow/builder.h"
#include "base/bits.h"
#include "base/bytes.h"

/* The validity bitmap, or NULL when all slots are valid. Bit `offset + i` is that of slot i. */
static inline const uint8_t *lmn__view_validity(const struct ArrowArray *array)
{
    return array->n_buffers > 0 && array->null_count != 0 ? array->buffers[0] : NULL;
}

static inline bool lmn__view_is_null(const struct ArrowArray *array, uint64_t i)
{
    const uint8_t *validity = lmn__view_validity(array);

    return validity != NULL && !lmn__bit_get(validity, (uint64_t)array->offset + i);
}

/* Offset number i (0 .. length) of strings, binaries or lists. */
static inline uint64_t lmn__view_offset(const struct ArrowArray *array, uint32_t width, uint64_t i)
{
    const uint8_t *offsets = (const uint8_t *)array->buffers[1] + (uint64_t)array->offset * width;

    return width == 4 ? lmn__load_u32(offsets + i * 4) : lmn__load_u64(offsets + i * 8);
}

/*
 * Has a batch that others have made the columns of its type, each with all its rows? So much shows
 * without a look into buffers.
 *
 * LMN_E_INVALID  no; or a length or an offset is negative
 */
LMN_MUST_USE enum lmn_status lmn__view_check_columns(const struct ArrowSchema *schema,
                                                     const struct ArrowArray *batch,
                                                     struct lmn_error *err);

/* Value number i of a VARIABLE array. */
struct lmn__span lmn__view_bytes(const struct lmn__layout *layout, const struct ArrowArray *array,
                                 uint64_t i);

/* Bytes that slots [first, first + count) of a leaf take in memory, about. */
uint64_t lmn__view_range_bytes(const struct lmn__layout *layout, const struct ArrowArray *array,
                               uint64_t first, uint64_t count);

/*
 * Append slots [first, first + count) to a builder of the same layout: slots and values, nulls
 * included. Dictionaries are not for this function.
 *
 * The builder's layout may differ in one thing: views become plain strings.
 */
LMN_MUST_USE enum lmn_status lmn__view_append(const struct lmn__layout *layout,
                                              const struct ArrowArray *array, uint64_t first,
                                              uint64_t count, struct lmn__builder *builder,
                                              struct lmn_error *err);

/* The same for slots that the caller has counted: values only. */
LMN_MUST_USE enum lmn_status lmn__view_append_values(const struct lmn__layout *layout,
                                                     const struct ArrowArray *array, uint64_t first,
                                                     uint64_t count, struct lmn__builder *builder,
                                                     struct lmn_error *err);

#endif
