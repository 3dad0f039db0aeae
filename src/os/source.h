/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - bytes that are read once, from start to end: a file, a pipe, or memory.
 *
 * A source belongs to one thread at a time.
 */
#ifndef LMN_OS_SOURCE_H
#define LMN_OS_SOURCE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/env.h"

enum { LMN__SOURCE_PEEK_MAX = 64 };

/*
 * Asked before a descriptor is read, and when a signal has interrupted that, with the bytes read so
 * far. False ends the read.
 */
typedef bool (*lmn__source_progress_fn)(void *self, uint64_t bytes);

struct lmn__source {
    struct lmn_env *env;              /* counted; NULL: closed */
    char *name;                       /* how messages call it */
    int fd;                           /* -1: the bytes are in memory */
    bool owned;                       /* fd is closed with the source */
    bool ended;                       /* fd is not read again: a terminal would wait for more */
    lmn__source_progress_fn progress; /* may be NULL */
    void *progress_self;
    struct lmn__span left;
    uint64_t position;                  /* bytes read so far */
    uint8_t held[LMN__SOURCE_PEEK_MAX]; /* peeked at, still to be read */
    uint32_t held_len, held_used;
};

/*
 * Open the file, pipe or device `path`; "-" is standard input. Caller closes.
 *
 * LMN_E_NOT_FOUND  there is no such file
 * LMN_E_INVALID    a directory
 */
LMN_MUST_USE enum lmn_status lmn__source_open(struct lmn__source *source, struct lmn_env *env,
                                              const char *path, struct lmn_error *err);

/* The same, with one who may end it: LMN_E_CANCELLED, also of a pipe that waits for its writer. */
LMN_MUST_USE enum lmn_status lmn__source_open_watched(struct lmn__source *source,
                                                      struct lmn_env *env, const char *path,
                                                      lmn__source_progress_fn progress, void *self,
                                                      struct lmn_error *err);

/* Read from bytes that stay where they are until the source is closed. */
LMN_MUST_USE enum lmn_status lmn__source_open_memory(struct lmn__source *source,
                                                     struct lmn_env *env, const char *name,
                                                     struct lmn__span bytes, struct lmn_error *err);

/*
 * Read up to `len` bytes, fewer only at the end: *got_out is less than len there.
 *
 * LMN_E_CANCELLED  `progress` has ended it
 */
LMN_MUST_USE enum lmn_status lmn__source_read(struct lmn__source *source, void *data, size_t len,
                                              size_t *got_out, struct lmn_error *err);

/*
 * Pass over `len` bytes: without reading them where the source is a file. *got_out is less at the
 * end, as of lmn__source_read().
 */
LMN_MUST_USE enum lmn_status lmn__source_skip(struct lmn__source *source, uint64_t len,
                                              uint64_t *got_out, struct lmn_error *err);

/* Look at the first `len` bytes, at most LMN__SOURCE_PEEK_MAX, fewer when the source is shorter. */
LMN_MUST_USE enum lmn_status lmn__source_peek(struct lmn__source *source, size_t len,
                                              struct lmn__span *bytes_out, struct lmn_error *err);

/* A zeroed source may be given too. */
void lmn__source_close(struct lmn__source *source);

#endif
