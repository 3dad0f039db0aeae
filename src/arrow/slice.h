/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - a part of an array, without a copy.
 */
#ifndef LMN_ARROW_SLICE_H
#define LMN_ARROW_SLICE_H

#include <leman/arrow_abi.h>
#include <stdint.h>

/*
 * Narrow a struct array without nulls of its own to slots [first, first + count).
 *
 * Its own offset stays as it is: those of the children move, because many consumers of batches
 * refuse one that has an offset.
 */
void lmn__array_slice(struct ArrowArray *array, uint64_t first, uint64_t count);

#endif
