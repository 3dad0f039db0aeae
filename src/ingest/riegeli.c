/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   block header   hash of the rest, 8 | bytes back to the chunk's begin, 8 | bytes on to its end,
 * 8 chunk header   hash of the rest, 8 | data size, 8 | hash of the data, 8 | kind, 1 | records, 7
 * | decoded size, 8
 *
 * A chunk does not end within a block header or right behind one, and reaches over at least as many
 * bytes as it has records; zeros fill it up.
 */
#include "ingest/riegeli.h"

#include "base/math.h"
#include "ingest/highway.h"

enum { BLOCK = LMN__RIEGELI_BLOCK, GAP = LMN__RIEGELI_BLOCK_HEADER, USABLE = BLOCK - GAP };

static const uint64_t bytes_max = 1ull << 56;

/* The position behind `len` bytes of a chunk that begin at `begin`. */
static uint64_t after(uint64_t begin, uint64_t len)
{
    return begin + len + GAP * ((len + (begin + USABLE - 1) % BLOCK) / USABLE);
}

uint64_t lmn__chunk_end(uint64_t begin, uint64_t data_bytes, uint64_t record_count)
{
    uint64_t end = after(begin, LMN__RIEGELI_CHUNK_HEADER + data_bytes);
    uint64_t spread = begin + record_count, in_block = spread % BLOCK;

    if (in_block != 0 && in_block <= GAP)
        spread += GAP + 1 - in_block;
    return lmn__max_u64(end, spread);
}

/* Copy `len` bytes of a chunk from *at on, around block headers; false: they leave the window. */
static bool copy_out(const struct lmn__riegeli_window *window, uint64_t *at, uint8_t *to,
                     uint64_t len)
{
    while (len != 0) {
        uint64_t n, from;

        if (*at % BLOCK == 0)
            *at += GAP;
        n = lmn__min_u64(len, BLOCK - *at % BLOCK);
        from = *at - window->begin;
        if (!lmn__range_fits(from, n, window->bytes.len))
            return false;
        memcpy(to, window->bytes.data + from, n);
        to += n;
        *at += n;
        len -= n;
    }
    return true;
}

static enum lmn_status damaged(const char *what, uint64_t at, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CORRUPT, "%s at offset %llu", what, (unsigned long long)at);
}

enum lmn_status lmn__chunk_read(const struct lmn__riegeli_window *window, uint64_t begin,
                                struct lmn__chunk *chunk_out, struct lmn_error *err)
{
    uint8_t header[LMN__RIEGELI_CHUNK_HEADER];
    uint64_t at = begin;

    *chunk_out = (struct lmn__chunk){ .begin = begin };
    if (begin < window->begin || !copy_out(window, &at, header, sizeof header))
        return damaged("the file ends in the header of a chunk", begin, err);
    if (lmn__highway_hash(header + 8, sizeof header - 8) != lmn__load_u64(header))
        return damaged("the header of a chunk has another hash,", begin, err);
    chunk_out->data_bytes = lmn__load_u64(header + 8);
    chunk_out->data_hash = lmn__load_u64(header + 16);
    chunk_out->kind = header[24];
    chunk_out->record_count = lmn__load_u64(header + 24) >> 8;
    chunk_out->decoded_bytes = lmn__load_u64(header + 32);
    if (chunk_out->data_bytes > bytes_max || begin > bytes_max)
        return damaged("a chunk of impossible size", begin, err);
    chunk_out->end = lmn__chunk_end(begin, chunk_out->data_bytes, chunk_out->record_count);
    return LMN_OK;
}

enum lmn_status lmn__chunk_data(const struct lmn__riegeli_window *window,
                                const struct lmn__chunk *chunk, struct lmn__buf *scratch,
                                struct lmn__span *data_out, struct lmn_error *err)
{
    uint64_t at = after(chunk->begin, LMN__RIEGELI_CHUNK_HEADER), bytes = chunk->data_bytes;

