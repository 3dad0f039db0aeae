/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_plan.h - what is written for rows of a type: the schema message, and for every column of
 * the file the way to its leaf. A plan does not change once it is made.
 */
#ifndef LMN_FORMAT_WRITE_PLAN_H
#define LMN_FORMAT_WRITE_PLAN_H

#include <leman/page.h>

#include "codec/encode.h"
#include "format/schema.h"

/* One column of the file. */
struct lmn__write_leaf {
    const struct lmn__node *node;
    uint32_t top;        /* number of the column of the rows that it lies in */
    uint32_t path_count; /* nodes from that column to the leaf */
    const struct lmn__shred_node *path;
    const struct lmn__layout *value_layout; /* the leaf's, without views */
};

struct lmn__write_plan {
    struct lmn_env *env; /* borrowed */
    struct lmn__arena arena;
    struct lmn__encode_options encode;
    uint64_t page_bytes_max;
    struct lmn__pb_schema pb;
    struct lmn__schema schema;
    uint32_t column_count;       /* of the rows */
    const bool *column_nullable; /* of each */
    const char *const *column_name;
    struct ArrowSchema schema_given;  /* of the rows */
    const struct lmn__layout *layout; /* of the rows */
    uint32_t leaf_count;
    struct lmn__write_leaf *leaf; /* in the order of the file's columns */
};

/*
 * Make the plan for rows of type `schema`; nothing of the arguments is kept. The caller frees it.
 *
 * LMN_E_INVALID      options out of range
 * LMN_E_UNSUPPORTED  a type that the file version has no place for
 */
LMN_MUST_USE enum lmn_status lmn__write_plan_init(struct lmn__write_plan *plan, struct lmn_env *env,
                                                  const struct ArrowSchema *schema,
                                                  const struct lmn_encode_options *options,
                                                  struct lmn_error *err);
void lmn__write_plan_deinit(struct lmn__write_plan *plan);

/* LMN_E_INVALID unless rows of type `schema` are those of the plan: names, types and layouts. */
LMN_MUST_USE enum lmn_status lmn__write_plan_check_schema(const struct lmn__write_plan *plan,
                                                          const struct ArrowSchema *schema,
                                                          struct lmn_error *err);

/* Is `batch` of the plan's type, as far as can be seen without its schema? */
LMN_MUST_USE enum lmn_status lmn__write_plan_check(const struct lmn__write_plan *plan,
                                                   const struct ArrowArray *batch,
                                                   struct lmn_error *err);

/*
 * How many of the rows [first, first + count) of a column fit into a page that has gathered
 * `shred`; at least 1.
 */
uint64_t lmn__write_leaf_fit(const struct lmn__write_plan *plan, const struct lmn__write_leaf *leaf,
                             const struct lmn__shred *shred, const struct ArrowArray *column,
                             uint64_t first, uint64_t count);

/* Bytes of the leaf's values in rows [first, first + count) of its column. */
uint64_t lmn__write_leaf_bytes(const struct lmn__write_leaf *leaf, const struct ArrowArray *column,
                               uint64_t first, uint64_t count);

/* Has `shred` gathered enough for a page? */
bool lmn__write_leaf_full(const struct lmn__write_plan *plan, const struct lmn__shred *shred);

#endif
