/* SPDX-License-Identifier: Apache-2.0 */
/* The system call itself: glibc has a function for it only since 2.28. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/file.h"

enum { NO_REPLACE = 1 };

enum lmn_status lmn__file_rename_new(const char *from, const char *to, struct lmn_error *err)
{
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NO_REPLACE) == 0)
        return LMN_OK;
    if (errno == EEXIST)
        return lmn_fail_os(err, LMN_E_EXISTS, errno, "cannot rename %s to %s", from, to);
    if (errno == ENOENT || errno == ENOTDIR)
        return lmn_fail_os(err, LMN_E_NOT_FOUND, errno, "cannot rename %s to %s", from, to);
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
        return lmn_fail_os(err, LMN_E_UNSUPPORTED, errno,
                           "the file system of %s has neither hard links nor renames that leave "
                           "what is there: commits of several writers could be lost on it",
                           to);
    return lmn_fail_os(err, LMN_E_IO, errno, "cannot rename %s to %s", from, to);
}
