/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - the rows of a file on their way into a table: counted, shown while they come, and
 * stopped by Ctrl-C.
 *
 * What a terminal shows is one line on standard error that changes. When the command is asked to
 * end, the stream is cancelled, or the calls of its thread once the file is read, and the write
 * leaves nothing behind.
 */
#ifndef LEMAN_CLI_INPUT_H
#define LEMAN_CLI_INPUT_H

#include "table.h"

struct input {
    struct ArrowArrayStream stream; /* for a call that consumes it */
    bool empty;                     /* there is neither a row nor a column; no stream either */
    uint64_t rows;                  /* that were read */

    struct ArrowArrayStream inner;
    struct ArrowArray first; /* read to see whether there is any */
    bool ended;              /* all were */
    uint64_t bytes;
    int64_t start_ms; /* of the clock that progress_now_ms() tells */
};

/*
 * Open the rows of a file as open_rows() does. *input must stay where it is until its stream is
 * released; the caller, or the call that it gives it to, does that unless the input is empty.
 */
enum lmn_status input_open(struct input *input, const char *path,
                           const struct rows_options *options, struct lmn_table *table,
                           struct lmn_error *err);

/* A stream without a file, in its place. */
void input_take(struct input *input, const struct ArrowArrayStream *stream);

/* Say that a file has no rows that columns could be taken from. */
enum lmn_status input_refuse_empty(const char *path, struct lmn_error *err);

#endif
