/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.h - environments: folders of Python code, shipped by content.
 *
 * A pack is a plan of what would be shipped of some folders: every file hashed, and the files put
 * together in archives that are named by what they hold. Shipping writes those archives that the
 * store does not have; a file that changes makes one archive of a few megabytes another one.
 * docs/format/env.md describes the bytes.
 *
 * A pack belongs to one thread at a time, and works with threads of its own meanwhile.
 */
#ifndef LEMAN_PACK_H
#define LEMAN_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include <leman/store.h>
#include <leman/text.h>

struct lmn_pack;

enum lmn_pack_kind {
    LMN_PACK_WORKSPACE, /* the user's own code */
    LMN_PACK_SITE,      /* installed packages: only their caches stay behind */
    LMN_PACK_OTHER      /* any other folder, or a file, of the Python path */
};

/* One folder or file of the Python path; borrowed for the call. */
struct lmn_pack_path {
    const char *path; /* absolute */
    enum lmn_pack_kind kind;
    bool flat; /* only modules (*.py) that lie directly in it */
};

/* A zeroed struct asks for the defaults. */
struct lmn_pack_options {
    const char *cache_folder; /* hashes of files from run to run; NULL: the user's state folder */
    uint64_t bytes_max;       /* a plan of more is not made; default 500 MB */
    uint32_t threads;         /* default: one per processor */
};

/*
 * Plan to ship `count` paths. Files whose size and time of modification are those of the last plan
 * are not read again. `env` and `options` may be NULL.
 *
 * A plan of more than bytes_max bytes is made without reading a file: lmn_pack_is_over() tells,
 * and the text of the plan has the largest paths.
 *
 * The caller frees *pack_out; it is NULL on failure.
 *
 * LMN_E_NOT_FOUND  a path that is not there
 * LMN_E_INVALID    a path that is not absolute; a bad line in a .lemanignore
 * LMN_E_CONFLICT   a file changed while it was read
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_pack_scan(struct lmn_env *env,
                                                   const struct lmn_pack_path *path, size_t count,
                                                   const struct lmn_pack_options *options,
                                                   struct lmn_pack **pack_out,
                                                   struct lmn_error *err);

/* Is it over the limit, so that it cannot be shipped? */
LMN_API bool lmn_pack_is_over(const struct lmn_pack *pack);

/*
 * The plan as a JSON object: bytes, files, files_hashed, bytes_hashed, over, scan_ms, hash_ms; for
 * each of `paths` its path, kind, bytes, files, its `archives` ({hash, bytes, files}) and what was
 * `left_out` ({path, reason, bytes}), at most 100 of them, of `left_out_count`; and `largest`, the
 * ten largest files and folders. The caller frees it with lmn_text_free().
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_pack_text(const struct lmn_pack *pack, char **text_out,
                                                   struct lmn_error *err);

/*
 * Write the archives that `store` does not have to its folder "_leman/env". Each is there whole or
 * not at all, so that what was interrupted goes on with the next call. *text_out is a JSON object:
 * shipped ({hash, path, files, bytes, stored_bytes}), shipped_bytes, there (how many were there),
 * archive_ms, upload_ms. The caller frees it with lmn_text_free().
 *
 * LMN_E_INVALID   the plan is over its limit
 * LMN_E_CONFLICT  a file is not what it was when it was planned
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_pack_ship(struct lmn_pack *pack, struct lmn_store *store,
                                                   char **text_out, struct lmn_error *err);

/* NULL is ignored. */
LMN_API void lmn_pack_free(struct lmn_pack *pack);

/* An archive as a plan gives it. */
struct lmn_pack_archive {
    const char *hash; /* 64 hexadecimal digits */
    uint64_t bytes;   /* of its files: no more are unpacked */
};

/*
 * Make the folder that `count` archives of a store were made of, below `folder`, which is made and
 * kept: an archive that is unpacked there is not read again. Every file is checked; files may be
 * read and run, not written. *path_out is the folder, which the caller frees with lmn_text_free().
 * Nothing is synced: a folder must not be used again after the machine lost power.
 *
 * Processes may unpack to one folder at once.
 *
 * LMN_E_NOT_FOUND  the store does not have an archive
 * LMN_E_CORRUPT    an archive does not hold what its name says; nothing of it is kept
 * LMN_E_INVALID    a hash that is none
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_pack_unpack(struct lmn_store *store, const char *folder,
                                                     const struct lmn_pack_archive *archive,
                                                     size_t count, char **path_out,
                                                     struct lmn_error *err);

/*
 * Keep a text in "_leman/env", named by its hash and ".json"; one that is there gets the time of
 * this call. `hash_out` has room for 65 characters.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_pack_put(struct lmn_store *store, const char *text,
                                                  char *hash_out, struct lmn_error *err);

/*
 * The text of a hash. The caller frees it with lmn_text_free().
 *
 * LMN_E_NOT_FOUND  there is none
 * LMN_E_CORRUPT    it is not what its name says
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_pack_get(struct lmn_store *store, const char *hash,
                                                  char **text_out, struct lmn_error *err);

/*
 * What lies in "_leman/env", as a JSON array of {name, bytes, modified_ns}, sorted by name. The
 * caller frees it with lmn_text_free().
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_pack_list(struct lmn_store *store, char **text_out,
                                                   struct lmn_error *err);

/* Take one of them away, by its name in the list. LMN_E_NOT_FOUND when it is not there. */
LMN_API LMN_MUST_USE enum lmn_status lmn_pack_remove(struct lmn_store *store, const char *name,
                                                     struct lmn_error *err);

#endif
