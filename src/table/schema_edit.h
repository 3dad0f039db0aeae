/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_edit.h - an attempt to change the schema of a table and none of its data.
 */
#ifndef LMN_TABLE_SCHEMA_EDIT_H
#define LMN_TABLE_SCHEMA_EDIT_H

#include "table/change.h"

struct lmn__schema_edit {
    struct lmn__manifest *manifest; /* of the version that is changed */
    struct lmn__arena arena;        /* what the change points at */
    struct lmn__pb_list fields;     /* of the next version; set by the caller */
    struct lmn__change change;
};

/*
 * Begin at the version that `table` stands at. The caller ends it, also on failure.
 *
 * LMN_E_UNSUPPORTED  the table has a feature that writers must know and this library does not
 */
LMN_MUST_USE enum lmn_status lmn__schema_edit_init(struct lmn__schema_edit *edit,
                                                   struct lmn_table *table,
                                                   enum lmn__change_kind kind,
                                                   struct lmn_error *err);
void lmn__schema_edit_deinit(struct lmn__schema_edit *edit);

/* A merge lists every fragment, also those that stay as they are. */
LMN_MUST_USE enum lmn_status lmn__schema_edit_list(struct lmn__schema_edit *edit,
                                                   struct lmn_error *err);

/* Put a text into the metadata of a field of the next version, in place of what is there. */
LMN_MUST_USE enum lmn_status lmn__schema_edit_note(struct lmn__schema_edit *edit,
                                                   struct lmn__pb_schema_field *field,
                                                   const char *key, const char *value,
                                                   struct lmn_error *err);

#endif
