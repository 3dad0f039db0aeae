/* SPDX-License-Identifier: Apache-2.0 */
/* sha256_x86.h - SHA-256 by the processor's own instructions, where it has them. */
#ifndef LMN_BASE_SHA256_X86_H
#define LMN_BASE_SHA256_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does this processor have them? */
bool lmn__sha256_x86_can(void);

/* Mix `count` blocks of 64 bytes into the state; `constant` are the 64 of FIPS 180-4. */
void lmn__sha256_x86_mix(uint32_t state[8], const uint8_t *blocks, size_t count,
                         const uint32_t *constant);

#endif
