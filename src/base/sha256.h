/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h - SHA-256, for what others must be able to trust by its name. */
#ifndef LMN_BASE_SHA256_H
#define LMN_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { LMN__SHA256_BYTES = 32, LMN__SHA256_HEX = 65 };

/* The hash of `len` bytes. */
void lmn__sha256(const void *data, size_t len, uint8_t hash_out[LMN__SHA256_BYTES]);

/* The same as 64 hex digits in lower case, with a terminating NUL. */
void lmn__sha256_hex(const void *data, size_t len, char hex_out[LMN__SHA256_HEX]);

#endif
