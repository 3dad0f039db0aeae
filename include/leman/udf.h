/* SPDX-License-Identifier: Apache-2.0 */
/*
 * udf.h - functions written in C that fill columns.
 *
 * A shared object exports one symbol, `leman_functions`, a table of functions by name:
 *
 *     const struct lmn_function_table leman_functions = { LMN_FUNCTION_ABI, 1, functions };
 *
 * In C++ `extern "C"` stands before it. Functions take and give Arrow arrays and run in threads of
 * a worker process. This header needs no library.
 */
#ifndef LEMAN_UDF_H
#define LEMAN_UDF_H

#include <leman/arrow_abi.h>
#include <leman/status.h>

enum { LMN_FUNCTION_ABI = 1 };

struct lmn_function {
    const char *name;
    const char *version; /* any text; another one makes it another function */

    /*
     * Check the types of the inputs, a struct of them in the order in which they are bound, and
     * give the type of the output. Called before any row is read.
     */
    enum lmn_status (*bind)(const struct ArrowSchema *inputs, struct ArrowSchema *output_out,
                            struct lmn_error *err);

    /* Once per thread, before its first call. NULL: nothing to set up; *state_out is NULL. */
    enum lmn_status (*setup)(void **state_out, struct lmn_error *err);
    void (*teardown)(void *state); /* NULL: nothing to do */

    /*
     * Compute one value per row of `inputs`, a struct array. The inputs stay the caller's. A
     * failure is narrowed to the rows that cause it by calls with fewer rows.
     */
    enum lmn_status (*apply)(void *state, const struct ArrowArray *inputs,
                             struct ArrowArray *output_out, struct lmn_error *err);
};

struct lmn_function_table {
    uint32_t abi; /* LMN_FUNCTION_ABI */
    uint32_t count;
    const struct lmn_function *function;
};

#endif
