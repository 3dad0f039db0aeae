/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_note.h - which parts of a load are in a table, kept in the table's configuration.
 *
 * "leman.load.parts" has 16 hexadecimal digits for each part, its token. It changes with the
 * commit that brings the rows, so a version that is restored remembers what it holds.
 * "leman.load.begun" names the load that has made the table and is not finished.
 */
#ifndef LMN_TABLE_LOAD_NOTE_H
#define LMN_TABLE_LOAD_NOTE_H

#include <leman/table_write.h>

#include "table/apply.h"

/*
 * Write what the change says of loads into the next manifest. Rows that are replaced as a whole
 * take the notes of their parts with them.
 *
 * LMN_E_INVALID   the name of the load is not UTF-8
 * LMN_E_CONFLICT  a part is there already
 */
LMN_MUST_USE enum lmn_status lmn__load_note_apply(struct lmn__next *next, struct lmn_error *err);

/* Is the part with this token in the version? */
bool lmn__load_note_has(const struct lmn__manifest *manifest, uint64_t token);

/* Was the table made by this load, which is not finished? */
bool lmn__load_note_begun(const struct lmn__manifest *manifest, const char *load);

/* lmn_table_create() by the load `begun`; NULL: by no load. */
LMN_MUST_USE enum lmn_status lmn__load_create(struct lmn_store *store,
                                              struct ArrowArrayStream *stream,
                                              const struct lmn_write_options *options,
                                              const char *begun, struct lmn_table **table_out,
                                              struct lmn_error *err);

#endif
