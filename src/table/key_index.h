/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_index.h - rows by key: an in-memory hash index over batches of key columns.
 *
 * Batches that are added are borrowed and live as long as the index. Rows are numbered in the order
 * they are added. A key with a null in it equals nothing, not even itself.
 */
#ifndef LMN_TABLE_KEY_INDEX_H
#define LMN_TABLE_KEY_INDEX_H

#include <leman/arrow_abi.h>

#include "arrow/layout.h"

#define LMN__NO_ROW UINT64_MAX

struct lmn__key_index;

/*
 * Which children of `schema` the columns `on` are; key_out has room for them.
 *
 * LMN_E_NOT_FOUND  it has none of that name
 */
LMN_MUST_USE enum lmn_status lmn__key_columns(const struct ArrowSchema *schema,
                                              const char *const *on, uint32_t count,
                                              int64_t *key_out, struct lmn_error *err);

/*
 * Make an index on keys of the types of `schema`'s children `column`. The caller frees it.
 *
 * LMN_E_UNSUPPORTED  a type that has no equality here: a nested one
 */
LMN_MUST_USE enum lmn_status lmn__key_index_new(struct lmn_env *env,
                                                const struct ArrowSchema *schema,
                                                const int64_t *column, uint32_t count,
                                                struct lmn__key_index **index_out,
                                                struct lmn_error *err);
/* NULL is ignored. */
void lmn__key_index_free(struct lmn__key_index *index);

/* Make room for so many more rows at once; without it, room is made as rows come. */
LMN_MUST_USE enum lmn_status lmn__key_index_reserve(struct lmn__key_index *index, uint64_t rows,
                                                    struct lmn_error *err);

/*
 * Add the rows of `batch`, whose children `column` are the keys.
 *
 * LMN_E_INVALID  a key is there already; it is named
 */
LMN_MUST_USE enum lmn_status lmn__key_index_add(struct lmn__key_index *index,
                                                const struct ArrowArray *batch,
                                                const int64_t *column, struct lmn_error *err);

/* For each row of `batch` the number of the row with its key, or LMN__NO_ROW. */
LMN_MUST_USE enum lmn_status lmn__key_index_find(struct lmn__key_index *index,
                                                 const struct ArrowArray *batch,
                                                 const int64_t *column, uint64_t *row_out,
                                                 struct lmn_error *err);

/* The key of a row of `batch` as text, for messages. */
void lmn__key_index_text(const struct lmn__key_index *index, const struct ArrowArray *batch,
                         const int64_t *column, uint64_t row, char *text, size_t text_bytes);

#endif
