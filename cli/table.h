/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - tables by their path, and rows for them from files.
 */
#ifndef LEMAN_CLI_TABLE_H
#define LEMAN_CLI_TABLE_H

#include "arguments.h"

/*
 * Open the table in directory `path`, at a version as version_read() takes it; NULL is the newest.
 * The caller releases *table_out.
 */
enum lmn_status open_table(const char *path, const char *version, struct lmn_table **table_out,
                           struct lmn_error *err);

/*
 * The same by the number of a version; with 0 the newest that can be read, where manifests of newer
 * ones are damaged.
 */
enum lmn_status open_version(const char *path, uint64_t number, struct lmn_table **table_out,
                             struct lmn_error *err);

/* A path without the file:// that it may start with. */
const char *local_path(const char *path);

/* Is there something at such a path, and is it a directory? */
bool path_exists(const char *path);
bool path_is_folder(const char *path);

/* The number of a version of the main branch. */
enum lmn_status find_version(const char *path, const char *version, uint64_t *number_out,
                             struct lmn_error *err);

/* How a file of rows is read, as options of a command: put ROWS_ARGUMENTS in its table of them. */
struct rows_options {
    struct lmn_ingest_options ingest;
    const char *delimiter;
};

#define CSV_ARGUMENTS(options)                                                                     \
    { "delimiter", ARGUMENT_TEXT, &(options).delimiter },                                          \
        { "no-header", ARGUMENT_FLAG, &(options).ingest.no_header },                               \
    {                                                                                              \
        "null", ARGUMENT_TEXT, &(options).ingest.null_text                                         \
    }

#define ROWS_ARGUMENTS(options)                                                                    \
    { "format", ARGUMENT_TEXT, &(options).ingest.format }, CSV_ARGUMENTS(options)

/* What --help says of them. */
#define CSV_HELP                                                                                   \
    "  --delimiter C  between the fields of a CSV file; \\t is a tab\n"                            \
    "  --no-header    the first record of a CSV file is a row, not names\n"                        \
    "  --null TEXT    what stands for null in a CSV file; by default an empty field\n"

#define ROWS_HELP "  --format F     arrow, csv or jsonl; otherwise told by the file\n" CSV_HELP

/*
 * Open the file `path` ("-": standard input) as a stream of rows. Text files take the types of the
 * columns of `table` that they have, if it is not NULL, and of others those of `options`' like. The
 * caller releases *stream_out.
 */
enum lmn_status open_rows(const char *path, const struct rows_options *options,
                          struct lmn_table *table, struct ArrowArrayStream *stream_out,
                          struct lmn_error *err);

/* Say what a write did: "version 3: 5 rows appended, 20 in all". */
enum lmn_status print_written(struct lmn_table *table, bool json, const char *what, uint64_t rows,
                              struct lmn_error *err);

#endif
