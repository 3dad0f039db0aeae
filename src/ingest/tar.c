/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive is a run of blocks of 512 bytes: a header, the content, zeros up to the next block.
 *
 *   header    0 name[100]  124 size[12]  148 checksum[8]  156 type  257 magic[8]  345 prefix[155]
 *   numbers   octal digits, or with the top bit of the first byte set, 95 bits of binary
 *   type 'x'  records "LEN key=value\n" about the next member (pax); "path" and "size" count here
 *   type 'L'  the name of the next member (GNU)
 *   type 'S'  a sparse file (GNU); byte 482 tells that a block of its map follows, and byte 504 of
 *             that one whether another does. In pax it is a plain file with records "GNU.sparse.x"
 *   end       a block of zeros
 *
 * The checksum is the sum of the header's bytes with its own field taken as spaces; some programs
 * take bytes as signed.
 */
#include "ingest/tar.h"

#include "base/math.h"

enum {
    BLOCK = 512,
    READ_BYTES = 256 << 10,
    READ_BYTES_SKIPPING = 4 << 10,
    PAX_BYTES_MAX = 1 << 20,
    NAME_AT = 0,
    NAME_LEN = 100,
    SIZE_AT = 124,
    SIZE_LEN = 12,
    SUM_AT = 148,
    SUM_LEN = 8,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX_LEN = 155,
    MORE_MAP_AT = 482,
    MAP_MORE_MAP_AT = 504
};

void lmn__tar_init(struct lmn__tar *tar, struct lmn_env *env, struct lmn__source *source,
                   bool skips)
{
    *tar = (struct lmn__tar){ .source = *source, .skips = skips };
    *source = (struct lmn__source){ .fd = -1 };
    lmn__buf_init(&tar->ahead, env, READ_BYTES);
    lmn__buf_init(&tar->name, env, LMN__TAR_NAME_BYTES_MAX);
    lmn__buf_init(&tar->pax_name, env, LMN__TAR_NAME_BYTES_MAX);
    lmn__buf_init(&tar->long_name, env, PAX_BYTES_MAX);
}

void lmn__tar_deinit(struct lmn__tar *tar)
{
    lmn__gzip_free(tar->gzip);
    lmn__source_close(&tar->source);
    lmn__buf_deinit(&tar->ahead);
    lmn__buf_deinit(&tar->name);
    lmn__buf_deinit(&tar->pax_name);
    lmn__buf_deinit(&tar->long_name);
}

static enum lmn_status ended(const struct lmn__tar *tar, const char *where, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CORRUPT, "%.200s: ends at offset %llu, %s", tar->source.name,
                    (unsigned long long)tar->position, where);
}

/* Look whether the archive is compressed. */
static enum lmn_status look_at_start(struct lmn__tar *tar, struct lmn_error *err)
{
    struct lmn__span start = { NULL, 0 };
    enum lmn_status st = lmn__source_peek(&tar->source, 2, &start, err);

    tar->started = true;
    return st == LMN_OK && lmn__gzip_starts(start)
               ? lmn__gzip_new(tar->source.env, &tar->source, &tar->gzip, err)
               : st;
}

static enum lmn_status read_source(struct lmn__tar *tar, uint8_t *data, size_t len, size_t *got_out,
                                   struct lmn_error *err)
{
    return tar->gzip != NULL ? lmn__gzip_read(tar->gzip, data, len, got_out, err)
                             : lmn__source_read(&tar->source, data, len, got_out, err);
}

static enum lmn_status skip_source(struct lmn__tar *tar, uint64_t len, uint64_t *got_out,
                                   struct lmn_error *err)
{
    return tar->gzip != NULL ? lmn__gzip_skip(tar->gzip, len, got_out, err)
                             : lmn__source_skip(&tar->source, len, got_out, err);
}

/* Up to `len` bytes; fewer at the end of the archive. Large reads go around the buffer. */
static enum lmn_status take(struct lmn__tar *tar, uint8_t *data, size_t len, size_t *got_out,
                            struct lmn_error *err)
{
    size_t have = lmn__min_u64(tar->ahead.len - tar->used, len), got = 0;
    size_t more = tar->skips ? READ_BYTES_SKIPPING : READ_BYTES;
    enum lmn_status st = LMN_OK;

