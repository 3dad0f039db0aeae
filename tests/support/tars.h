/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tars.h - tar archives for tests, block by block.
 */
#ifndef LMN_TESTS_TARS_H
#define LMN_TESTS_TARS_H

#include "base/buf.h"

/* Start an archive in memory; lmn__buf_deinit() frees it. */
void tar_init(struct lmn__buf *tar);

/* A member of type `type` ('0' is a file); names of more than 100 characters are cut. */
void tar_put(struct lmn__buf *tar, const char *name, char type, const void *data, size_t len);

/* A file whose content is a text. */
void tar_file(struct lmn__buf *tar, const char *name, const char *text);

/* Give the header at `offset` its checksum again, after it was changed. */
void tar_seal(struct lmn__buf *tar, size_t offset);

/* The end mark: two blocks of zeros. */
void tar_end(struct lmn__buf *tar);

/*
 * Append `tar` to `out` as a member of gzip whose data are stored as they are, so that every byte
 * of it is known.
 */
void tar_gzip(const uint8_t *tar, size_t len, struct lmn__buf *out);

/* Write the archive to the file `name` in the directory `dir`; *path_out lives until the next. */
const char *tar_write(const struct lmn__buf *tar, const char *dir, const char *name);

#endif
