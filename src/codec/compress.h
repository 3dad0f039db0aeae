/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compress.h - lz4 and zstd in the frames of the file format.
 *
 * lz4: the plain size in 4 bytes, then a block. zstd: the plain size in 8 bytes, then a frame;
 * files of older writers have the frame alone. Nothing at all stands for nothing.
 */
#ifndef LMN_CODEC_COMPRESS_H
#define LMN_CODEC_COMPRESS_H

#include "codec/encoding.h"
#include "codec/scratch.h"

/*
 * Decompress into `out`, replacing what it holds. The size that the data announces is checked
 * against the pool's limit before anything is decompressed.
 *
 * LMN_E_CORRUPT    the data does not decompress to the announced size
 * LMN_E_NO_MEMORY  it would be over the limit
 */
LMN_MUST_USE enum lmn_status lmn__decompress(struct lmn__scratch *scratch, enum lmn__scheme scheme,
                                             struct lmn__span bytes, struct lmn__vec *out,
                                             struct lmn_error *err);

/* The same behind what `out` holds already. */
LMN_MUST_USE enum lmn_status lmn__decompress_append(struct lmn__scratch *scratch,
                                                    enum lmn__scheme scheme, struct lmn__span bytes,
                                                    struct lmn__vec *out, struct lmn_error *err);

/* Compress with zstd at `level`, appending the frame to `out`. */
LMN_MUST_USE enum lmn_status lmn__compress_zstd(struct lmn__scratch *scratch, int level,
                                                struct lmn__span bytes, struct lmn__vec *out,
                                                struct lmn_error *err);

#endif
