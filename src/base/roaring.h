/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roaring.h - sets of 32-bit numbers in the portable Roaring form, as files and messages hold them.
 *
 * In memory a set is either a plain bitmap (deleted rows of a fragment: dense, of known length) or
 * a rising list (fragments of an index). The serialized form has array, bitmap and run containers.
 */
#ifndef LMN_BASE_ROARING_H
#define LMN_BASE_ROARING_H

#include "base/arena.h"
#include "base/buf.h"

/*
 * Set the bits of all members in `bits`, which has `bit_count` bits. *count_out is the number of
 * members.
 *
 * LMN_E_CORRUPT  it does not decode, or a member is not below `bit_count`
 */
LMN_MUST_USE enum lmn_status lmn__roaring_to_bits(struct lmn__span bytes, uint8_t *bits,
                                                  uint64_t bit_count, uint64_t *count_out,
                                                  struct lmn_error *err);

/* Append the serialized set of the bits [0, bit_count) that are set; failure shows in `buf`. */
void lmn__roaring_from_bits(const uint8_t *bits, uint64_t bit_count, struct lmn__buf *buf);

/*
 * The members as a rising list in the arena.
 *
 * LMN_E_CORRUPT  it does not decode
 */
LMN_MUST_USE enum lmn_status lmn__roaring_to_list(struct lmn__span bytes, struct lmn__arena *arena,
                                                  uint32_t **member_out, uint64_t *count_out,
                                                  struct lmn_error *err);

/* Append the serialized set of a rising list; failure shows in `buf`. */
void lmn__roaring_from_list(const uint32_t *member, uint64_t count, struct lmn__buf *buf);

#endif
