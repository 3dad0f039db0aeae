/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.h - rows on a terminal: aligned columns for people, JSON lines for programs.
 *
 * A table keeps the text of the rows it will show, at most `head` of the first and `tail` of the
 * last, and prints when all rows have been given.
 */
#ifndef LEMAN_CLI_PRINT_H
#define LEMAN_CLI_PRINT_H

#include <stdio.h>

#include "value.h"

struct print_options {
    uint64_t head, tail; /* rows shown from the start and the end; default 10 each */
    uint32_t width;      /* columns of the terminal; 0: no limit */
    bool color;
};

struct print_table;

/* Fill in width and color of the terminal behind `out`: NO_COLOR, COLUMNS and the window decide. */
void print_options_terminal(struct print_options *options, FILE *out);

/* `schema` is a struct of the columns and must live until the table is freed. */
struct print_table *print_table_new(const struct ArrowSchema *schema,
                                    const struct print_options *options);
void print_table_add(struct print_table *table, const struct ArrowArray *batch);
/* Rows that exist and are not given. */
void print_table_skip(struct print_table *table, uint64_t rows);
void print_table_end(struct print_table *table, FILE *out);
void print_table_free(struct print_table *table);

/* Print every row of a batch as one JSON object per line. */
void print_json(const struct ArrowSchema *schema, const struct ArrowArray *batch, FILE *out);

#endif
