/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - types and columns that are given as text: "id int64, tags list<string> not null".
 *
 * Types are written as `leman columns` prints them: what type_put() makes reads as the same type.
 * What is read lives until the program ends.
 */
#ifndef LEMAN_CLI_SCHEMA_H
#define LEMAN_CLI_SCHEMA_H

#include <leman/leman.h>

/*
 * Read "NAME TYPE [not null], ..." as a struct of columns.
 *
 * LMN_E_INVALID  it is none; the message names the place
 */
enum lmn_status schema_read(const char *text, struct ArrowSchema *schema_out,
                            struct lmn_error *err);

/* A stream of these columns without rows. `schema` is one of schema_read(). */
void schema_stream(struct ArrowSchema *schema, struct ArrowArrayStream *stream_out);

/* Read one type. LMN_E_INVALID as above. */
enum lmn_status type_read(const char *text, struct ArrowSchema *schema_out, struct lmn_error *err);

#endif
