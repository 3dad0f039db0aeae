/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: u8 step, then what a worker prints. It is given in pieces of `step` bytes and as a whole:
 * the lines are the same.
 */
#include <string.h>

#include "base/buf.h"
#include "engine/log_lines.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void put_line(void *context, const struct lmn__log_line *line)
{
    struct lmn__buf *buf = context;

    if (line->text.len > LMN__LOG_LINE_BYTES || strlen(line->level) >= LMN__LOG_LEVEL_CHARS)
        abort();
    lmn__buf_put_u8(buf, (uint8_t)(line->marked | line->has_row << 1 | line->cut << 2));
    lmn__buf_put_u64(buf, line->row);
    lmn__buf_put_u64(buf, line->rows);
    lmn__buf_put_u64(buf, line->text.len);
    lmn__buf_put(buf, line->text.data, line->text.len);
}

static void feed(struct lmn__span input, size_t step, struct lmn__buf *buf)
{
    struct lmn__log_lines lines = { 0 };

    lmn__buf_init(buf, fuzz_env(), 0);
    for (size_t at = 0; at < input.len; at += step)
        lmn__log_lines_feed(&lines, input.data + at, input.len - at < step ? input.len - at : step,
                            put_line, buf);
    lmn__log_lines_end(&lines, put_line, buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len };
    size_t step = 1 + (size_t)take_number(&input, 1);
    struct lmn__buf whole, pieces;

    feed(input, input.len + 1, &whole);
    feed(input, step, &pieces);
    if (whole.len != pieces.len || (whole.len > 0 && memcmp(whole.data, pieces.data, whole.len)))
        abort();
    lmn__buf_deinit(&whole);
    lmn__buf_deinit(&pieces);
    return 0;
}
