/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/math.h"
#include "base/pool.h"

enum {
    IDLE_BYTES_DEFAULT = 256 << 20,
    METADATA_BYTES_DEFAULT = 1 << 30,
    SOURCE_BYTES_DEFAULT = 1 << 30
};

static void *heap_alloc(void *self, size_t bytes)
{
    (void)self;
    return malloc(bytes);
}

static void *heap_resize(void *self, void *memory, size_t bytes)
{
    (void)self;
    return realloc(memory, bytes);
}

static void heap_release(void *self, void *memory)
{
    (void)self;
    free(memory);
}

const struct lmn_allocator lmn__heap = { heap_alloc, heap_resize, heap_release, NULL };

enum lmn_status lmn__env_init(struct lmn_env *env, const struct lmn_env_options *options,
                              const struct lmn__env_defaults *defaults, struct lmn_error *err)
{
    static const struct lmn_env_options none = { 0 };
    struct lmn__pool_options pool = { 0 };

    if (options == NULL)
        options = &none;
    *env = (struct lmn_env){ 0 };
    atomic_init(&env->reference_count, 1);
    env->allocator = options->allocator != NULL ? *options->allocator : lmn__heap;
    env->threads = options->threads != 0 ? options->threads : defaults->processor_count;
    env->metadata_bytes_max = options->metadata_bytes_max != 0 ? options->metadata_bytes_max
                                                               : METADATA_BYTES_DEFAULT;
    env->source_bytes_max = options->source_bytes_max != 0
                                ? options->source_bytes_max
                                : lmn__min_u64(defaults->memory_bytes / 16, SOURCE_BYTES_DEFAULT);
    pool.allocator = env->allocator;
    pool.region_map = defaults->region_map;
    pool.region_unmap = defaults->region_unmap;
    pool.bytes_max = options->data_bytes_max != 0 ? options->data_bytes_max
                                                  : defaults->memory_bytes / 4 * 3;
    pool.idle_bytes_max = options->idle_bytes_max != 0 ? options->idle_bytes_max
                                                       : IDLE_BYTES_DEFAULT;
    return lmn__pool_new(&pool, &env->pool, err);
}

void lmn__env_deinit(struct lmn_env *env)
{
    lmn__pool_release(env->pool);
    env->pool = NULL;
}

enum lmn_status lmn__env_new_placed(const struct lmn_env *base, const struct lmn_memory *memory,
                                    struct lmn_env **env_out, struct lmn_error *err)
{
    const struct lmn_allocator *heap = &base->allocator;
    struct lmn_env *env = heap->alloc(heap->self, sizeof *env);
    enum lmn_status st;

    *env_out = NULL;
    if (env == NULL)
        return lmn__no_memory(err, "an environment", sizeof *env);
    *env = (struct lmn_env){ .allocator = *heap,
                             .metadata_bytes_max = base->metadata_bytes_max,
                             .source_bytes_max = base->source_bytes_max,
                             .threads = base->threads };
    atomic_init(&env->reference_count, 1);
    st = lmn__pool_new_placed(base->pool, memory, &env->pool, err);
    if (st == LMN_OK)
        *env_out = env;
    else
        heap->release(heap->self, env);
    return st;
}

void *lmn__alloc(struct lmn_env *env, size_t bytes)
{
    return env->allocator.alloc(env->allocator.self, bytes != 0 ? bytes : 1);
}

void *lmn__calloc(struct lmn_env *env, size_t count, size_t bytes)
{
    uint64_t total;
    void *memory;

    if (!lmn__mul_u64(count, bytes, &total))
        return NULL;
    memory = lmn__alloc(env, total);
    if (memory != NULL)
        memset(memory, 0, total);
    return memory;
}

void *lmn__realloc(struct lmn_env *env, void *memory, size_t bytes)
{
    return env->allocator.resize(env->allocator.self, memory, bytes != 0 ? bytes : 1);
}

char *lmn__strndup(struct lmn_env *env, const char *text, size_t len)
{
    char *copy = len < SIZE_MAX ? lmn__alloc(env, len + 1) : NULL;

    if (copy == NULL)
        return NULL;
    if (len != 0)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

void lmn__free(struct lmn_env *env, void *memory)
{
    if (memory != NULL)
        env->allocator.release(env->allocator.self, memory);
}

enum lmn_status lmn__no_memory(struct lmn_error *err, const char *what, uint64_t bytes)
{
    return lmn_fail(err, LMN_E_NO_MEMORY, "no memory for %s (%llu bytes)", what,
                    (unsigned long long)bytes);
}
