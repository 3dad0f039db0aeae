/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lease is a line: "<job> <pid> <cpus> <memory bytes> <gpu>:<share> ...". Who wants places looks
 * at all leases and makes its own while it holds the file "lock" beside them.
 */
#include "engine/places.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"

enum { LEASE_CHARS = 2048, LOCK_TRIES = 400, LOCK_WAIT_NS = 5000000 };

static const double NEARLY = 1e-9; /* sums of tenths are not exact */

void lmn__room_of_host(struct lmn__room *room_out)
{
    *room_out = (struct lmn__room){ .cpus = lmn__host_cpus(),
                                    .memory_bytes = lmn__host_memory_bytes() };
    if (room_out->cpus < 1)
        room_out->cpus = 1;
    room_out->gpu_count = lmn__host_gpus(room_out->gpu_id);
    for (uint32_t i = 0; i < room_out->gpu_count; i++)
        room_out->gpu_left[i] = 1;
}

/* Take the GPUs of one worker away; false when there are not enough, and nothing is taken. */
static bool take_gpus(struct lmn__room *room, double gpus, uint64_t *taken_out)
{
    uint32_t whole = (uint32_t)ceil(gpus - NEARLY), found = 0;
    double share = gpus < 1 ? gpus : 1;
    struct lmn__room before = *room;

    *taken_out = 0;
    for (uint32_t i = 0; i < room->gpu_count && found < whole; i++) {
        if (room->gpu_left[i] + NEARLY < share)
            continue;
        room->gpu_left[i] -= share;
        *taken_out |= 1ull << i;
        found++;
    }
    if (found < whole)
        *room = before;
    return found == whole;
}

uint32_t lmn__room_fits(const struct lmn__room *room, const struct lmn__need *need, uint32_t most)
{
    struct lmn__room left = *room;
    uint32_t count = 0;
    uint64_t taken;

    while (count < most && left.cpus + NEARLY >= need->cpus &&
           left.memory_bytes >= need->memory_bytes && take_gpus(&left, need->gpus, &taken)) {
        left.cpus -= need->cpus;
        left.memory_bytes -= need->memory_bytes;
        count++;
    }
    return count;
}

/* What is looked at: leases of other jobs, one after the other. */
struct looking {
    const char *dir;
    struct lmn__room *room;
    const struct lmn__need *need;
    char *blocker;
};

/* Take what a lease says away from the room, and note its holder. */
static void subtract(struct looking *looking, const char *text)
{
    char job[80];
    long long pid;
    double cpus, share;
    unsigned long long memory;
    unsigned gpu;
    int used = 0;
    struct lmn__room *room = looking->room;

    if (sscanf(text, "%79s %lld %lf %llu%n", job, &pid, &cpus, &memory, &used) != 4)
        return;
    room->cpus -= cpus;
    room->memory_bytes -= memory < room->memory_bytes ? memory : room->memory_bytes;
    for (text += used; sscanf(text, " %u:%lf%n", &gpu, &share, &used) == 2; text += used) {
        for (uint32_t i = 0; i < room->gpu_count; i++) {
            if (room->gpu_id[i] == gpu)
                room->gpu_left[i] -= share;
        }
    }
    snprintf(looking->blocker, LMN__PLACES_BLOCKER_CHARS,
             "job %s (process %lld) holds %g CPU, %llu MiB", job, pid, cpus, memory >> 20);
}

/* A lmn__dir_entry_fn. */
static enum lmn_status look(void *context, const char *name, bool is_directory,
                            struct lmn_error *err)
{
    struct looking *looking = context;
    char path[LMN__HOST_PATH_CHARS + 300], text[LEASE_CHARS];

    (void)err;
    if (is_directory || strcmp(name, "lock") == 0)
        return LMN_OK;
    snprintf(path, sizeof path, "%s/%s", looking->dir, name);
    if (lmn__lease_read(path, text, sizeof text))
        subtract(looking, text);
    return LMN_OK;
}

/* The text of a lease for `count` workers, whose GPUs are taken from the room. */
static void describe(const struct lmn__places *places, const char *job_id, char *text)
{
    struct lmn__room left = places->room;
    uint32_t count = places->worker_count;
    int len;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t taken;

        if (!take_gpus(&left, places->need.gpus, &taken))
            break;
    }
    len = snprintf(text, LEASE_CHARS, "%s %lld %.3f %llu", job_id, (long long)lmn__process_self(),
                   places->need.cpus * count,
                   (unsigned long long)(places->need.memory_bytes * count));
    for (uint32_t i = 0; i < left.gpu_count && len > 0 && len < LEASE_CHARS; i++) {
        double share = places->room.gpu_left[i] - left.gpu_left[i];

        if (share > NEARLY)
            len += snprintf(text + len, (size_t)(LEASE_CHARS - len), " %u:%.3f", left.gpu_id[i],
                            share);
    }
}

