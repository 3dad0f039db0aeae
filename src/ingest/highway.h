/* SPDX-License-Identifier: Apache-2.0 */
/* highway.h - HighwayHash of 64 bits with the key of Riegeli files. */
#ifndef LMN_INGEST_HIGHWAY_H
#define LMN_INGEST_HIGHWAY_H

#include <stddef.h>
#include <stdint.h>

/* The hash of `len` bytes. */
uint64_t lmn__highway_hash(const void *data, size_t len);

#endif
