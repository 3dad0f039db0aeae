/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - bytes that are written once, from start to end: to a file, a pipe, or memory.
 *
 * A sink belongs to one thread at a time.
 */
#ifndef LMN_OS_SINK_H
#define LMN_OS_SINK_H

#include <stdbool.h>

#include "base/buf.h"

struct lmn__sink {
    struct lmn_env *env;  /* counted; NULL: closed */
    char *name;           /* how messages call it */
    int fd;               /* -1: the bytes go to `buf` */
    bool owned;           /* fd is closed with the sink */
    struct lmn__buf *buf; /* borrowed */
    uint64_t position;    /* bytes written so far */
};

/* Make or empty the file `path`; "-" is standard output. The caller closes the sink. */
LMN_MUST_USE enum lmn_status lmn__sink_open(struct lmn__sink *sink, struct lmn_env *env,
                                            const char *path, struct lmn_error *err);

/* Write to a descriptor, which stays open, or append to a buffer. */
LMN_MUST_USE enum lmn_status lmn__sink_open_fd(struct lmn__sink *sink, struct lmn_env *env, int fd,
                                               struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__sink_open_buf(struct lmn__sink *sink, struct lmn_env *env,
                                                struct lmn__buf *buf, struct lmn_error *err);

LMN_MUST_USE enum lmn_status lmn__sink_write(struct lmn__sink *sink, const void *data, size_t len,
                                             struct lmn_error *err);

/* Close, and say whether the system kept what was written. A zeroed sink may be given too. */
LMN_MUST_USE enum lmn_status lmn__sink_close(struct lmn__sink *sink, struct lmn_error *err);

#endif
