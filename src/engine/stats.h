/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - what a job that runs for days has to tell: its pace, what stands out, how the machine
 * is used. Belongs to the driver.
 */
#ifndef LMN_ENGINE_STATS_H
#define LMN_ENGINE_STATS_H

#include "engine/highlights.h"
#include "engine/pace.h"
#include "os/gpu.h"
#include "os/host.h"

/* A GPU that the job may use. */
struct lmn__stats_gpu {
    uint32_t id;
    struct lmn__gpu_use use;
};

struct lmn__stats {
    struct lmn__pace pace;
    struct lmn__highlights highlights;
    uint64_t look_ns;                    /* of the last look */
    uint64_t tick_ns;                    /* of the last update */
    uint64_t thread_ns;                  /* that threads were ready, until then */
    uint64_t cpu_ns;                     /* of workers */
    uint64_t checkpoint_ns, commit_ns;   /* of the last one; 0: none yet */
    uint64_t rows_checkpointed, version; /* at the last look */
    uint64_t disk_needed_bytes, disk_free_bytes;
    bool disk_known, disk_told;
    double cpus; /* that this process may use */
    struct lmn__stats_gpu gpu[LMN__HOST_GPUS_MAX];
    uint32_t gpu_count;
};

#endif
