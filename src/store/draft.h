/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draft.h - a file of a store while it is written.
 *
 * A draft lies under a name of its own beside its final place ("<path>.<random>.tmp") and takes
 * that place only when it is published; until then nobody sees it, and aborting it leaves
 * nothing behind. Threads may write to a draft at once, where their writes do not overlap; one of
 * them ends it when the others are done.
 */
#ifndef LMN_STORE_DRAFT_H
#define LMN_STORE_DRAFT_H

#include "store/store.h"

enum lmn__publish_mode {
    LMN__PUBLISH_REPLACE,  /* an older file of that name is replaced */
    LMN__PUBLISH_IF_ABSENT /* LMN_E_EXISTS when somebody else was first */
};

struct lmn__draft {
    struct lmn_store *store; /* counted; NULL: no draft is open */
    struct lmn__store_file *file;
    char *path;
    char *temporary_path;
    bool synced; /* publishing need not */
};

/*
 * Start a draft of `path`. The caller ends it by publishing or aborting; on failure *draft_out is
 * zeroed and nothing is left behind.
 *
 * LMN_E_INVALID    `path` is not a path inside a store
 * LMN_E_NO_MEMORY  the heap is exhausted
 * LMN_E_IO         the store failed
 */
LMN_MUST_USE enum lmn_status lmn__draft_open(struct lmn_store *store, const char *path,
                                             struct lmn__draft *draft_out, struct lmn_error *err);

LMN_MUST_USE enum lmn_status lmn__draft_write_at(struct lmn__draft *draft, uint64_t offset,
                                                 const void *data, size_t len,
                                                 struct lmn_error *err);

/*
 * Sync the draft ahead of publishing, which then has no wait before it gives the name. Nothing is
 * written to it any more.
 */
LMN_MUST_USE enum lmn_status lmn__draft_sync(struct lmn__draft *draft, struct lmn_error *err);

/*
 * Give the draft its name and end it, also on failure; then its temporary name is gone.
 *
 * Readers see the file that was there before (or none) or the whole draft, never a part of it.
 * With `sync` that holds across a power loss too, at every step: the data is synced before the
 * name is given, the directory after it; and after OK it is the draft that stays. Without `sync`
 * a power loss may leave the file before, or one of this name with any of its writes lost or cut.
 *
 * LMN_E_EXISTS  the name is taken (LMN__PUBLISH_IF_ABSENT only)
 * LMN_E_IO      the store failed. If that was at or after the giving of the name, the file may
 *               stand there all the same, whole, but perhaps not durable: look before trying again
 */
LMN_MUST_USE enum lmn_status lmn__draft_publish(struct lmn__draft *draft,
                                                enum lmn__publish_mode mode, bool sync,
                                                struct lmn_error *err);

/* End the draft and remove it. One that is not open (zeroed, or ended) is ignored. */
void lmn__draft_abort(struct lmn__draft *draft);

/* Write a whole small file durably: open, write, publish. Answers as these do. */
LMN_MUST_USE enum lmn_status lmn__store_put(struct lmn_store *store, const char *path,
                                            enum lmn__publish_mode mode, const void *data,
                                            size_t len, struct lmn_error *err);

#endif
