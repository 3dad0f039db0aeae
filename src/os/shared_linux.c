/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/shared.h"

enum { CLOSE_ON_EXEC = 1 };

static enum lmn_status map(int fd, size_t bytes, struct lmn__shared *shared_out,
                           struct lmn_error *err)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (memory == MAP_FAILED) {
        int reason = errno;

        close(fd);
        return lmn_fail_os(err, LMN_E_NO_MEMORY, reason, "cannot map %zu shared bytes", bytes);
    }
    *shared_out = (struct lmn__shared){ .fd = fd, .memory = memory, .bytes = bytes };
    return LMN_OK;
}

enum lmn_status lmn__shared_new(size_t bytes, struct lmn__shared *shared_out, struct lmn_error *err)
{
    int fd = (int)syscall(SYS_memfd_create, "leman", CLOSE_ON_EXEC);

    *shared_out = (struct lmn__shared){ .fd = -1 };
    if (fd < 0)
        return lmn_fail_os(err, LMN_E_IO, errno, "cannot make shared memory");
    if (ftruncate(fd, (off_t)bytes) != 0) {
        int reason = errno;

        close(fd);
        return lmn_fail_os(err, LMN_E_NO_MEMORY, reason, "no room for %zu shared bytes", bytes);
    }
    return map(fd, bytes, shared_out, err);
}

enum lmn_status lmn__shared_open(int fd, size_t bytes, struct lmn__shared *shared_out,
                                 struct lmn_error *err)
{
    struct stat info;

    *shared_out = (struct lmn__shared){ .fd = -1 };
    if (fstat(fd, &info) != 0 || info.st_size < (off_t)bytes) {
        close(fd);
        return lmn_fail(err, LMN_E_CORRUPT, "the shared memory is shorter than %zu bytes", bytes);
    }
    return map(fd, bytes, shared_out, err);
}

int lmn__shared_fd(const struct lmn__shared *shared)
{
    return fcntl(shared->fd, F_DUPFD_CLOEXEC, 0);
}

void lmn__shared_close(struct lmn__shared *shared)
{
    if (shared->memory == NULL)
        return;
    munmap(shared->memory, shared->bytes);
    close(shared->fd);
    *shared = (struct lmn__shared){ .fd = -1 };
}
