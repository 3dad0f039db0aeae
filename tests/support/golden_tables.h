/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden_tables.h - the tables of tests/golden/table, and what their rows hold.
 */
#ifndef LMN_TESTS_GOLDEN_TABLES_H
#define LMN_TESTS_GOLDEN_TABLES_H

#include <leman/leman.h>

#include "check.h"

/* Open a table of tests/golden/table. */
struct lmn_table *golden_open(const char *name);

/* Copy a table of tests/golden/table into a store. */
void golden_copy(const char *name, struct lmn_store *to);

/* The ids of the rows that all of them have, in the order of those without updates. */
enum { GOLDEN_ROWS = 51 };
extern const int64_t golden_id[GOLDEN_ROWS];

/*
 * Check slot `i` of a batch with a column "id": every other column holds what make_tables.py says.
 * `updated` rows may hold 2 id + 1000 in "twice". Returns the id.
 */
int64_t golden_check_row(const struct ArrowSchema *schema, const struct ArrowArray *array,
                         uint64_t i);

#endif
