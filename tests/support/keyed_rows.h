/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyed_rows.h - small rows with a key, written out in tests, and tables of them.
 *
 * Functions that return nothing or a table fail the test when something goes wrong.
 */
#ifndef LMN_TESTS_KEYED_ROWS_H
#define LMN_TESTS_KEYED_ROWS_H

#include <leman/leman.h>

#include "check.h"

enum { KEYED_NULL = -999 };

/* A row: "id" and "value" are int64, "name" is a string. KEYED_NULL and NULL are nulls. */
struct keyed_row {
    int64_t id, value;
    const char *name;
};

/* The columns that rows have. */
enum { KEYED_ID = 1, KEYED_VALUE = 2, KEYED_NAME = 4, KEYED_ALL = 7 };

void keyed_schema(unsigned columns, struct ArrowSchema *schema_out);

/* The caller releases them. */
void keyed_batch(unsigned columns, const struct keyed_row *row, uint64_t count,
                 struct ArrowArray *array_out);

/* Rows as a stream of batches of at most `batch_rows`. */
void keyed_stream(unsigned columns, const struct keyed_row *row, uint64_t count,
                  uint64_t batch_rows, struct ArrowArrayStream *stream_out);

struct lmn_table *keyed_table(struct lmn_store *store, const struct keyed_row *row, uint64_t count,
                              const struct lmn_write_options *options);

/* A long name that does not compress, number `i` of those that there are. */
enum { KEYED_WIDE_BYTES = 640 << 10, KEYED_WIDE_NAMES = 9 };
const char *keyed_wide_name(unsigned i);

/* Does the version hold these rows and no others, in any order? */
void keyed_check(struct lmn_table *table, const struct keyed_row *row, uint64_t count);

#endif
