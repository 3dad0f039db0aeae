/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/compress.h"

#include <lz4.h>
#include <zstd.h>

#include "base/math.h"

enum {
    LZ4_PREFIX_BYTES = 4,
    LZ4_EXPANSION_MAX = 255,
    ZSTD_PREFIX_BYTES = 8,
    GUESS_BYTES_MIN = 64 << 10
};

static enum lmn_status lz4_append(struct lmn__scratch *scratch, struct lmn__span bytes,
                                  struct lmn__vec *out, struct lmn_error *err)
{
    uint32_t plain;
    uint8_t *at;
    int got;
    enum lmn_status st;

    if (bytes.len < LZ4_PREFIX_BYTES || bytes.len > INT32_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "an lz4 block of %zu bytes", bytes.len);
    plain = lmn__load_u32(bytes.data);
    if (plain > INT32_MAX || plain / LZ4_EXPANSION_MAX > bytes.len)
        return lmn_fail(err, LMN_E_CORRUPT, "an lz4 block that claims %u bytes", plain);
    st = lmn__vec_extend(out, scratch->env->pool, plain, &at, err);
    if (st != LMN_OK)
        return st;
    got = LZ4_decompress_safe((const char *)bytes.data + LZ4_PREFIX_BYTES, (char *)at,
                              (int)(bytes.len - LZ4_PREFIX_BYTES), (int)plain);
    if (got < 0 || (uint32_t)got != plain)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "an lz4 block of %zu bytes does not decompress to %u bytes", bytes.len,
                        plain);
    return LMN_OK;
}

/* A frame without a size before it: older writers. Its descriptor never has bit 4 set. */
static bool is_bare_frame(struct lmn__span bytes)
{
    return bytes.len >= 5 && lmn__load_u32(bytes.data) == ZSTD_MAGICNUMBER &&
           (bytes.data[4] & 0x10) == 0;
}

/* The frame does not say how much it holds: take it in pieces and grow. */
static enum lmn_status zstd_stream(struct lmn__scratch *scratch, struct lmn__span frame,
                                   struct lmn__vec *out, struct lmn_error *err)
{
    ZSTD_DCtx *reader = scratch->zstd_reader;
    ZSTD_inBuffer in = { frame.data, frame.len, 0 };
    size_t left = 1;

    ZSTD_DCtx_reset(reader, ZSTD_reset_session_only);
    while (left != 0) {
        size_t room = lmn__max_u64(GUESS_BYTES_MIN, lmn__max_u64(frame.len * 2, out->len));
        ZSTD_outBuffer to = { NULL, room, 0 };
        size_t in_before = in.pos;
        uint8_t *at;
        enum lmn_status st = lmn__vec_extend(out, scratch->env->pool, room, &at, err);

        if (st != LMN_OK)
            return st;
        to.dst = at;
        left = ZSTD_decompressStream(reader, &to, &in);
        out->len -= room - to.pos;
        if (ZSTD_isError(left))
            return lmn_fail(err, LMN_E_CORRUPT, "a zstd frame of %zu bytes: %s", frame.len,
                            ZSTD_getErrorName(left));
        if (left != 0 && to.pos == 0 && in.pos == in_before)
            return lmn_fail(err, LMN_E_CORRUPT, "a zstd frame of %zu bytes is cut short",
                            frame.len);
    }
    return LMN_OK;
}

/* A frame that says how much it holds. */
static enum lmn_status zstd_whole(struct lmn__scratch *scratch, struct lmn__span frame,
                                  uint64_t plain, struct lmn__vec *out, struct lmn_error *err)
{
    uint8_t *at;
    size_t got;
    enum lmn_status st = lmn__vec_extend(out, scratch->env->pool, plain, &at, err);

    if (st != LMN_OK)
        return st;
    got = ZSTD_decompressDCtx(scratch->zstd_reader, at, plain, frame.data, frame.len);
    if (ZSTD_isError(got) || got != plain)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "a zstd frame of %zu bytes does not decompress to %llu bytes", frame.len,
                        (unsigned long long)plain);
    return LMN_OK;
}

