/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_fields.h - the fields of a table, as its manifest lists them.
 */
#ifndef LMN_TABLE_TABLE_FIELDS_H
#define LMN_TABLE_TABLE_FIELDS_H

#include "table/manifest.h"

/*
 * The fields of rows of type `schema`, in the arena, numbered from `first_id` on in the order of
 * the tree. `minor` is the version of the table's files.
 *
 * LMN_E_INVALID      as lmn__schema_from_arrow()
 * LMN_E_UNSUPPORTED  a type that version 2.`minor` has no place for
 */
LMN_MUST_USE enum lmn_status lmn__fields_from_arrow(const struct ArrowSchema *schema,
                                                    uint32_t minor, int32_t first_id,
                                                    struct lmn__arena *arena,
                                                    struct lmn__pb_schema *pb_out,
                                                    struct lmn_error *err);

/*
 * May a column have this name? It is UTF-8. Lance has some of its own, and takes a dot for the
 * field of a struct, so that others can neither read nor write a table which has one.
 *
 * LMN_E_INVALID  it may not
 */
LMN_MUST_USE enum lmn_status lmn__fields_check_name(const char *name, struct lmn_error *err);

/* The same for the columns of rows of type `schema`. */
LMN_MUST_USE enum lmn_status lmn__fields_check_names(const struct ArrowSchema *schema,
                                                     struct lmn_error *err);

/*
 * Mark columns as the primary key, in that order.
 *
 * LMN_E_NOT_FOUND  one is not there; it is named
 * LMN_E_INVALID    one is there twice
 */
LMN_MUST_USE enum lmn_status lmn__fields_set_key(struct lmn__pb_schema *pb, const char *const *name,
                                                 uint32_t count, struct lmn_error *err);

/*
 * The fields of some columns of a table, given as nodes on top level, with everything below them.
 * They lie in the arena.
 */
LMN_MUST_USE enum lmn_status lmn__fields_of_columns(const struct lmn__node *const *column,
                                                    uint32_t count, struct lmn__arena *arena,
                                                    struct lmn__pb_list *fields_out,
                                                    struct lmn_error *err);

/* Is a field of that id in a list of fields? */
bool lmn__fields_have(const struct lmn__pb_list *fields, int32_t id);

/*
 * The node at a path ("info.width").
 *
 * LMN_E_NOT_FOUND  there is none; the message lists what there is
 */
LMN_MUST_USE enum lmn_status lmn__fields_find(const struct lmn__manifest *manifest,
                                              const char *path, const struct lmn__node **node_out,
                                              struct lmn_error *err);

/* The fields of a table with others behind them; in the arena. */
LMN_MUST_USE enum lmn_status lmn__fields_append(const struct lmn__manifest *manifest,
                                                const struct lmn__pb_list *added,
                                                struct lmn__arena *arena,
                                                struct lmn__pb_list *fields_out,
                                                struct lmn_error *err);

/*
 * The fields that columns of type `schema`, a struct of them, have when they are added to a table,
 * with ids of their own; in the arena.
 *
 * LMN_E_EXISTS       a column of that name is there
 * LMN_E_INVALID      no columns, a name that none may have, or a name twice
 * LMN_E_UNSUPPORTED  a type that the table's files have no place for
 */
LMN_MUST_USE enum lmn_status lmn__fields_of_added(const struct lmn__manifest *manifest,
                                                  const struct ArrowSchema *schema,
                                                  struct lmn__arena *arena,
                                                  struct lmn__pb_schema *pb_out,
                                                  struct lmn_error *err);

/* The first id that no field of the table has or ever had, as far as its manifest tells. */
LMN_MUST_USE enum lmn_status lmn__fields_next_id(const struct lmn__manifest *manifest,
                                                 int32_t *id_out, struct lmn_error *err);

#endif
