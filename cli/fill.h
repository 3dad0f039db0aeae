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
};

/*
 * Load "LIB.so:NAME", bind it to its inputs (the given ones, or those that the column was added
 * with), and add the column when it is not there. The caller closes the fill, also on failure.
 */
enum lmn_status fill_open(struct fill *fill, struct lmn_table *table, const char *column,
                          const char *function, const char *const *input, uint32_t input_count,
                          struct lmn_error *err);
void fill_close(struct fill *fill);

/* Do the arguments ask for a function of a shared object? */
bool fill_is_c(int argc, char **argv);

/* Print how a job ended; returns the exit code for it. */
int fill_report(const struct lmn_job_status *status, bool json, bool killed, const char *command);

/* Print what lmn_job_plan() gave. */
void fill_print_plan(const char *plan, bool json);

#endif
