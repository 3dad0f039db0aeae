/* SPDX-License-Identifier: Apache-2.0 */
/* processor.h - the processors this process may use. */
#ifndef LMN_OS_PROCESSOR_H
#define LMN_OS_PROCESSOR_H

#include <stdint.h>

/* Those in the affinity mask; at least 1. */
uint32_t lmn__processor_count(void);

#endif
