/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/log_lines.h"

#include <string.h>

enum { MARK = 0x1e, MARK_END = 0x1f, MARK_BYTES_MAX = 64 };

/* A number of digits up to `end`; false when it is none. */
static bool read_number(const uint8_t **at, const uint8_t *end, uint64_t *number_out)
{
    const uint8_t *start = *at;
    uint64_t number = 0;

    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        if (number > (UINT64_MAX - 9) / 10)
            return false;
        number = number * 10 + (uint64_t)(**at - '0');
    }
    *number_out = number;
    return *at > start;
}

static bool skip(const uint8_t **at, const uint8_t *end, uint8_t byte)
{
    if (*at == end || **at != byte)
        return false;
    ++*at;
    return true;
}

/* The mark between `at` and `end`, without its two bytes. */
static bool read_mark(const uint8_t *at, const uint8_t *end, struct lmn__log_line *line)
{
    size_t len;

    line->has_row = !skip(&at, end, '-');
    if (line->has_row && !read_number(&at, end, &line->row))
        return false;
    if (!skip(&at, end, ' ') || !read_number(&at, end, &line->rows) || !skip(&at, end, ' '))
        return false;
    len = (size_t)(end - at);
    if (len == 0 || len >= sizeof line->level)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (at[i] <= ' ' || at[i] > '~')
            return false;
        line->level[i] = (char)at[i];
    }
    line->marked = true;
    return true;
}

/* Bytes of the mark that the line begins with; 0: none. */
static size_t mark_bytes(const struct lmn__log_lines *lines)
{
    size_t most = lines->len < MARK_BYTES_MAX ? lines->len : MARK_BYTES_MAX;
    const uint8_t *end = lines->len > 0 && lines->data[0] == MARK
                             ? memchr(lines->data, MARK_END, most)
                             : NULL;

    return end != NULL ? (size_t)(end - lines->data) + 1 : 0;
}

static void emit(struct lmn__log_lines *lines, lmn__log_line_fn fn, void *context)
{
    struct lmn__log_line line = { .cut = lines->cut };
    size_t mark = mark_bytes(lines);

    if (mark > 0 && !read_mark(lines->data + 1, lines->data + mark - 1, &line)) {
        line = (struct lmn__log_line){ .cut = lines->cut };
        mark = 0;
    }
    line.text = (struct lmn__span){ lines->data + mark, lines->len - mark };
    fn(context, &line);
    lines->len = 0;
    lines->cut = lines->returned = false;
}

void lmn__log_lines_end(struct lmn__log_lines *lines, lmn__log_line_fn fn, void *context)
{
    if (lines->len > 0)
        emit(lines, fn, context);
}

void lmn__log_lines_feed(struct lmn__log_lines *lines, const void *data, size_t len,
                         lmn__log_line_fn fn, void *context)
{
    const uint8_t *byte = data;

    for (size_t i = 0; i < len; i++) {
        if (byte[i] == '\n') {
            emit(lines, fn, context);
            continue;
        }
        if (byte[i] == MARK) /* a line that something else had begun ends here */
            lmn__log_lines_end(lines, fn, context);
        if (lines->returned)
            lines->len = mark_bytes(lines);
        lines->returned = byte[i] == '\r';
        if (lines->returned)
            continue;
        if (lines->len < sizeof lines->data)
            lines->data[lines->len++] = byte[i];
        else
            lines->cut = true;
    }
}
