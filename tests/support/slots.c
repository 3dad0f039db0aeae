/* SPDX-License-Identifier: Apache-2.0 */
#include "slots.h"

#include <stdlib.h>
#include <string.h>

enum { OVERWRITTEN = 0xdd };

void slots_init(struct slots *slots, size_t slot_bytes, size_t count)
{
    CHECK(count <= SLOTS_MAX && slot_bytes % SLOTS_ALIGN == 0);
    *slots = (struct slots){ .slot_bytes = slot_bytes, .count = count };
    CHECK_OK(lmn__mutex_init(&slots->mutex, NULL));
    slots->memory = aligned_alloc(SLOTS_ALIGN, slot_bytes * (count + 1));
    CHECK(slots->memory != NULL);
}

void slots_deinit(struct slots *slots)
{
    CHECK_EQ(slots_used(slots), 0);
    lmn__mutex_deinit(&slots->mutex);
    free(slots->memory);
}

static void *slots_get(void *self, size_t bytes)
{
    struct slots *slots = self;
    size_t i = slots->count;

    CHECK(bytes != 0);
    lmn__mutex_lock(&slots->mutex);
    CHECK_EQ(slots->locked.closed, 0);
    if (bytes <= slots->slot_bytes) {
        for (i = 0; i < slots->count && slots->locked.used[i];)
            i++;
    }
    if (i < slots->count) {
        slots->locked.used[i] = true;
        slots->locked.used_count++;
    }
    lmn__mutex_unlock(&slots->mutex);
    return i < slots->count ? slots->memory + i * slots->slot_bytes + slots->shift : NULL;
}

static void slots_put(void *self, void *memory, size_t bytes)
{
    struct slots *slots = self;
    size_t at = (size_t)((uint8_t *)memory - slots->memory) - slots->shift;

    CHECK(slots_have(slots, memory) && at % slots->slot_bytes == 0 && bytes <= slots->slot_bytes);
    memset(memory, OVERWRITTEN, bytes);
    lmn__mutex_lock(&slots->mutex);
    CHECK(slots->locked.used[at / slots->slot_bytes]);
    CHECK_EQ(slots->locked.closed, 0);
    slots->locked.used[at / slots->slot_bytes] = false;
    slots->locked.used_count--;
    lmn__mutex_unlock(&slots->mutex);
}

static void slots_close(void *self)
{
    struct slots *slots = self;

    lmn__mutex_lock(&slots->mutex);
    CHECK_EQ(slots->locked.used_count, 0);
    slots->locked.closed++;
    lmn__mutex_unlock(&slots->mutex);
}

struct lmn_memory slots_memory(struct slots *slots)
{
    return (struct lmn_memory){ slots_get, slots_put, slots_close, slots };
}

bool slots_have(const struct slots *slots, const void *address)
{
    uintptr_t at = (uintptr_t)address, first = (uintptr_t)slots->memory;

    return at >= first && at - first < slots->slot_bytes * slots->count;
}

size_t slots_used(struct slots *slots)
{
    size_t count;

    lmn__mutex_lock(&slots->mutex);
    count = slots->locked.used_count;
    lmn__mutex_unlock(&slots->mutex);
    return count;
}

size_t slots_closed(struct slots *slots)
{
    size_t count;

    lmn__mutex_lock(&slots->mutex);
    count = slots->locked.closed;
    lmn__mutex_unlock(&slots->mutex);
    return count;
}
