/* SPDX-License-Identifier: Apache-2.0 */
#include "os/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/math.h"

enum { TRANSFER_BYTES_MAX = 1 << 30 };

static enum lmn_status sink_init(struct lmn__sink *sink, struct lmn_env *env, const char *name,
                                 struct lmn_error *err)
{
    *sink = (struct lmn__sink){ .fd = -1 };
    sink->name = lmn__strndup(env, name, strlen(name));
    if (sink->name == NULL)
        return lmn__no_memory(err, "a name", strlen(name));
    sink->env = lmn_env_acquire(env);
    return LMN_OK;
}

static void sink_deinit(struct lmn__sink *sink)
{
    lmn__free(sink->env, sink->name);
    lmn_env_release(sink->env);
    *sink = (struct lmn__sink){ .fd = -1 };
}

enum lmn_status lmn__sink_open(struct lmn__sink *sink, struct lmn_env *env, const char *path,
                               struct lmn_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    enum lmn_status st = sink_init(sink, env, standard ? "standard output" : path, err);

    if (st != LMN_OK)
        return st;
    if (standard) {
        sink->fd = STDOUT_FILENO;
        return LMN_OK;
    }
    do
        sink->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    while (sink->fd < 0 && errno == EINTR);
    sink->owned = sink->fd >= 0;
    if (sink->fd < 0) {
        st = lmn_fail_os(err, errno == ENOENT || errno == ENOTDIR ? LMN_E_NOT_FOUND : LMN_E_IO,
                         errno, "cannot create %s", path);
        sink_deinit(sink);
    }
    return st;
}

enum lmn_status lmn__sink_open_fd(struct lmn__sink *sink, struct lmn_env *env, int fd,
                                  struct lmn_error *err)
{
    char name[32];
    enum lmn_status st;

    snprintf(name, sizeof name, "descriptor %d", fd);
    st = sink_init(sink, env, name, err);
    if (st == LMN_OK)
        sink->fd = fd;
    return st;
}

enum lmn_status lmn__sink_open_buf(struct lmn__sink *sink, struct lmn_env *env,
                                   struct lmn__buf *buf, struct lmn_error *err)
{
    enum lmn_status st = sink_init(sink, env, "memory", err);

    if (st == LMN_OK)
        sink->buf = buf;
    return st;
}

enum lmn_status lmn__sink_write(struct lmn__sink *sink, const void *data, size_t len,
                                struct lmn_error *err)
{
    const uint8_t *at = data;

    if (len == 0)
        return LMN_OK;
    sink->position += len;
    if (sink->buf != NULL) {
        lmn__buf_put(sink->buf, data, len);
        return lmn__buf_status(sink->buf, "output in memory", err);
    }
    while (len > 0) {
        ssize_t put = write(sink->fd, at, lmn__min_u64(len, TRANSFER_BYTES_MAX));

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return lmn_fail_os(err, LMN_E_IO, put < 0 ? errno : EIO, "cannot write %s", sink->name);
        at += put;
        len -= (size_t)put;
    }
    return LMN_OK;
}

enum lmn_status lmn__sink_close(struct lmn__sink *sink, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (sink->env == NULL)
        return LMN_OK;
    if (sink->owned && close(sink->fd) != 0)
        st = lmn_fail_os(err, LMN_E_IO, errno, "cannot close %s", sink->name);
    sink_deinit(sink);
    return st;
}
