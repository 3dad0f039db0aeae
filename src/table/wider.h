/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wider.h - which types hold all that another type holds.
 */
#ifndef LMN_TABLE_WIDER_H
#define LMN_TABLE_WIDER_H

#include <stdbool.h>

#include <leman/arrow_abi.h>

/*
 * Is `to` another type than `from` that holds every value of it, exactly? Finer units of timestamps
 * and durations count as wider: what they cannot hold lies centuries away and fails when it is met.
 * A struct or list is wider when something in it is, and all else is the same. Nulls, which are all
 * that the type of nulls has, every type holds.
 */
bool lmn__type_is_wider(const struct ArrowSchema *from, const struct ArrowSchema *to);

/* Is it the type of columns that have nothing but nulls? */
bool lmn__type_is_null(const struct ArrowSchema *type);

/* Are they of one type? Names, metadata and whether there may be nulls do not count. */
bool lmn__type_is_same(const struct ArrowSchema *from, const struct ArrowSchema *to);

#endif
