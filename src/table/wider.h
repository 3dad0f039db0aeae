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
 */
bool lmn__type_is_wider(const struct ArrowSchema *from, const struct ArrowSchema *to);

#endif
