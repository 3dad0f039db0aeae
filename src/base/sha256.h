/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h - SHA-256, for what others must be able to trust by its name. */
#ifndef LMN_BASE_SHA256_H
#define LMN_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LMN__SHA256_BYTES = 32, LMN__SHA256_HEX = 65, LMN__SHA224_BYTES = 28 };

/* A hash on its way: start, add any number of pieces, end. */
struct lmn__sha256_state {
    uint32_t word[8];
    uint64_t bytes;
    uint8_t held[64]; /* the last bytes % 64, not mixed in yet */
};

void lmn__sha256_start(struct lmn__sha256_state *state);
void lmn__sha256_add(struct lmn__sha256_state *state, const void *data, size_t len);
void lmn__sha256_end(struct lmn__sha256_state *state, uint8_t hash_out[LMN__SHA256_BYTES]);

/* A hash as 64 hex digits in lower case, with a terminating NUL. */
void lmn__sha256_digits(const uint8_t hash[LMN__SHA256_BYTES], char hex_out[LMN__SHA256_HEX]);

/* For tests: do without the processor's own instructions, or take them again where it has them. */
void lmn__sha256_without_x86(bool without);

/* The hash of `len` bytes. */
void lmn__sha256(const void *data, size_t len, uint8_t hash_out[LMN__SHA256_BYTES]);

/* SHA-224: the same with another start, shortened. */
void lmn__sha224(const void *data, size_t len, uint8_t hash_out[LMN__SHA224_BYTES]);

/* The hash as digits. */
void lmn__sha256_hex(const void *data, size_t len, char hex_out[LMN__SHA256_HEX]);

#endif
