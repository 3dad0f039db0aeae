/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - the columns of a fill as one version of the table has them: those that the function
 * fills, then one ledger for each.
 *
 * They do not change once they are found.
 */
#ifndef LMN_JOB_COLUMNS_H
#define LMN_JOB_COLUMNS_H

#include "format/projection.h"
#include "table/manifest.h"

struct lmn__fill_columns {
    struct lmn__manifest *manifest; /* counted */
    struct lmn__arena arena;
    struct lmn__projection projection; /* all of them; its type is the fill's schema */
    struct ArrowSchema held;           /* the same as they are held; see payload_column.h */
    uint32_t count;                    /* with ledgers */
    const struct lmn__node **node;
    char version[8];                 /* of new files: "2.1" */
    struct lmn__pb_u64s fields;      /* of a data file with the columns: ids of its fields ... */
    struct lmn__pb_u64s leaf_column; /* ... and the column of each */
};

/*
 * Find the columns `output` with their ledgers in `manifest`. The first has the field id
 * `field_id`; a negative one is any. The caller frees them.
 *
 * LMN_E_NOT_FOUND  a column was dropped, or nothing fills it
 */
LMN_MUST_USE enum lmn_status lmn__fill_columns_init(struct lmn__fill_columns *columns,
                                                    struct lmn__manifest *manifest,
                                                    const char *const *output,
                                                    uint32_t output_count, int32_t field_id,
                                                    struct lmn_error *err);
/* The same for columns that have the names `output` in the version `named`; NULL: in this one. */
LMN_MUST_USE enum lmn_status lmn__fill_columns_follow(struct lmn__fill_columns *columns,
                                                      struct lmn__manifest *manifest,
                                                      const struct lmn__manifest *named,
                                                      const char *const *output,
                                                      uint32_t output_count, int32_t field_id,
                                                      struct lmn_error *err);
/* Zeroed ones are allowed. */
void lmn__fill_columns_deinit(struct lmn__fill_columns *columns);

/* Is column number `column` one of blobs? */
bool lmn__fill_columns_is_blob(const struct lmn__fill_columns *columns, uint32_t column);

/* Is one of them? */
bool lmn__fill_columns_have_blobs(const struct lmn__fill_columns *columns);

/* Is this the id of a field of the columns, or of one inside them? */
bool lmn__fill_columns_has(const struct lmn__fill_columns *columns, int32_t field_id);

#endif
