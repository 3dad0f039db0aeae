/* SPDX-License-Identifier: Apache-2.0 */
#include "os/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_file(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC, 0600);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Is the open file still the one of that name? Another process may have removed it in between. */
static bool is_there(int fd, const char *path)
{
    struct stat mine, named;

    return fstat(fd, &mine) == 0 && stat(path, &named) == 0 && mine.st_ino == named.st_ino &&
           mine.st_dev == named.st_dev;
}

enum lmn_status lmn__lease_take(const char *path, const char *text, struct lmn__lease *lease_out,
                                struct lmn_error *err)
{
    size_t len = strlen(text);
    int fd;

    lease_out->fd = -1;
    for (;;) {
        fd = open_file(path, O_RDWR | O_CREAT);
        if (fd < 0)
            return lmn_fail_os(err, LMN_E_IO, errno, "cannot open %s", path);
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            close(fd);
            return lmn_fail(err, LMN_E_UNAVAILABLE, "%s is held by another process", path);
        }
        if (is_there(fd, path))
            break;
        close(fd);
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, len, 0) != (ssize_t)len) {
        int reason = errno;

        close(fd);
        return lmn_fail_os(err, LMN_E_IO, reason, "cannot write %s", path);
    }
    lease_out->fd = fd;
    return LMN_OK;
}

void lmn__lease_give(struct lmn__lease *lease, const char *path)
{
    if (lease->fd < 0)
        return;
    if (path != NULL)
        unlink(path);
    flock(lease->fd, LOCK_UN); /* a child that was forked meanwhile has the file open, too */
    close(lease->fd);
    lease->fd = -1;
}

bool lmn__lease_read(const char *path, char *text_out, size_t text_bytes)
{
    int fd = open_file(path, O_RDONLY);
    ssize_t got;
    bool held;

    text_out[0] = '\0';
    if (fd < 0)
        return false;
    held = flock(fd, LOCK_SH | LOCK_NB) != 0;
    if (!held && is_there(fd, path))
        unlink(path);
    got = held ? pread(fd, text_out, text_bytes - 1, 0) : 0;
    text_out[got > 0 ? got : 0] = '\0';
    close(fd);
    return held;
}
