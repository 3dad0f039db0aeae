/* SPDX-License-Identifier: Apache-2.0 */
/* processor.h - the processors this process may use, and what they can do. */
#ifndef LMN_OS_PROCESSOR_H
#define LMN_OS_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

/* Those in the affinity mask; at least 1. */
uint32_t lmn__processor_count(void);

/* Do they, and the system, have vectors of 256 bits (AVX2)? */
bool lmn__processor_is_wide(void);

#endif
