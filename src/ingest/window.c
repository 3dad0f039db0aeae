/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/window.h"

#include "base/math.h"

enum { READ_BYTES = 256 << 10, RECORD_BYTES_MAX = 256 << 20 };

void lmn__window_init(struct lmn__window *window, struct lmn_env *env, struct lmn__source *source)
{
    *window = (struct lmn__window){ .source = *source, .line = 1 };
    *source = (struct lmn__source){ .fd = -1 };
    lmn__buf_init(&window->buf, env, RECORD_BYTES_MAX + READ_BYTES);
}

void lmn__window_deinit(struct lmn__window *window)
{
    lmn__source_close(&window->source);
    lmn__buf_deinit(&window->buf);
}

struct lmn__span lmn__window_bytes(const struct lmn__window *window)
{
    if (window->start == window->buf.len) /* also before there is a buffer */
        return (struct lmn__span){ (const uint8_t *)"", 0 };
    return (struct lmn__span){ window->buf.data + window->start, window->buf.len - window->start };
}

enum lmn_status lmn__window_more(struct lmn__window *window, struct lmn_error *err)
{
    struct lmn__buf *buf = &window->buf;
    size_t left = buf->len - window->start, want = lmn__max_u64(READ_BYTES, left), got;
    enum lmn_status st;

    if (window->start != 0 && left != 0)
        memmove(buf->data, buf->data + window->start, left);
    buf->len = left;
    window->start = 0;
    if (left >= RECORD_BYTES_MAX)
        return lmn_fail(err, LMN_E_INVALID, "a record of more than %d MiB", RECORD_BYTES_MAX >> 20);
    want = lmn__min_u64(want, buf->len_max - left);
    if (!lmn__buf_reserve(buf, want))
        return lmn__no_memory(err, "a text file", left + want);
    st = lmn__source_read(&window->source, buf->data + left, want, &got, err);
    if (st != LMN_OK)
        return st;
    buf->len += got;
    window->ended = got < want;
    return LMN_OK;
}

void lmn__window_advance(struct lmn__window *window, size_t bytes, uint64_t lines)
{
    window->start += bytes;
    window->line += lines;
}

enum lmn_status lmn__window_skip_mark(struct lmn__window *window, struct lmn_error *err)
{
    struct lmn__span bytes;
    enum lmn_status st = lmn__window_more(window, err);

    if (st != LMN_OK)
        return st;
    bytes = lmn__window_bytes(window);
    if (bytes.len >= 3 && memcmp(bytes.data, "\xef\xbb\xbf", 3) == 0)
        lmn__window_advance(window, 3, 0);
    return LMN_OK;
}
