/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill.h - a column and the function that fills it, for `leman backfill`.
 */
#ifndef LEMAN_CLI_FILL_H
#define LEMAN_CLI_FILL_H

#include "command.h"

enum { FILL_INPUTS_MAX = 256 };

struct fill {
    struct lmn_c_function *code;
    struct lmn_job_function function;
    const char *output[1];
    const char *input[FILL_INPUTS_MAX];
    char *known; /* what the table says of the column's function */
    char names[4096];
    const char *on_change; /* what becomes of values of another version; NULL: that is asked */
};

/*
 * Load "LIB.so:NAME", bind it to its inputs (the given ones, or those that the column was added
 * with), and add the column when it is not there. The caller closes the fill, also on failure.
 */
enum lmn_status fill_open(struct fill *fill, struct lmn_table *table, const char *column,
                          const char *function, const char *const *input, uint32_t input_count,
                          struct lmn_error *err);
void fill_close(struct fill *fill);

/*
 * The column was added with another version of the function, or still has values of one: do as
 * fill->on_change says. The function's own text is put together by fill_describe().
 *
 * LMN_E_CONFLICT  it says nothing; the message has what it may say
 */
enum lmn_status fill_change(struct fill *fill, struct lmn_table *table, struct lmn_error *err);

/* What the table keeps of the function; `before`: the version that has filled cells until now, or
 * "". False: it is too long. */
bool fill_describe(const struct fill *fill, const char *before, char *text, size_t text_bytes);

/* Do the arguments ask for a function of a shared object? */
bool fill_is_c(int argc, char **argv);

/* The exit code for how a job ended. */
int fill_exit_code(const struct lmn_job_status *status, bool killed);

/* Print how a job ended; returns the exit code for it. */
int fill_report(const struct lmn_job_status *status, bool json, bool killed, const char *command);

/* Print what lmn_job_plan() gave. */
void fill_print_plan(const char *plan, bool json);

#endif
