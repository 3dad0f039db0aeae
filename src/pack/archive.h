/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive.h - the bytes of an archive: a tar archive in a zstd frame.
 *
 * The same files give the same bytes: members ascend by path, and times and owners are left out.
 */
#ifndef LMN_PACK_ARCHIVE_H
#define LMN_PACK_ARCHIVE_H

#include "pack/split.h"
#include "store/object.h"

struct lmn__archive_result {
    bool written; /* false: it was there */
    uint64_t stored_bytes;
    uint64_t archive_ns, upload_ns;
};

/* Where an archive of this hash lies in a store. */
enum { LMN__ARCHIVE_PATH_CHARS = 96 };
#define LMN__ARCHIVE_FOLDER "_leman/env"
void lmn__archive_path(const char *hash, char path_out[LMN__ARCHIVE_PATH_CHARS]);

/* 64 hexadecimal digits in lower case? */
bool lmn__archive_is_hash(const char *text);

/*
 * Write an archive to its place in `store`, unless it is there.
 *
 * LMN_E_CONFLICT  a file is not what it was when it was hashed
 */
LMN_MUST_USE enum lmn_status lmn__archive_write(const struct lmn__archive *archive,
                                                struct lmn_store *store,
                                                struct lmn__archive_result *result_out,
                                                struct lmn_error *err);

/* What takes the members of an archive, one after the other. */
struct lmn__member_sink {
    void *self;
    enum lmn_status (*begin)(void *self, const char *path, bool executable, struct lmn_error *err);
    enum lmn_status (*data)(void *self, const void *data, size_t len, struct lmn_error *err);
    enum lmn_status (*end)(void *self, struct lmn_error *err);
};

/*
 * Give the members of an archive to `sink`: paths are safe and ascend, their content is `bytes`
 * bytes in all. What was given counts only if LMN_OK is returned.
 *
 * LMN_E_CORRUPT  it is no archive of ours, or does not hold what `hash` names
 */
LMN_MUST_USE enum lmn_status lmn__archive_read(struct lmn_env *env,
                                               const struct lmn__object *object, const char *hash,
                                               uint64_t bytes, const struct lmn__member_sink *sink,
                                               struct lmn_error *err);

#endif
