/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - the files of one path that are shipped, sorted, and what was left out.
 */
#ifndef LMN_PACK_TREE_H
#define LMN_PACK_TREE_H

#include "base/sha256.h"
#include "pack/rules.h"

struct lmn__tree_file {
    const char *path; /* relative to the root, with '/' */
    uint64_t bytes;
    int64_t modified_ns;
    bool executable;
    bool hashed;
    uint8_t hash[LMN__SHA256_BYTES];
};

struct lmn__tree_absent {
    const char *path, *reason;
    uint64_t bytes; /* of a file; 0 for a folder, which is not looked into */
};

struct lmn__tree {
    struct lmn__arena *arena; /* borrowed */
    const char *root;
    enum lmn_pack_kind kind;
    bool flat;
    bool is_file; /* the root is one, and the only file */
    struct lmn__rules rules;
    struct lmn__tree_file *file;
    size_t count, cap;
    uint64_t bytes;
    struct lmn__tree_absent *absent; /* the first of them */
    size_t absent_kept;
    uint64_t absent_count;
};

enum { LMN__TREE_ABSENT_MAX = 100 };

/*
 * List the files below `path->path`, without reading them. Everything lives in `arena`.
 *
 * LMN_E_NOT_FOUND  there is no such path
 * LMN_E_INVALID    it is not absolute; a bad pattern in its .lemanignore
 */
LMN_MUST_USE enum lmn_status lmn__tree_walk(struct lmn__tree *tree, struct lmn__arena *arena,
                                            const struct lmn_pack_path *path,
                                            struct lmn_error *err);

/* Where a file of the tree lies. `path_out` has room for LMN__TREE_PATH_CHARS characters. */
enum { LMN__TREE_PATH_CHARS = 8192 };
LMN_MUST_USE enum lmn_status lmn__tree_place(const struct lmn__tree *tree, const char *path,
                                             char *path_out, struct lmn_error *err);

/* Is it a path that an archive may hold: relative, without empty, "." and ".." parts? */
bool lmn__tree_path_is_safe(const uint8_t *path, size_t len);

#endif
