/* SPDX-License-Identifier: Apache-2.0 */
/* The system call itself: glibc has a function for it only since 2.25, and wheels reach further
 * back. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/random.h"

enum lmn_status lmn__random_bytes(void *data, size_t len, struct lmn_error *err)
{
    uint8_t *at = data;

    while (len > 0) {
        long got = syscall(SYS_getrandom, at, len, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lmn_fail_os(err, LMN_E_IO, errno, "no random bytes");
        at += got;
        len -= (size_t)got;
    }
    return LMN_OK;
}
