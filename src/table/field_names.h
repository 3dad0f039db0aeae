/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_names.h - which column is meant, whatever it is called: fields keep their ids when any
 * program renames them.
 */
#ifndef LMN_TABLE_FIELD_NAMES_H
#define LMN_TABLE_FIELD_NAMES_H

#include "table/manifest.h"

/* The field of that id, inside of columns too; NULL when there is none. */
const struct lmn__node *lmn__field_of_id(const struct lmn__schema *schema, int32_t id);

/* Its path ("info.url") in the arena; NULL without memory. */
const char *lmn__field_path(const struct lmn__node *node, struct lmn__arena *arena);

/*
 * Names and paths of fields in the version `from`, as the version `to` calls the same fields; they
 * lie in the arena, or are those given. A name that `from` does not have, or whose field `to` does
 * not have, stays as it is.
 */
LMN_MUST_USE enum lmn_status lmn__field_names_follow(
    const struct lmn__manifest *from, const struct lmn__manifest *to, const char *const *name,
    uint32_t count, struct lmn__arena *arena, const char *const **name_out, struct lmn_error *err);

#endif
