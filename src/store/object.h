/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - a file of a store, open for reading ranges.
 *
 * An object may be read from many threads at once. Its size is that at opening.
 */
#ifndef LMN_STORE_OBJECT_H
#define LMN_STORE_OBJECT_H

#include "base/pool.h"
#include "store/store.h"

struct lmn__object {
    struct lmn_store *store; /* counted */
    struct lmn__store_file *file;
    char *name; /* store and path, for messages */
    uint64_t bytes;
};

/* Open `path`. The caller closes it. LMN_E_NOT_FOUND when there is no such file. */
LMN_MUST_USE enum lmn_status lmn__object_open(struct lmn_store *store, const char *path,
                                              struct lmn__object *object_out,
                                              struct lmn_error *err);
/* An object that was never opened, but zeroed, may be closed. */
void lmn__object_close(struct lmn__object *object);

/* Read exactly [offset, offset + len). A range outside the object is LMN_E_CORRUPT. */
LMN_MUST_USE enum lmn_status lmn__object_read(const struct lmn__object *object, uint64_t offset,
                                              void *data, size_t len, struct lmn_error *err);

/*
 * Say which ranges are about to be read, so that a store that can fetches them at once and not one
 * after the other. It waits for nothing and reports nothing; ranges outside the object are left
 * out.
 */
void lmn__object_will_read(const struct lmn__object *object, struct lmn__file_range *range,
                           size_t count);

/* The same as lmn__object_read() into a new block of the environment's pool; the caller releases
 * it. */
LMN_MUST_USE enum lmn_status lmn__object_read_block(const struct lmn__object *object,
                                                    uint64_t offset, size_t len,
                                                    struct lmn__block **block_out,
                                                    struct lmn_error *err);

#endif
