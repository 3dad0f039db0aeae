/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compressed buffer starts with the size of what it holds in 64 bits; -1 says that the bytes
 * behind are stored as they are. Then comes one frame of zstd or lz4.
 *
 * An lz4 frame: magic (4), flags (1), block size (1), content size (8, if flagged), dictionary id
 * (4, if flagged), checksum of the header (1); then blocks, each with its size in 32 bits, whose
 * highest bit marks a block that is stored, a checksum behind it if flagged; a size of 0 ends
 * them; then a checksum of the content, if flagged. Blocks may refer to the 64 KiB before them.
 */
#include "arrow/ipc_buffer.h"

#include <lz4.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/math.h"

enum {
    SIZE_BYTES = 8,
    ALIGNMENT = 8,
    LZ4_HEAD_BYTES_MIN = 7,
    LZ4_EXPANSION_MAX = 255,
    LZ4_WINDOW_BYTES = 64 << 10
};

#define LZ4_FRAME_MAGIC  0x184d2204u
#define LZ4_BLOCK_STORED 0x80000000u

enum lz4_flag {
    LZ4_FLAG_DICTIONARY = 1,
    LZ4_FLAG_CONTENT_CHECKSUM = 4,
    LZ4_FLAG_CONTENT_BYTES = 8,
    LZ4_FLAG_BLOCK_CHECKSUM = 16,
    LZ4_FLAG_INDEPENDENT = 32
};

static enum lmn_status bad_frame(struct lmn_error *err, const char *kind, size_t len,
                                 uint64_t plain)
{
    return lmn_fail(err, LMN_E_CORRUPT,
                    "an %s frame of %zu bytes does not decompress to %llu bytes", kind, len,
                    (unsigned long long)plain);
}

/* Length of the frame's header; 0 when it does not decode. */
static size_t lz4_head_bytes(struct lmn__span frame)
{
    size_t len = LZ4_HEAD_BYTES_MIN;
    uint8_t flags;

    if (frame.len < len || lmn__load_u32(frame.data) != LZ4_FRAME_MAGIC)
        return 0;
    flags = frame.data[4];
    if (flags >> 6 != 1 || (flags & LZ4_FLAG_DICTIONARY) != 0)
        return 0;
    if ((flags & LZ4_FLAG_CONTENT_BYTES) != 0)
        len += 8;
    if (frame.len < len || frame.data[len - 1] != (uint8_t)(XXH32(frame.data + 4, len - 5, 0) >> 8))
        return 0;
    return len;
}

/* Decompress one block to out[*done..plain). False when it does not decode. */
static bool lz4_block(struct lmn__span block, bool stored, bool independent, uint8_t *out,
                      uint64_t plain, uint64_t *done)
{
    uint64_t room = plain - *done;
    uint64_t window = independent ? 0 : lmn__min_u64(*done, LZ4_WINDOW_BYTES);
    int got;

    if (stored) {
        if (block.len > room)
            return false;
        memcpy(out + *done, block.data, block.len);
        *done += block.len;
        return true;
    }
    if (block.len > INT32_MAX)
        return false;
    got = LZ4_decompress_safe_usingDict((const char *)block.data, (char *)out + *done,
                                        (int)block.len, (int)lmn__min_u64(room, INT32_MAX),
                                        (const char *)out + *done - window, (int)window);
    if (got < 0)
        return false;
    *done += (uint64_t)got;
    return true;
}

static bool lz4_read(struct lmn__span frame, uint8_t *out, uint64_t plain)
{
    size_t at = lz4_head_bytes(frame);
    uint8_t flags = at != 0 ? frame.data[4] : 0;
    size_t checksum_bytes = (flags & LZ4_FLAG_BLOCK_CHECKSUM) != 0 ? 4 : 0;
    uint64_t done = 0;

    if (at == 0)
        return false;
    for (;;) {
        uint32_t head, bytes;

        if (!lmn__range_fits(at, 4, frame.len))
            return false;
        head = lmn__load_u32(frame.data + at);
        bytes = head & ~LZ4_BLOCK_STORED;
        at += 4;
        if (head == 0)
            break;
        if (!lmn__range_fits(at, (uint64_t)bytes + checksum_bytes, frame.len) ||
            !lz4_block((struct lmn__span){ frame.data + at, bytes }, head != bytes,
                       (flags & LZ4_FLAG_INDEPENDENT) != 0, out, plain, &done))
            return false;
        if (checksum_bytes != 0 &&
            XXH32(frame.data + at, bytes, 0) != lmn__load_u32(frame.data + at + bytes))
            return false;
        at += bytes + checksum_bytes;
    }
    if ((flags & LZ4_FLAG_CONTENT_CHECKSUM) != 0 &&
        (!lmn__range_fits(at, 4, frame.len) ||
         XXH32(out, done, 0) != lmn__load_u32(frame.data + at)))
        return false;
    return done == plain;
}

