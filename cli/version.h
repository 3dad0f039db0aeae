/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.h - which version of a table a user means.
 */
#ifndef LEMAN_CLI_VERSION_H
#define LEMAN_CLI_VERSION_H

#include <leman/leman.h>

/* What --help says of a version. */
#define VERSION_HELP "a number, tag, tag:NAME, time (2024-01-31T12:00Z) or branch:NAME\n"

/*
 * Read a version as users write it. A time is in UTC and means the newest version that is not
 * younger; "tag:" stands before the name of a tag that is made of digits. `text` is borrowed; NULL
 * is the newest.
 *
 * LMN_E_INVALID  versions count from 1; or a time that no calendar has
 */
enum lmn_status version_read(const char *text, struct lmn_table_options *options_out,
                             struct lmn_error *err);

#endif
