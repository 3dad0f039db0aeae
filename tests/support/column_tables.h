/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_tables.h - small tables whose columns change, their integers, and rows to join to them.
 *
 * Functions that return nothing or a table fail the test when something goes wrong.
 */
#ifndef LMN_TESTS_COLUMN_TABLES_H
#define LMN_TESTS_COLUMN_TABLES_H

#include <leman/leman.h>
#include <nanoarrow/nanoarrow.h>

#include "check.h"

/* What column_read() says of a null. */
enum { NO_VALUE = -999 };

/*
 * A table of sample rows, whose "number" is 0, 3, 6 ... The row with 9 is deleted in the second
 * version, the one that is returned.
 */
struct lmn_table *column_table(struct lmn_store *store, uint64_t rows, uint64_t fragment_rows);

/* Append sample rows. */
void column_append(struct lmn_table *table, uint64_t rows);

/* Read an integer column. Returns the number of rows. */
uint64_t column_read(struct lmn_table *table, const char *column, int64_t *value);

bool column_exists(struct lmn_table *table, const char *name);

/* A struct with one column of a type; the caller releases it. */
enum lmn_status column_schema(struct ArrowSchema *schema, const char *name, enum ArrowType type,
                              struct lmn_error *err);

/* Add a column of nulls, of type int32. */
enum lmn_status column_add_nulls(struct lmn_table *table, const char *name, struct lmn_error *err);

enum lmn_status column_widen(struct lmn_table *table, const char *name, enum ArrowType type,
                             struct lmn_error *err);

enum { PAIRS_MAX = 64 };

/* A batch of pairs: columns that point into them. */
struct pairs_batch {
    struct ArrowArray column[2], *columns[2];
    const void *buffer[2][2], *no_buffer[1];
};

/*
 * At most PAIRS_MAX rows of "number": key, key + step, ... and "joined": ten times that. They are
 * handed out without allocations, so that faults hit the code under test alone.
 */
struct pairs {
    int64_t key, step, left, batch_rows;
    const char *name;                 /* of the first column, if it is another */
    void (*meanwhile)(void *context); /* called once, before the first batch */
    void *context;
    int64_t value[2][PAIRS_MAX]; /* these are filled in */
    struct pairs_batch batch[PAIRS_MAX];
    uint32_t row_count, batch_count;
};

/* They as a stream; `pairs` lives as long. */
struct ArrowArrayStream pairs_stream(struct pairs *pairs);

#endif
