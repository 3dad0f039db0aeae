/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_write.h - the schema message of a file that is written.
 */
#ifndef LMN_FORMAT_SCHEMA_WRITE_H
#define LMN_FORMAT_SCHEMA_WRITE_H

#include <leman/arrow_abi.h>

#include "format/file_pb.h"

/*
 * Make the schema message of `schema`, a struct of the columns, in the arena. Fields are numbered
 * in the order of the tree.
 *
 * LMN_E_INVALID      a name, a type or a key of metadata is not UTF-8; or two columns, or two
 *                    fields of one struct, have one name
 * LMN_E_UNSUPPORTED  a type that version 2.`minor` has no place for; the message names the column
 */
LMN_MUST_USE enum lmn_status lmn__schema_from_arrow(const struct ArrowSchema *schema,
                                                    uint32_t minor, struct lmn__arena *arena,
                                                    struct lmn__pb_schema *pb_out,
                                                    struct lmn_error *err);

/* Is this column stored as a blob? */
bool lmn__arrow_is_blob(const struct ArrowSchema *column);

/* Let a column of large binaries be stored as one: files are written from bytes that are marked. */
LMN_MUST_USE enum lmn_status lmn__arrow_mark_blob(struct ArrowSchema *column,
                                                  struct lmn_error *err);

/* Is it a blob that may lie elsewhere: Lance's struct of data, uri, position and size? */
bool lmn__arrow_is_reference(const struct ArrowSchema *column);

#endif
