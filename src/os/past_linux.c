/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's cache is passed by a second descriptor of the same file (O_DIRECT), through /proc:
 * the file may have another name by now. It takes whole blocks from memory that is aligned as they
 * are; a file system that cannot do it, or wants more than that, says EINVAL.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/math.h"
#include "os/file.h"

/* One call moves at most this much, in whole blocks. */
enum { TRANSFER_BYTES_MAX = 1 << 30 };

static int open_past(const struct lmn__file *file)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
    return open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
}

/* How many of `len` bytes, whole blocks, were written; fewer where it cannot or may not be. */
static size_t write_blocks(int fd, uint64_t offset, const uint8_t *data, size_t len)
{
    size_t done = 0;

    while (done < len) {
        size_t want = lmn__min_u64(len - done, TRANSFER_BYTES_MAX);
        ssize_t put = pwrite(fd, data + done, want, (off_t)(offset + done));

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0 || put % LMN__FILE_BLOCK_BYTES != 0)
            break;
        done += (size_t)put;
    }
    return done;
}

enum lmn_status lmn__file_write_past(const struct lmn__file *file, const char *path,
                                     uint64_t offset, const void *data, size_t len,
                                     struct lmn_error *err)
{
    size_t blocks = len - len % LMN__FILE_BLOCK_BYTES, done = 0;
    int fd = -1;

    if (blocks != 0 && offset % LMN__FILE_BLOCK_BYTES == 0 &&
        (uintptr_t)data % LMN__FILE_BLOCK_BYTES == 0)
        fd = open_past(file);
    if (fd >= 0) {
        done = write_blocks(fd, offset, data, blocks);
        close(fd);
    }
    return lmn__file_write_at(file, path, offset + done, (const uint8_t *)data + done, len - done,
                              err);
}
