/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h - a store for tests that lets operations of another store fail, wait or tear.
 */
#ifndef LMN_STORE_FAULT_H
#define LMN_STORE_FAULT_H

#include "store/store.h"

enum lmn__fault_action {
    LMN__FAULT_NONE, /* pass on */
    LMN__FAULT_FAIL, /* do nothing and return LMN_E_IO */
    LMN__FAULT_TEAR, /* do the first half of a write (of other operations: all), then LMN_E_IO */
    LMN__FAULT_AFTER /* do all of it, then return LMN_E_IO: the answer was lost */
};

enum lmn__store_op {
    LMN__OP_OPEN,
    LMN__OP_CREATE,
    LMN__OP_UPDATE,
    LMN__OP_LOCK,
    LMN__OP_READ,
    LMN__OP_WRITE,
    LMN__OP_SYNC,
    LMN__OP_RENAME,
    LMN__OP_LINK,
    LMN__OP_REMOVE,
    LMN__OP_SYNC_DIR,
    LMN__OP_LIST,
    LMN__OP_STAT
};

/*
 * Asked before each operation, from the thread that makes it; it may wait before it answers
 * (a delay), count, or kill the process. `path` is that of the file or directory, of a rename or
 * link the new name. Closing is not asked about.
 */
typedef enum lmn__fault_action (*lmn__fault_fn)(void *context, enum lmn__store_op op,
                                                const char *path);

/* Wrap `inner`, which the new store keeps a reference to. */
LMN_MUST_USE enum lmn_status lmn__store_open_fault(struct lmn_store *inner, lmn__fault_fn fault,
                                                   void *context, struct lmn_store **store_out,
                                                   struct lmn_error *err);

#endif
