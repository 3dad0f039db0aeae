/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - the records of jobs, which the library gives as JSON, taken apart for people.
 */
#ifndef LEMAN_CLI_RECORD_H
#define LEMAN_CLI_RECORD_H

#include "command.h"

/* A piece of JSON. */
struct piece {
    const char *text; /* NULL: there is none */
    size_t len;
};

struct piece piece_of(const char *text);

/* The value of a member of an object; and the items of an array, one after the other. */
struct piece piece_member(struct piece object, const char *key);
bool piece_next(struct piece *array, struct piece *item_out);

/*
 * A string without quotes and escapes, except those of characters that would move the cursor of a
 * terminal or colour it; "" when it is none. Returns `into`.
 */
const char *piece_text(struct piece value, char *into, size_t into_bytes);
uint64_t piece_number(struct piece value);
double piece_real(struct piece value);

/* Open the table of a job: `table` where it is given, otherwise by what is known of the id. */
enum lmn_status open_job_table(const char *id, const char *table, struct lmn_table **table_out,
                               struct lmn_error *err);

#endif
