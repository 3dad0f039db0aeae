/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.h - the bytes of blobs on their way into a pages file.
 *
 * Payloads are written one at a time, in pieces of any size, and none is ever in memory as a whole
 * unless it is small: those below 1 MiB are gathered and written together; a larger one whose size
 * is known beforehand goes to its place as it comes. So does one whose size shows at its end, once
 * it is larger than 8 MiB: it has more space than it needs, of which the rest is for those behind
 * it. Where even that does not suffice it goes on in the space behind, or, if that is another's, is
 * moved to where there is more.
 *
 * While they are written, payloads are known by a number: the place that their first byte has among
 * all that was written since lmn__payloads_reset(). lmn__payloads_settle() writes what was
 * gathered; from then on lmn__payloads_position() says where in the file a number is.
 *
 * Payloads belong to one thread at a time.
 */
#ifndef LMN_JOB_PAYLOAD_H
#define LMN_JOB_PAYLOAD_H

#include "arrow/vec.h"
#include "store/store.h"

#define LMN__PAYLOAD_SIZE_UNKNOWN UINT64_MAX

/* Where bytes go. */
struct lmn__payload_ops {
    /* Space for so many bytes. */
    enum lmn_status (*grant)(void *context, uint64_t bytes, uint64_t *position_out,
                             struct lmn_error *err);
    /* The open file for what was granted at `position`, and the position of its first byte. */
    enum lmn_status (*open)(void *context, uint64_t position, struct lmn__store_file **file_out,
                            uint64_t *base_out, struct lmn_error *err);
    /* All that goes into that place is written. */
    enum lmn_status (*close)(void *context, struct lmn__store_file *file, struct lmn_error *err);
    /*
     * Let the file, which is open, be that for what was granted at `to`. NULL: all space is in one
     * file.
     */
    enum lmn_status (*move)(void *context, uint64_t from, uint64_t to, struct lmn_error *err);
};

/* Space that was granted; `number` is that of its first byte. */
struct lmn__payload_extent {
    uint64_t number, position, bytes;
    bool adopted;  /* it was written before; in what was granted at: */
    uint64_t base; /* of one that is adopted only */
};

/* A payload: the number of its first byte. */
struct lmn__payload {
    uint64_t number, bytes;
};

enum lmn__payload_way { LMN__PAYLOAD_NONE, LMN__PAYLOAD_GATHERED, LMN__PAYLOAD_PLACED };

struct lmn__payloads {
    struct lmn_env *env;     /* the store's; NULL: not open */
    struct lmn_store *store; /* borrowed */
    const struct lmn__payload_ops *ops;
    void *context;
    struct lmn__payload_extent *extent; /* by rising number */
    uint64_t extent_count, extent_cap;
    uint64_t next;  /* number */
    uint64_t bytes; /* of all payloads since the reset; those that are adopted do not count */
    uint64_t synced_bytes; /* of them, those that are durable; kept by whoever syncs the file */
    struct lmn__vec stage;
    bool gathering; /* the stage has an extent: */
    uint64_t stage_extent;
    struct lmn__payload_extent spare; /* space that a payload left */
    uint64_t largest;                 /* of those whose size showed at their end */
    /* The one that is being written. */
    enum lmn__payload_way way;
    uint64_t size, written, start; /* `start`: in the stage */
    uint64_t first;                /* of its extents: one behind the other */
    uint64_t room;                 /* in them */
    struct lmn__store_file *file;
    uint64_t base;
    struct lmn_error failure; /* of the store: nothing that was written since counts */
};

/* All of the arguments live on. Nothing is done yet, and the caller closes them. */
void lmn__payloads_init(struct lmn__payloads *payloads, struct lmn_store *store,
                        const struct lmn__payload_ops *ops, void *context);
/* Zeroed ones are allowed. */
void lmn__payloads_deinit(struct lmn__payloads *payloads);

/*
 * Begin a payload of `bytes` bytes, or LMN__PAYLOAD_SIZE_UNKNOWN. It is ended or dropped before
 * another begins. A failure of the store here, in writing or in the end, is answered by
 * lmn__payloads_settle(), too, so that it cannot pass for one of the payload.
 */
LMN_MUST_USE enum lmn_status lmn__payloads_begin(struct lmn__payloads *payloads, uint64_t bytes,
                                                 struct lmn_error *err);

/* LMN_E_INVALID  it has more bytes than were announced */
LMN_MUST_USE enum lmn_status lmn__payloads_write(struct lmn__payloads *payloads, const void *data,
                                                 size_t len, struct lmn_error *err);

/*
 * End it; a failure drops it.
 *
 * LMN_E_INVALID  it has fewer bytes than were announced
 */
LMN_MUST_USE enum lmn_status lmn__payloads_end(struct lmn__payloads *payloads,
                                               struct lmn__payload *payload_out,
                                               struct lmn_error *err);

/* Forget the one that is being written, if one is. */
void lmn__payloads_drop(struct lmn__payloads *payloads);

/* A payload that is in memory. */
LMN_MUST_USE enum lmn_status lmn__payloads_put(struct lmn__payloads *payloads, const void *data,
                                               size_t len, struct lmn__payload *payload_out,
                                               struct lmn_error *err);

/*
 * Take in a payload that is in the file already, in what was granted at `base`: it has a number
 * like one that was written here. None is being written.
 */
LMN_MUST_USE enum lmn_status lmn__payloads_adopt(struct lmn__payloads *payloads, uint64_t base,
                                                 uint64_t position, uint64_t bytes,
                                                 struct lmn__payload *payload_out,
                                                 struct lmn_error *err);

/* Write what was gathered. None is being written. Answers the first failure of the store. */
LMN_MUST_USE enum lmn_status lmn__payloads_settle(struct lmn__payloads *payloads,
                                                  struct lmn_error *err);

/*
 * The position in the file of `bytes` bytes from a number on, once they are settled.
 *
 * LMN_E_INVALID  no payload has them
 */
LMN_MUST_USE enum lmn_status lmn__payloads_position(const struct lmn__payloads *payloads,
                                                    struct lmn__payload payload,
                                                    uint64_t *position_out, struct lmn_error *err);

/* Where the space of a payload that has a position was granted. */
uint64_t lmn__payloads_base(const struct lmn__payloads *payloads, struct lmn__payload payload);

/* Forget everything: numbers begin again, in the same file or in another. */
void lmn__payloads_reset(struct lmn__payloads *payloads, bool same_file);

#endif
