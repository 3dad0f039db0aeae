/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags.h - names of versions, one small JSON file each under _refs/tags.
 */
#ifndef LMN_TABLE_TAGS_H
#define LMN_TABLE_TAGS_H

#include "store/store.h"

enum { LMN__TAG_NAME_BYTES = 256 };

/* LMN_E_INVALID for a name that other programs would not take. */
LMN_MUST_USE enum lmn_status lmn__tag_check_name(const char *name, struct lmn_error *err);

struct lmn__tag {
    char name[LMN__TAG_NAME_BYTES];
    char branch[LMN__TAG_NAME_BYTES]; /* "": the main one */
    uint64_t version;
    uint64_t manifest_bytes;
};

/*
 * Look up a tag of the table in `store`.
 *
 * LMN_E_NOT_FOUND  there is no tag of that name
 * LMN_E_CORRUPT    its file does not decode
 */
LMN_MUST_USE enum lmn_status lmn__tag_read(struct lmn_store *store, const char *name,
                                           struct lmn__tag *tag_out, struct lmn_error *err);

struct lmn_table;

/* Told of a tag that cannot be used, and why. */
typedef void (*lmn__tag_finding_fn)(void *context, const char *name, const char *reason);

/* Look for tags of a table that do not decode, and for those whose versions cannot be opened. */
LMN_MUST_USE enum lmn_status lmn__tags_check(struct lmn_table *table, lmn__tag_finding_fn found,
                                             void *context, struct lmn_error *err);

#endif
