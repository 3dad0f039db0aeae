/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice costs a system call per range also where nothing has to be fetched, so a few ranges are
 * tried first: a read of one byte that may not wait. glibc has a function for it since 2.26 only.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/file.h"

enum { SAMPLES = 4, NO_WAIT = 8 };

/* Is the byte in memory? False also where the file system cannot tell. */
static bool is_near(const struct lmn__file *file, uint64_t offset)
{
    char byte;
    struct iovec vec = { &byte, 1 };

    return syscall(SYS_preadv2, file->fd, &vec, 1ul, (unsigned long)offset, 0ul, NO_WAIT) == 1;
}

void lmn__file_will_read(const struct lmn__file *file, const struct lmn__file_range *range,
                         size_t count)
{
    size_t step = count > SAMPLES ? count / SAMPLES : 1;
    bool near = true;

    for (size_t i = 0; i < count && near; i += step)
        near = is_near(file, range[i].offset);
    for (size_t i = 0; i < count && !near; i++)
        (void)posix_fadvise(file->fd, (off_t)range[i].offset, (off_t)range[i].len,
                            POSIX_FADV_WILLNEED);
}
