/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.h - what a source holds, decompressed, from start to end.
 *
 * The library libz does the work and is loaded with the first stream, so that a machine without it
 * reads everything else. A stream belongs to one thread at a time.
 */
#ifndef LMN_INGEST_GZIP_H
#define LMN_INGEST_GZIP_H

#include "os/source.h"

struct lmn__gzip;

/* Do these bytes, the first of a file, say that it is compressed with gzip? */
bool lmn__gzip_starts(struct lmn__span start);

/*
 * Decompress `source`, which stays the caller's and where it is until the stream is freed.
 *
 * LMN_E_UNSUPPORTED  libz is not on this machine
 */
LMN_MUST_USE enum lmn_status lmn__gzip_new(struct lmn_env *env, struct lmn__source *source,
                                           struct lmn__gzip **gzip_out, struct lmn_error *err);
/* NULL is ignored. */
void lmn__gzip_free(struct lmn__gzip *gzip);

/*
 * Read up to `len` bytes, fewer only at the end: *got_out is less than len there.
 *
 * LMN_E_CORRUPT  the data does not decompress, its checksum is another, or the source ends inside
 *                of it; names the source and the place in it
 */
LMN_MUST_USE enum lmn_status lmn__gzip_read(struct lmn__gzip *gzip, void *data, size_t len,
                                            size_t *got_out, struct lmn_error *err);

/* Pass over `len` bytes, which are decompressed and checked all the same; as lmn__gzip_read(). */
LMN_MUST_USE enum lmn_status lmn__gzip_skip(struct lmn__gzip *gzip, uint64_t len, uint64_t *got_out,
                                            struct lmn_error *err);

#endif
