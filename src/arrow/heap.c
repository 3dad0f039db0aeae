/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanoarrow is compiled with malloc, realloc and free renamed to the functions below, so that
 * the fault loops of the tests reach its allocations too.
 */
#include "arrow/heap.h"

#include "base/env.h"

static struct lmn_allocator heap;

void lmn__arrow_heap_set(const struct lmn_allocator *allocator)
{
    heap = allocator != NULL ? *allocator : lmn__heap;
}

static const struct lmn_allocator *heap_now(void)
{
    return heap.alloc != NULL ? &heap : &lmn__heap;
}

void *lmn__arrow_malloc(size_t bytes)
{
    return heap_now()->alloc(heap_now()->self, bytes);
}

/* Who gets nothing forgets what it had: nanoarrow overwrites its pointer with the answer. */
void *lmn__arrow_realloc(void *memory, size_t bytes)
{
    void *resized = heap_now()->resize(heap_now()->self, memory, bytes);

    if (resized == NULL && bytes != 0)
        lmn__arrow_free(memory);
    return resized;
}

void lmn__arrow_free(void *memory)
{
    heap_now()->release(heap_now()->self, memory);
}
