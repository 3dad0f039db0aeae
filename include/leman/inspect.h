/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect.h - what a Lance file is made of: footer, columns, pages, encodings, sizes.
 */
#ifndef LEMAN_INSPECT_H
#define LEMAN_INSPECT_H

#include <leman/file.h>

/* One page of a column. */
struct lmn_page_report {
    uint64_t row_start; /* in rows of the column */
    uint64_t row_count;
    uint64_t position; /* of the first buffer; 0 without buffers */
    uint64_t bytes;    /* of all buffers */
    uint32_t buffer_count;
    const char *layout;   /* "mini-block", "full-zip", "constant", "blob", or "array" in 2.0 */
    const char *encoding; /* of the values, e.g. "zstd(fsst(variable32))" */
};

/* One column of the file: a leaf of the schema (any node in 2.0). */
struct lmn_column_report {
    const char *path; /* names from the top, joined by dots */
    const char *type; /* Lance's name of the type */
    bool nullable;
    uint64_t row_count;
    uint64_t bytes;          /* of its pages */
    uint64_t metadata_bytes; /* of its description in the tail */
    uint64_t plain_bytes;    /* of its values as Arrow arrays */
    bool plain_is_estimate;  /* from its first rows */
    uint64_t zone_count;     /* runs of rows that there are statistics of; 0: none */
    uint32_t page_count;
    const struct lmn_page_report *page;
};

struct lmn_file_report {
    const char *version;
    uint64_t bytes;
    uint64_t row_count;
    uint64_t column_metadata_position; /* the footer's three positions */
    uint64_t column_table_position;
    uint64_t global_table_position;
    uint32_t global_buffer_count;
    uint64_t statistics_bytes; /* 0: there are none */
    uint32_t column_count;
    const struct lmn_column_report *column;
};

/*
 * Describe `file`. Reads the metadata of all columns and a few rows of those whose plain size is
 * not known from it.
 *
 * The caller frees *report_out with lmn_file_report_free(). It may be used after `file` is
 * released.
 *
 * LMN_E_CORRUPT  column metadata or statistics do not decode
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_file_inspect(struct lmn_file *file,
                                                      const struct lmn_file_report **report_out,
                                                      struct lmn_error *err);

/* NULL is ignored. */
LMN_API void lmn_file_report_free(const struct lmn_file_report *report);

#endif
