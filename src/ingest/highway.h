/* SPDX-License-Identifier: Apache-2.0 */
/* highway.h - HighwayHash of 64 bits with the key of Riegeli files. */
#ifndef LMN_INGEST_HIGHWAY_H
#define LMN_INGEST_HIGHWAY_H

#include "base/bytes.h"

/* The hash of `len` bytes. */
uint64_t lmn__highway_hash(const void *data, size_t len);

/* The hash of `count` runs of bytes, as if they were one. */
uint64_t lmn__highway_hash_spans(const struct lmn__span *span, size_t count);

#endif
