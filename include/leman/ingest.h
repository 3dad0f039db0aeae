/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest.h - read the rows of other formats: Arrow IPC, CSV, JSON lines, ArrayRecord.
 *
 * A file, or standard input, becomes an Arrow stream that is read as it is asked for: the memory in
 * use is that of a batch. Text files have no types; they are taken from the first rows, or from a
 * schema. A row that does not fit them ends the stream with an error that names file, line and
 * field.
 */
#ifndef LEMAN_INGEST_H
#define LEMAN_INGEST_H

#include <stdbool.h>
#include <stdint.h>

#include <leman/arrow_abi.h>
#include <leman/env.h>
#include <leman/table.h>

/* What to do with input that does not fit or does not decode. */
enum lmn_bad_input {
    LMN_BAD_FAIL, /* the call fails and names the place */
    LMN_BAD_SKIP, /* leave the row out, and of a damaged file what follows; tell of it */
    LMN_BAD_NULL /* make the value null, if that is possible, and leave out otherwise; tell of it */
};

/* What was wrong with the input, and where. Texts are borrowed for the call that tells of it. */
struct lmn_problem {
    const char *part;    /* the shard or file */
    uint64_t offset;     /* in it */
    const char *key;     /* of the row; "" when it is not known */
    const char *field;   /* "" when it is the row or the file as a whole */
    const char *message; /* ends with what is wrong */
};

typedef void (*lmn_problem_fn)(void *self, const struct lmn_problem *problem);

/* A zeroed struct asks for the defaults. Pointers, but those for functions, are borrowed for the
 * call. */
struct lmn_ingest_options {
    const char *format;               /* "arrow", "csv", "jsonl", "array_record"; NULL: told by
                                         content and name */
    const struct ArrowSchema *schema; /* of a text file: a struct of the columns */
    const struct ArrowSchema *like;   /* of a text file without `schema`: columns of these names
                                         have these types, others those of the first rows */
    uint32_t sample_rows_max;         /* rows that types are taken from; default 10,000 */
    uint32_t batch_rows_max;          /* of text files; default 8192 */
    char delimiter;                   /* CSV; default ',', and tab for a name ending in ".tsv" */
    bool no_header;                   /* CSV: the first record is a row; columns are c0, c1, ... */
    const char *const *name;          /* CSV: names to use instead of the header's */
    uint32_t name_count;
    const char *null_text; /* CSV: what stands for null when not in quotes; default "" */
    /*
     * Anything but LMN_BAD_FAIL leaves out rows of text that do not fit, groups of records that
     * cannot be read, and files that cannot be opened where the columns are known: with `schema`,
     * and of records. Arrow IPC fails all the same.
     */
    enum lmn_bad_input bad;
    lmn_problem_fn report; /* told what was left out; may be NULL */
    void *report_self;
    void (*report_free)(void *self); /* called when the stream is released; may be NULL */
    /*
     * Told before each read of the file, and when a signal has interrupted one, how many bytes were
     * read. False ends the call, or the stream, with LMN_E_CANCELLED. May be NULL; ArrayRecord
     * files do not tell it.
     */
    bool (*progress)(void *self, uint64_t bytes);
    void *progress_self;
};

/*
 * Open the file `path`, or standard input for "-". `env` and `options` may be NULL.
 *
 * Arrow IPC streams and files are known by their first bytes; other files are JSON lines when they
 * are named .jsonl, .ndjson or .json, or start with '{', and CSV otherwise.
 *
 * CSV is that of RFC 4180, in UTF-8. Types of its columns: bool, int64, double, date32,
 * timestamp (microseconds, or nanoseconds when needed; in UTC when the texts have zones), or text.
 * JSON lines hold one object per line; a field that is missing is null. Types of its fields: bool,
 * int64, double, text, lists and structs. With a schema, CSV with a header has columns of
 * the schema in any order, and those that it lacks are null; without a header it has all of them in
 * the schema's order. JSON lines are read for the fields that the schema names.
 *
 * The caller releases *stream_out; its get_next() blocks while it reads. Batches may outlive it.
 *
 * LMN_E_NOT_FOUND    there is no such file
 * LMN_E_INVALID      an unknown format, contradicting options, or a header that does not parse
 * LMN_E_CORRUPT      Arrow IPC that does not decode; from the stream: a string that is not UTF-8
 * LMN_E_UNSUPPORTED  Parquet, compressed text, and types that have no place here, by name
 * LMN_E_CANCELLED    the progress function said so
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_ingest_open(struct lmn_env *env, const char *path,
                                                     const struct lmn_ingest_options *options,
                                                     struct ArrowArrayStream *stream_out,
                                                     struct lmn_error *err);

/*
 * The files that `pattern` stands for, as absolute paths: "{000..099}" and "{a,b}" as in a shell,
 * then "*", "?" and "[...]"; a directory stands for the files in it whose names end in one of
 * `endings`, which spaces part (NULL: all). Braces name files whether they are there or not. The
 * caller frees the list.
 *
 * LMN_E_NOT_FOUND  nothing matches
 * LMN_E_INVALID    braces that do not close, or more than a million files
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_ingest_expand(struct lmn_env *env, const char *pattern,
                                                       const char *endings,
                                                       struct lmn_name_list *list_out,
                                                       struct lmn_error *err);

#endif
