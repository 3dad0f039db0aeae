/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - read one Lance data file.
 *
 * A file is opened once and read any number of times, by any number of threads. It is counted:
 * scans keep it alive. Versions 2.0, 2.1 and 2.2 are read; others are refused by name.
 *
 * Every number in a file is checked before it is used. A damaged file gives LMN_E_CORRUPT with
 * the place: file, column, page, chunk.
 */
#ifndef LEMAN_FILE_H
#define LEMAN_FILE_H

#include <stdbool.h>

#include <leman/arrow_abi.h>
#include <leman/store.h>

struct lmn_file;

/* A zeroed struct asks for the defaults. */
struct lmn_file_options {
    uint64_t cache_bytes_max; /* of open pages kept for lmn_file_take(); default 64 MiB */
};

/*
 * Open the file `path` of `store`. `options` may be NULL.
 *
 * Reads the footer and the schema. The caller releases *file_out; it is NULL on failure.
 *
 * LMN_E_INVALID      the path is none inside of a store
 * LMN_E_NOT_FOUND    there is no such file
 * LMN_E_CORRUPT      it is no Lance file, or its tail does not decode
 * LMN_E_UNSUPPORTED  a Lance file of version 1 or 2.3, or with types that are not known
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_open(struct lmn_store *store, const char *path,
                                                   const struct lmn_file_options *options,
                                                   struct lmn_file **file_out,
                                                   struct lmn_error *err);

/* One more reference. */
LMN_API struct lmn_file *lmn_file_acquire(struct lmn_file *file);

/* Give a reference back. NULL is ignored. */
LMN_API void lmn_file_release(struct lmn_file *file);

/* Number of rows. */
LMN_API uint64_t lmn_file_row_count(const struct lmn_file *file);

/* Size in bytes. */
LMN_API uint64_t lmn_file_bytes(const struct lmn_file *file);

/* "2.0", "2.1" or "2.2". */
LMN_API const char *lmn_file_version(const struct lmn_file *file);

/* How blob columns are read. */
enum lmn_blob_mode {
    LMN_BLOB_DESCRIPTORS, /* where they are: a struct; bytes by lmn_file_read_blob() */
    LMN_BLOB_BYTES,       /* as large binaries, whole */
    LMN_BLOB_EITHER /* version 2: as a struct of data, uri, position and size, of which data is
                       null where the blob lies in another file; others as large binaries */
};

/* What to read. A zeroed struct reads everything. */
struct lmn_read_options {
    const char *const *column; /* names and paths ("info.width"); NULL reads every column */
    uint32_t column_count;
    enum lmn_blob_mode blobs;
    bool rows_limited; /* read [row_start, row_start + row_count) only */
    uint64_t row_start;
    uint64_t row_count;
    uint32_t batch_rows_max;     /* default 8192 */
    uint64_t batch_bytes_max;    /* rows per batch shrink to stay near it; default 32 MiB */
    uint64_t prefetch_bytes_max; /* read and decoded ahead of the consumer; default 256 MiB */
    uint32_t threads;            /* 0: the environment's; 1: all work in the caller's thread */
};

/*
 * The Arrow type of what a read with these options gives: a struct of the columns. `options` may be
 * NULL, here and below.
 *
 * The caller releases *schema_out.
 *
 * LMN_E_NOT_FOUND  a name in options->column is not in the file
 * LMN_E_INVALID    one is there twice
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_schema(struct lmn_file *file,
                                                     const struct lmn_read_options *options,
                                                     struct ArrowSchema *schema_out,
                                                     struct lmn_error *err);

/*
 * Read rows in order, as a stream of batches.
 *
 * The stream keeps the file alive and may be used from one thread at a time. With several
 * threads, batches are decoded ahead in the background until it is released.
 *
 * LMN_E_NOT_FOUND  a name in options->column is not in the file
 * LMN_E_INVALID    one is there twice, or the row range leaves the file
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_scan(struct lmn_file *file,
                                                   const struct lmn_read_options *options,
                                                   struct ArrowArrayStream *stream_out,
                                                   struct lmn_error *err);

/*
 * Take the next batch of a stream: its get_next() with a status and a message. At the end,
 * array_out->release is NULL. The caller releases *array_out.
 *
 * It takes any Arrow stream. Those of this library, whichever function made them, keep their status
 * and message; of others the message is known, and the status that comes nearest to their errno.
 *
 * LMN_E_CORRUPT      a page does not decode
 * LMN_E_UNSUPPORTED  an encoding that is not known, or an external blob that is no local file
 * and what the stream itself answers; after a failure again
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_scan_next(struct ArrowArrayStream *stream,
                                                        struct ArrowArray *array_out,
                                                        struct lmn_error *err);

/*
 * Read rows by number, in the order given; a number may stand there more than once.
 *
 * Of the options, columns and blobs count. The caller releases *array_out, a struct array of
 * `count` rows of the type that lmn_file_schema() gives.
 *
 * LMN_E_NOT_FOUND    a name in options->column is not in the file
 * LMN_E_INVALID      one is there twice, or a row number is outside the file
 * LMN_E_UNSUPPORTED  as lmn_file_scan_next()
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_take(struct lmn_file *file, const uint64_t *row,
                                                   uint64_t count,
                                                   const struct lmn_read_options *options,
                                                   struct ArrowArray *array_out,
                                                   struct lmn_error *err);

/* Where the bytes of one blob are. */
struct lmn_blob {
    bool is_null;
    uint64_t bytes;    /* of the blob */
    uint64_t position; /* in the data file, or in the side file */
    uint32_t kind;     /* 0 in the data file, 1 packed, 2 dedicated side file, 3 external */
    char path[1024];   /* of the side file in the store, or the uri; empty for kind 0 */
};

/*
 * Look up the blob of one row. `column` is a blob column on top level.
 *
 * LMN_E_NOT_FOUND    there is no such column
 * LMN_E_INVALID      the column holds no blobs, or the row is outside the file
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_blob(struct lmn_file *file, const char *column,
                                                   uint64_t row, struct lmn_blob *blob_out,
                                                   struct lmn_error *err);

/*
 * Read bytes [offset, offset + len) of a blob into `data`.
 *
 * LMN_E_INVALID      the range leaves the blob, or it is null
 * LMN_E_UNSUPPORTED  an external blob that is not in a file of this machine
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_read_blob(struct lmn_file *file,
                                                        const struct lmn_blob *blob,
                                                        uint64_t offset, void *data, size_t len,
                                                        struct lmn_error *err);

#endif
