/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell_states.h - leman_state('column') in conditions: the state of a filled column's cell as a
 * text, 'pending', 'ok', 'failed' or 'stale'.
 *
 * To an expression it is a column like others; it is made from the ledger of every batch, and from
 * the set of stale rows, which is found before the first. States do not change after that: any
 * number of threads may make columns of them.
 */
#ifndef LMN_TABLE_CELL_STATES_H
#define LMN_TABLE_CELL_STATES_H

#include "expr/expr.h"
#include "format/reader.h"
#include "table/touched.h"

struct lmn__cell_state {
    const struct lmn__node *column, *ledger;
    const char *name; /* of the column that is made */
    const char *path; /* of what it is made from */
    bool used;
    uint32_t child, grandchild;     /* where that is in a batch */
    struct lmn__touched_set *stale; /* NULL: not found yet */
};

struct lmn__cell_states {
    struct lmn_table *table; /* borrowed, as the next two */
    struct lmn__manifest *manifest;
    struct lmn__arena *arena;
    struct lmn__cell_state *state; /* of every filled column */
    uint32_t count, used_count;
};

/* The states of the columns that functions fill. The caller frees them, also on failure. */
LMN_MUST_USE enum lmn_status lmn__cell_states_init(struct lmn__cell_states *states,
                                                   struct lmn_table *table,
                                                   struct lmn__manifest *manifest,
                                                   struct lmn__arena *arena, struct lmn_error *err);
void lmn__cell_states_deinit(struct lmn__cell_states *states);

/* Answers for leman_state(); it borrows the states. */
struct lmn__expr_resolver lmn__cell_states_resolver(struct lmn__cell_states *states);

/* Put the columns behind those of *schema, a struct: all of them, or those that are used. */
LMN_MUST_USE enum lmn_status lmn__cell_states_schema(const struct lmn__cell_states *states,
                                                     bool all, struct ArrowSchema *schema,
                                                     struct lmn_error *err);

/* Is `path` one of the columns? Then it is used, and *path_out is what has to be read for it. */
bool lmn__cell_states_use(struct lmn__cell_states *states, const char *path, const char **path_out);

/*
 * Prepare the used columns: what they are made from is in batches of `projection`.
 */
LMN_MUST_USE enum lmn_status lmn__cell_states_prepare(struct lmn__cell_states *states,
                                                      const struct lmn__projection *projection,
                                                      struct lmn_error *err);

/* Put the used columns behind those of *array, whose rows are those ranges of a fragment. */
LMN_MUST_USE enum lmn_status lmn__cell_states_add(const struct lmn__cell_states *states,
                                                  uint64_t fragment_id,
                                                  const struct lmn__row_range *range,
                                                  uint64_t range_count, struct ArrowArray *array,
                                                  struct lmn_error *err);

/* The stale rows of a filled column by its recorded inputs, into `stale`. */
LMN_MUST_USE enum lmn_status lmn__cells_find_stale(
    struct lmn_table *table, struct lmn__manifest *manifest, const struct lmn__node *column,
    const struct lmn__node *ledger, struct lmn__touched_set *stale, struct lmn_error *err);

#endif
