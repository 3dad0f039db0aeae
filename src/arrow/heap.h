/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - the heap that nanoarrow uses inside this library.
 */
#ifndef LMN_ARROW_HEAP_H
#define LMN_ARROW_HEAP_H

#include <leman/env.h>

/* For tests: take another heap. Nothing may be alive of the one before. NULL takes malloc. */
void lmn__arrow_heap_set(const struct lmn_allocator *allocator);

void *lmn__arrow_malloc(size_t bytes);
void *lmn__arrow_realloc(void *memory, size_t bytes);
void lmn__arrow_free(void *memory);

#endif
