/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.h - some columns and the first rows of an Arrow stream, as a stream.
 */
#ifndef LEMAN_CLI_SELECT_H
#define LEMAN_CLI_SELECT_H

#include <stdbool.h>

#include <leman/arrow_abi.h>
#include <leman/status.h>

struct select_options {
    const char *const *column; /* names, in the order wanted; NULL takes all */
    uint32_t column_count;
    bool limited;
    uint64_t row_limit;
};

/*
 * Wrap `stream` in itself. On failure it is left as it was. `options` is copied, its names are not.
 *
 * LMN_E_NOT_FOUND  there is no column of that name
 */
enum lmn_status select_stream(struct ArrowArrayStream *stream, const struct select_options *options,
                              struct lmn_error *err);

#endif