    if (have != 0)
        memcpy(data, tar->ahead.data + tar->used, have);
    tar->used += have;
    if (have < len && len - have >= more) {
        st = read_source(tar, data + have, len - have, &got, err);
    } else if (have < len) {
        lmn__buf_reset(&tar->ahead);
        tar->used = 0;
        if (!lmn__buf_reserve(&tar->ahead, more))
            return lmn__no_memory(err, "a tar archive", more);
        st = read_source(tar, tar->ahead.data, more, &tar->ahead.len, err);
        got = lmn__min_u64(len - have, tar->ahead.len);
        if (got != 0)
            memcpy(data + have, tar->ahead.data, got);
        tar->used = got;
    }
    *got_out = have + got;
    tar->position += *got_out;
    if (st == LMN_OK && *got_out < len && tar->gzip != NULL) /* is it the end, or damage? */
        st = read_source(tar, data + *got_out, 1, &got, err);
    return st;
}

static enum lmn_status skip(struct lmn__tar *tar, uint64_t len, const char *where,
                            struct lmn_error *err)
{
    uint64_t have = lmn__min_u64(tar->ahead.len - tar->used, len), got = 0;
    enum lmn_status st = LMN_OK;

    tar->used += have;
    if (have < len)
        st = skip_source(tar, len - have, &got, err);
    tar->position += have + got;
    if (st == LMN_OK && have + got < len)
        st = ended(tar, where, err);
    return st;
}

enum lmn_status lmn__tar_read(struct lmn__tar *tar, void *data, size_t len, struct lmn_error *err)
{
    size_t got = 0;
    enum lmn_status st = take(tar, data, len, &got, err);

    tar->left -= lmn__min_u64(got, tar->left);
    if (st == LMN_OK && got < len)
        st = ended(tar, "inside of a member", err);
    return st;
}

/* A number of a header; false when it is none or does not fit 63 bits. */
static bool number(const uint8_t *at, size_t len, uint64_t *value_out)
{
    uint64_t value = 0;
    size_t i = 0;

    if ((at[0] & 0x80) != 0) {
        for (i = 1; i < len; i++) {
            if (value >> 55 != 0)
                return false;
            value = value << 8 | at[i];
        }
        *value_out = value;
        return at[0] == 0x80;
    }
    while (i < len && at[i] == ' ')
        i++;
    for (; i < len && at[i] >= '0' && at[i] <= '7'; i++) {
        if (value >> 60 != 0)
            return false;
        value = value << 3 | (uint64_t)(at[i] - '0');
    }
    *value_out = value;
    return i == len || at[i] == ' ' || at[i] == '\0';
}

static bool is_zero(const uint8_t *block)
{
    uint64_t any = 0;

    for (size_t i = 0; i < BLOCK; i += 8)
        any |= lmn__load_u64(block + i);
    return any == 0;
}

static bool sum_fits(const uint8_t *block)
{
    uint64_t told, sum = 0, high = 0;

    for (size_t i = 0; i < BLOCK; i++) {
        uint8_t byte = i >= SUM_AT && i < SUM_AT + SUM_LEN ? ' ' : block[i];

        sum += byte;
        high += byte >> 7;
    }
    return number(block + SUM_AT, SUM_LEN, &told) && (told == sum || told == sum - 256 * high);
}

/* The bytes of a text field up to its first NUL. */
static struct lmn__span field(const uint8_t *block, size_t at, size_t len)
{
    const uint8_t *end = memchr(block + at, '\0', len);

    return (struct lmn__span){ block + at, end != NULL ? (size_t)(end - block) - at : len };
}

static void header_name(struct lmn__tar *tar, const uint8_t *block)
{
    struct lmn__span name = field(block, NAME_AT, NAME_LEN), prefix = { NULL, 0 };

    lmn__buf_reset(&tar->name);
    /* GNU's headers have other things where those of POSIX have the start of the name. */
    if (memcmp(block + MAGIC_AT, "ustar", 6) == 0)
        prefix = field(block, PREFIX_AT, PREFIX_LEN);
    if (prefix.len != 0) {
        lmn__buf_put(&tar->name, prefix.data, prefix.len);
        lmn__buf_put_u8(&tar->name, '/');
    }
    lmn__buf_put(&tar->name, name.data, name.len);
}

/* One record "LEN key=value\n" at the start of `text`; false when it is none. */
static bool pax_record(struct lmn__span text, struct lmn__span *key_out,
                       struct lmn__span *value_out, size_t *len_out)
{
    size_t len = 0, at = 0;
    const uint8_t *equal;

