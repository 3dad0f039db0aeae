/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/channel.h"

#include <string.h>

#include "os/socket.h"

enum { RECEIVE_BYTES = 64 << 10 };

void lmn__channel_init(struct lmn__channel *channel, struct lmn_env *env, int fd)
{
    *channel = (struct lmn__channel){ .env = env, .fd = fd, .pass = -1 };
    lmn__buf_init(&channel->in, env, 0);
    lmn__buf_init(&channel->out, env, 0);
}

void lmn__channel_deinit(struct lmn__channel *channel)
{
    if (channel->env == NULL)
        return;
    lmn__socket_close(&channel->fd);
    lmn__socket_close(&channel->pass);
    lmn__buf_deinit(&channel->in);
    lmn__buf_deinit(&channel->out);
    *channel = (struct lmn__channel){ .fd = -1, .pass = -1 };
}

enum lmn_status lmn__channel_put(struct lmn__channel *channel, enum lmn__message_kind kind,
                                 const struct lmn__pb_message *message, const void *in,
                                 struct lmn_error *err)
{
    lmn__frame_put(&channel->out, kind, message, in);
    return lmn__buf_status(&channel->out, "a message between engine and worker", err);
}

enum lmn_status lmn__channel_pass_on(struct lmn__channel *channel, const struct lmn__frame *frame,
                                     struct lmn_error *err)
{
    lmn__frame_copy(&channel->out, frame);
    return lmn__buf_status(&channel->out, "a message between engine and worker", err);
}

enum lmn_status lmn__channel_flush(struct lmn__channel *channel, bool wait, struct lmn_error *err)
{
    while (lmn__channel_pending(channel)) {
        const uint8_t *at = channel->out.data + channel->out_at;
        size_t left = channel->out.len - channel->out_at, sent = left;
        enum lmn_status st = wait ? lmn__socket_send(channel->fd, at, left, channel->pass, err)
                                  : lmn__socket_send_some(channel->fd, at, left, channel->pass,
                                                          &sent, err);

        if (st != LMN_OK)
            return st;
        if (sent == 0)
            return LMN_OK;
        lmn__socket_close(&channel->pass);
        channel->out_at += sent;
    }
    lmn__buf_reset(&channel->out);
    channel->out_at = 0;
    return LMN_OK;
}

enum lmn_status lmn__channel_receive(struct lmn__channel *channel, bool wait, bool *closed_out,
                                     struct lmn_error *err)
{
    struct lmn__buf *in = &channel->in;
    size_t left = in->len - channel->in_at, got;
    enum lmn_status st;

    *closed_out = false;
    if (channel->in_at > 0) {
        memmove(in->data, in->data + channel->in_at, left);
        in->len = left;
        channel->in_at = 0;
    }
    if (!lmn__buf_reserve(in, RECEIVE_BYTES))
        return lmn__no_memory(err, "a message between engine and worker", RECEIVE_BYTES);
    st = lmn__socket_receive(channel->fd, wait, in->data + in->len, in->cap - in->len, &got,
                             &channel->pass, closed_out, err);
    in->len += got;
    return st;
}

enum lmn_status lmn__channel_next(struct lmn__channel *channel, struct lmn__frame *frame_out,
                                  struct lmn_error *err)
{
    struct lmn__span bytes = { .len = channel->in.len - channel->in_at };
    size_t used;
    enum lmn_status st;

    *frame_out = (struct lmn__frame){ 0 };
    if (bytes.len == 0)
        return LMN_OK;
    bytes.data = channel->in.data + channel->in_at;
    st = lmn__frame_parse(bytes, frame_out, &used, err);
    channel->in_at += used;
    return st;
}

enum lmn_status lmn__channel_wait(struct lmn__channel *channel, struct lmn__frame *frame_out,
                                  struct lmn_error *err)
{
    for (;;) {
        bool closed;
        enum lmn_status st = lmn__channel_next(channel, frame_out, err);

        if (st != LMN_OK || frame_out->body.data != NULL)
            return st;
        st = lmn__channel_receive(channel, true, &closed, err);
        if (st != LMN_OK || closed)
            return st;
    }
}
