/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.h - what a library user may supply once: the heap, the limits and the number of threads.
 *
 * An environment is given when an object is opened and inherited by everything opened from it.
 * It is counted: objects keep it alive. It may be used from many threads.
 */
#ifndef LEMAN_ENV_H
#define LEMAN_ENV_H

#include <stddef.h>
#include <stdint.h>

#include <leman/status.h>

/* The contracts are those of malloc, realloc and free; `self` is passed back. */
struct lmn_allocator {
    void *(*alloc)(void *self, size_t bytes);
    void *(*resize)(void *self, void *memory, size_t bytes);
    void (*release)(void *self, void *memory);
    void *self;
};

/*
 * Memory of the caller's for data that is handed out, such as memory that a GPU or another process
 * can read. The functions are called from any thread, from several at once.
 */
struct lmn_memory {
    /* `bytes` bytes, which is not 0, aligned to 64; NULL: none now, others are taken. */
    void *(*get)(void *self, size_t bytes);
    /* Nobody uses what get() gave for that many bytes any more. */
    void (*put)(void *self, void *memory, size_t bytes);
    /* There will be no call any more, and all is put back; NULL: nothing is to be done then. */
    void (*close)(void *self);
    void *self;
};

/* A zeroed struct asks for the defaults. */
struct lmn_env_options {
    const struct lmn_allocator *allocator; /* copied; NULL takes malloc */
    uint64_t data_bytes_max;               /* limit of all live data buffers; default: 3/4 of RAM */
    uint64_t idle_bytes_max;               /* data buffers kept for reuse; default 256 MiB */
    uint64_t metadata_bytes_max;           /* limit of one file's parsed metadata; default 1 GiB */
    uint64_t source_bytes_max; /* rows to merge or join that stay in memory, others go into a file
                                  of the table's for that time; default 1 GiB, or 1/16 of
                                  RAM where that is less */
    uint32_t threads;          /* default of scans and writers; 0: one per processor */
};

struct lmn_env;

/*
 * Make an environment. `options` may be NULL.
 *
 * The caller releases *env_out; it is NULL on failure.
 *
 * LMN_E_NO_MEMORY  the allocator gave nothing
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_env_new(const struct lmn_env_options *options,
                                                 struct lmn_env **env_out, struct lmn_error *err);

/* One more reference to `env`. NULL, which stands for the process-wide default, stays NULL. */
LMN_API struct lmn_env *lmn_env_acquire(struct lmn_env *env);

/* Give a reference back. NULL is ignored. Data that was handed out stays valid. */
LMN_API void lmn_env_release(struct lmn_env *env);

/* Bytes of data buffers alive now, and the most there have been. */
LMN_API uint64_t lmn_env_data_bytes(const struct lmn_env *env);
LMN_API uint64_t lmn_env_data_bytes_peak(const struct lmn_env *env);

#endif