    for (; at < text.len && at < 8 && text.data[at] >= '0' && text.data[at] <= '9'; at++)
        len = len * 10 + (size_t)(text.data[at] - '0');
    if (at == 0 || at >= text.len || text.data[at] != ' ' || len <= at + 1 || len > text.len ||
        text.data[len - 1] != '\n')
        return false;
    at++;
    equal = memchr(text.data + at, '=', len - at);
    if (equal == NULL)
        return false;
    *key_out = (struct lmn__span){ text.data + at, (size_t)(equal - text.data) - at };
    *value_out = (struct lmn__span){ equal + 1, len - 1 - (size_t)(equal + 1 - text.data) };
    *len_out = len;
    return true;
}

static bool key_is(struct lmn__span key, const char *text)
{
    return key.len == strlen(text) && memcmp(key.data, text, key.len) == 0;
}

static bool pax_size(struct lmn__tar *tar, struct lmn__span value)
{
    tar->has_pax_bytes = value.len != 0 && value.len < 19;
    tar->pax_bytes = 0;
    for (size_t i = 0; i < value.len && tar->has_pax_bytes; i++) {
        tar->has_pax_bytes = value.data[i] >= '0' && value.data[i] <= '9';
        tar->pax_bytes = tar->pax_bytes * 10 + (uint64_t)(value.data[i] - '0');
    }
    return tar->has_pax_bytes;
}

/* The name of a sparse file is told apart; its path is one that programs without them make. */
static bool pax_name(struct lmn__tar *tar, struct lmn__span value, bool of_sparse)
{
    if (tar->has_sparse_name && !of_sparse)
        return true;
    tar->has_sparse_name = of_sparse;
    lmn__buf_reset(&tar->pax_name);
    if (value.len <= LMN__TAR_NAME_BYTES_MAX)
        lmn__buf_put(&tar->pax_name, value.data, value.len);
    return value.len <= LMN__TAR_NAME_BYTES_MAX;
}

static enum lmn_status pax_records(struct lmn__tar *tar, struct lmn__span text, uint64_t header,
                                   struct lmn_error *err)
{
    struct lmn__span key, value;
    size_t len;

    for (; text.len != 0; text = (struct lmn__span){ text.data + len, text.len - len }) {
        bool good = pax_record(text, &key, &value, &len);

        if (good && key.len > 10 && memcmp(key.data, "GNU.sparse", 10) == 0)
            tar->is_pax_sparse = true;
        if (good && (key_is(key, "path") || key_is(key, "GNU.sparse.name")))
            good = pax_name(tar, value, key.len != 4);
        else if (good && key_is(key, "size"))
            good = pax_size(tar, value);
        if (!good)
            return lmn_fail(err, LMN_E_CORRUPT,
                            "%.200s: a pax header at offset %llu does not parse", tar->source.name,
                            (unsigned long long)header);
    }
    return lmn__buf_status(&tar->pax_name, "a name", err);
}

/* The content of a header about the next member. */
static enum lmn_status about_next(struct lmn__tar *tar, uint8_t type, uint64_t header,
                                  struct lmn_error *err)
{
    struct lmn__buf *buf = type == 'L' ? &tar->pax_name : &tar->long_name;
    size_t len = tar->left;
    enum lmn_status st;

    if (tar->left > PAX_BYTES_MAX || (type == 'L' && tar->left > LMN__TAR_NAME_BYTES_MAX))
        return lmn_fail(err, LMN_E_CORRUPT, "%.200s: a header of %llu bytes at offset %llu",
                        tar->source.name, (unsigned long long)tar->left,
                        (unsigned long long)header);
    lmn__buf_reset(buf);
    if (!lmn__buf_reserve(buf, len + 1))
        return lmn__no_memory(err, "a tar header", len);
    st = lmn__tar_read(tar, buf->data, len, err);
    buf->len = len;
    if (st != LMN_OK)
        return st;
    if (type == 'x')
        return pax_records(tar, (struct lmn__span){ buf->data, len }, header, err);
    if (len != 0)
        buf->len = field(buf->data, 0, len).len;
    return LMN_OK;
}

/* Read a header; *type_out is 0 at the end mark. */
static enum lmn_status read_header(struct lmn__tar *tar, uint8_t *block, uint8_t *type_out,
                                   struct lmn_error *err)
{
    size_t got = 0;
    uint64_t bytes = 0;
    enum lmn_status st = skip(tar, tar->left, "inside of a member", err);

