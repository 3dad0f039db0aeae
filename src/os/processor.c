/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "os/processor.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* The processor must have the instructions, and the system must save the registers. */
static bool find_avx2(void)
{
    uint32_t a, b, c, d, saved_low, saved_high;

    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0 || (c & bit_AVX) == 0)
        return false;
    __asm__("xgetbv" : "=a"(saved_low), "=d"(saved_high) : "c"(0));
    return (saved_low & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2) != 0;
}
#else
static bool find_avx2(void)
{
    return false;
}
#endif

bool lmn__processor_is_wide(void)
{
    static atomic_int answer; /* 0: not asked yet, 1: no, 2: yes */
    int known = atomic_load_explicit(&answer, memory_order_relaxed);

    if (known == 0) {
        known = find_avx2() ? 2 : 1;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == 2;
}
