/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public life of an environment, with what the operating system supplies to it: processors,
 * memory size and regions. The process-wide default is made at first use and lives as long as
 * the process. Its pool is whole in a process that is forked, whatever threads were doing.
 */
#include "base/env.h"

#include <pthread.h>
#include <unistd.h>

#include "base/pool.h"
#include "os/processor.h"
#include "os/region.h"

static struct lmn_env default_env;
static enum lmn_status default_env_status;
static pthread_once_t default_env_once = PTHREAD_ONCE_INIT;

static uint64_t memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);

    if (pages <= 0 || page_bytes <= 0)
        return (uint64_t)4 << 30;
    return (uint64_t)pages * (uint64_t)page_bytes;
}

static enum lmn_status env_init(struct lmn_env *env, const struct lmn_env_options *options,
                                struct lmn_error *err)
{
    const struct lmn__env_defaults defaults = { memory_bytes(), lmn__processor_count(),
                                                lmn__region_map, lmn__region_unmap };

    return lmn__env_init(env, options, &defaults, err);
}

static void freeze_default_pool(void)
{
    lmn__pool_freeze(default_env.pool);
}

static void thaw_default_pool(void)
{
    lmn__pool_thaw(default_env.pool);
}

static void default_env_init(void)
{
    default_env_status = env_init(&default_env, NULL, NULL);
    /* Without room for the handlers a fork is as risky as in any program with threads. */
    if (default_env_status == LMN_OK)
        (void)pthread_atfork(freeze_default_pool, thaw_default_pool, thaw_default_pool);
}

enum lmn_status lmn_env_new(const struct lmn_env_options *options, struct lmn_env **env_out,
                            struct lmn_error *err)
{
    struct lmn_env made, *env;
    enum lmn_status st;

    *env_out = NULL;
    st = env_init(&made, options, err);
    if (st != LMN_OK)
        return st;
    env = lmn__alloc(&made, sizeof *env);
    if (env == NULL) {
        lmn__env_deinit(&made);
        return lmn__no_memory(err, "an environment", sizeof *env);
    }
    *env = made;
    *env_out = env;
    return LMN_OK;
}

struct lmn_env *lmn_env_acquire(struct lmn_env *env)
{
    if (env != NULL)
        atomic_fetch_add(&env->reference_count, 1);
    return env;
}

void lmn_env_release(struct lmn_env *env)
{
    struct lmn_allocator allocator;

    if (env == NULL || env == &default_env || atomic_fetch_sub(&env->reference_count, 1) != 1)
        return;
    allocator = env->allocator;
    lmn__env_deinit(env);
    allocator.release(allocator.self, env);
}

/* The pool of `env` or of the default; NULL when the default could not be made. */
static const struct lmn__pool *env_pool(const struct lmn_env *env)
{
    if (env != NULL)
        return env->pool;
    pthread_once(&default_env_once, default_env_init);
    return default_env_status == LMN_OK ? default_env.pool : NULL;
}

uint64_t lmn_env_data_bytes(const struct lmn_env *env)
{
    const struct lmn__pool *pool = env_pool(env);

    return pool != NULL ? lmn__pool_bytes(pool) : 0;
}

uint64_t lmn_env_data_bytes_peak(const struct lmn_env *env)
{
    const struct lmn__pool *pool = env_pool(env);

    return pool != NULL ? lmn__pool_bytes_peak(pool) : 0;
}

enum lmn_status lmn__env_resolve(struct lmn_env *env, struct lmn_env **env_out,
                                 struct lmn_error *err)
{
    if (env == NULL) {
        pthread_once(&default_env_once, default_env_init);
        if (default_env_status != LMN_OK) {
            *env_out = NULL;
            return lmn_fail(err, default_env_status, "no memory for the default environment");
        }
        env = &default_env;
    }
    *env_out = lmn_env_acquire(env);
    return LMN_OK;
}
