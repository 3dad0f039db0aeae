/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.h - memory that several processes see.
 */
#ifndef LMN_OS_SHARED_H
#define LMN_OS_SHARED_H

#include <stddef.h>

#include <leman/status.h>

struct lmn__shared {
    int fd;
    void *memory;
    size_t bytes;
};

/* Zeroed memory. The caller closes it; other processes that have it keep it. */
LMN_MUST_USE enum lmn_status lmn__shared_new(size_t bytes, struct lmn__shared *shared_out,
                                             struct lmn_error *err);

/*
 * Map the memory behind `fd`, which moves here, also on failure.
 *
 * LMN_E_CORRUPT  it has fewer than `bytes` bytes
 */
LMN_MUST_USE enum lmn_status lmn__shared_open(int fd, size_t bytes, struct lmn__shared *shared_out,
                                              struct lmn_error *err);

/* Another descriptor of the same memory, to be passed on; -1 when there is none. */
int lmn__shared_fd(const struct lmn__shared *shared);

/* One that is zeroed or closed may be given too. */
void lmn__shared_close(struct lmn__shared *shared);

#endif
