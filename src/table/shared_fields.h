/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_fields.h - which fields of a version another version has, too.
 *
 * A field keeps its id when it is renamed, but the id of one that is dropped may be given to
 * another. So a field is shared as far as anybody knows, until a version between the two shows
 * that it is not.
 */
#ifndef LMN_TABLE_SHARED_FIELDS_H
#define LMN_TABLE_SHARED_FIELDS_H

#include "table/manifest.h"

/* One bool for each node of the schema of `to`. The caller frees *shared_out with the env. */
LMN_MUST_USE enum lmn_status lmn__shared_fields_find(struct lmn_env *env,
                                                     const struct lmn__manifest *from,
                                                     const struct lmn__manifest *to,
                                                     bool **shared_out, struct lmn_error *err);

/*
 * Take out of `shared`, which belongs to `schema`, what a version between does not have.
 *
 * `overwritten` (NULL: none) is the version that was written over that one: there a field is the
 * same only if its name is, too.
 */
void lmn__shared_fields_keep(bool *shared, const struct lmn__schema *schema,
                             const struct lmn__manifest *between,
                             const struct lmn__manifest *overwritten);

#endif
