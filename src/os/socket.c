/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { POLL_MAX = 1024, NS_PER_S = 1000000000, FD_FLOOR = 100 };

/*
 * Away from the small numbers, which a program that is started gets its descriptors under.
 */
static void raise_fd(int *fd)
{
    int high = fcntl(*fd, F_DUPFD_CLOEXEC, FD_FLOOR);

    if (high < 0)
        return;
    close(*fd);
    *fd = high;
}

enum lmn_status lmn__socket_pair(int fd_out[2], struct lmn_error *err)
{
    fd_out[0] = fd_out[1] = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd_out) != 0)
        return lmn_fail_os(err, LMN_E_IO, errno, "cannot make a pair of sockets");
    raise_fd(&fd_out[0]);
    raise_fd(&fd_out[1]);
    return LMN_OK;
}

void lmn__socket_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* One message of the system's; -1 with errno. */
static ssize_t send_once(int fd, const void *data, size_t len, int pass, int flags)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    struct cmsghdr *head;
    ssize_t sent;

    if (pass >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = sizeof control.bytes;
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &pass, sizeof pass);
    }
    do
        sent = sendmsg(fd, &message, flags | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

enum lmn_status lmn__socket_send(int fd, const void *data, size_t len, int pass,
                                 struct lmn_error *err)
{
    const uint8_t *at = data;

    while (len > 0) {
        ssize_t sent = send_once(fd, at, len, pass, 0);

        if (sent < 0)
            return lmn_fail_os(err, LMN_E_IO, errno, "cannot send %zu bytes to the other process",
                               len);
        at += sent;
        len -= (size_t)sent;
        pass = -1;
    }
    return LMN_OK;
}

enum lmn_status lmn__socket_send_some(int fd, const void *data, size_t len, int pass,
                                      size_t *sent_out, struct lmn_error *err)
{
    ssize_t sent = send_once(fd, data, len, pass, MSG_DONTWAIT);

    *sent_out = sent > 0 ? (size_t)sent : 0;
    if (sent >= 0 || errno == EAGAIN || errno == EWOULDBLOCK)
        return LMN_OK;
    return lmn_fail_os(err, LMN_E_IO, errno, "cannot send %zu bytes to the other process", len);
}

/* Keep the descriptor that came with a message, or close it when nobody wants it. */
static void keep_passed(struct msghdr *message, int *pass_out)
{
    struct cmsghdr *head;

    for (head = CMSG_FIRSTHDR(message); head != NULL; head = CMSG_NXTHDR(message, head)) {
        int fd;

        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
        if (pass_out != NULL && *pass_out < 0)
            *pass_out = fd;
        else
            close(fd);
    }
}

/* Is the other end gone, as far as this one can tell? */
static bool is_gone(int code)
{
    return code == ECONNRESET || code == ETIMEDOUT || code == EHOSTUNREACH || code == ENETUNREACH ||
           code == ENETRESET || code == ECONNABORTED;
}

bool lmn__socket_is_closed(const struct lmn_error *err)
{
    return err->status == LMN_E_IO && (err->os_errno == EPIPE || is_gone(err->os_errno));
}

enum lmn_status lmn__socket_receive(int fd, bool wait, void *data, size_t len, size_t *got_out,
                                    int *pass_out, bool *closed_out, struct lmn_error *err)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = { .iov_base = data, .iov_len = len };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    ssize_t got;

    *got_out = 0;
    *closed_out = false;
    message.msg_control = &control;
    message.msg_controllen = sizeof control.bytes;
    do
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return LMN_OK;
    if (got == 0 || (got < 0 && is_gone(errno))) {
        *closed_out = true;
        return LMN_OK;
    }
    if (got < 0)
        return lmn_fail_os(err, LMN_E_IO, errno, "cannot receive from the other process");
    keep_passed(&message, pass_out);
    *got_out = (size_t)got;
    return LMN_OK;
}

void lmn__poll_wait(struct lmn__poll *poll, size_t count, uint64_t timeout_ns)
{
    struct pollfd item[POLL_MAX];
    struct timespec timeout = { (time_t)(timeout_ns / NS_PER_S), (long)(timeout_ns % NS_PER_S) };

    if (count > POLL_MAX)
        count = POLL_MAX;
    for (size_t i = 0; i < count; i++) {
        short events = (short)((poll[i].wants_in ? POLLIN : 0) | (poll[i].wants_out ? POLLOUT : 0));

        item[i] = (struct pollfd){ .fd = poll[i].fd, .events = events };
        poll[i].in = poll[i].out = false;
    }
    if (ppoll(item, count, timeout_ns == UINT64_MAX ? NULL : &timeout, NULL) <= 0)
        return;
    for (size_t i = 0; i < count; i++) {
        poll[i].in = (item[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
        poll[i].out = (item[i].revents & POLLOUT) != 0;
    }
}

enum lmn_status lmn__wake_init(struct lmn__wake *wake, struct lmn_error *err)
{
    return lmn__socket_pair(wake->fd, err);
}

void lmn__wake_deinit(struct lmn__wake *wake)
{
    lmn__socket_close(&wake->fd[0]);
    lmn__socket_close(&wake->fd[1]);
}

void lmn__wake_now(struct lmn__wake *wake)
{
    size_t sent;
    enum lmn_status st = lmn__socket_send_some(wake->fd[1], "", 1, -1, &sent, NULL);

    (void)st; /* one that is full wakes as well */
}

void lmn__wake_reset(struct lmn__wake *wake)
{
    char told[256];
    size_t got = sizeof told;
    bool closed = false;

    while (got == sizeof told && !closed) {
        if (lmn__socket_receive(wake->fd[0], false, told, sizeof told, &got, NULL, &closed, NULL) !=
            LMN_OK)
            return;
    }
}
