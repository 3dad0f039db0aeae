/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob.h - large values that lie beside the pages.
 *
 * Pages hold descriptors. Version 1: position and size in the data file. Version 2: kind,
 * position, size, id and uri; the bytes are in the data file (kind 0), in a slice of a side file
 * (1), in a side file of their own (2), or elsewhere (3).
 */
#ifndef LMN_FORMAT_BLOB_H
#define LMN_FORMAT_BLOB_H

#include "codec/values.h"
#include "format/file.h"

enum lmn__blob_place {
    LMN__BLOB_INLINE = 0,
    LMN__BLOB_PACKED = 1,
    LMN__BLOB_DEDICATED = 2,
    LMN__BLOB_EXTERNAL = 3
};

/*
 * Append version 1 descriptors as they stand in a page: one of size 0 at a position other than 0
 * is null, and its position tells the level. `layout` is that of the blob page.
 */
LMN_MUST_USE enum lmn_status lmn__blob_append_descriptors(const struct lmn__page_layout *layout,
                                                          const struct lmn__builder *raw,
                                                          struct lmn__leaf *leaf,
                                                          struct lmn_error *err);

/*
 * The sketch of a blob stands for its content where that is too much to read: all of it up to 64
 * KiB; of a larger one its size (8 bytes), the first, the middle and the last 24 KiB. Longer than
 * 64 KiB means: of a larger one. One elsewhere that cannot be read has zeros for its parts.
 */
enum { LMN__SKETCH_WHOLE_MAX = 64 << 10, LMN__SKETCH_PART = 24 << 10, LMN__SKETCH_PARTS = 3 };
enum { LMN__SKETCH_BYTES = 8 + LMN__SKETCH_PARTS * LMN__SKETCH_PART };

/* Where part number `k` of the sketch of a larger blob begins. */
static inline uint64_t lmn__sketch_at(uint64_t bytes, int k)
{
    return (bytes - LMN__SKETCH_PART) / (LMN__SKETCH_PARTS - 1) * (uint64_t)k;
}

/*
 * Append the bytes that `descriptors` (of either version) name to a VARIABLE builder, or with
 * `sketch` their sketches.
 */
LMN_MUST_USE enum lmn_status lmn__blob_fetch(struct lmn_file *file,
                                             const struct lmn__builder *descriptors, bool sketch,
                                             struct lmn__builder *bytes, struct lmn_error *err);

/* Look up the blob of one row in a column of the file, a blob. */
LMN_MUST_USE enum lmn_status lmn__file_blob(struct lmn_file *file, const struct lmn__node *node,
                                            uint64_t row, struct lmn_blob *blob_out,
                                            struct lmn_error *err);

/*
 * The same to a STRUCT builder of data, uri, position and size: blobs of kind 3 stay where they
 * are.
 */
LMN_MUST_USE enum lmn_status lmn__blob_fetch_either(struct lmn_file *file,
                                                    const struct lmn__builder *descriptors,
                                                    struct lmn__builder *blobs,
                                                    struct lmn_error *err);

/* The path of a side file: "<stem of the data file>/<id, bits reversed, in binary>.blob". */
LMN_MUST_USE enum lmn_status lmn__blob_side_path(const char *file_path, uint32_t blob_id,
                                                 struct lmn__buf *path, struct lmn_error *err);

#endif
