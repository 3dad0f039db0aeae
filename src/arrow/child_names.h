/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_names.h - the children of a schema by their names, where many are looked for.
 *
 * It borrows the schema and lives in an arena. Threads may share it.
 */
#ifndef LMN_ARROW_CHILD_NAMES_H
#define LMN_ARROW_CHILD_NAMES_H

#include <leman/arrow_abi.h>

#include "base/arena.h"

struct lmn__child_names {
    const struct ArrowSchema *schema;
    uint32_t *bucket;      /* number of a child, by the hash of its name; a power of two of them */
    uint64_t bucket_count; /* half of them at least are empty */
};

LMN_MUST_USE enum lmn_status lmn__child_names_init(struct lmn__child_names *names,
                                                   const struct ArrowSchema *schema,
                                                   struct lmn__arena *arena, struct lmn_error *err);

/* The number of the first child of that name; -1: there is none. */
int64_t lmn__child_names_find(const struct lmn__child_names *names, const char *name);

#endif
