/* SPDX-License-Identifier: Apache-2.0 */
/*
 * external.h - bytes of files outside of the table, which blobs refer to by uri.
 *
 * A uri is "file://" and a path in percent-encoding, or an absolute path. The file that was read
 * last stays open. A reader belongs to one thread at a time.
 */
#ifndef LMN_FORMAT_EXTERNAL_H
#define LMN_FORMAT_EXTERNAL_H

#include "base/buf.h"
#include "os/file.h"

struct lmn__external {
    struct lmn_env *env; /* borrowed */
    struct lmn__file file;
    struct lmn__buf uri;  /* of the open file */
    struct lmn__buf path; /* of the open file; ends with NUL */
    bool open;
};

void lmn__external_init(struct lmn__external *external, struct lmn_env *env);
void lmn__external_deinit(struct lmn__external *external);

/*
 * Read `len` bytes at `position` of the file that `uri` names.
 *
 * LMN_E_NOT_FOUND    there is no such file
 * LMN_E_CORRUPT      it ends before
 * LMN_E_UNSUPPORTED  a uri of another kind
 */
LMN_MUST_USE enum lmn_status lmn__external_read(struct lmn__external *external,
                                                struct lmn__span uri, uint64_t position, void *data,
                                                size_t len, struct lmn_error *err);

/* The uri of an absolute path, appended to `uri`. */
void lmn__external_uri(const char *path, struct lmn__buf *uri);

#endif
