/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/ipc.h>

#include "arrow/ipc_write.h"

/* Write to a sink that was opened with `st`, and close it. */
static enum lmn_status write_and_close(struct lmn_env *env, enum lmn_status st,
                                       struct lmn__sink *sink, struct ArrowArrayStream *stream,
                                       struct lmn_error *err)
{
    enum lmn_status closed;

    if (st != LMN_OK)
        return st;
    st = lmn__ipc_write(env, sink, LMN__IPC_STREAM, stream, err);
    closed = lmn__sink_close(sink, st == LMN_OK ? err : NULL);
    return st != LMN_OK ? st : closed;
}

enum lmn_status lmn_ipc_write(struct lmn_env *env, const char *path,
                              struct ArrowArrayStream *stream, struct lmn_error *err)
{
    struct lmn__sink sink;
    enum lmn_status st = lmn__env_resolve(env, &env, err);

    if (st != LMN_OK)
        return st;
    st = write_and_close(env, lmn__sink_open(&sink, env, path, err), &sink, stream, err);
    lmn_env_release(env);
    return st;
}

enum lmn_status lmn_ipc_write_fd(struct lmn_env *env, int fd, struct ArrowArrayStream *stream,
                                 struct lmn_error *err)
{
    struct lmn__sink sink;
    enum lmn_status st = lmn__env_resolve(env, &env, err);

    if (st != LMN_OK)
        return st;
    st = write_and_close(env, lmn__sink_open_fd(&sink, env, fd, err), &sink, stream, err);
    lmn_env_release(env);
    return st;
}
