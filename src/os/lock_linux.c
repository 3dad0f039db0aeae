/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of open files; the C library names them only with its own extensions. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>

#include "os/file.h"

enum lmn_status lmn__file_lock(const struct lmn__file *file, const char *path,
                               struct lmn_error *err)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int rc;

    do
        rc = fcntl(file->fd, F_OFD_SETLK, &whole);
    while (rc != 0 && errno == EINTR);
    if (rc == 0)
        return LMN_OK;
    if (errno == EAGAIN || errno == EACCES)
        return lmn_fail(err, LMN_E_UNAVAILABLE, "%s is locked by another", path);
    return lmn_fail_os(err, LMN_E_IO, errno, "cannot lock %s", path);
}
