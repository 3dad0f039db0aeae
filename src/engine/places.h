/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h - what of this machine a job asks for, and what it and other jobs hold.
 *
 * Jobs of one user see each other through leases in the user's state directory. Driver and tracker
 * are threads of the caller and ask for nothing.
 */
#ifndef LMN_ENGINE_PLACES_H
#define LMN_ENGINE_PLACES_H

#include "base/buf.h"
#include "os/host.h"
#include "os/lease.h"

enum { LMN__PLACES_BLOCKER_CHARS = 200 };

/* What a worker asks for. */
struct lmn__need {
    double cpus; /* all of its threads together */
    double gpus;
    uint64_t memory_bytes;
};

/* What there is, and what is left of it. */
struct lmn__room {
    double cpus;
    uint64_t memory_bytes;
    uint32_t gpu_count;
    uint32_t gpu_id[LMN__HOST_GPUS_MAX];
    double gpu_left[LMN__HOST_GPUS_MAX]; /* of each, 0 to 1 */
};

struct lmn__places {
    struct lmn__need need; /* of a worker */
    uint32_t worker_count; /* that are held for */
    struct lmn__room room; /* with this job's own share of GPUs taken away before it */
    char *path;            /* of the lease; NULL: none */
    struct lmn__lease lease;
    struct lmn_env *env;
};

/* What this machine has for this process. */
void lmn__room_of_host(struct lmn__room *room_out);

/* How many workers of that need fit; at most `most`. */
uint32_t lmn__room_fits(const struct lmn__room *room, const struct lmn__need *need, uint32_t most);

/*
 * Take places for up to `wanted` workers from what other jobs have left of `total`. *count_out is
 * how many; 0: none, and `blocker_out` says who holds what. Without a state directory others are
 * not seen.
 */
LMN_MUST_USE enum lmn_status lmn__places_take(struct lmn__places *places, struct lmn_env *env,
                                              const struct lmn__room *total,
                                              const struct lmn__need *need, uint32_t wanted,
                                              const char *job_id, uint32_t *count_out,
                                              char blocker_out[LMN__PLACES_BLOCKER_CHARS],
                                              struct lmn_error *err);

/* Give them back. Zeroed ones are ignored. */
void lmn__places_free(struct lmn__places *places);

/* The limit of a worker's memory; 0: none. */
static inline uint64_t lmn__places_worker_memory(const struct lmn__places *places)
{
    return places->need.memory_bytes;
}

/* "CUDA_VISIBLE_DEVICES=..." for a worker: the GPUs that it shares or has, or none. */
void lmn__places_gpu_text(const struct lmn__places *places, uint32_t worker, char *text_out,
                          size_t text_bytes);

#endif
