/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaves.h - kinds of leaves and the nesting around them, by number: the part of a page input
 * that stands for the schema.
 */
#ifndef LMN_FUZZ_LEAVES_H
#define LMN_FUZZ_LEAVES_H

#include "arrow/layout.h"

/* A leaf's layout, by number modulo leaf_count(). */
const struct lmn__layout *leaf_layout(uint32_t number);
uint32_t leaf_count(void);

/* The number of a leaf with this layout, or -1. */
int leaf_number(const struct lmn__layout *layout);

/*
 * What lies around a leaf, from the outside in: 'l' list, 's' struct. By number modulo
 * nesting_count().
 */
const char *leaf_nesting(uint32_t number);
uint32_t nesting_count(void);

#endif
