/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - numbers that no other process draws, for names. */
#ifndef LMN_OS_RANDOM_H
#define LMN_OS_RANDOM_H

#include <stddef.h>

#include <leman/status.h>

/* Characters of a token, with its terminating NUL. */
enum { LMN__TOKEN_CHARS = 17 };

/*
 * Fill `data` from the operating system's random source.
 *
 * LMN_E_IO  there is none
 */
LMN_MUST_USE enum lmn_status lmn__random_bytes(void *data, size_t len, struct lmn_error *err);

/* 64 random bits as 16 lower-case hexadecimal digits; "" on failure. */
LMN_MUST_USE enum lmn_status lmn__random_token(char token_out[LMN__TOKEN_CHARS],
                                               struct lmn_error *err);

#endif
