/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snappy.h - raw Snappy streams: the plain size, then literals and copies of what came before.
 */
#ifndef LMN_INGEST_SNAPPY_H
#define LMN_INGEST_SNAPPY_H

#include <stdbool.h>

#include "base/bytes.h"

/* Bytes that compressing `len` bytes may take. */
size_t lmn__snappy_bound(size_t len);

/* Compress into `out`, which has room for the bound; the size that it takes. */
size_t lmn__snappy_compress(struct lmn__span bytes, uint8_t *out);

/* Decompress to exactly `len` bytes; false when it is damaged or of another size. */
bool lmn__snappy_decompress(struct lmn__span bytes, uint8_t *out, size_t len);

#endif
