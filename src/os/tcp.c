/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "os/socket.h"

enum { BACKLOG = 512, FD_FLOOR = 100, PORT_CHARS = 8, CONNECT_S = 10 };

/* Signs of life: the first after so many seconds of silence, then every few; and the whole. */
enum { ALIVE_IDLE_S = 10, ALIVE_EACH_S = 5, ALIVE_COUNT = 4, SILENCE_MS = 30000 };

static void set_number(int fd, int level, int name, int value)
{
    setsockopt(fd, level, name, &value, sizeof value); /* where it cannot be, it is slower */
}

/* Small frames go at once, and a machine that is gone is noticed. */
static void set_up(int fd)
{
    set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, ALIVE_IDLE_S);
    set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, ALIVE_EACH_S);
    set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, ALIVE_COUNT);
    set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, SILENCE_MS);
}

/* Away from the numbers that programs which are started get their descriptors under. */
static int raise_fd(int fd)
{
    int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, FD_FLOOR) : -1;

    if (high < 0)
        return fd;
    close(fd);
    return high;
}

static int look_up(const char *host, uint16_t port, int flags, struct addrinfo **found_out)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = flags };
    char text[PORT_CHARS];

    snprintf(text, sizeof text, "%u", port);
    return getaddrinfo(host, text, &hints, found_out);
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return 0;
    return address.ss_family == AF_INET6
               ? ntohs(((const struct sockaddr_in6 *)(const void *)&address)->sin6_port)
               : ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port);
}

/* A socket that listens at one address; -1 with errno. */
static int listen_at(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && (bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)) {
        int failure = errno;

        close(fd);
        errno = failure;
        fd = -1;
    }
    return raise_fd(fd);
}

enum lmn_status lmn__tcp_listen(const char *address, int *fd_out, uint16_t *port_out,
                                struct lmn_error *err)
{
    const char *host = address != NULL ? address : "0.0.0.0";
    struct addrinfo *found = NULL;
    int rc = look_up(host, 0, AI_PASSIVE | AI_NUMERICHOST, &found), failure;

    *fd_out = -1;
    *port_out = 0;
    if (rc != 0)
        return lmn_fail(err, LMN_E_INVALID, "cannot listen at \"%.100s\": %s", host,
                        gai_strerror(rc));
    *fd_out = listen_at(found);
    failure = errno;
    freeaddrinfo(found);
    if (*fd_out < 0)
        return lmn_fail_os(err, failure == EADDRNOTAVAIL ? LMN_E_INVALID : LMN_E_IO, failure,
                           "cannot listen at %.100s", host);
    *port_out = port_of(*fd_out);
    return LMN_OK;
}

int lmn__tcp_accept(int listener)
{
    int fd;

    do
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd >= 0)
        set_up(fd);
    return raise_fd(fd);
}

/* One try; -1 with errno. */
static int connect_to(const struct addrinfo *at)
{
    const struct timeval limit = { .tv_sec = CONNECT_S }, none = { 0 };
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* limits connect() as well */
    do
        rc = connect(fd, at->ai_addr, at->ai_addrlen);
    while (rc != 0 && errno == EINTR);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    if (rc != 0) {
        int failure = errno == EINPROGRESS ? ETIMEDOUT : errno;

        close(fd);
        errno = failure;
        return -1;
    }
    set_up(fd);
    return raise_fd(fd);
}

enum lmn_status lmn__tcp_connect(const char *host, uint16_t port, int *fd_out,
                                 struct lmn_error *err)
{
    struct addrinfo *found = NULL;
    int rc = look_up(host, port, 0, &found), failure = 0;

    *fd_out = -1;
    if (rc != 0)
        return lmn_fail(err, LMN_E_UNAVAILABLE, "%.200s: %s", host, gai_strerror(rc));
    for (const struct addrinfo *at = found; at != NULL && *fd_out < 0; at = at->ai_next) {
        *fd_out = connect_to(at);
        failure = errno;
    }
    freeaddrinfo(found);
    if (*fd_out < 0)
        return lmn_fail_os(err, LMN_E_UNAVAILABLE, failure, "nobody answers at %.200s, port %u",
                           host, port);
    return LMN_OK;
}
