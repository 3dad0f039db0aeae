/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - the hidden column beside one that a function fills: what each of its cells is.
 *
 * A ledger is struct<state: uint8, function: uint64, inputs: uint64>, null where a cell is pending.
 * It is found by its field metadata, `leman:of` = the id of the column's field, whatever its name.
 * docs/format/ledger.md has the whole of it.
 */
#ifndef LMN_TABLE_LEDGER_H
#define LMN_TABLE_LEDGER_H

#include "table/manifest.h"

#define LMN__LEDGER_OF          "leman:of"       /* metadata of a ledger */
#define LMN__FUNCTION_KEY       "leman:function" /* metadata of a filled column */
#define LMN__INPUTS_KEY         "leman:inputs"   /* the same: ids of fields */
#define LMN__LEDGER_PREFIX      "_leman_"
#define LMN__LEDGER_NEXT_PREFIX "_leman_next_"

enum { LMN__FUNCTION_TEXT_MAX = 1024 };

/* What a ledger's state says; pending cells have none. */
enum lmn__cell { LMN__CELL_PENDING = 0, LMN__CELL_OK = 1, LMN__CELL_FAILED = 2 };

/* The fields of a ledger, in their order. */
enum { LMN__LEDGER_STATE, LMN__LEDGER_FUNCTION, LMN__LEDGER_INPUTS, LMN__LEDGER_FIELDS };

/* Is it a column that the library keeps for another one: a ledger, or a refill? */
bool lmn__ledger_is_hidden(const struct lmn__node *node);

/* The ledger of a column on top level; NULL when there is none. */
const struct lmn__node *lmn__ledger_of(const struct lmn__schema *schema,
                                       const struct lmn__node *column);

/*
 * A column that a function fills, by name, and its ledger.
 *
 * LMN_E_NOT_FOUND  no such column, or no function fills it
 */
LMN_MUST_USE enum lmn_status lmn__ledger_find(const struct lmn__manifest *manifest,
                                              const char *column,
                                              const struct lmn__node **column_out,
                                              const struct lmn__node **ledger_out,
                                              struct lmn_error *err);

/*
 * ledger_inputs.c: the inputs (names and paths) that the function of a filled column reads, by the
 * names that they have in `schema`; in the arena. None when that is not known.
 */
LMN_MUST_USE enum lmn_status lmn__ledger_inputs(const struct lmn__schema *schema,
                                                const struct lmn__node *column,
                                                struct lmn__arena *arena,
                                                const char *const **input_out, uint32_t *count_out,
                                                struct lmn_error *err);

/* What is recorded of the function, with its inputs by these names; appended to `text_out`. */
LMN_MUST_USE enum lmn_status lmn__ledger_function(const struct lmn__schema *schema,
                                                  const struct lmn__node *column,
                                                  struct lmn__arena *arena,
                                                  struct lmn__buf *text_out, struct lmn_error *err);

/* The value of LMN__INPUTS_KEY for a function that is about to be recorded; a text in the arena. */
LMN_MUST_USE enum lmn_status lmn__ledger_input_ids(const struct lmn__manifest *manifest,
                                                   const char *function, struct lmn__arena *arena,
                                                   const char **ids_out, struct lmn_error *err);

/* A field gets another id, `to` for `from`: change what functions say that read it, in the arena.
 */
LMN_MUST_USE enum lmn_status lmn__ledger_follow_inputs(struct lmn__pb_list *fields, int32_t from,
                                                       int32_t to, struct lmn__arena *arena,
                                                       struct lmn_error *err);

/*
 * A column gets another field id, `to` for `from`: change what the fields of its hidden columns
 * say, and those of columns that are computed from it, in the arena.
 */
LMN_MUST_USE enum lmn_status lmn__ledger_follow(struct lmn__pb_list *fields, int32_t from,
                                                int32_t to, struct lmn__arena *arena,
                                                struct lmn_error *err);

/* The Arrow type of a ledger with that name, whose column has the field id `of`; the caller
 * releases it. */
LMN_MUST_USE enum lmn_status lmn__ledger_schema(const char *name, int32_t of,
                                                struct ArrowSchema *schema_out,
                                                struct lmn_error *err);

#endif