    tar->left = 0;
    if (st == LMN_OK)
        st = skip(tar, tar->padding, "behind a member", err);
    tar->padding = 0;
    if (st == LMN_OK)
        st = take(tar, block, BLOCK, &got, err);
    if (st != LMN_OK)
        return st;
    if (got < BLOCK)
        return ended(tar, got == 0 ? "without an end mark" : "inside of a header", err);
    *type_out = 0;
    if (is_zero(block))
        return LMN_OK;
    if (!sum_fits(block) || !number(block + SIZE_AT, SIZE_LEN, &bytes))
        return lmn_fail(err, LMN_E_CORRUPT, "%.200s: no tar header at offset %llu",
                        tar->source.name, (unsigned long long)(tar->position - BLOCK));
    *type_out = block[TYPE_AT] == '\0' || block[TYPE_AT] == '7' ? '0' : block[TYPE_AT];
    if (*type_out >= '1' &&
        *type_out <= '6') /* links, devices, directories: a size means nothing */
        bytes = 0;
    tar->left = bytes;
    tar->padding = -bytes & (BLOCK - 1);
    return LMN_OK;
}

/* At the end mark: what is compressed has its checksum behind it. */
static enum lmn_status finish(struct lmn__tar *tar, struct lmn_error *err)
{
    uint64_t rest;

    return tar->gzip != NULL ? lmn__gzip_skip(tar->gzip, UINT64_MAX, &rest, err) : LMN_OK;
}

/* Pass over the rest of the map of a sparse file, whose header is `block`. */
static enum lmn_status skip_map(struct lmn__tar *tar, uint8_t *block, struct lmn_error *err)
{
    uint8_t map[BLOCK];
    bool more = block[MORE_MAP_AT] != 0;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && more) {
        size_t got = 0;

        st = take(tar, map, BLOCK, &got, err);
        if (st == LMN_OK && got < BLOCK)
            st = ended(tar, "inside of a header", err);
        more = st == LMN_OK && map[MAP_MORE_MAP_AT] != 0;
    }
    return st;
}

/* The file whose header is at hand. */
static enum lmn_status take_member(struct lmn__tar *tar, uint8_t *block, uint8_t type,
                                   struct lmn__tar_member *member_out, struct lmn_error *err)
{
    uint64_t header = tar->position - BLOCK;
    enum lmn_status st = type == 'S' ? skip_map(tar, block, err) : LMN_OK;

    if (st != LMN_OK)
        return st;
    if (tar->has_pax_bytes) {
        tar->left = tar->pax_bytes;
        tar->padding = -tar->pax_bytes & (BLOCK - 1);
    }
    header_name(tar, block);
    *member_out = (struct lmn__tar_member){
        .name = { tar->name.data, tar->name.len },
        .header = header,
        .offset = tar->position,
        .bytes = tar->left,
    };
    if (tar->pax_name.len != 0)
        member_out->name = (struct lmn__span){ tar->pax_name.data, tar->pax_name.len };
    if (type == 'S' || tar->is_pax_sparse)
        member_out->refused = "a sparse file";
    else if (type == 'M')
        member_out->refused = "a file that began in another archive";
    return lmn__buf_status(&tar->name, "a name", err);
}

/* Forget what was told of the next member. */
static void forget_next(struct lmn__tar *tar)
{
    lmn__buf_reset(&tar->pax_name);
    tar->has_pax_bytes = tar->is_pax_sparse = tar->has_sparse_name = false;
}

enum lmn_status lmn__tar_next(struct lmn__tar *tar, struct lmn__tar_member *member_out,
                              bool *more_out, struct lmn_error *err)
{
    uint8_t block[BLOCK], type = 0;
    enum lmn_status st;

    *more_out = false;
    *member_out = (struct lmn__tar_member){ 0 };
    if (!tar->started && (st = look_at_start(tar, err)) != LMN_OK)
        return st;
    forget_next(tar);
    while ((st = read_header(tar, block, &type, err)) == LMN_OK && type != 0) {
        if (type == '0' || type == 'S' || type == 'M') {
            st = take_member(tar, block, type, member_out, err);
            *more_out = st == LMN_OK;
            return st;
        }
        if (type == 'x' || type == 'L')
            st = about_next(tar, type, tar->position - BLOCK, err);
        else
            forget_next(tar);
        if (st != LMN_OK)
            return st;
    }
    return st == LMN_OK ? finish(tar, err) : st;
}
