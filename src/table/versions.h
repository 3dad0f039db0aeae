/* SPDX-License-Identifier: Apache-2.0 */
/*
 * versions.h - the manifests of a table by version number.
 *
 * A manifest is named by the distance of its version from the largest 64-bit number, in 20 digits,
 * so that the newest comes first in a listing; tables of early writers have plain numbers. A table
 * has names of one kind.
 */
#ifndef LMN_TABLE_VERSIONS_H
#define LMN_TABLE_VERSIONS_H

#include "base/arena.h"
#include "store/store.h"
#include "table/manifest.h"

enum { LMN__VERSION_PATH_BYTES = 64 };

/* The path of a version's manifest. `plain` asks for the names of early writers. */
void lmn__version_path(uint64_t version, bool plain, char path_out[LMN__VERSION_PATH_BYTES]);

/* LMN_E_NOT_FOUND  there is no manifest of this version */
LMN_MUST_USE enum lmn_status lmn__version_mark(struct lmn_store *store, uint64_t version,
                                               bool plain, struct lmn__version_mark *mark_out,
                                               struct lmn_error *err);

/* Are both marks of one file? What is not known is not. */
bool lmn__version_same(const struct lmn__version_mark *a, const struct lmn__version_mark *b);

/*
 * Is there another manifest of this version than the one that had this mark? Then the table was
 * dropped, and another one made in its place.
 */
bool lmn__version_is_other(struct lmn_store *store, uint64_t version, bool plain,
                           const struct lmn__version_mark *mark);

/* Is there a manifest of this version? */
LMN_MUST_USE enum lmn_status lmn__version_exists(struct lmn_store *store, uint64_t version,
                                                 bool plain, bool *there_out,
                                                 struct lmn_error *err);

/*
 * Read the manifest of a version; the caller releases it.
 *
 * LMN_E_NOT_FOUND  there is no such version
 * LMN_E_CORRUPT    it does not decode, or is that of another version
 */
LMN_MUST_USE enum lmn_status lmn__version_read(struct lmn_store *store, uint64_t version,
                                               bool plain, struct lmn__manifest **manifest_out,
                                               struct lmn_error *err);

/* Is there surely none any more, as after a cleanup? */
bool lmn__version_is_gone(struct lmn_store *store, uint64_t version, bool plain);

/*
 * The number of the newest version, and how manifests are named.
 *
 * LMN_E_NOT_FOUND  there is none: this is no table
 */
LMN_MUST_USE enum lmn_status lmn__versions_newest(struct lmn_store *store, uint64_t *version_out,
                                                  bool *plain_out, struct lmn_error *err);

/* What says that versions came or went; see dir_stamp in store.h. 0: not known. */
int64_t lmn__versions_stamp(struct lmn_store *store);

/* All version numbers, rising, in the arena. */
LMN_MUST_USE enum lmn_status lmn__versions_list(struct lmn_store *store, struct lmn__arena *arena,
                                                uint64_t **version_out, uint64_t *count_out,
                                                bool *plain_out, struct lmn_error *err);

#endif
