/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_writer.h - write one Lance data file.
 *
 * Rows are given in batches; a page of a column is encoded and written as soon as it is full, so
 * the memory in use is that of the open pages. The file takes its name only when it is finished:
 * a writer that is aborted, or dies, leaves no file of that name.
 *
 * A writer belongs to one thread at a time; it may use threads of its own.
 */
#ifndef LEMAN_FILE_WRITER_H
#define LEMAN_FILE_WRITER_H

#include <leman/page.h>
#include <leman/store.h>

struct lmn_file_writer;

/* A zeroed struct asks for the defaults. */
struct lmn_file_writer_options {
    struct lmn_encode_options encode;
    bool unsynced; /* do not wait for the device when the file is finished */
    bool replace;  /* an older file of that name is replaced; otherwise LMN_E_EXISTS */
    bool unnamed; /* messages about rows do not name the file, of which their giver knows nothing */
    uint32_t threads; /* 0: the environment's; 1: all work in the caller's thread */
};

/*
 * Start the file `path` of `store` with rows of type `schema`, a struct of the columns, which is
 * copied. `options` may be NULL.
 *
 * The caller ends the writer by finishing or aborting it.
 *
 * LMN_E_INVALID      options out of range; a path that is none inside of a store; a name, a time
 *                    zone or a key of metadata that is not UTF-8; two columns, or two fields of one
 *                    struct, of one name
 * LMN_E_UNSUPPORTED  a type that the file version has no place for
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_writer_open(
    struct lmn_store *store, const char *path, const struct ArrowSchema *schema,
    const struct lmn_file_writer_options *options, struct lmn_file_writer **writer_out,
    struct lmn_error *err);

/*
 * Are rows of type `schema` those of the writer? A batch says nothing of its type, so whoever takes
 * batches and their schemas from elsewhere asks this first.
 *
 * LMN_E_INVALID      other columns, or other types
 * LMN_E_UNSUPPORTED  a type that has no place in any file
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_writer_check_schema(
    const struct lmn_file_writer *writer, const struct ArrowSchema *schema, struct lmn_error *err);

/*
 * Append the rows of `batch`, a struct array of the writer's type, which stays the caller's. It is
 * a valid array; see arrow_abi.h.
 *
 * After a failure that left some columns longer than others, nothing more can be written, and
 * finishing fails.
 *
 * LMN_E_INVALID      nulls in a column that is declared to have none, another number of columns,
 *                    a column with fewer rows than the batch, a negative length or offset, a blob
 *                    without data that lacks its place, or an earlier failure
 * LMN_E_UNSUPPORTED  values that no page has room for
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_writer_write(struct lmn_file_writer *writer,
                                                           const struct ArrowArray *batch,
                                                           struct lmn_error *err);

/* Rows given so far. */
LMN_API uint64_t lmn_file_writer_row_count(const struct lmn_file_writer *writer);

/*
 * Bytes so far: of pages that have a place, as they are; of other values about as they came. For
 * the thread that writes.
 */
LMN_API uint64_t lmn_file_writer_bytes(struct lmn_file_writer *writer);

/*
 * Give all values a place: pages end here, and the bytes so far are those of the file.
 *
 * LMN_E_INVALID, LMN_E_UNSUPPORTED  an earlier failure, or as lmn_file_writer_write()
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_writer_flush(struct lmn_file_writer *writer,
                                                           struct lmn_error *err);

/*
 * Write what is left and give the file its name. Ends the writer, also on failure; then there is
 * no file, unless the system failed when it had its name already (LMN_E_IO). *bytes_out (may be
 * NULL) is the size of the file.
 *
 * LMN_E_EXISTS                      a file of that name is there, and options->replace was not set
 * LMN_E_INVALID, LMN_E_UNSUPPORTED  as lmn_file_writer_flush()
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_writer_finish(struct lmn_file_writer *writer,
                                                            uint64_t *bytes_out,
                                                            struct lmn_error *err);

/* End the writer and leave nothing behind. NULL is ignored. */
LMN_API void lmn_file_writer_abort(struct lmn_file_writer *writer);

#endif
