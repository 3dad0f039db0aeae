/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_info.h - where the values of a filled column come from, for `leman columns --info`.
 */
#ifndef LEMAN_CLI_COLUMN_INFO_H
#define LEMAN_CLI_COLUMN_INFO_H

#include "command.h"

/*
 * Print what is kept of the function that fills a column, and of the job that has filled it last.
 *
 * LMN_E_NOT_FOUND  no such column
 * LMN_E_INVALID    no function fills it
 */
enum lmn_status column_info_print(struct lmn_table *table, const char *column, bool json,
                                  struct lmn_error *err);

#endif
