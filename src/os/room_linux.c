/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be done is left: it saves time, and nothing depends on it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

void lmn__file_reserve(const struct lmn__file *file, uint64_t offset, uint64_t len)
{
    (void)!fallocate(file->fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)len);
}

void lmn__file_trim(const struct lmn__file *file)
{
    struct stat found;

    if (fstat(file->fd, &found) == 0)
        (void)!ftruncate(file->fd, found.st_size);
}
