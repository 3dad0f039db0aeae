/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - what the readers of text files share: rows are read into columns, batch by batch.
 *
 * A format supplies two functions. `sample` looks at the first records and makes a schema; it
 * consumes only what is no row (a header). `row` reads one row into the columns. Both see the
 * file through the window.
 */
#ifndef LMN_INGEST_READER_H
#define LMN_INGEST_READER_H

#include <leman/ingest.h>

#include "arrow/producer.h"
#include "ingest/column.h"
#include "ingest/window.h"

struct lmn__text_reader;

struct lmn__text_format {
    /* Make the schema, or check the one that is given (schema.release is not NULL then). */
    enum lmn_status (*sample)(struct lmn__text_reader *reader, struct lmn_error *err);
    /* Append one row; *more_out is false at the end. Errors name the field, not the line. */
    enum lmn_status (*row)(struct lmn__text_reader *reader, bool *more_out, struct lmn_error *err);
    void (*deinit)(struct lmn__text_reader *reader);
};

/* The first member of each format's own struct. */
struct lmn__text_reader {
    struct lmn__producer producer; /* first */
    struct lmn_env *env;           /* counted */
    const struct lmn__text_format *format;
    struct lmn__window window;
    struct lmn__arena arena; /* of schema and columns */
    struct ArrowSchema schema;
    bool schema_given;
    struct lmn__column *column; /* the struct of all */
    uint64_t batch_rows_max;
    uint64_t sample_rows_max;
    uint64_t line; /* where the row at hand starts; set by the format */
    bool ended;    /* nothing behind a row that does not fit can be read */
    enum lmn_bad_input bad;
    lmn_problem_fn report;
    void *report_self;
    void (*report_free)(void *self);
};

enum { LMN__SAMPLE_BYTES_MAX = 16 << 20 };

/*
 * Make a reader of `bytes` bytes, zeroed behind its first member, take `source`, and hand it out
 * as a stream. `prepare` (may be NULL) fills the format's own part before the sample is taken.
 */
LMN_MUST_USE enum lmn_status lmn__text_reader_open(
    struct lmn_env *env, struct lmn__source *source, const struct lmn_ingest_options *options,
    const struct lmn__text_format *format, size_t bytes,
    enum lmn_status (*prepare)(struct lmn__text_reader *reader,
                               const struct lmn_ingest_options *options, struct lmn_error *err),
    struct ArrowArrayStream *stream_out, struct lmn_error *err);

/* LMN_E_INVALID when bytes of a file are no text in UTF-8, or hold a NUL. */
LMN_MUST_USE enum lmn_status lmn__text_check(struct lmn__span text, struct lmn_error *err);

/* The formats; `source` moves, also on failure. */
LMN_MUST_USE enum lmn_status lmn__csv_open(struct lmn_env *env, struct lmn__source *source,
                                           const struct lmn_ingest_options *options,
                                           struct ArrowArrayStream *stream_out,
                                           struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__jsonl_open(struct lmn_env *env, struct lmn__source *source,
                                             const struct lmn_ingest_options *options,
                                             struct ArrowArrayStream *stream_out,
                                             struct lmn_error *err);

#endif
