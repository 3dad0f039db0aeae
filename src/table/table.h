/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - an open table: a directory, one version of it, and the files that are open.
 */
#ifndef LMN_TABLE_TABLE_H
#define LMN_TABLE_TABLE_H

#include <leman/table.h>

#include "os/thread.h"
#include "table/manifest.h"

struct lmn__file_set;
struct lmn__snapshot;

struct lmn_table {
    atomic_uint_fast64_t reference_count;
    struct lmn_env *env;     /* counted */
    struct lmn_store *store; /* counted; its root is the table's directory */
    struct lmn__file_set *files;
    struct lmn__mutex mutex;
    struct {
        struct lmn__manifest *manifest; /* counted */
        struct lmn__snapshot *snapshot; /* counted; of the last version that was read, or NULL */
        uint64_t tip;                   /* the newest version while tip_stamp is the stamp */
        int64_t tip_stamp;              /* of the versions; 0: the tip is not known */
    } locked;
};

/* A handle of the table in `store`, standing at `manifest`, of which it takes a reference. */
LMN_MUST_USE enum lmn_status lmn__table_new(struct lmn_store *store, struct lmn__manifest *manifest,
                                            struct lmn_table **table_out, struct lmn_error *err);

/* The version that the table is at; the caller releases it. */
struct lmn__manifest *lmn__table_manifest(struct lmn_table *table);

/* Move the table to another version; takes over the reference. */
void lmn__table_set_manifest(struct lmn_table *table, struct lmn__manifest *manifest);

/*
 * Move the table to a version that it has just made; takes over the reference. It stays where
 * another thread has moved it since it stood at `stood`, if that is further. That it is the
 * newest one is remembered with the stamp of the versions, so that the next look for the newest
 * need not list them. `stamp_before` is the stamp before the version was made: where it does not
 * move, it says nothing.
 */
void lmn__table_advance(struct lmn_table *table, const struct lmn__manifest *stood,
                        struct lmn__manifest *made, int64_t stamp_before);

/* Forget which version is the newest; the next look lists. */
void lmn__table_clear_tip(struct lmn_table *table);

/* The newest version, wherever the handle stands; the caller releases it. */
LMN_MUST_USE enum lmn_status lmn__table_newest(struct lmn_table *table,
                                               struct lmn__manifest **manifest_out,
                                               struct lmn_error *err);

/*
 * The same without a look at all versions, for an operation whose commit looks and which can be
 * made again: the handle's own version while it is there and has no successor. Where successors are
 * cleaned away that is not the newest one, as it may not be a moment later anyway.
 */
LMN_MUST_USE enum lmn_status lmn__table_recent(struct lmn_table *table,
                                               struct lmn__manifest **manifest_out,
                                               struct lmn_error *err);

/*
 * Another version. `plain` says how its manifest is named; see versions.h. The caller releases it.
 *
 * LMN_E_NOT_FOUND  there is no such version
 */
LMN_MUST_USE enum lmn_status lmn__table_read_version(struct lmn_table *table, uint64_t version,
                                                     bool plain,
                                                     struct lmn__manifest **manifest_out,
                                                     struct lmn_error *err);

/* The same of one between others. One that is damaged is as one that is gone: what it did is not
 * known. */
LMN_MUST_USE enum lmn_status lmn__table_read_past(struct lmn_table *table, uint64_t version,
                                                  bool plain, struct lmn__manifest **manifest_out,
                                                  struct lmn_error *err);

/* When a version was made, in microseconds since 1970. */
int64_t lmn__manifest_time_us(const struct lmn__manifest *manifest);

#endif
