/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - frames over one end of a socket.
 *
 * A channel belongs to one thread at a time.
 */
#ifndef LMN_ENGINE_CHANNEL_H
#define LMN_ENGINE_CHANNEL_H

#include "engine/protocol.h"

struct lmn__channel {
    struct lmn_env *env; /* borrowed */
    int fd;              /* -1: closed */
    int pass;            /* a descriptor that came along, or is to go with the first bytes; or -1 */
    struct lmn__buf in, out;
    size_t in_at, out_at; /* bytes of them that are done with */
};

/* `fd` moves here. */
void lmn__channel_init(struct lmn__channel *channel, struct lmn_env *env, int fd);
void lmn__channel_deinit(struct lmn__channel *channel);

/* Queue a frame. */
LMN_MUST_USE enum lmn_status lmn__channel_put(struct lmn__channel *channel,
                                              enum lmn__message_kind kind,
                                              const struct lmn__pb_message *message, const void *in,
                                              struct lmn_error *err);

/* Queue a frame that came from elsewhere. */
LMN_MUST_USE enum lmn_status lmn__channel_pass_on(struct lmn__channel *channel,
                                                  const struct lmn__frame *frame,
                                                  struct lmn_error *err);

/* Send what is queued: all of it, or with `wait` false as much as goes at once. */
LMN_MUST_USE enum lmn_status lmn__channel_flush(struct lmn__channel *channel, bool wait,
                                                struct lmn_error *err);

/* Is something queued? */
static inline bool lmn__channel_pending(const struct lmn__channel *channel)
{
    return channel->out_at < channel->out.len;
}

/* Receive what is there; with `wait` at least something, or the end. Frames given before end. */
LMN_MUST_USE enum lmn_status lmn__channel_receive(struct lmn__channel *channel, bool wait,
                                                  bool *closed_out, struct lmn_error *err);

/* The next whole frame; frame_out->body.data is NULL when there is none. */
LMN_MUST_USE enum lmn_status lmn__channel_next(struct lmn__channel *channel,
                                               struct lmn__frame *frame_out, struct lmn_error *err);

/* Wait for a frame. At the end of the stream frame_out->body.data is NULL. */
LMN_MUST_USE enum lmn_status lmn__channel_wait(struct lmn__channel *channel,
                                               struct lmn__frame *frame_out, struct lmn_error *err);

#endif
