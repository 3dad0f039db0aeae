/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - a file that says what a process holds, for as long as the process lives.
 *
 * The file is locked by its holder; the system lets go of the lock when the holder ends, however
 * that comes about.
 */
#ifndef LMN_OS_LEASE_H
#define LMN_OS_LEASE_H

#include <stdbool.h>
#include <stddef.h>

#include <leman/status.h>

struct lmn__lease {
    int fd; /* -1: none */
};

/*
 * Make or take over the file `path` and write `text` into it. LMN_E_UNAVAILABLE when another
 * process holds it.
 */
LMN_MUST_USE enum lmn_status lmn__lease_take(const char *path, const char *text,
                                             struct lmn__lease *lease_out, struct lmn_error *err);

/* Give it back; `path` is removed, if it is not NULL. */
void lmn__lease_give(struct lmn__lease *lease, const char *path);

/*
 * What a file says that a living process holds, cut to text_bytes. False when nobody holds it; then
 * it is removed.
 */
bool lmn__lease_read(const char *path, char *text_out, size_t text_bytes);

#endif
