/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/math.h"

void lmn__buf_init(struct lmn__buf *buf, struct lmn_env *env, size_t len_max)
{
    *buf = (struct lmn__buf){ .env = env, .len_max = len_max != 0 ? len_max : SIZE_MAX / 2 };
}

void lmn__buf_deinit(struct lmn__buf *buf)
{
    if (buf->data != NULL)
        lmn__free(buf->env, buf->data);
    *buf = (struct lmn__buf){ .env = buf->env, .len_max = buf->len_max };
}

void lmn__buf_reset(struct lmn__buf *buf)
{
    buf->len = 0;
    buf->failed = false;
}

bool lmn__buf_reserve(struct lmn__buf *buf, size_t more)
{
    uint64_t cap;
    uint8_t *data;

    if (more <= buf->cap - buf->len)
        return true;
    if (more > buf->len_max - buf->len) {
        buf->failed = true;
        return false;
    }
    cap = lmn__max_u64(64, lmn__max_u64(buf->len + more, buf->cap * 2));
    cap = lmn__min_u64(cap, buf->len_max);
    data = lmn__realloc(buf->env, buf->data, cap);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void lmn__buf_put(struct lmn__buf *buf, const void *data, size_t len)
{
    if (len == 0 || buf->failed || !lmn__buf_reserve(buf, len))
        return;
    memcpy(buf->data + buf->len, data, len);
    buf->len += len;
}

void lmn__buf_put_u8(struct lmn__buf *buf, uint8_t value)
{
    lmn__buf_put(buf, &value, sizeof value);
}

void lmn__buf_put_u16(struct lmn__buf *buf, uint16_t value)
{
    lmn__buf_put(buf, &value, sizeof value);
}

void lmn__buf_put_u32(struct lmn__buf *buf, uint32_t value)
{
    lmn__buf_put(buf, &value, sizeof value);
}

void lmn__buf_put_u64(struct lmn__buf *buf, uint64_t value)
{
    lmn__buf_put(buf, &value, sizeof value);
}

void lmn__buf_put_zeros(struct lmn__buf *buf, size_t count)
{
    if (count == 0 || buf->failed || !lmn__buf_reserve(buf, count))
        return;
    memset(buf->data + buf->len, 0, count);
    buf->len += count;
}

void lmn__buf_printf(struct lmn__buf *buf, const char *fmt, ...)
{
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        buf->failed = true;
    if (buf->failed || !lmn__buf_reserve(buf, (size_t)len + 1))
        return;
    va_start(args, fmt);
    vsnprintf((char *)buf->data + buf->len, (size_t)len + 1, fmt, args);
    va_end(args);
    buf->len += (size_t)len;
}

enum lmn_status lmn__buf_status(const struct lmn__buf *buf, const char *what, struct lmn_error *err)
{
    if (!buf->failed)
        return LMN_OK;
    return lmn_fail(err, LMN_E_NO_MEMORY, "%s: no room to grow beyond %zu bytes (limit %zu)", what,
                    buf->cap, buf->len_max);
}
