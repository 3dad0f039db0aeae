/* SPDX-License-Identifier: Apache-2.0 */
#include "tars.h"

#include <stdio.h>

#include "check.h"

enum { BLOCK = 512 };

void tar_init(struct lmn__buf *tar)
{
    lmn__buf_init(tar, test_env(), 0);
}

void tar_seal(struct lmn__buf *tar, size_t offset)
{
    uint8_t *block = tar->data + offset;
    unsigned sum = 0;

    memset(block + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++)
        sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
}

void tar_put(struct lmn__buf *tar, const char *name, char type, const void *data, size_t len)
{
    size_t start = tar->len;
    char *block;

    lmn__buf_put_zeros(tar, BLOCK);
    block = (char *)tar->data + start;
    memcpy(block, name, strlen(name) < 100 ? strlen(name) : 100);
    snprintf(block + 100, 8, "%07o", 0644u);
    snprintf(block + 124, 12, "%011llo", (unsigned long long)len);
    block[156] = type;
    memcpy(block + 257,
           "ustar\0"
           "00",
           8);
    tar_seal(tar, start);
    lmn__buf_put(tar, data, len);
    lmn__buf_put_zeros(tar, -len & (BLOCK - 1));
}

void tar_file(struct lmn__buf *tar, const char *name, const char *text)
{
    tar_put(tar, name, '0', text, strlen(text));
}

void tar_end(struct lmn__buf *tar)
{
    lmn__buf_put_zeros(tar, 2 * BLOCK);
}

static uint32_t crc32_of(const uint8_t *data, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320 & -(crc & 1));
    }
    return ~crc;
}

void tar_gzip(const uint8_t *tar, size_t len, struct lmn__buf *out)
{
    static const uint8_t header[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };
    size_t at = 0, n;

    lmn__buf_put(out, header, sizeof header);
    do {
        n = len - at < UINT16_MAX ? len - at : UINT16_MAX;
        lmn__buf_put_u8(out, at + n == len);
        lmn__buf_put_u16(out, (uint16_t)n);
        lmn__buf_put_u16(out, (uint16_t)~n);
        lmn__buf_put(out, tar + at, n);
        at += n;
    } while (at < len);
    lmn__buf_put_u32(out, crc32_of(tar, len));
    lmn__buf_put_u32(out, (uint32_t)len);
}

const char *tar_write(const struct lmn__buf *tar, const char *dir, const char *name)
{
    static char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK_EQ(fwrite(tar->data, 1, tar->len, file), tar->len);
    CHECK_EQ(fclose(file), 0);
    return path;
}
