/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builder.h - an Arrow array while it is filled, one builder per node of its layout.
 *
 * Slots are counted first (lmn__builder_add_*), then their values are appended, by encodings
 * straight into the vectors. The invariants they keep:
 *
 *   1. `length` slots have been appended. With `has_validity`, `validity` holds a bit for each;
 *      without, all are valid.
 *   2. FIXED: `values` holds `length` values. A bitmap (bits == 1) has whole bytes; bits behind
 *      the last slot are undefined.
 *   3. VARIABLE: `offsets` holds length + 1 offsets once anything was appended, `values` the
 *      bytes up to the last offset.
 *   4. LIST: `offsets` holds the start of each of `length` lists; the end is added by finish.
 *   5. FIXED_LIST: the child has length x dimension slots; STRUCT: each child has length slots.
 *   6. DICTIONARY: `values` holds indices, child[0] the dictionary's values.
 *
 * A builder belongs to one thread at a time.
 */
#ifndef LMN_ARROW_BUILDER_H
#define LMN_ARROW_BUILDER_H

#include "arrow/layout.h"
#include "arrow/vec.h"

struct lmn__builder {
    struct lmn_env *env; /* borrowed */
    const struct lmn__layout *layout;
    uint64_t length;
    uint64_t null_count; /* exact when has_validity */
    bool has_validity;
    struct lmn__vec validity;
    struct lmn__vec offsets;
    struct lmn__vec values;
    struct lmn__builder *child; /* layout->child_count of them */
};

/* `layout` must live as long as the builder. */
LMN_MUST_USE enum lmn_status lmn__builder_init(struct lmn__builder *builder, struct lmn_env *env,
                                               const struct lmn__layout *layout,
                                               struct lmn_error *err);
/* A zeroed builder may be given too. */
void lmn__builder_deinit(struct lmn__builder *builder);

/* Count `count` more slots, all valid, and mark them so. Values are the caller's business. */
LMN_MUST_USE enum lmn_status lmn__builder_add_valid(struct lmn__builder *builder, uint64_t count,
                                                    struct lmn_error *err);
/* The same for null slots. */
LMN_MUST_USE enum lmn_status lmn__builder_add_null(struct lmn__builder *builder, uint64_t count,
                                                   struct lmn_error *err);
/* The same with validity bits [first, first + count) of `bits`. */
LMN_MUST_USE enum lmn_status lmn__builder_add_bits(struct lmn__builder *builder,
                                                   const uint8_t *bits, uint64_t first,
                                                   uint64_t count, struct lmn_error *err);
/* Make sure that the validity bitmap exists and has room for `count` more slots. */
LMN_MUST_USE enum lmn_status lmn__builder_need_validity(struct lmn__builder *builder,
                                                        uint64_t count, struct lmn_error *err);

/* FIXED: room for `count` values of whole bytes; *at_out is where they go. */
LMN_MUST_USE enum lmn_status lmn__builder_extend(struct lmn__builder *builder, uint64_t count,
                                                 uint8_t **at_out, struct lmn_error *err);

/*
 * FIXED with bits == 1: the values of the last `count` slots are bits [first, first + count) of
 * `bits`, or all false when that is NULL.
 */
LMN_MUST_USE enum lmn_status lmn__builder_put_bits(struct lmn__builder *builder,
                                                   const uint8_t *bits, uint64_t first,
                                                   uint64_t count, struct lmn_error *err);

/*
 * VARIABLE: room for `count` more offsets and `bytes` more bytes. Both places are written by the
 * caller; the bytes count from *data_out, whose offset in the column is *base_out.
 *
 * LMN_E_INVALID  32-bit offsets cannot reach that far: the rows need a smaller batch
 */
LMN_MUST_USE enum lmn_status lmn__builder_extend_variable(struct lmn__builder *builder,
                                                          uint64_t count, uint64_t bytes,
                                                          uint8_t **offsets_out, uint8_t **data_out,
                                                          uint64_t *base_out,
                                                          struct lmn_error *err);

/* Append values for the last `count` slots: zeros, empty strings, whole null children. */
LMN_MUST_USE enum lmn_status lmn__builder_put_empty(struct lmn__builder *builder, uint64_t count,
                                                    struct lmn_error *err);

/*
 * Is the builder whole, with `length` slots? Checked before an array made of untrusted bytes is
 * handed out: what Arrow's readers take for granted has to be true.
 *
 * LMN_E_CORRUPT  a vector or a child is too short or too long
 */
LMN_MUST_USE enum lmn_status lmn__builder_check(const struct lmn__builder *builder, uint64_t length,
                                                struct lmn_error *err);

/*
 * Turn the builder into an Arrow array and leave the builder empty.
 *
 * The caller releases *array_out; blocks move without a copy.
 */
LMN_MUST_USE enum lmn_status lmn__builder_finish(struct lmn__builder *builder,
                                                 struct ArrowArray *array_out,
                                                 struct lmn_error *err);

#endif
