/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.h - folders as trees of files: what lies in one, and making them in bulk.
 *
 * Failures are those of file.h. Unlike lmn__dir_make(), nothing here waits for the device.
 */
#ifndef LMN_OS_ENTRY_H
#define LMN_OS_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "os/file.h"

enum lmn__entry_kind {
    LMN__ENTRY_FILE, /* or a link to one */
    LMN__ENTRY_FOLDER,
    LMN__ENTRY_FOLDER_LINK,
    LMN__ENTRY_OTHER /* a pipe, a socket, a device, a link to nothing */
};

struct lmn__entry {
    const char *name; /* for the time of the call */
    enum lmn__entry_kind kind;
    bool executable;     /* by its owner */
    uint64_t bytes;      /* of a file */
    int64_t modified_ns; /* since 1970 */
};

/* Called once per entry, without "." and "..", in no order. A status other than OK ends it. */
typedef enum lmn_status (*lmn__entry_fn)(void *context, const struct lmn__entry *entry,
                                         struct lmn_error *err);

/* What lies in folder `path`; an entry that goes meanwhile is left out. */
LMN_MUST_USE enum lmn_status lmn__entry_list(const char *path, lmn__entry_fn fn, void *context,
                                             struct lmn_error *err);

/* The file or folder `path` itself. LMN_E_NOT_FOUND when it is not there. */
LMN_MUST_USE enum lmn_status lmn__entry_stat(const char *path, struct lmn__entry *entry_out,
                                             struct lmn_error *err);

/* Make one folder, whose parent is there; one that is there is fine. */
LMN_MUST_USE enum lmn_status lmn__entry_make_folder(const char *path, struct lmn_error *err);

/*
 * Make a file that only *file_out can write to: everybody may read it, and run it when
 * `executable`. LMN_E_EXISTS when it is there. The caller closes it.
 */
LMN_MUST_USE enum lmn_status lmn__entry_make_sealed(const char *path, bool executable,
                                                    struct lmn__file *file_out,
                                                    struct lmn_error *err);

#endif
