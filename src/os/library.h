/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - shared objects that are loaded while the program runs. */
#ifndef LMN_OS_LIBRARY_H
#define LMN_OS_LIBRARY_H

#include <leman/status.h>

struct lmn__library {
    void *handle;
};

/*
 * Load the shared object `path`. The caller closes it; it is counted by the system.
 *
 * LMN_E_NOT_FOUND  it cannot be loaded; the message holds the system's reason
 */
LMN_MUST_USE enum lmn_status lmn__library_open(const char *path, struct lmn__library *library_out,
                                               struct lmn_error *err);
/* One that is zeroed may be given too. */
void lmn__library_close(struct lmn__library *library);

/* The address of a name; NULL when there is none. */
void *lmn__library_find(const struct lmn__library *library, const char *name);

/*
 * The address of `symbol` in the shared library `name`, as "libx.so.1"; NULL when one of them is
 * not there. The library stays loaded.
 */
void *lmn__library_symbol(const char *name, const char *symbol);

#endif
