/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - encode rows to finished pages apart from any file, and write a file's tail later.
 *
 * A Lance file is a set of pages that may lie anywhere in it, in any order, with gaps; only its
 * tail says which page holds which rows. So pages can be encoded where the rows are, written to
 * places that somebody else has assigned, and joined to a file by their descriptors alone:
 *
 *     pages = lmn_pages_encode(rows)         anywhere, in parallel
 *     lmn_pages_place(pages, offset)         offsets are multiples of LMN_PAGE_ALIGN
 *     write each buffer of lmn_pages_buffer() to its position
 *     lmn_pages_describe(pages)              bytes to be kept or sent
 *     ...
 *     lmn_tail_add(tail, descriptor)         for all pages, in any order
 *     lmn_tail_finish(tail, position)        bytes to be written at `position`, the file's end
 *
 * Pages of blob columns hold positions in the file and cannot be made so; lmn_pages_positional()
 * tells them apart. Objects of this header belong to one thread at a time.
 */
#ifndef LEMAN_PAGE_H
#define LEMAN_PAGE_H

#include <stdbool.h>

#include <leman/arrow_abi.h>
#include <leman/env.h>

enum { LMN_PAGE_ALIGN = 64 };

/* How rows are encoded. A zeroed struct asks for the defaults. */
struct lmn_encode_options {
    const char *version;     /* "2.1" (default) or "2.2" */
    uint64_t page_bytes_max; /* of Arrow memory per page; default 8 MiB */
    int zstd_level;          /* 1 to 22: compress with zstd; 0 (default): do not */
};

struct lmn_pages;
struct lmn_tail;

/*
 * Encode the rows of `array`, a valid struct array of type `schema` (see arrow_abi.h), to pages of
 * all its columns.
 *
 * `row_start` is the number that the first row will have in the file. Nothing of the arguments is
 * kept. `env` and `options` may be NULL. The caller frees *pages_out.
 *
 * LMN_E_INVALID      options out of range, or names as lmn_file_writer_open() refuses them
 * LMN_E_UNSUPPORTED  a type that the file version has no place for, or a blob column
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_pages_encode(
    struct lmn_env *env, const struct ArrowSchema *schema, const struct ArrowArray *array,
    uint64_t row_start, const struct lmn_encode_options *options, struct lmn_pages **pages_out,
    struct lmn_error *err);

/* NULL is ignored. */
LMN_API void lmn_pages_free(struct lmn_pages *pages);

/* Do the pages of this column hold positions in the file? Then they are made with the file. */
LMN_API bool lmn_pages_positional(const struct ArrowSchema *column);

/* Bytes that the pages take when they are placed, from the first to behind the last. */
LMN_API uint64_t lmn_pages_bytes(const struct lmn_pages *pages);

/*
 * Give every buffer its position, one behind the other from `position` on.
 *
 * LMN_E_INVALID  `position` is not a multiple of LMN_PAGE_ALIGN
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_pages_place(struct lmn_pages *pages, uint64_t position,
                                                     struct lmn_error *err);

/* One run of bytes and its place in the file. */
struct lmn_page_buffer {
    const void *data; /* lives as long as the pages */
    uint64_t bytes;
    uint64_t position;
};

/* Number of buffers, and buffer number `index` of them. */
LMN_API uint32_t lmn_pages_buffer_count(const struct lmn_pages *pages);
LMN_API struct lmn_page_buffer lmn_pages_buffer(const struct lmn_pages *pages, uint32_t index);

/*
 * The descriptor of all pages: what the tail needs to know. The pages are placed before.
 *
 * *data_out lives as long as the pages.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_pages_describe(struct lmn_pages *pages,
                                                        const void **data_out, size_t *len_out,
                                                        struct lmn_error *err);

/*
 * Start the tail of a file whose rows are of type `schema`. Of the options, the version counts.
 *
 * The caller frees *tail_out.
 *
 * LMN_E_INVALID      a version that is not written, or names as lmn_file_writer_open() refuses them
 * LMN_E_UNSUPPORTED  a type that the file version has no place for
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_tail_new(struct lmn_env *env,
                                                  const struct ArrowSchema *schema,
                                                  const struct lmn_encode_options *options,
                                                  struct lmn_tail **tail_out,
                                                  struct lmn_error *err);

/* NULL is ignored. */
LMN_API void lmn_tail_free(struct lmn_tail *tail);

/*
 * Add the pages of a descriptor, which is copied.
 *
 * LMN_E_CORRUPT  it is none, or names a column that the schema does not have
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_tail_add(struct lmn_tail *tail, const void *data,
                                                  size_t len, struct lmn_error *err);

/*
 * Make the bytes that end the file, to be written at `position`: the first multiple of
 * LMN_PAGE_ALIGN behind the last page, or any later one.
 *
 * *data_out lives as long as the tail.
 *
 * LMN_E_INVALID  the pages of a column leave out a row, or have one twice, or columns differ in
 *                rows; or `position` is not aligned, or before the end of a page
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_tail_finish(struct lmn_tail *tail, uint64_t position,
                                                     const void **data_out, size_t *len_out,
                                                     struct lmn_error *err);

#endif
