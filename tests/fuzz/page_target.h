/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_target.h - open a page of one layout and read rows from it.
 *
 * Input: u8 leaf, u8 nesting, u32 rows, piece PageLayout, u8 number of buffers, then the buffers
 * as pieces. `seeds` makes such inputs from the pages of real files.
 */
#ifndef LMN_FUZZ_PAGE_TARGET_H
#define LMN_FUZZ_PAGE_TARGET_H

#include "codec/page.h"

/* Run one input if its layout is of this kind. */
void page_target(enum lmn__page_kind kind, const uint8_t *data, size_t len);

#endif
