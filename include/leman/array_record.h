/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_record.h - read and write ArrayRecord files: numbered records in groups that are compressed
 * each for itself.
 *
 * A reader is counted; its streams keep it alive. It may be used from many threads.
 */
#ifndef LEMAN_ARRAY_RECORD_H
#define LEMAN_ARRAY_RECORD_H

#include <stdbool.h>

#include <leman/ingest.h>

struct lmn_array_record;

/* What a file holds. */
struct lmn_array_record_info {
    uint64_t record_count;
    uint64_t group_count;
    uint64_t group_size; /* records of a group; the last one may have fewer */
    char options[256];   /* what its writer was told; "" when it does not say */
};

/*
 * Open the file `path`. `env` may be NULL. The caller closes *record_out.
 *
 * LMN_E_NOT_FOUND  there is no such file
 * LMN_E_CORRUPT    it has no footer, or that does not decode
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_array_record_open(struct lmn_env *env, const char *path,
                                                           struct lmn_array_record **record_out,
                                                           struct lmn_error *err);

/* Give the reference of lmn_array_record_open() back. NULL is ignored. */
LMN_API void lmn_array_record_close(struct lmn_array_record *record);

/* Describe the file. */
LMN_API void lmn_array_record_info(const struct lmn_array_record *record,
                                   struct lmn_array_record_info *info_out);

/* A zeroed struct asks for the defaults. */
struct lmn_array_record_read_options {
    const char *column;       /* what the column of records is called; NULL: "record" */
    uint32_t parallelism;     /* groups decoded at once; 0: the environment's threads */
    uint64_t batch_bytes_max; /* default 16 MiB, and one group at least */
    /* Of streams: anything but LMN_BAD_FAIL leaves out groups that cannot be read, as a whole. */
    enum lmn_bad_input bad;
    lmn_problem_fn report; /* told what was left out; its key are the numbers of the records */
    void *report_self;
    void (*report_free)(void *self); /* called when the stream is released; may be NULL */
};

/*
 * All records in order, as batches of one column of large binaries. `options` may be NULL. The
 * caller releases *stream_out.
 *
 * Its batches answer LMN_E_CORRUPT for a group whose hashes or sizes do not fit, with its place,
 * and LMN_E_UNSUPPORTED for transposed groups, and for brotli where the machine has no library for
 * it.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_array_record_stream(
    struct lmn_array_record *record, const struct lmn_array_record_read_options *options,
    struct ArrowArrayStream *stream_out, struct lmn_error *err);

/*
 * Records by number, in the order given, as an array of large binaries. The caller releases
 * *array_out.
 *
 * LMN_E_INVALID  a number is not below the number of records
 * and as above
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_array_record_take(
    struct lmn_array_record *record, const uint64_t *number, uint64_t count,
    const struct lmn_array_record_read_options *options, struct ArrowArray *array_out,
    struct lmn_error *err);

/* A zeroed struct asks for the defaults. */
struct lmn_array_record_write_options {
    const char *column; /* of texts or binaries; NULL: the only one */
    /*
     * As the array_record library takes them, parted by commas: "group_size:N" (default 1),
     * "uncompressed", "zstd:LEVEL" (default zstd:3), "brotli:LEVEL", "snappy",
     * "pad_to_block_boundary:true", "max_parallelism:N"; "transpose:false" and "window_log:N" are
     * taken and change nothing.
     */
    const char *options;
    bool unsynced; /* do not wait for the device */
};

/*
 * Write a column of all batches of `stream`, which stays the caller's, as records of the file
 * `path`, which is there as a whole or not at all; a file of that name is replaced. *count_out (may
 * be NULL) is their number.
 *
 * LMN_E_INVALID      an option that is none, a column that is not there or not of bytes, or a null
 * LMN_E_UNSUPPORTED  "transpose:true", and brotli without its library
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_array_record_write(
    struct lmn_env *env, const char *path, struct ArrowArrayStream *stream,
    const struct lmn_array_record_write_options *options, uint64_t *count_out,
    struct lmn_error *err);

#endif
