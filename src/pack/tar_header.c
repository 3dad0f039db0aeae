/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/tar_header.h"

#include <stdio.h>
#include <string.h>

enum {
    NAME_BYTES = 100,
    MODE_AT = 100,
    SIZE_AT = 124,
    SIZE_DIGITS = 11,
    CHECK_AT = 148,
    CHECK_DIGITS = 6,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    MODE_FILE = 0644,
    MODE_PROGRAM = 0755,
    PAX_BYTES_MAX = 8192
};

static const char magic[] = "ustar\00000";

static void put_octal(uint8_t *at, int digits, uint64_t value)
{
    for (int i = digits - 1; i >= 0; i--, value /= 8)
        at[i] = (uint8_t)('0' + value % 8);
}

static uint32_t check_of(const uint8_t block[LMN__TAR_BLOCK])
{
    uint32_t sum = 0;

    for (int i = 0; i < LMN__TAR_BLOCK; i++)
        sum += i >= CHECK_AT && i < TYPE_AT ? ' ' : block[i];
    return sum;
}

static void put_block(struct lmn__buf *buf, const char *name, size_t name_len, char type,
                      bool executable, uint64_t bytes)
{
    uint8_t block[LMN__TAR_BLOCK] = { 0 };

    memcpy(block, name, name_len < NAME_BYTES ? name_len : NAME_BYTES);
    put_octal(block + MODE_AT, 7, executable ? MODE_PROGRAM : MODE_FILE);
    put_octal(block + MODE_AT + 8, 7, 0);  /* user */
    put_octal(block + MODE_AT + 16, 7, 0); /* group */
    put_octal(block + SIZE_AT, SIZE_DIGITS, bytes);
    put_octal(block + SIZE_AT + 12, 11, 0); /* time */
    block[TYPE_AT] = (uint8_t)type;
    memcpy(block + MAGIC_AT, magic, sizeof magic - 1);
    put_octal(block + CHECK_AT, CHECK_DIGITS, check_of(block));
    block[CHECK_AT + CHECK_DIGITS + 1] = ' ';
    lmn__buf_put(buf, block, sizeof block);
}

/* "LENGTH path=PATH\n", where LENGTH counts itself. */
static void put_pax(struct lmn__buf *buf, const char *path, size_t path_len)
{
    size_t bare = path_len + sizeof " path=\n" - 1, len = bare;
    char digits[24];

    for (size_t before = 0; before != len;) {
        before = len;
        len = bare + (size_t)snprintf(digits, sizeof digits, "%zu", len);
    }
    put_block(buf, path, path_len, 'x', false, len);
    lmn__buf_printf(buf, "%zu path=", len);
    lmn__buf_put(buf, path, path_len);
    lmn__buf_put_u8(buf, '\n');
    lmn__buf_put_zeros(buf, (LMN__TAR_BLOCK - len % LMN__TAR_BLOCK) % LMN__TAR_BLOCK);
}

void lmn__tar_header_put(struct lmn__buf *buf, const char *path, bool executable, uint64_t bytes)
{
    size_t len = strlen(path);

    if (len > NAME_BYTES)
        put_pax(buf, path, len);
    put_block(buf, path, len, '0', executable, bytes);
}

static bool read_octal(const uint8_t *at, int digits, uint64_t *value_out)
{
    uint64_t value = 0;

    for (int i = 0; i < digits; i++) {
        if (at[i] < '0' || at[i] > '7')
            return false;
        value = value * 8 + (uint64_t)(at[i] - '0');
    }
    *value_out = value;
    return true;
}

static bool is_zero(const uint8_t block[LMN__TAR_BLOCK])
{
    for (int i = 0; i < LMN__TAR_BLOCK; i++) {
        if (block[i] != 0)
            return false;
    }
    return true;
}

enum lmn_status lmn__tar_header_read(const uint8_t block[LMN__TAR_BLOCK],
                                     struct lmn__tar_header *header_out, struct lmn_error *err)
{
    uint64_t mode, check;

    *header_out = (struct lmn__tar_header){ .kind = LMN__TAR_END };
    if (is_zero(block))
        return LMN_OK;
    if (memcmp(block + MAGIC_AT, magic, sizeof magic - 1) != 0 ||
        !read_octal(block + CHECK_AT, CHECK_DIGITS, &check) || check != check_of(block) ||
        memcmp(block + CHECK_AT + CHECK_DIGITS, "\0 ", 2) != 0)
        return lmn_fail(err, LMN_E_CORRUPT, "a header that is none");
    if (block[TYPE_AT] != '0' && block[TYPE_AT] != 'x')
        return lmn_fail(err, LMN_E_CORRUPT, "a member of type 0x%02x, which is no file",
                        block[TYPE_AT]);
    if (!read_octal(block + MODE_AT, 7, &mode) || (mode != MODE_FILE && mode != MODE_PROGRAM) ||
        !read_octal(block + SIZE_AT, SIZE_DIGITS, &header_out->bytes))
        return lmn_fail(err, LMN_E_CORRUPT, "a header with a bad mode or size");
    header_out->kind = block[TYPE_AT] == 'x' ? LMN__TAR_PAX : LMN__TAR_FILE;
    header_out->executable = mode == MODE_PROGRAM;
    memcpy(header_out->name, block, NAME_BYTES);
    if (header_out->kind == LMN__TAR_PAX && header_out->bytes > PAX_BYTES_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "a pax header of %llu bytes",
                        (unsigned long long)header_out->bytes);
    return LMN_OK;
}

bool lmn__tar_pax_path(struct lmn__span content, struct lmn__span *path_out)
{
    static const char key[] = " path=";
    size_t at = 0, stated = 0;

    while (at < content.len && at < 6 && content.data[at] >= '0' && content.data[at] <= '9')
        stated = stated * 10 + (size_t)(content.data[at++] - '0');
    if (stated != content.len || content.len < at + sizeof key ||
        memcmp(content.data + at, key, sizeof key - 1) != 0 ||
        content.data[content.len - 1] != '\n')
        return false;
    at += sizeof key - 1;
    *path_out = (struct lmn__span){ content.data + at, content.len - at - 1 };
    return true;
}
