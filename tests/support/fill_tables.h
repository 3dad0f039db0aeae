/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill_tables.h - tables with a column that a function fills, filled by the test itself.
 *
 * Functions that return nothing fail the test when something goes wrong.
 */
#ifndef LMN_TESTS_FILL_TABLES_H
#define LMN_TESTS_FILL_TABLES_H

#include <leman/leman.h>

#include "check.h"

/* The column "filled" of type int64, whose function reads `input`. */
void fill_add(struct lmn_table *table, const char *const *input, uint32_t count);

/* The same under another name. */
void fill_add_named(struct lmn_table *table, const char *name, const char *const *input,
                    uint32_t count);

enum { FILL_FUNCTION = 42 };

/* What becomes of a cell: a state of the ledger, 0 to leave it pending. With FILL_OTHER_INPUTS it
 * says that it was computed from other inputs than its row has. */
enum { FILL_OTHER_INPUTS = 0x80 };
typedef uint8_t (*fill_state_fn)(uint64_t fragment_id, uint64_t row);

uint8_t fill_ok(uint64_t fragment_id, uint64_t row);
uint8_t fill_failed(uint64_t fragment_id, uint64_t row);

/*
 * Fill all rows of all fragments in one commit: cells that are ok get the value fragment id * 1000
 * + row. With `version` the transaction says that it has read that version.
 */
void fill_cells(struct lmn_table *table, const char *column, fill_state_fn state, uint64_t version);

/* The id of the column's field. */
int fill_field_id(struct lmn_table *table, const char *column);

/* Check the counts of a column's cells. */
#define CHECK_CELLS(table, column, pending, ok, failed, stale)                                     \
    check_cells(__FILE__, __LINE__, (table), (column), (pending), (ok), (failed), (stale))
void check_cells(const char *file, int line, struct lmn_table *table, const char *column,
                 uint64_t pending, uint64_t ok, uint64_t failed, uint64_t stale);

#endif
