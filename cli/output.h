/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - rows on standard output: a table for people, JSON lines or Arrow for programs.
 */
#ifndef LEMAN_CLI_OUTPUT_H
#define LEMAN_CLI_OUTPUT_H

#include "arguments.h"
#include "print.h"

/* A zeroed struct prints a table of the first and last rows. */
struct output {
    bool json, arrow;
    struct number shown; /* rows of the table that are shown from the start, when given */
};

/* What is wrong with the options; NULL when nothing is. */
const char *output_wrong(const struct output *output);

/* Print all rows of `stream`, which stays the caller's. */
enum lmn_status output_stream(const struct output *output, struct ArrowArrayStream *stream,
                              struct lmn_error *err);

/* Print the rows of a struct array; schema and array are released. */
enum lmn_status output_array(const struct output *output, struct ArrowSchema *schema,
                             struct ArrowArray *array, struct lmn_error *err);

/* Give the rows of `stream` to `table`, or print them as JSON when that is NULL. */
enum lmn_status output_rows(struct ArrowArrayStream *stream, const struct ArrowSchema *schema,
                            struct print_table *table, struct lmn_error *err);

/* Why a stream answered `rc`, as a status. */
enum lmn_status stream_failed(struct ArrowArrayStream *stream, int rc, struct lmn_error *err);

#endif
