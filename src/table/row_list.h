/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_list.h - some rows of a fragment, in rising order, as ranges.
 */
#ifndef LMN_TABLE_ROW_LIST_H
#define LMN_TABLE_ROW_LIST_H

#include "format/reader.h"
#include "table/deletion.h"

struct lmn__row_list {
    struct lmn_env *env; /* borrowed */
    struct lmn__row_range *range;
    uint64_t count, cap;
    uint64_t row_count; /* of all ranges */
};

static inline void lmn__row_list_init(struct lmn__row_list *list, struct lmn_env *env)
{
    *list = (struct lmn__row_list){ .env = env };
}

void lmn__row_list_deinit(struct lmn__row_list *list);

/* Add rows behind all others; they join the last range where they touch it. */
LMN_MUST_USE enum lmn_status lmn__row_list_add(struct lmn__row_list *list, uint64_t first,
                                               uint64_t count, struct lmn_error *err);

/* Add the rows of [first, first + count) that are not deleted. */
LMN_MUST_USE enum lmn_status lmn__row_list_add_live(struct lmn__row_list *list,
                                                    const struct lmn__deletion *deletion,
                                                    uint64_t first, uint64_t count,
                                                    struct lmn_error *err);

/* Add those rows of `from` whose bit is set; bit i is that of row number i of the list. */
LMN_MUST_USE enum lmn_status lmn__row_list_add_chosen(struct lmn__row_list *list,
                                                      const struct lmn__row_list *from,
                                                      const uint8_t *bits, struct lmn_error *err);

#endif
