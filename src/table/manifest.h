/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h - one version of a table: its schema and its fragments.
 *
 * A manifest does not change once it is read. It is counted; scans keep theirs alive. Fragments
 * stay encoded until they are asked for, so that opening a table of many fragments is quick.
 */
#ifndef LMN_TABLE_MANIFEST_H
#define LMN_TABLE_MANIFEST_H

#include "format/schema.h"
#include "store/store.h"
#include "table/table_pb.h"

/* Feature flags that this library knows; see docs/format/table.md. */
enum {
    LMN__FLAG_DELETIONS = 1,
    LMN__FLAG_STABLE_ROW_IDS = 2,
    LMN__FLAG_CONFIG = 8,
    LMN__FLAG_BASE_PATHS = 16,
    LMN__FLAG_NO_TRANSACTION_FILES = 32,
    LMN__FLAG_OVERLAYS = 64,
    LMN__FLAG_COVERING_INDEX = 128,
    LMN__FLAG_MIXED_VERSIONS = 256,
    LMN__FLAG_SPILLED_LINEAGE = 2048,
    LMN__FLAG_MANAGED_BLOBS = 16384,
    LMN__FLAG_FIELD_IDS = 32768
};

/* What the file of a manifest is told by from another one of its name; zeroed: not known. */
struct lmn__version_mark {
    uint64_t bytes;
    int64_t modified_ns;
    uint64_t number;
};

struct lmn__manifest {
    atomic_uint_fast64_t reference_count;
    struct lmn_env *env;      /* counted */
    struct lmn__block *block; /* the file's bytes; everything below points into it */
    struct lmn__arena arena;
    struct lmn__pb_manifest pb;
    struct lmn__span index_section; /* an encoded IndexSection; .data NULL: none */
    struct lmn__span transaction;   /* an encoded Transaction; .data NULL: not in this file */
    struct lmn__schema schema;
    uint32_t format_minor;         /* the table's file version is 2.`format_minor` */
    uint32_t minor;                /* new files are of version 2.`minor` */
    bool plain_name;               /* named as by early writers; see versions.h */
    uint64_t bytes;                /* of the file */
    struct lmn__version_mark mark; /* of the file */
};

/*
 * Read the manifest at `path` of `store`, a table's directory. The caller releases *manifest_out.
 *
 * LMN_E_NOT_FOUND    there is no such file
 * LMN_E_CORRUPT      it does not decode
 * LMN_E_UNSUPPORTED  a feature flag that readers must know and this library does not; it is named
 */
LMN_MUST_USE enum lmn_status lmn__manifest_read(struct lmn_store *store, const char *path,
                                                struct lmn__manifest **manifest_out,
                                                struct lmn_error *err);

/* The same of a manifest's bytes, which are copied. */
LMN_MUST_USE enum lmn_status lmn__manifest_from_bytes(struct lmn_env *env, struct lmn__span bytes,
                                                      struct lmn__manifest **manifest_out,
                                                      struct lmn_error *err);

struct lmn__manifest *lmn__manifest_acquire(struct lmn__manifest *manifest);
/* NULL is ignored. */
void lmn__manifest_release(struct lmn__manifest *manifest);

/* May this library write to the table? LMN_E_UNSUPPORTED naming the flag otherwise. */
LMN_MUST_USE enum lmn_status lmn__manifest_check_writable(const struct lmn__manifest *manifest,
                                                          struct lmn_error *err);

/* Has a fragment files of version 2.0, which is said in two ways? */
static inline bool lmn__fragment_is_old(const struct lmn__pb_fragment *fragment)
{
    const struct lmn__pb_data_file *file = fragment->files.item;

    for (size_t i = 0; i < fragment->files.count; i++) {
        if ((file[i].major == 2 && file[i].minor == 0) ||
            (file[i].major == 0 && file[i].minor == 3))
            return true;
    }
    return false;
}

/* Number of fragments. */
static inline uint64_t lmn__manifest_fragment_count(const struct lmn__manifest *manifest)
{
    return manifest->pb.fragments.count;
}

/* The id of fragment number `index`; the rest of it is not decoded. */
LMN_MUST_USE enum lmn_status lmn__manifest_fragment_id(const struct lmn__manifest *manifest,
                                                       uint64_t index, struct lmn__arena *arena,
                                                       uint64_t *id_out, struct lmn_error *err);

/*
 * The number of the fragment with this id. It takes few steps where fragments are in the order of
 * their ids, as a rule.
 *
 * LMN_E_NOT_FOUND  there is none
 */
LMN_MUST_USE enum lmn_status lmn__manifest_find(const struct lmn__manifest *manifest, uint64_t id,
                                                struct lmn__arena *arena, uint64_t *index_out,
                                                struct lmn_error *err);

/* Decode fragment number `index` (not id) into the arena. */
LMN_MUST_USE enum lmn_status lmn__manifest_fragment(const struct lmn__manifest *manifest,
                                                    uint64_t index, struct lmn__arena *arena,
                                                    struct lmn__pb_fragment *fragment_out,
                                                    struct lmn_error *err);

/* The entry of a base path; NULL when there is none of that id. */
const struct lmn__pb_base_path *lmn__manifest_base(const struct lmn__manifest *manifest,
                                                   uint32_t id);

/* Do rows keep their ids? */
static inline bool lmn__manifest_stable_ids(const struct lmn__manifest *manifest)
{
    return (manifest->pb.reader_flags & LMN__FLAG_STABLE_ROW_IDS) != 0;
}

#endif
