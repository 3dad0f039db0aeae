/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_lines.h - what a worker prints, cut into lines.
 *
 * Python's own streams mark each line with the row that printed it:
 *
 *   0x1e ROW ' ' ROWS ' ' LEVEL 0x1f TEXT '\n'
 *
 * ROW is the id of the first row of the call, or '-' outside of calls; ROWS how many it has; LEVEL
 * a word: "out", "err" or that of Python's logging. Whatever else arrives, from C or from programs
 * that the function started, is a line without a mark. A carriage return takes back what stands
 * before it in the line, as on a terminal.
 */
#ifndef LMN_ENGINE_LOG_LINES_H
#define LMN_ENGINE_LOG_LINES_H

#include <stdbool.h>

#include "base/bytes.h"

enum { LMN__LOG_LINE_BYTES = 4096, LMN__LOG_LEVEL_CHARS = 16 };

struct lmn__log_line {
    bool marked; /* the next three count */
    bool has_row;
    uint64_t row, rows;
    char level[LMN__LOG_LEVEL_CHARS];
    struct lmn__span text;
    bool cut; /* it was longer */
};

typedef void (*lmn__log_line_fn)(void *context, const struct lmn__log_line *line);

/* The line that is not complete yet. A zeroed one is empty. */
struct lmn__log_lines {
    uint8_t data[LMN__LOG_LINE_BYTES];
    size_t len;
    bool cut, returned;
};

/* Take bytes; `fn` is called for each line that they complete. */
void lmn__log_lines_feed(struct lmn__log_lines *lines, const void *data, size_t len,
                         lmn__log_line_fn fn, void *context);

/* What is there counts as a line. */
void lmn__log_lines_end(struct lmn__log_lines *lines, lmn__log_line_fn fn, void *context);

#endif
