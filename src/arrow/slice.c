/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/slice.h"

#include "base/bits.h"

void lmn__array_slice(struct ArrowArray *array, uint64_t first, uint64_t count)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];

        child->offset += (int64_t)first;
        child->length = (int64_t)count;
        if (child->n_buffers == 0)
            child->null_count = (int64_t)count;
        else if (child->null_count != 0 && child->buffers[0] != NULL)
            child->null_count = (int64_t)(count - lmn__bits_count(child->buffers[0],
                                                                  (uint64_t)child->offset, count));
    }
    array->length = (int64_t)count;
}
