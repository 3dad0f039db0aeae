/* SPDX-License-Identifier: Apache-2.0 */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/math.h"

/*
 * A write takes pages of the cache that are as large as it may use at once. The largest are often
 * memory that nobody has touched for long, which a virtual machine has to get from its host first.
 */
enum { WRITE_BYTES_MAX = 256 << 10 };

/* Another call moves at most this much; Linux itself stops at 2 GiB. */
enum { TRANSFER_BYTES_MAX = 1 << 30, SPANS_MAX = 64, NS_PER_S = 1000000000 };

/* A part of the path that is a file where a directory is wanted means: there is no such file. */
static enum lmn_status status_of(int os_errno)
{
    if (os_errno == ENOENT || os_errno == ENOTDIR)
        return LMN_E_NOT_FOUND;
    return os_errno == EEXIST ? LMN_E_EXISTS : LMN_E_IO;
}

static enum lmn_status fail_errno(struct lmn_error *err, int os_errno, const char *verb,
                                  const char *path)
{
    return lmn_fail_os(err, status_of(os_errno), os_errno, "cannot %s %s", verb, path);
}

static enum lmn_status fail_errno_pair(struct lmn_error *err, int os_errno, const char *verb,
                                       const char *from, const char *to)
{
    return lmn_fail_os(err, status_of(os_errno), os_errno, "cannot %s %s to %s", verb, from, to);
}

static atomic_uint_fast64_t open_count;

bool lmn__file_crowd(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && atomic_load(&open_count) >= limit.rlim_cur / 2;
}

void lmn__file_count(void)
{
    atomic_fetch_add(&open_count, 1);
}

enum lmn_status lmn__file_open(const char *path, enum lmn__file_mode mode,
                               struct lmn__file *file_out, struct lmn_error *err)
{
    static const int flags[] = { [LMN__FILE_READ] = O_RDONLY,
                                 [LMN__FILE_UPDATE] = O_RDWR,
                                 [LMN__FILE_CREATE] = O_RDWR | O_CREAT | O_EXCL };

    do
        file_out->fd = open(path, flags[mode] | O_CLOEXEC, 0666);
    while (file_out->fd < 0 && errno == EINTR);
    if (file_out->fd < 0)
        return fail_errno(err, errno, mode == LMN__FILE_CREATE ? "create" : "open", path);
    lmn__file_count();
    return LMN_OK;
}

void lmn__file_close(struct lmn__file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        atomic_fetch_sub(&open_count, 1);
    }
    file->fd = -1;
}

enum lmn_status lmn__file_size(const struct lmn__file *file, const char *path, uint64_t *bytes_out,
                               struct lmn_error *err)
{
    struct stat info;

    *bytes_out = 0;
    if (fstat(file->fd, &info) != 0)
        return fail_errno(err, errno, "look at", path);
    if (!S_ISREG(info.st_mode))
        return lmn_fail(err, LMN_E_INVALID, "%s is not a regular file", path);
    *bytes_out = (uint64_t)info.st_size;
    return LMN_OK;
}

enum lmn_status lmn__file_stat(const char *path, struct lmn__file_info *info_out,
                               struct lmn_error *err)
{
    struct stat info;

    *info_out = (struct lmn__file_info){ 0 };
    if (stat(path, &info) != 0)
        return fail_errno(err, errno, "look at", path);
    if (!S_ISREG(info.st_mode))
        return lmn_fail(err, LMN_E_INVALID, "%s is not a regular file", path);
    info_out->bytes = (uint64_t)info.st_size;
    info_out->modified_ns = (int64_t)info.st_mtim.tv_sec * NS_PER_S + info.st_mtim.tv_nsec;
    info_out->number = info.st_ino;
    return LMN_OK;
}

enum lmn_status lmn__file_read_at(const struct lmn__file *file, const char *path, uint64_t offset,
                                  void *data, size_t len, struct lmn_error *err)
{
    uint8_t *at = data;

    while (len > 0) {
        size_t want = lmn__min_u64(len, TRANSFER_BYTES_MAX);
        bool inside = lmn__range_fits(offset, want, INT64_MAX); /* off_t ends there */
        ssize_t got = inside ? pread(file->fd, at, want, (off_t)offset) : 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, errno, "read", path);
        if (got == 0)
            return lmn_fail(err, LMN_E_CORRUPT, "%s has no byte %llu; %zu more bytes are wanted",
                            path, (unsigned long long)offset, len);
        at += got;
        offset += (uint64_t)got;
        len -= (size_t)got;
    }
    return LMN_OK;
}

enum lmn_status lmn__file_write_at(const struct lmn__file *file, const char *path, uint64_t offset,
                                   const void *data, size_t len, struct lmn_error *err)
{
    const uint8_t *at = data;

    while (len > 0) {
        size_t want = lmn__min_u64(len, WRITE_BYTES_MAX);
        ssize_t put = pwrite(file->fd, at, want, (off_t)offset);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) /* a write of nothing has no reason of its own and would repeat for ever */
            return fail_errno(err, put < 0 ? errno : EIO, "write", path);
        at += put;
        offset += (uint64_t)put;
        len -= (size_t)put;
    }
    return LMN_OK;
}

enum lmn_status lmn__file_write_spans_at(const struct lmn__file *file, const char *path,
                                         uint64_t offset, struct lmn__span *span, size_t count,
                                         struct lmn_error *err)
{
    struct iovec vector[SPANS_MAX];

    while (count > 0) {
        int n = 0;
        ssize_t put;

        for (; n < SPANS_MAX && (size_t)n < count; n++)
            vector[n] = (struct iovec){ (void *)span[n].data, span[n].len };
        put = pwritev(file->fd, vector, n, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return fail_errno(err, put < 0 ? errno : EIO, "write", path);
        offset += (uint64_t)put;
        for (; count > 0 && (size_t)put >= span->len; span++, count--)
            put -= (ssize_t)span->len;
        if (count > 0)
            *span = (struct lmn__span){ span->data + put, span->len - (size_t)put };
    }
    return LMN_OK;
}

enum lmn_status lmn__file_sync(const struct lmn__file *file, const char *path,
                               struct lmn_error *err)
{
    int rc;

    do
        rc = fdatasync(file->fd);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? LMN_OK : fail_errno(err, errno, "sync", path);
}

enum lmn_status lmn__file_rename(const char *from, const char *to, struct lmn_error *err)
{
    return rename(from, to) == 0 ? LMN_OK : fail_errno_pair(err, errno, "rename", from, to);
}

enum lmn_status lmn__file_link(const char *from, const char *to, struct lmn_error *err)
{
    if (link(from, to) == 0)
        return LMN_OK;
    if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS)
        return lmn_fail_os(err, LMN_E_UNSUPPORTED, errno, "cannot link %s to %s", from, to);
    return fail_errno_pair(err, errno, "link", from, to);
}

enum lmn_status lmn__file_remove(const char *path, struct lmn_error *err)
{
    return unlink(path) == 0 ? LMN_OK : fail_errno(err, errno, "remove", path);
}
