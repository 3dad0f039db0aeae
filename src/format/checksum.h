/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checksum.h - what the bytes of each page hash to, in a global buffer of files that this library
 * writes. Readers do without it; verifying a file compares.
 *
 *     "LMNC"   u32 version (1)   u32 columns   u32 pages of each column
 *     u64 checksum of each page, column by column in the order of rows
 *     u64 checksum of the schema   u64 checksum of the end of the file; not in every file
 *
 * A page's checksum is the XXH3 of the XXH3s of its buffers. The end of the file goes from the
 * descriptions of the columns on. The buffer stands between the schema and those: there it is known
 * also if its mark, or what lists it, is damaged.
 */
#ifndef LMN_FORMAT_CHECKSUM_H
#define LMN_FORMAT_CHECKSUM_H

#include "format/tail.h"

/* The checksum of the `count` buffers of a page, which are hashed one after the other. */
uint64_t lmn__checksum_of(const uint64_t *hash, uint32_t count);

/*
 * Append the checksums of all pages of a tail, and zeros where those of the schema and of the end
 * go; nothing when a page has none.
 */
void lmn__checksums_put(const struct lmn__tail *tail, struct lmn__buf *out);

/* Fill in those of the schema and of the end, at the end of what lmn__checksums_put() appended. */
void lmn__checksums_put_ends(uint8_t *end, struct lmn__span schema, struct lmn__span rest);

/* The checksums of a file. */
struct lmn__checksums {
    bool there;
    uint32_t column_count;
    const uint32_t *page_count; /* of each column */
    const uint64_t **page;      /* of each column */
    bool has_ends;
    uint64_t schema, end;
};

/*
 * Read the checksums of `file` into the arena; those of another writer's file are not there.
 *
 * LMN_E_CORRUPT  they do not decode, or would do if they were found by their mark
 */
LMN_MUST_USE enum lmn_status lmn__checksums_read(struct lmn_file *file, struct lmn__arena *arena,
                                                 struct lmn__checksums *checksums_out,
                                                 struct lmn_error *err);

/*
 * Read the schema and the end of the file and compare; and how many pages each column has.
 * LMN_E_CORRUPT as for pages, or a column's description does not decode.
 */
LMN_MUST_USE enum lmn_status lmn__checksums_check_ends(const struct lmn__checksums *checksums,
                                                       struct lmn_file *file,
                                                       struct lmn_error *err);

/*
 * Read the bytes of a page and compare.
 *
 * LMN_E_CORRUPT  they are others than those that were written
 */
LMN_MUST_USE enum lmn_status lmn__checksums_check(const struct lmn__checksums *checksums,
                                                  struct lmn_file *file, uint32_t column,
                                                  uint32_t page, struct lmn_error *err);

#endif