static enum lmn_status lock_leases(const char *dir, struct lmn__lease *lock_out,
                                   struct lmn_error *err)
{
    char path[LMN__HOST_PATH_CHARS + 64];
    enum lmn_status st = LMN_E_UNAVAILABLE;

    snprintf(path, sizeof path, "%s/lock", dir);
    for (int i = 0; st == LMN_E_UNAVAILABLE && i < LOCK_TRIES; i++) {
        st = lmn__lease_take(path, "lock", lock_out, err);
        if (st == LMN_E_UNAVAILABLE)
            lmn__clock_wait_ns(LOCK_WAIT_NS);
    }
    return st;
}

/* With the leases locked: see what is left, and take it. */
static enum lmn_status take_locked(struct lmn__places *places, const char *dir, const char *job_id,
                                   uint32_t wanted, char *blocker, struct lmn_error *err)
{
    struct looking looking = { dir, &places->room, &places->need, blocker };
    char path[LMN__HOST_PATH_CHARS + 128], text[LEASE_CHARS];
    enum lmn_status st = lmn__dir_list(dir, look, &looking, err);

    if (st != LMN_OK)
        return st;
    places->worker_count = lmn__room_fits(&places->room, &places->need, wanted);
    if (places->worker_count == 0)
        return LMN_OK;
    describe(places, job_id, text);
    snprintf(path, sizeof path, "%s/%lld-%s", dir, (long long)lmn__process_self(), job_id);
    places->path = lmn__strndup(places->env, path, strlen(path));
    if (places->path == NULL)
        return lmn__no_memory(err, "a path", strlen(path));
    return lmn__lease_take(path, text, &places->lease, err);
}

enum lmn_status lmn__places_take(struct lmn__places *places, struct lmn_env *env,
                                 const struct lmn__room *total, const struct lmn__need *need,
                                 uint32_t wanted, const char *job_id, uint32_t *count_out,
                                 char blocker_out[LMN__PLACES_BLOCKER_CHARS], struct lmn_error *err)
{
    char state[LMN__HOST_PATH_CHARS], dir[LMN__HOST_PATH_CHARS + 16];
    struct lmn__lease lock = { -1 };
    enum lmn_status st = LMN_OK;

    *places = (struct lmn__places){ .need = *need, .room = *total, .lease = { -1 }, .env = env };
    blocker_out[0] = '\0';
    lmn__host_state_dir(state);
    snprintf(dir, sizeof dir, "%s/leases", state);
    if (state[0] != '\0')
        st = lmn__dir_make(dir, err);
    if (state[0] == '\0' || st != LMN_OK || lock_leases(dir, &lock, err) != LMN_OK) {
        places->worker_count = lmn__room_fits(total, need, wanted);
        st = LMN_OK;
    } else {
        st = take_locked(places, dir, job_id, wanted, blocker_out, err);
        lmn__lease_give(&lock, NULL);
    }
    *count_out = places->worker_count;
    return st;
}

void lmn__places_free(struct lmn__places *places)
{
    if (places->env == NULL)
        return;
    lmn__lease_give(&places->lease, places->path);
    lmn__free(places->env, places->path);
    *places = (struct lmn__places){ .lease = { -1 } };
}

void lmn__places_gpu_text(const struct lmn__places *places, uint32_t worker, char *text_out,
                          size_t text_bytes)
{
    struct lmn__room left = places->room;
    uint64_t taken = 0;
    char name[80];
    int len;

    for (uint32_t i = 0; i <= worker && places->need.gpus > 0; i++) {
        if (!take_gpus(&left, places->need.gpus, &taken))
            break;
    }
    len = snprintf(text_out, text_bytes, "CUDA_VISIBLE_DEVICES=");
    for (uint32_t i = 0; i < left.gpu_count && len > 0 && (size_t)len < text_bytes; i++) {
        if ((taken >> i & 1) == 0)
            continue;
        lmn__host_gpu_name(i, left.gpu_id[i], name, sizeof name);
        len += snprintf(text_out + len, text_bytes - (size_t)len, "%s%s",
                        text_out[len - 1] == '=' ? "" : ",", name);
    }
}
