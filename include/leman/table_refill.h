/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_refill.h - a filled column computed again, beside the values that it has.
 *
 * Another version of its function does not touch a column. It fills a refill, a hidden column
 * `_leman_next_<column>` with a ledger of its own, and the column is read as before. Comparing
 * shows what would change; one commit puts the refill in the column's place, or drops it.
 *
 * Columns that one function fills are given together, and change together.
 */
#ifndef LEMAN_TABLE_REFILL_H
#define LEMAN_TABLE_REFILL_H

#include <leman/table.h>
#include <leman/text.h>

/*
 * Add a refill to each column, with what is recorded of its function. Refills that are there stay
 * as they are, unless the columns have got another function since: then they are begun anew. One
 * commit, or none where there is nothing to do.
 *
 * LMN_E_NOT_FOUND  no such column, or no function fills it
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_refill_begin(struct lmn_table *table,
                                                            const char *const *column,
                                                            uint32_t count, struct lmn_error *err);

/*
 * The name of a column's refill, for scans and lmn_table_cells(); NULL when it has none. The caller
 * frees *name_out with lmn_text_free().
 *
 * LMN_E_NOT_FOUND  no such column
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_refill_name(struct lmn_table *table,
                                                           const char *column, char **name_out,
                                                           struct lmn_error *err);

/* How the values of a column and of its refill differ, row by row. */
struct lmn_refill_comparison {
    uint64_t equal;
    uint64_t changed;    /* another value, or one where there was none */
    uint64_t newly_null; /* none where there was one; failed cells among them */
    uint64_t failed;     /* cells of the refill that failed */
    uint64_t pending;    /* rows that the refill has not come to; in none of the above */
};

/*
 * Compare a column with its refill. `row_id` has room for the ids of `row_id_max` rows that differ:
 * half of them, or fewer where there are fewer, are newly null. The first ones of each kind are
 * taken; *row_id_count_out is how many.
 *
 * LMN_E_NOT_FOUND  no such column, or it has no refill
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_refill_compare(
    struct lmn_table *table, const char *column, uint64_t *row_id, uint32_t row_id_max,
    uint32_t *row_id_count_out, struct lmn_refill_comparison *comparison_out,
    struct lmn_error *err);

/*
 * Put refills in the place of their columns, in one commit that writes no data: each takes name,
 * place and metadata of its column, and is a column with another field id. Indices on the columns
 * go; see lmn_table_refill_indices().
 *
 * LMN_E_NOT_FOUND  no such column, or it has no refill
 * LMN_E_INVALID    rows that have a value are not computed yet, or the column has got another type
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_refill_swap(struct lmn_table *table,
                                                           const char *const *column,
                                                           uint32_t count, struct lmn_error *err);

/*
 * Drop refills; the columns are as if there had never been any.
 *
 * LMN_E_NOT_FOUND  no such column, or it has no refill
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_refill_discard(struct lmn_table *table,
                                                              const char *const *column,
                                                              uint32_t count,
                                                              struct lmn_error *err);

/*
 * The names of the indices on a column, which a swap drops, as a JSON array. The caller frees
 * *json_out with lmn_text_free().
 *
 * LMN_E_NOT_FOUND  no such column
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_refill_indices(struct lmn_table *table,
                                                              const char *column, char **json_out,
                                                              struct lmn_error *err);

#endif
