/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Huge pages are worth asking for: a batch that is kept costs one page fault per 2 MiB instead
 * of 512. They need a 2 MiB boundary, so the mapping is made larger and its ends are cut off.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "base/math.h"
#include "os/region.h"

enum { HUGE_BYTES = 2 << 20 };

void *lmn__region_map(size_t bytes)
{
    size_t slack = bytes >= HUGE_BYTES ? HUGE_BYTES : 0;
    uint8_t *map, *region;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    map = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    region = map;
    if (slack != 0) {
        size_t head;

        region = (uint8_t *)lmn__align_up((uintptr_t)map, HUGE_BYTES);
        head = (size_t)(region - map);
        if (head != 0)
            munmap(map, head);
        if (slack - head != 0)
            munmap(region + lmn__align_up(bytes, 4096), slack - head);
        madvise(region, bytes, MADV_HUGEPAGE);
    }
    return region;
}

void lmn__region_unmap(void *region, size_t bytes)
{
    munmap(region, bytes);
}
