/* SPDX-License-Identifier: Apache-2.0 */
/*
 * riegeli.h - files of chunks, as Riegeli lays them out.
 *
 * A file is a run of chunks. At every multiple of 64 KiB stands a block header of 24 bytes, around
 * which chunks flow; it says how far its chunk reaches before and behind it. A chunk is a header of
 * 40 bytes and data; both have a hash.
 */
#ifndef LMN_INGEST_RIEGELI_H
#define LMN_INGEST_RIEGELI_H

#include "ingest/pieces.h"

enum {
    LMN__RIEGELI_BLOCK = 1 << 16,
    LMN__RIEGELI_BLOCK_HEADER = 24,
    LMN__RIEGELI_CHUNK_HEADER = 40,
    LMN__RIEGELI_SIGNATURE = 64 /* bytes that are the same in every file */
};

/* Kinds of chunks. */
enum {
    LMN__CHUNK_SIGNATURE = 's',
    LMN__CHUNK_METADATA = 'm',
    LMN__CHUNK_PADDING = 'p',
    LMN__CHUNK_RECORDS = 'r',
    LMN__CHUNK_TRANSPOSED = 't'
};

struct lmn__chunk {
    uint64_t begin, end; /* in the file */
    uint64_t data_bytes, data_hash;
    uint64_t record_count, decoded_bytes;
    uint8_t kind;
};

/* Part of a file that is in memory. */
struct lmn__riegeli_window {
    uint64_t begin; /* in the file */
    struct lmn__span bytes;
};

/* Where a chunk of `data_bytes` bytes and `record_count` records ends. */
uint64_t lmn__chunk_end(uint64_t begin, uint64_t data_bytes, uint64_t record_count);

/*
 * Read the header of the chunk at `begin`, which is in the window.
 *
 * LMN_E_CORRUPT  it is cut off by the window's end, or its hash is another
 */
LMN_MUST_USE enum lmn_status lmn__chunk_read(const struct lmn__riegeli_window *window,
                                             uint64_t begin, struct lmn__chunk *chunk_out,
                                             struct lmn_error *err);

/*
 * The data of a chunk, with its hash checked: in the window itself, or without the block headers in
 * `scratch`.
 *
 * LMN_E_CORRUPT  it is cut off, or its hash is another
 */
LMN_MUST_USE enum lmn_status lmn__chunk_data(const struct lmn__riegeli_window *window,
                                             const struct lmn__chunk *chunk,
                                             struct lmn__buf *scratch, struct lmn__span *data_out,
                                             struct lmn_error *err);

/*
 * Append a chunk that begins at `begin`, with the block headers in it, to `out`. Its data are
 * `count` runs of bytes. Of `chunk`, kind, record_count, decoded_bytes and data_hash, the hash of
 * the data, are given; begin and end are set.
 */
void lmn__chunk_write(struct lmn__chunk *chunk, uint64_t begin, const struct lmn__span *data,
                      size_t count, struct lmn__pieces *out);

/* Append a chunk of padding that ends at a block's end; nothing when `begin` is one. */
void lmn__chunk_pad(uint64_t begin, struct lmn__pieces *out);

#endif
