/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"

enum { PIPE_BYTES = 1 << 20 };

enum lmn_status lmn__pipe_open(int *read_out, int *write_out, struct lmn_error *err)
{
    int ends[2];

    *read_out = *write_out = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return lmn_fail_os(err, LMN_E_IO, errno, "cannot make a pipe");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    (void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* a smaller one does, too */
    *read_out = ends[0];
    *write_out = ends[1];
    return LMN_OK;
}

size_t lmn__pipe_read(int fd, void *data, size_t len, bool *ended_out)
{
    ssize_t got;

    do
        got = read(fd, data, len);
    while (got < 0 && errno == EINTR);
    *ended_out = got == 0 || (got < 0 && errno != EAGAIN);
    return got > 0 ? (size_t)got : 0;
}
