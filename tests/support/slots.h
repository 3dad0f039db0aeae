/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - memory of the caller's that tests hand to the library: some slots of one size.
 *
 * What is put back is overwritten, so that who still reads it sees it.
 */
#ifndef LMN_TESTS_SLOTS_H
#define LMN_TESTS_SLOTS_H

#include "check.h"
#include "os/thread.h"

enum { SLOTS_MAX = 1024, SLOTS_ALIGN = 64 };

struct slots {
    struct lmn__mutex mutex;
    uint8_t *memory;
    size_t slot_bytes, count;
    size_t shift; /* what get() gives is so far from aligned */
    struct {
        bool used[SLOTS_MAX];
        size_t used_count, closed;
    } locked;
};

void slots_init(struct slots *slots, size_t slot_bytes, size_t count);
void slots_deinit(struct slots *slots);

/* The memory as the library is given it. */
struct lmn_memory slots_memory(struct slots *slots);

/* Does an address lie in a slot? */
bool slots_have(const struct slots *slots, const void *address);

/* Slots in use, and how often the memory was closed. */
size_t slots_used(struct slots *slots);
size_t slots_closed(struct slots *slots);

#endif
