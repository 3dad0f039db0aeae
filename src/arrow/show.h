/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.h - values for people, as Python spells them and cut where they are long: for messages.
 *
 * Failure shows in the buffer. Arrays are taken to be valid, and of the type that is given.
 */
#ifndef LMN_ARROW_SHOW_H
#define LMN_ARROW_SHOW_H

#include <leman/arrow_abi.h>

#include "base/buf.h"

/*
 * Append value number `i`: None, True, 12, 0.5, 'text', b'\xff\xd8'… (70000 bytes), [1, 2], {'a':
 * 1}. Of a date or a time the number and its unit; of types without a spelling the Arrow format.
 */
void lmn__show_value(const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t i,
                     struct lmn__buf *buf);

/* Append the fields of slot `i` of a struct: a=1, b='text'. */
void lmn__show_fields(const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t i,
                      struct lmn__buf *buf);

#endif
