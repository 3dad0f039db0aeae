/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <sched.h>

#include "os/processor.h"

uint32_t lmn__processor_count(void)
{
    cpu_set_t set[8]; /* the call fails when the machine has more processors than the mask bits */
    int count;

    if (sched_getaffinity(0, sizeof set, set) != 0)
        return 1;
    count = CPU_COUNT_S(sizeof set, set);
    return count > 0 ? (uint32_t)count : 1;
}
