/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h - how busy the GPUs of this machine are, as their driver's library tells it. Without that
 * library there are none.
 */
#ifndef LMN_OS_GPU_H
#define LMN_OS_GPU_H

#include <stdbool.h>
#include <stdint.h>

struct lmn__gpu_use {
    uint32_t busy_percent;
    uint64_t memory_used_bytes, memory_bytes;
};

/* How GPU number `id` is used; false when that cannot be told. */
bool lmn__gpu_look(uint32_t id, struct lmn__gpu_use *use_out);

#endif