    *data_out = (struct lmn__span){ (const uint8_t *)"", 0 };
    if (at % BLOCK != 0 && at % BLOCK + bytes <= BLOCK) {
        if (!lmn__range_fits(at - window->begin, bytes, window->bytes.len))
            return damaged("the file ends in a chunk", chunk->begin, err);
        *data_out = (struct lmn__span){ window->bytes.data + (at - window->begin), bytes };
    } else {
        if (bytes > window->bytes.len)
            return damaged("the file ends in a chunk", chunk->begin, err);
        lmn__buf_reset(scratch);
        if (!lmn__buf_reserve(scratch, bytes + 1))
            return lmn__no_memory(err, "a chunk", bytes);
        if (!copy_out(window, &at, scratch->data, bytes))
            return damaged("the file ends in a chunk", chunk->begin, err);
        *data_out = (struct lmn__span){ scratch->data, bytes };
    }
    if (lmn__highway_hash(data_out->data, bytes) != chunk->data_hash)
        return damaged("the data of a chunk has another hash,", chunk->begin, err);
    return LMN_OK;
}

static void put_block_header(const struct lmn__chunk *chunk, uint64_t at, struct lmn__pieces *out)
{
    uint8_t header[GAP];

    lmn__store_u64(header + 8, at - chunk->begin);
    lmn__store_u64(header + 16, chunk->end - at);
    lmn__store_u64(header, lmn__highway_hash(header + 8, 16));
    lmn__pieces_put(out, header, sizeof header);
}

/* Append bytes of a chunk. */
static void put_bytes(const struct lmn__chunk *chunk, uint64_t *at, const uint8_t *data,
                      uint64_t len, struct lmn__pieces *out)
{
    while (len != 0) {
        uint64_t n;

        if (*at % BLOCK == 0) {
            put_block_header(chunk, *at, out);
            *at += GAP;
        }
        n = lmn__min_u64(len, BLOCK - *at % BLOCK);
        lmn__pieces_put(out, data, n);
        data += n;
        *at += n;
        len -= n;
    }
}

/* Zeros up to the chunk's end, which is not always a number of bytes of the chunk. */
static void fill_up(const struct lmn__chunk *chunk, uint64_t at, struct lmn__pieces *out)
{
    while (at < chunk->end) {
        uint64_t n;

        if (at % BLOCK == 0) {
            put_block_header(chunk, at, out);
            at += GAP;
        }
        n = lmn__min_u64(chunk->end - at, BLOCK - at % BLOCK);
        lmn__pieces_put_zeros(out, n);
        at += n;
    }
}

void lmn__chunk_write(struct lmn__chunk *chunk, uint64_t begin, const struct lmn__span *data,
                      size_t count, struct lmn__pieces *out)
{
    uint8_t header[LMN__RIEGELI_CHUNK_HEADER];
    uint64_t at = begin;

    chunk->begin = begin;
    chunk->data_bytes = 0;
    for (size_t i = 0; i < count; i++)
        chunk->data_bytes += data[i].len;
    chunk->end = lmn__chunk_end(begin, chunk->data_bytes, chunk->record_count);
    lmn__store_u64(header + 8, chunk->data_bytes);
    lmn__store_u64(header + 16, chunk->data_hash);
    lmn__store_u64(header + 24, chunk->record_count << 8 | chunk->kind);
    lmn__store_u64(header + 32, chunk->decoded_bytes);
    lmn__store_u64(header, lmn__highway_hash(header + 8, sizeof header - 8));
    put_bytes(chunk, &at, header, sizeof header, out);
    for (size_t i = 0; i < count; i++)
        put_bytes(chunk, &at, data[i].data, data[i].len, out);
    fill_up(chunk, at, out);
}

void lmn__chunk_pad(uint64_t begin, struct lmn__pieces *out)
{
    static const uint8_t zeros[BLOCK];
    struct lmn__chunk chunk = { .kind = LMN__CHUNK_PADDING };
    struct lmn__span data = { zeros, 0 };
    uint64_t left = -begin % BLOCK;

    if (left == 0)
        return;
    data.len = left >= LMN__RIEGELI_CHUNK_HEADER ? left - LMN__RIEGELI_CHUNK_HEADER
                                                 : left + USABLE - LMN__RIEGELI_CHUNK_HEADER;
    chunk.data_hash = lmn__highway_hash(zeros, data.len);
    lmn__chunk_write(&chunk, begin, &data, 1, out);
}
