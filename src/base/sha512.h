/* SPDX-License-Identifier: Apache-2.0 */
/* sha512.h - SHA-512 and SHA-384, of bytes that lie in memory. */
#ifndef LMN_BASE_SHA512_H
#define LMN_BASE_SHA512_H

#include <stddef.h>
#include <stdint.h>

enum { LMN__SHA512_BYTES = 64, LMN__SHA384_BYTES = 48 };

/* The hash of `len` bytes. */
void lmn__sha512(const void *data, size_t len, uint8_t hash_out[LMN__SHA512_BYTES]);
void lmn__sha384(const void *data, size_t len, uint8_t hash_out[LMN__SHA384_BYTES]);

#endif
