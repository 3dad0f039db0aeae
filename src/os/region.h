/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region.h - large pieces of zeroed memory straight from the operating system.
 */
#ifndef LMN_OS_REGION_H
#define LMN_OS_REGION_H

#include <stddef.h>

/* NULL when there is none. Large regions ask for huge pages. */
void *lmn__region_map(size_t bytes);
void lmn__region_unmap(void *region, size_t bytes);

#endif
