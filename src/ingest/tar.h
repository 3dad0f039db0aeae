/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.h - the members of a tar archive, read in order: ustar, pax, and GNU's long names. An archive
 * that is compressed with gzip is decompressed on the way; places in it count decompressed bytes.
 *
 * Only regular files are members; directories, links and devices are passed over. The content of a
 * member is read between two calls of lmn__tar_next(), or passed over without being read where the
 * source is a file. Files that lie in the archive otherwise than as their bytes (sparse ones, those
 * that began in another archive) are members that cannot be read. A reader belongs to one thread at
 * a time.
 */
#ifndef LMN_INGEST_TAR_H
#define LMN_INGEST_TAR_H

#include "base/buf.h"
#include "ingest/gzip.h"

enum { LMN__TAR_NAME_BYTES_MAX = 64 << 10 };

struct lmn__tar_member {
    struct lmn__span name; /* stays until the next call */
    uint64_t header;       /* where in the archive its header starts */
    uint64_t offset;       /* where its content starts */
    uint64_t bytes;
    const char *refused; /* what it is, when it cannot be read; NULL: a plain file */
};

struct lmn__tar {
    struct lmn__source source; /* owned */
    struct lmn__gzip *gzip;    /* of the source; NULL: it is not compressed */
    bool started;              /* whether it is compressed is known */
    struct lmn__buf ahead;     /* bytes that are read from the source; `used` of them are taken */
    size_t used;
    uint64_t position; /* in the archive, of the next byte to take */
    uint64_t left;     /* bytes of the member that are not taken yet */
    uint64_t padding;  /* behind them */
    struct lmn__buf name, pax_name, long_name;
    uint64_t pax_bytes;
    bool has_pax_bytes, is_pax_sparse, has_sparse_name, skips;
};

/*
 * `source` moves here. With `skips`, contents are mostly passed over, and little is read ahead.
 */
void lmn__tar_init(struct lmn__tar *tar, struct lmn_env *env, struct lmn__source *source,
                   bool skips);
void lmn__tar_deinit(struct lmn__tar *tar);

/*
 * The next member; *more_out is false at the end mark. What is compressed is read to its end there,
 * where its checksum is.
 *
 * LMN_E_CORRUPT      a header that is none, the archive ends without its end mark, or it does not
 *                    decompress; names the archive and the place
 * LMN_E_UNSUPPORTED  gzip without its library
 */
LMN_MUST_USE enum lmn_status lmn__tar_next(struct lmn__tar *tar, struct lmn__tar_member *member_out,
                                           bool *more_out, struct lmn_error *err);

/*
 * The next `len` bytes of the member's content; it has that many left, and is not refused.
 *
 * LMN_E_CORRUPT  the archive ends before
 */
LMN_MUST_USE enum lmn_status lmn__tar_read(struct lmn__tar *tar, void *data, size_t len,
                                           struct lmn_error *err);

#endif
