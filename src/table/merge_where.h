/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_where.h - what matched rows become: source values over those of the table, where a
 * condition on both holds.
 */
#ifndef LMN_TABLE_MERGE_WHERE_H
#define LMN_TABLE_MERGE_WHERE_H

#include "table/conform.h"
#include "table/table.h"

struct lmn__merge_rows {
    struct lmn_env *env;
    struct lmn_table *table; /* stands at the version that is read */
    struct lmn__manifest *manifest;
    struct lmn__conform *given; /* the source's columns as the table wants them */
    const char *where;          /* over "source.x" and "target.x"; NULL: always */
    const struct ArrowSchema *source_schema;
};

/* Is merge->where a condition on rows of both sides? Fails as lmn__expr_bind_condition() does. */
LMN_MUST_USE enum lmn_status lmn__merge_where_check(const struct lmn__merge_rows *merge,
                                                    struct lmn_error *err);

/*
 * For which of `count` pairs does merge->where hold: row i of `source`, which is released, and the
 * table's row with id[i]? `bits` has room for as many, and 8 bytes more. *bytes_out is how many
 * bytes were looked at, on both sides.
 */
LMN_MUST_USE enum lmn_status lmn__merge_where_select(const struct lmn__merge_rows *merge,
                                                     struct ArrowArray *source, const uint64_t *id,
                                                     uint64_t count, uint8_t *bits,
                                                     uint64_t *bytes_out, struct lmn_error *err);

/*
 * The whole rows of `count` pairs: row i of `source`, which is released, and the table's row with
 * id[i].
 *
 * *rows_out is of the type of *whole_out: every column of the table. The caller frees both.
 */
LMN_MUST_USE enum lmn_status lmn__merge_rows_make(const struct lmn__merge_rows *merge,
                                                  struct ArrowArray *source, const uint64_t *id,
                                                  uint64_t count, struct ArrowArray *rows_out,
                                                  struct lmn__conform *whole_out,
                                                  struct lmn_error *err);

#endif
