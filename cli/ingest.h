/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest.h - what `leman ingest` reads, as parts of a load.
 */
#ifndef LEMAN_CLI_INGEST_H
#define LEMAN_CLI_INGEST_H

#include <stdatomic.h>
#include <stdio.h>

#include "table.h"

struct ingest_arguments {
    const char *kind, *path, *on_error, *report, *message, *data_version, *schema;
    char **pattern;
    int pattern_count;
    struct list columns, primary_key;
    struct number parallelism, commit_mb, sample, group_size, rows, bytes;
    bool references, again, json, quiet;
    struct rows_options source;
};

/* The parts that are to be loaded. A zeroed one may be closed. */
struct ingest_source {
    struct lmn_load_source load;
    struct lmn_name_list files;
    char *title;
    struct lmn_webdataset *dataset;
    struct lmn_ingest_options options;
    struct ArrowSchema schema; /* of text: what is given, or the table has */
    FILE *report;              /* may be NULL */
    atomic_ullong problem_count;
};

/* Does the command read this kind itself? */
bool ingest_is_native(const char *kind);

enum lmn_status ingest_open(const struct ingest_arguments *arguments, struct ingest_source *source,
                            struct lmn_error *err);
void ingest_close(struct ingest_source *source);

#endif
