/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.h - two ends of a stream of bytes between processes, waiting for many of them, and a way
 * to wake a thread that waits.
 *
 * Descriptors are closed when another program is started; those that it is meant to have are named
 * in process.h.
 */
#ifndef LMN_OS_SOCKET_H
#define LMN_OS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <leman/status.h>

/* Two connected ends. The caller closes both. */
LMN_MUST_USE enum lmn_status lmn__socket_pair(int fd_out[2], struct lmn_error *err);

/* Close a descriptor and set it to -1, which is ignored. */
void lmn__socket_close(int *fd);

/*
 * Send all of `len` bytes, at least 1, waiting as long as it takes. With `pass` not -1 that
 * descriptor goes with them.
 *
 * LMN_E_IO  the other end is gone
 */
LMN_MUST_USE enum lmn_status lmn__socket_send(int fd, const void *data, size_t len, int pass,
                                              struct lmn_error *err);

/* Send what goes without waiting; *sent_out bytes went. LMN_E_IO as above. */
LMN_MUST_USE enum lmn_status lmn__socket_send_some(int fd, const void *data, size_t len, int pass,
                                                   size_t *sent_out, struct lmn_error *err);

/*
 * Receive up to `len` bytes; with `wait` at least one, unless the other end is closed, which
 * *closed_out tells. A descriptor that comes along is put in *pass_out, if that is not NULL and
 * holds -1.
 */
LMN_MUST_USE enum lmn_status lmn__socket_receive(int fd, bool wait, void *data, size_t len,
                                                 size_t *got_out, int *pass_out, bool *closed_out,
                                                 struct lmn_error *err);

/* Did sending fail because the other end is closed? */
bool lmn__socket_is_closed(const struct lmn_error *err);

struct lmn__poll {
    int fd; /* -1: passed over */
    bool wants_in, wants_out;
    bool in, out; /* answers: there is something to read, or an end; there is room */
};

/*
 * Wait until one of `count` descriptors is ready, or until `timeout_ns` have passed; UINT64_MAX
 * waits for ever. A signal may end it early.
 */
void lmn__poll_wait(struct lmn__poll *poll, size_t count, uint64_t timeout_ns);

/* Wakes a thread that waits for `fd[0]`. */
struct lmn__wake {
    int fd[2];
};

LMN_MUST_USE enum lmn_status lmn__wake_init(struct lmn__wake *wake, struct lmn_error *err);
void lmn__wake_deinit(struct lmn__wake *wake);
/* From any thread. */
void lmn__wake_now(struct lmn__wake *wake);
/* Forget what was told so far. */
void lmn__wake_reset(struct lmn__wake *wake);

#endif
