/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.h - how many bytes a cache's directory holds, whichever process has put them there.
 *
 * Who wants to put a piece takes room for it first. The processes that share the directory count in
 * one file of it, so that together they keep to the limit; one that is killed has taken room for a
 * piece that never came, which is found when there seems to be none left.
 *
 * A room belongs to one thread at a time.
 */
#ifndef LMN_FEED_ROOM_H
#define LMN_FEED_ROOM_H

#include "store/store.h"

/* Must the file with this key stay, also when others need room? */
typedef bool (*lmn__room_stays_fn)(void *context, uint64_t key);

struct lmn__room {
    struct lmn_store *store; /* borrowed */
    uint64_t bytes_max;
    uint64_t piece_bytes_max;
    lmn__room_stays_fn stays;
    void *context;
};

enum lmn__room_answer {
    LMN__ROOM_TAKEN,
    LMN__ROOM_NONE,    /* nothing can be removed */
    LMN__ROOM_UNKNOWN, /* the directory cannot be written, or others count for too long */
};

/*
 * Count what is there, and remove what is more than the limit. A directory that holds a cache and
 * cannot be written is left as it is.
 *
 * LMN_E_IO  there is no cache in the directory, and none can be made
 */
LMN_MUST_USE enum lmn_status lmn__room_open(const struct lmn__room *room, struct lmn_error *err);

/* Take `bytes` bytes; where there are too few, files make room, the longest unused first. */
enum lmn__room_answer lmn__room_take(const struct lmn__room *room, uint64_t bytes);

/* Bytes of the pieces that are there now; 0 where the directory cannot be listed. */
uint64_t lmn__room_bytes(const struct lmn__room *room);

#endif
