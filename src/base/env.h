/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.h - the environment as the library sees it: heap calls and limits.
 *
 * Metadata and control structures come from the heap calls below; column data comes from the
 * environment's pool (pool.h). No function here takes NULL for `env`: lmn__env_resolve() turns
 * the caller's NULL into the process-wide default once, where an object is opened.
 */
#ifndef LMN_BASE_ENV_H
#define LMN_BASE_ENV_H

#include <stdatomic.h>

#include <leman/env.h>

struct lmn__pool;

struct lmn_env {
    atomic_uint_fast64_t reference_count;
    struct lmn_allocator allocator;
    struct lmn__pool *pool; /* counted apart: buffers outlive their environment */
    uint64_t metadata_bytes_max;
    uint64_t source_bytes_max;
    uint32_t threads;
};

/* malloc, realloc and free. */
extern const struct lmn_allocator lmn__heap;

/* What the operating system supplies to an environment; see os/env.c. */
struct lmn__env_defaults {
    uint64_t memory_bytes;
    uint32_t processor_count;
    void *(*region_map)(size_t bytes);
    void (*region_unmap)(void *region, size_t bytes);
};

/* lmn_env_new() with the operating system's part given. */
LMN_MUST_USE enum lmn_status lmn__env_init(struct lmn_env *env,
                                           const struct lmn_env_options *options,
                                           const struct lmn__env_defaults *defaults,
                                           struct lmn_error *err);

void lmn__env_deinit(struct lmn_env *env);

/*
 * An environment like `base` whose data lies in `memory`, as far as that has room; see pool.h. It
 * owns the memory from then on. The caller releases *env_out.
 */
LMN_MUST_USE enum lmn_status lmn__env_new_placed(const struct lmn_env *base,
                                                 const struct lmn_memory *memory,
                                                 struct lmn_env **env_out, struct lmn_error *err);

/* A new reference to `env`, or to the process-wide default for NULL. */
LMN_MUST_USE enum lmn_status lmn__env_resolve(struct lmn_env *env, struct lmn_env **env_out,
                                              struct lmn_error *err);

/* NULL when there is no memory. Zero bytes give a pointer that may be freed. */
void *lmn__alloc(struct lmn_env *env, size_t bytes);
void *lmn__calloc(struct lmn_env *env, size_t count, size_t bytes);
void *lmn__realloc(struct lmn_env *env, void *memory, size_t bytes);
/* A copy with a terminating NUL; `text` may be NULL when `len` is 0. */
char *lmn__strndup(struct lmn_env *env, const char *text, size_t len);
void lmn__free(struct lmn_env *env, void *memory);

/* The status and message of a failed allocation. */
enum lmn_status lmn__no_memory(struct lmn_error *err, const char *what, uint64_t bytes);

#endif
