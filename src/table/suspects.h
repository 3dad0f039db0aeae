/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suspects.h - rows whose inputs may be others than those that their cells were computed from.
 *
 * Found in manifests and transactions alone: no data is read. A row that is not among the suspects
 * has its inputs unchanged; one that is, perhaps too.
 */
#ifndef LMN_TABLE_SUSPECTS_H
#define LMN_TABLE_SUSPECTS_H

#include "table/id_set.h"
#include "table/row_ids.h"
#include "table/row_list.h"
#include "table/table.h"

/* Transactions that write cells say with this property of which version they have read the rows. */
#define LMN__READ_VERSION_KEY "leman:inputs_version"

/* What is asked. All of it is borrowed. */
struct lmn__suspects_query {
    const int32_t *input; /* ids of the fields that inputs consist of, parents included */
    uint32_t input_count;
    const struct lmn__node *ledger;
    uint64_t since; /* up to this version all is known to be right; 0: of none */
};

struct lmn__suspects {
    struct lmn_env *env;
    bool all;                    /* every row */
    struct lmn__id_set row;      /* ids of rows, where these are stable */
    struct lmn__id_set fragment; /* ids of fragments, otherwise */
};

/*
 * Find the suspects of `manifest`. The caller frees *suspects_out, also on failure.
 */
LMN_MUST_USE enum lmn_status lmn__suspects_find(struct lmn_table *table,
                                                struct lmn__manifest *manifest,
                                                const struct lmn__suspects_query *query,
                                                struct lmn__suspects *suspects_out,
                                                struct lmn_error *err);
void lmn__suspects_deinit(struct lmn__suspects *suspects);

/* No row at all? */
static inline bool lmn__suspects_none(const struct lmn__suspects *suspects)
{
    return !suspects->all && suspects->row.count == 0 && suspects->fragment.count == 0;
}

/* Add the suspects among the live rows of a fragment to `list`. `ids` are those of its rows. */
LMN_MUST_USE enum lmn_status lmn__suspects_list(const struct lmn__suspects *suspects,
                                                const struct lmn__pb_fragment *fragment,
                                                const struct lmn__row_ids *ids,
                                                const struct lmn__deletion *deletion,
                                                struct lmn__row_list *list, struct lmn_error *err);

/* A hash of where fields lie in a fragment: files and columns. */
uint64_t lmn__fields_place(const struct lmn__pb_fragment *fragment, const int32_t *id,
                           uint32_t count);

#endif
