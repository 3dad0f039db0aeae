/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deletion.h - which rows of a fragment are deleted.
 *
 * In memory: one bit per physical row. On disk a file of its own under _deletions, as an Arrow file
 * or as a Roaring bitmap; this library writes bitmaps and reads both.
 */
#ifndef LMN_TABLE_DELETION_H
#define LMN_TABLE_DELETION_H

#include "base/bits.h"
#include "store/store.h"
#include "table/table_pb.h"

struct lmn__deletion {
    uint8_t *bits;      /* from env; NULL: nothing is deleted */
    uint64_t row_count; /* bits */
    uint64_t deleted;   /* of them set */
};

void lmn__deletion_deinit(struct lmn__deletion *deletion, struct lmn_env *env);

/*
 * Read the deletion file of `fragment` from `store`, the table's directory or that of the base path
 * it names. A fragment without one gives an empty deletion.
 *
 * LMN_E_CORRUPT  it does not decode, names rows outside the fragment, or another number of them
 */
LMN_MUST_USE enum lmn_status lmn__deletion_read(struct lmn_store *store,
                                                const struct lmn__pb_fragment *fragment,
                                                struct lmn__deletion *deletion_out,
                                                struct lmn_error *err);

/*
 * Write `deletion` durably as a new file of fragment `fragment_id` and describe it in *file_out.
 */
LMN_MUST_USE enum lmn_status lmn__deletion_write(struct lmn_store *store, uint64_t fragment_id,
                                                 uint64_t read_version,
                                                 const struct lmn__deletion *deletion,
                                                 struct lmn__pb_deletion_file *file_out,
                                                 struct lmn_error *err);

/* Make room for bits if there are none yet. */
LMN_MUST_USE enum lmn_status lmn__deletion_reserve(struct lmn__deletion *deletion,
                                                   struct lmn_env *env, uint64_t row_count,
                                                   struct lmn_error *err);

static inline bool lmn__deletion_has(const struct lmn__deletion *deletion, uint64_t row)
{
    return deletion->bits != NULL && lmn__bit_get(deletion->bits, row);
}

/* Delete a row; there is room. Returns whether it was alive. */
bool lmn__deletion_add(struct lmn__deletion *deletion, uint64_t row);

/* Delete the rows of `other`, too; there is room. Returns whether some were deleted already. */
bool lmn__deletion_unite(struct lmn__deletion *deletion, const struct lmn__deletion *other);

/* The path of a deletion file inside its table, "_deletions/...". */
void lmn__deletion_path(uint64_t fragment_id, const struct lmn__pb_deletion_file *file, char *path,
                        size_t path_bytes);

#endif
