/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipe.h - what another program prints, read without waiting.
 *
 * Descriptors are closed when another program is started; process.h says how it gets one.
 */
#ifndef LMN_OS_PIPE_H
#define LMN_OS_PIPE_H

#include <stdbool.h>
#include <stddef.h>

#include <leman/status.h>

/* A pipe: what is written to *write_out is read from *read_out. It holds up to 1 MiB where the
 * system allows. The caller closes both. */
LMN_MUST_USE enum lmn_status lmn__pipe_open(int *read_out, int *write_out, struct lmn_error *err);

/* Read what is there, `len` bytes at most. 0: nothing now; *ended_out: and never again. */
size_t lmn__pipe_read(int fd, void *data, size_t len, bool *ended_out);

#endif
