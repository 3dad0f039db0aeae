/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_files.h - the files that versions of a table are made of, by their paths in its directory.
 *
 * A data file stands for the side files of its blobs, too, and an index is one entry, that of its
 * folder. Files of other directories (base paths) are entered as if they lay in this one: an entry
 * too many keeps a file, and no more.
 */
#ifndef LMN_TABLE_NAMED_FILES_H
#define LMN_TABLE_NAMED_FILES_H

#include "table/manifest.h"

struct lmn__named_file {
    const char *path; /* NULL: the place is free */
    bool kept;        /* by a version that stays */
};

struct lmn__named_files {
    struct lmn_env *env; /* borrowed */
    struct lmn__arena arena;
    struct lmn__named_file *slot; /* open addressing; a power of two */
    uint64_t count, room;
};

void lmn__named_files_init(struct lmn__named_files *files, struct lmn_env *env);
void lmn__named_files_deinit(struct lmn__named_files *files);

/* Enter all files of a version; `kept` stays set once it is. */
LMN_MUST_USE enum lmn_status lmn__named_files_add(struct lmn__named_files *files,
                                                  const struct lmn__manifest *manifest, bool kept,
                                                  struct lmn_error *err);

/* The entry of a path; NULL when no version names it. */
const struct lmn__named_file *lmn__named_files_find(const struct lmn__named_files *files,
                                                    const char *path);

#endif
