/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column.h - read the metadata of one column.
 */
#ifndef LMN_FORMAT_COLUMN_H
#define LMN_FORMAT_COLUMN_H

#include "format/file.h"

/* Read and check it; the caller frees *column_out, which is NULL on failure. */
LMN_MUST_USE enum lmn_status lmn__column_read(struct lmn_file *file, uint32_t index,
                                              struct lmn__column **column_out,
                                              struct lmn_error *err);

/* NULL is ignored. */
void lmn__column_free(struct lmn_env *env, struct lmn__column *column);

#endif
