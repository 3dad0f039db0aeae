/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.h - which files of a tree go into which archive.
 *
 * A folder of up to 2 MiB is never parted. Of a larger one, every file and folder that is larger
 * than that is dealt with alone, and the others are shared out by a hash of their names: so another
 * file, or one more, changes one archive of about that size, and an archive has the same name on
 * every machine.
 */
#ifndef LMN_PACK_SPLIT_H
#define LMN_PACK_SPLIT_H

#include "pack/tree.h"

struct lmn__archive {
    const struct lmn__tree *tree;
    const struct lmn__tree_file **file; /* ascending by path */
    size_t count;
    uint64_t bytes;
    char hash[LMN__SHA256_HEX]; /* of what it holds; "" until lmn__archive_name() */
};

struct lmn__archives {
    struct lmn__arena *arena; /* borrowed */
    struct lmn__archive *archive;
    size_t count, cap;
};

/* Append the archives of a tree. */
LMN_MUST_USE enum lmn_status lmn__split(struct lmn__archives *archives,
                                        const struct lmn__tree *tree, struct lmn_error *err);

/* Name an archive; its files are hashed. docs/format/env.md says what of. */
void lmn__archive_name(struct lmn__archive *archive);

/* One step of that: a member, in the order of the archive. */
struct lmn__sha256_state;
void lmn__archive_name_member(struct lmn__sha256_state *state, const char *path, bool executable,
                              uint64_t bytes, const uint8_t hash[LMN__SHA256_BYTES]);

#endif
