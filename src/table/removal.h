/* SPDX-License-Identifier: Apache-2.0 */
/*
 * removal.h - files that are taken away, many at once.
 *
 * Taking a file away waits for the device or the server, often milliseconds, so threads do it, each
 * one file after another. What is added is remembered until there is enough of it, or until
 * lmn__removal_run() is called. A removal belongs to one thread.
 */
#ifndef LMN_TABLE_REMOVAL_H
#define LMN_TABLE_REMOVAL_H

#include "base/arena.h"
#include "store/store.h"

struct lmn__removal_file {
    const char *path;
    bool certain; /* whatever its age */
};

struct lmn__removal {
    struct lmn_store *store;
    int64_t since_ns;      /* files that changed later stay, unless they are certain */
    bool dry_run;          /* count only */
    uint64_t files, bytes; /* that were taken away */

    struct lmn__arena arena; /* of what is waiting */
    struct lmn__removal_file *file;
    const char **dir;
    uint64_t file_count, dir_count;
};

/* The store must live on. */
void lmn__removal_init(struct lmn__removal *removal, struct lmn_store *store, int64_t since_ns,
                       bool dry_run);
void lmn__removal_deinit(struct lmn__removal *removal);

/* Take a file away; one that is gone already is not counted. */
LMN_MUST_USE enum lmn_status lmn__removal_add(struct lmn__removal *removal, const char *path,
                                              bool certain, struct lmn_error *err);

/* Take a folder away, if it is empty when the files that were added before it are gone. */
LMN_MUST_USE enum lmn_status lmn__removal_add_dir(struct lmn__removal *removal, const char *path,
                                                  struct lmn_error *err);

/* Do what is waiting. The first error ends it; files that were taken away before it are counted. */
LMN_MUST_USE enum lmn_status lmn__removal_run(struct lmn__removal *removal, struct lmn_error *err);

#endif
