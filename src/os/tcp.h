/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp.h - streams of bytes between machines; what socket.h does with descriptors works on them,
 * but for passing others along.
 *
 * A connection whose other machine is silent for half a minute, though it has been asked for a sign
 * of life, is closed by the system.
 */
#ifndef LMN_OS_TCP_H
#define LMN_OS_TCP_H

#include <stdint.h>

#include <leman/status.h>

/*
 * Listen at a free port of the address, all addresses of this machine when it is NULL. The caller
 * closes *fd_out.
 *
 * LMN_E_INVALID  it is no address of this machine
 */
LMN_MUST_USE enum lmn_status lmn__tcp_listen(const char *address, int *fd_out, uint16_t *port_out,
                                             struct lmn_error *err);

/* A connection that waits; -1 when none does. The caller closes it. */
int lmn__tcp_accept(int listener);

/*
 * Connect. The caller closes *fd_out.
 *
 * LMN_E_UNAVAILABLE  nobody answers there; os_errno says how that was learnt
 */
LMN_MUST_USE enum lmn_status lmn__tcp_connect(const char *host, uint16_t port, int *fd_out,
                                              struct lmn_error *err);

#endif
