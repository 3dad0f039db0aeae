/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_codec.h - the compressions of records: none, zstd, brotli, snappy.
 *
 * A compressed blob is its plain size as a varint, and one stream of the codec. Brotli is used when
 * the machine has its library. A codec's scratch belongs to one thread at a time.
 */
#ifndef LMN_INGEST_RECORD_CODEC_H
#define LMN_INGEST_RECORD_CODEC_H

#include "base/buf.h"

/* As they stand in files. */
enum lmn__record_codec {
    LMN__RECORD_PLAIN = 0,
    LMN__RECORD_BROTLI = 'b',
    LMN__RECORD_ZSTD = 'z',
    LMN__RECORD_SNAPPY = 's'
};

struct lmn__record_scratch {
    struct lmn_env *env;               /* borrowed */
    void *zstd_encoder, *zstd_decoder; /* made when they are needed */
};

void lmn__record_scratch_init(struct lmn__record_scratch *scratch, struct lmn_env *env);
void lmn__record_scratch_deinit(struct lmn__record_scratch *scratch);

/*
 * Append a blob. `level` is the codec's own.
 *
 * LMN_E_UNSUPPORTED  brotli, and there is none
 */
LMN_MUST_USE enum lmn_status lmn__record_compress(struct lmn__record_scratch *scratch,
                                                  enum lmn__record_codec codec, int level,
                                                  struct lmn__span bytes, struct lmn__buf *out,
                                                  struct lmn_error *err);

/*
 * The plain size of a blob, and the stream behind it.
 *
 * LMN_E_CORRUPT  there is none
 */
LMN_MUST_USE enum lmn_status lmn__record_blob(enum lmn__record_codec codec, struct lmn__span blob,
                                              uint64_t *bytes_out, struct lmn__span *stream_out,
                                              struct lmn_error *err);

/*
 * Decompress a stream to exactly `len` bytes.
 *
 * LMN_E_CORRUPT      it does not decompress to that
 * LMN_E_UNSUPPORTED  brotli, and there is none
 */
LMN_MUST_USE enum lmn_status lmn__record_decompress(struct lmn__record_scratch *scratch,
                                                    enum lmn__record_codec codec,
                                                    struct lmn__span stream, uint8_t *out,
                                                    size_t len, struct lmn_error *err);

/* A varint at the start of `bytes`, which moves behind it; false when there is none. */
bool lmn__record_varint(struct lmn__span *bytes, uint64_t *value_out);

#endif
