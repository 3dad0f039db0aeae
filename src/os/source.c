/* SPDX-License-Identifier: Apache-2.0 */
#include "os/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/math.h"

enum { TRANSFER_BYTES_MAX = 1 << 30 };

static enum lmn_status source_init(struct lmn__source *source, struct lmn_env *env,
                                   const char *name, struct lmn_error *err)
{
    *source = (struct lmn__source){ .fd = -1 };
    source->name = lmn__strndup(env, name, strlen(name));
    if (source->name == NULL)
        return lmn__no_memory(err, "a name", strlen(name));
    source->env = lmn_env_acquire(env);
    return LMN_OK;
}

static enum lmn_status go_on(const struct lmn__source *source, uint64_t bytes,
                             struct lmn_error *err)
{
    if (source->progress == NULL || source->progress(source->progress_self, bytes))
        return LMN_OK;
    return lmn_fail(err, LMN_E_CANCELLED, "%s: stopped before its end", source->name);
}

enum lmn_status lmn__source_open(struct lmn__source *source, struct lmn_env *env, const char *path,
                                 struct lmn_error *err)
{
    return lmn__source_open_watched(source, env, path, NULL, NULL, err);
}

enum lmn_status lmn__source_open_watched(struct lmn__source *source, struct lmn_env *env,
                                         const char *path, lmn__source_progress_fn progress,
                                         void *self, struct lmn_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    struct stat info;
    enum lmn_status st = source_init(source, env, standard ? "standard input" : path, err);

    if (st != LMN_OK)
        return st;
    source->progress = progress;
    source->progress_self = self;
    if (standard) {
        source->fd = STDIN_FILENO;
        return LMN_OK;
    }
    do {
        st = go_on(source, 0, err);
        if (st == LMN_OK)
            source->fd = open(path, O_RDONLY | O_CLOEXEC);
    } while (st == LMN_OK && source->fd < 0 && errno == EINTR);
    source->owned = source->fd >= 0;
    if (st == LMN_OK && source->fd < 0)
        st = lmn_fail_os(err, errno == ENOENT || errno == ENOTDIR ? LMN_E_NOT_FOUND : LMN_E_IO,
                         errno, "cannot open %s", path);
    else if (st == LMN_OK && fstat(source->fd, &info) != 0)
        st = lmn_fail_os(err, LMN_E_IO, errno, "cannot look at %s", path);
    else if (st == LMN_OK && S_ISDIR(info.st_mode))
        st = lmn_fail(err, LMN_E_INVALID, "%s is a directory", path);
    if (st != LMN_OK)
        lmn__source_close(source);
    return st;
}

enum lmn_status lmn__source_open_memory(struct lmn__source *source, struct lmn_env *env,
                                        const char *name, struct lmn__span bytes,
                                        struct lmn_error *err)
{
    enum lmn_status st = source_init(source, env, name, err);

    if (st == LMN_OK)
        source->left = bytes;
    return st;
}

static enum lmn_status read_descriptor(struct lmn__source *source, uint8_t *data, size_t len,
                                       size_t *got_out, struct lmn_error *err)
{
    while (*got_out < len && !source->ended) {
        enum lmn_status st = go_on(source, source->position + *got_out, err);
        ssize_t got;

        if (st != LMN_OK)
            return st;
        got = read(source->fd, data + *got_out, lmn__min_u64(len - *got_out, TRANSFER_BYTES_MAX));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lmn_fail_os(err, LMN_E_IO, errno, "cannot read %s", source->name);
        source->ended = got == 0;
        *got_out += (size_t)got;
    }
    return LMN_OK;
}

static enum lmn_status read_bytes(struct lmn__source *source, uint8_t *data, size_t len,
                                  size_t *got_out, struct lmn_error *err)
{
    *got_out = 0;
    if (source->fd >= 0)
        return read_descriptor(source, data, len, got_out, err);
    if (len != 0 && source->left.len != 0) {
        *got_out = lmn__min_u64(len, source->left.len);
        memcpy(data, source->left.data, *got_out);
        source->left.data += *got_out;
        source->left.len -= *got_out;
    }
    return LMN_OK;
}

enum lmn_status lmn__source_read(struct lmn__source *source, void *data, size_t len,
                                 size_t *got_out, struct lmn_error *err)
{
    uint8_t *at = data;
    size_t held = lmn__min_u64(len, source->held_len - source->held_used);
    enum lmn_status st;

    if (held != 0)
        memcpy(at, source->held + source->held_used, held);
    source->held_used += (uint32_t)held;
    st = read_bytes(source, at + held, len - held, got_out, err);
    *got_out += held;
    source->position += *got_out;
    return st;
}

/* Move a file's own position, not beyond its end. False: it is no file that can. */
static bool seek(struct lmn__source *source, uint64_t len, uint64_t *got_out)
{
    off_t at = lseek(source->fd, 0, SEEK_CUR), end = at < 0 ? at : lseek(source->fd, 0, SEEK_END);

    if (end < 0)
        return false;
    *got_out = end > at ? lmn__min_u64(len, (uint64_t)(end - at)) : 0;
    return lseek(source->fd, at + (off_t)*got_out, SEEK_SET) >= 0;
}

enum lmn_status lmn__source_skip(struct lmn__source *source, uint64_t len, uint64_t *got_out,
                                 struct lmn_error *err)
{
    uint64_t held = lmn__min_u64(len, source->held_len - source->held_used), more = 0;
    uint8_t scrap[4096];

    source->held_used += (uint32_t)held;
    *got_out = held;
    if (source->fd < 0) {
        more = lmn__min_u64(len - held, source->left.len);
        if (more != 0)
            source->left = (struct lmn__span){ source->left.data + more, source->left.len - more };
    } else if (len == held || !seek(source, len - held, &more)) {
        size_t got = 1;

        while (more < len - held && got != 0) {
            enum lmn_status st = read_bytes(
                source, scrap, lmn__min_u64(sizeof scrap, len - held - more), &got, err);

            if (st != LMN_OK)
                return st;
            more += got;
        }
    }
    *got_out += more;
    source->position += *got_out;
    return LMN_OK;
}

enum lmn_status lmn__source_peek(struct lmn__source *source, size_t len,
                                 struct lmn__span *bytes_out, struct lmn_error *err)
{
    size_t got;
    enum lmn_status st = LMN_OK;

    if (source->position == 0 && len > source->held_len) {
        st = read_bytes(source, source->held + source->held_len, len - source->held_len, &got, err);
        source->held_len += (uint32_t)got;
    }
    *bytes_out = (struct lmn__span){ source->held, lmn__min_u64(len, source->held_len) };
    return st;
}

void lmn__source_close(struct lmn__source *source)
{
    if (source->env == NULL)
        return;
    if (source->owned)
        close(source->fd);
    lmn__free(source->env, source->name);
    lmn_env_release(source->env);
    *source = (struct lmn__source){ .fd = -1 };
}
