/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_inspect.h - what a version of a table is made of: columns and fragments, with their sizes.
 */
#ifndef LEMAN_TABLE_INSPECT_H
#define LEMAN_TABLE_INSPECT_H

#include <leman/table.h>

/* What to look at. A zeroed struct asks for metadata only. */
struct lmn_inspect_options {
    bool fragment_columns; /* the columns of each fragment, too */
    bool largest_values;   /* reads the columns whose values differ in size; counts blobs */
};

/* One column on top level; fields below it are counted with it. */
struct lmn_table_column_report {
    const char *name;
    /*
     * Of its pages, rows that are deleted included; with largest_values also of the blobs of live
     * rows that the table's files hold.
     */
    uint64_t bytes;
    uint64_t plain_bytes;   /* of its values as Arrow arrays; partly estimated */
    uint64_t page_count;    /* in all files */
    uint64_t page_rows_max; /* of its largest page */
    /*
     * With largest_values, bytes of the largest value of a live row: those of a string, of all
     * items of a list, of the content of a blob; the width of a type of fixed width.
     */
    uint64_t value_bytes_max;
};

/* A column of one fragment, counted as that of the table is. */
struct lmn_fragment_column_report {
    const char *name;
    uint64_t bytes;
    uint64_t value_bytes_max; /* with largest_values */
};

struct lmn_fragment_report {
    uint64_t id;
    uint64_t row_count; /* deleted ones not counted */
    uint64_t deleted_count;
    uint64_t file_count;
    uint64_t bytes; /* of its data files; with largest_values also of its blobs beside them */
    /* With fragment_columns all of the table, the largest first; otherwise NULL. */
    const struct lmn_fragment_column_report *column;
};

struct lmn_table_report {
    struct lmn_table_info info;
    uint64_t column_count;
    const struct lmn_table_column_report *column; /* the largest first */
    const struct lmn_fragment_report *fragment;   /* info.fragment_count of them */
    void *memory;
};

/*
 * Describe the version that the handle stands at. Reads the metadata of every data file, and a few
 * rows of each; more where the options ask for it. `options` may be NULL.
 *
 * The caller frees the report.
 *
 * LMN_E_NOT_FOUND  a data file is gone
 * LMN_E_CORRUPT    metadata does not decode
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_inspect(struct lmn_table *table,
                                                       const struct lmn_inspect_options *options,
                                                       struct lmn_table_report *report_out,
                                                       struct lmn_error *err);

/* An empty report is allowed. */
LMN_API void lmn_table_report_free(struct lmn_table_report *report);

#endif