static enum lmn_status zstd_append(struct lmn__scratch *scratch, struct lmn__span bytes,
                                   struct lmn__vec *out, struct lmn_error *err)
{
    bool bare = is_bare_frame(bytes);
    size_t before = out->len, prefix = bare ? 0 : ZSTD_PREFIX_BYTES;
    struct lmn__span frame;
    uint64_t claimed, plain;
    enum lmn_status st;

    if (scratch->zstd_reader == NULL)
        scratch->zstd_reader = ZSTD_createDCtx();
    if (scratch->zstd_reader == NULL)
        return lmn__no_memory(err, "a zstd context", 0);
    if (bytes.len < prefix)
        return lmn_fail(err, LMN_E_CORRUPT, "a zstd frame of %zu bytes", bytes.len);
    frame = (struct lmn__span){ bytes.data + prefix, bytes.len - prefix };
    plain = ZSTD_getFrameContentSize(frame.data, frame.len);
    claimed = bare ? plain : lmn__load_u64(bytes.data);
    if (plain == ZSTD_CONTENTSIZE_UNKNOWN) {
        st = zstd_stream(scratch, frame, out, err);
        plain = out->len - before;
    } else if (plain == ZSTD_CONTENTSIZE_ERROR || plain != claimed) {
        st = lmn_fail(err, LMN_E_CORRUPT, "a zstd frame of %zu bytes", frame.len);
    } else {
        st = zstd_whole(scratch, frame, plain, out, err);
    }
    if (st == LMN_OK && !bare && plain != claimed)
        st = lmn_fail(err, LMN_E_CORRUPT, "a zstd frame of %llu bytes instead of %llu",
                      (unsigned long long)plain, (unsigned long long)claimed);
    return st;
}

enum lmn_status lmn__decompress_append(struct lmn__scratch *scratch, enum lmn__scheme scheme,
                                       struct lmn__span bytes, struct lmn__vec *out,
                                       struct lmn_error *err)
{
    if (bytes.len == 0)
        return LMN_OK;
    return scheme == LMN__SCHEME_LZ4 ? lz4_append(scratch, bytes, out, err)
                                     : zstd_append(scratch, bytes, out, err);
}

enum lmn_status lmn__decompress(struct lmn__scratch *scratch, enum lmn__scheme scheme,
                                struct lmn__span bytes, struct lmn__vec *out, struct lmn_error *err)
{
    enum lmn_status st = lmn__scratch_need(scratch, out, 0, err);

    return st != LMN_OK ? st : lmn__decompress_append(scratch, scheme, bytes, out, err);
}

enum lmn_status lmn__compress_zstd(struct lmn__scratch *scratch, int level, struct lmn__span bytes,
                                   struct lmn__vec *out, struct lmn_error *err)
{
    size_t bound = ZSTD_compressBound(bytes.len), got;
    uint8_t *at;
    enum lmn_status st;

    if (bytes.len == 0)
        return LMN_OK;
    if (scratch->zstd_writer == NULL)
        scratch->zstd_writer = ZSTD_createCCtx();
    if (scratch->zstd_writer == NULL)
        return lmn__no_memory(err, "a zstd context", 0);
    st = lmn__vec_extend(out, scratch->env->pool, ZSTD_PREFIX_BYTES + bound, &at, err);
    if (st != LMN_OK)
        return st;
    lmn__store_u64(at, bytes.len);
    got = ZSTD_compressCCtx(scratch->zstd_writer, at + ZSTD_PREFIX_BYTES, bound, bytes.data,
                            bytes.len, level);
    if (ZSTD_isError(got))
        return lmn_fail(err, LMN_E_NO_MEMORY, "zstd: %s", ZSTD_getErrorName(got));
    out->len -= bound - got;
    return LMN_OK;
}
