/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_tables.h - tables of rows of a sample, whose stable row ids are the numbers of the rows.
 *
 * Rows that are appended in the order of the sample get their numbers as ids, so that whatever a
 * table went through, each of its rows can be compared with the sample.
 */
#ifndef LMN_TESTS_SAMPLE_TABLES_H
#define LMN_TESTS_SAMPLE_TABLES_H

#include <leman/leman.h>

#include "arrays.h"
#include "check.h"

/* A table of rows [0, count); it fails the test when something goes wrong, as all others here. */
struct lmn_table *sample_table_make(struct lmn_store *store, const struct sample *sample,
                                    uint64_t count, const struct lmn_write_options *options);

/* Append rows [first, first + count). */
void sample_table_append(struct lmn_table *table, const struct sample *sample, uint64_t first,
                         uint64_t count);

/* Open the newest version of the table in `store`. */
struct lmn_table *sample_table_open(struct lmn_store *store);

/*
 * Check that every row of the version holds what the sample has under its id. Returns the number of
 * rows; `seen` (may be NULL) counts each id, of which there are `id_count`.
 */
uint64_t sample_table_check(struct lmn_table *table, const struct sample *sample, uint8_t *seen,
                            uint64_t id_count);

#endif
