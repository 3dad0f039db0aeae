/* SPDX-License-Identifier: Apache-2.0 */
/* md5.h - MD5, for what others have hashed with it; it protects nothing. */
#ifndef LMN_BASE_MD5_H
#define LMN_BASE_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { LMN__MD5_BYTES = 16 };

/* The hash of `len` bytes. */
void lmn__md5(const void *data, size_t len, uint8_t hash_out[LMN__MD5_BYTES]);

#endif