/* Can a frame of that length hold so much? Asked before memory is taken. */
static bool is_plausible(enum lmn__ipc_codec codec, struct lmn__span frame, uint64_t plain)
{
    unsigned long long known;

    if (codec == LMN__IPC_LZ4_FRAME)
        return plain / LZ4_EXPANSION_MAX <= frame.len;
    known = ZSTD_getFrameContentSize(frame.data, frame.len);
    return known != ZSTD_CONTENTSIZE_ERROR && (known == ZSTD_CONTENTSIZE_UNKNOWN || known == plain);
}

static enum lmn_status decompress(const struct lmn__ipc_body *body, struct lmn__span frame,
                                  uint64_t plain, struct lmn__ipc_buffer *buffer_out,
                                  struct lmn_error *err)
{
    const char *kind = body->codec == LMN__IPC_ZSTD ? "zstd" : "lz4";
    struct lmn__block *block;
    bool good;
    enum lmn_status st;

    if (!is_plausible(body->codec, frame, plain))
        return bad_frame(err, kind, frame.len, plain);
    st = lmn__block_new(body->env->pool, plain, &block, err);
    if (st != LMN_OK)
        return st;
    if (body->codec == LMN__IPC_ZSTD)
        good = ZSTD_decompress(block->data, plain, frame.data, frame.len) == plain;
    else
        good = lz4_read(frame, block->data, plain);
    if (!good) {
        lmn__block_release(block);
        return bad_frame(err, kind, frame.len, plain);
    }
    *buffer_out = (struct lmn__ipc_buffer){ block, block->data, plain };
    return LMN_OK;
}

/* The bytes as they lie in the body; copied when they do not lie at a multiple of 8. */
static enum lmn_status share(const struct lmn__ipc_body *body, size_t offset, size_t len,
                             struct lmn__ipc_buffer *buffer_out, struct lmn_error *err)
{
    struct lmn__block *block;
    enum lmn_status st;

    if (offset % ALIGNMENT == 0) {
        *buffer_out = (struct lmn__ipc_buffer){ lmn__block_acquire(body->block),
                                                body->block->data + offset, len };
        return LMN_OK;
    }
    st = lmn__block_new(body->env->pool, len, &block, err);
    if (st != LMN_OK)
        return st;
    memcpy(block->data, body->block->data + offset, len);
    *buffer_out = (struct lmn__ipc_buffer){ block, block->data, len };
    return LMN_OK;
}

enum lmn_status lmn__ipc_buffer_read(const struct lmn__ipc_body *body, int64_t offset,
                                     int64_t bytes, struct lmn__ipc_buffer *buffer_out,
                                     struct lmn_error *err)
{
    const uint8_t *data;
    uint64_t plain;

    *buffer_out = (struct lmn__ipc_buffer){ 0 };
    if (offset < 0 || bytes < 0 || !lmn__range_fits((uint64_t)offset, (uint64_t)bytes, body->len))
        return lmn_fail(err, LMN_E_CORRUPT, "a buffer of %lld bytes at %lld in a body of %zu bytes",
                        (long long)bytes, (long long)offset, body->len);
    if (bytes == 0)
        return LMN_OK;
    if (body->codec == LMN__IPC_PLAIN)
        return share(body, (size_t)offset, (size_t)bytes, buffer_out, err);
    if (bytes < SIZE_BYTES)
        return lmn_fail(err, LMN_E_CORRUPT, "a compressed buffer of %lld bytes", (long long)bytes);
    data = body->block->data + offset;
    plain = lmn__load_u64(data);
    if (plain == UINT64_MAX)
        return share(body, (size_t)offset + SIZE_BYTES, (size_t)bytes - SIZE_BYTES, buffer_out,
                     err);
    if (plain == 0)
        return LMN_OK;
    return decompress(body, (struct lmn__span){ data + SIZE_BYTES, (size_t)bytes - SIZE_BYTES },
                      plain, buffer_out, err);
}
