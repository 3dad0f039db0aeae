/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_version.h - what tables of file version 2.0 have no place for: nulls of structs.
 *
 * New files of such a table are of 2.1. But other programs go by the version that its manifest
 * names, and could not compact the table, or update rows of it, if it had such values.
 */
#ifndef LMN_TABLE_OLD_VERSION_H
#define LMN_TABLE_OLD_VERSION_H

#include "table/manifest.h"

/*
 * May a table of this version have slots [first, first + count) of `array`, of type `column`?
 * Without a version (NULL) it may.
 *
 * LMN_E_UNSUPPORTED  no; the message names the column, or the field inside of it
 */
LMN_MUST_USE enum lmn_status lmn__old_version_check(const struct lmn__manifest *manifest,
                                                    const struct ArrowSchema *column,
                                                    const struct ArrowArray *array, uint64_t first,
                                                    uint64_t count, struct lmn_error *err);

/* The same of a row that is null in a column of structs. */
LMN_MUST_USE enum lmn_status lmn__old_version_check_null(const struct lmn__manifest *manifest,
                                                         const char *column, struct lmn_error *err);

#endif
