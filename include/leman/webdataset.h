/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webdataset.h - read WebDataset shards: tar archives of samples, plain or compressed with gzip.
 *
 * Members that follow each other and have the same name up to the first dot behind the last slash,
 * the key, are one sample, and one row; the rest of the name is the field. The bytes of a field are
 * copied into the row, or stay where they are and the row refers to them.
 *
 * A dataset is counted; its streams keep it alive. They may be used from many threads, each stream
 * from one at a time.
 */
#ifndef LEMAN_WEBDATASET_H
#define LEMAN_WEBDATASET_H

#include <stdbool.h>

#include <leman/ingest.h>
#include <leman/load.h>

struct lmn_webdataset;

/* A column, and what it is made of. */
struct lmn_webdataset_column {
    const char *name;               /* NULL: that of the field, of "json.x" the last part; dots
                                       become underscores */
    const char *field;              /* "jpg", "json", "json.x" (of a JSON object), "__key__",
                                       "__shard__" (the path of the archive) */
    const struct ArrowSchema *type; /* NULL: told by the field; see lmn_webdataset_open() */
    bool optional;                  /* samples without the field are in order, and null there */
};

/* A zeroed struct asks for the defaults. All pointers but `report` are borrowed for the call. */
struct lmn_webdataset_options {
    const struct lmn_webdataset_column *column; /* NULL: the key, and what most samples have */
    uint32_t column_count;
    bool references;     /* binary fields become references to the shards: blobs of version 2.2 */
    uint32_t group_size; /* rows that a feed reads together: metadata "leman:group_size" of binary
                            columns. It does not change how they are encoded. 0: none */
    enum lmn_bad_input bad;
    lmn_problem_fn report; /* told what was left out, from any thread; may be NULL */
    void *report_self;
    void (*report_free)(void *self); /* called when nothing can be told any more; may be NULL */
    uint32_t sample_rows_max;        /* samples that columns are taken from; default 1000 */
    uint32_t batch_rows_max;         /* default 8192 */
    uint64_t batch_bytes_max;        /* default 16 MiB, and one sample at least */
};

/*
 * Open the shards `shard`, which are paths, and take the columns from the first samples. `env` and
 * `options` may be NULL. The caller closes *dataset_out.
 *
 * Types, unless given: "__key__", "__shard__" and the fields txt and text are texts; cls, count,
 * index and id are int64; json (also what ends in ".json") has the type of the values in the first
 * samples, and others that bring more are bad; everything else is binary. A type that is given
 * reads a text field as CSV would, and of JSON the fields that it has.
 *
 * LMN_E_INVALID      contradicting columns, or no shards
 * LMN_E_NOT_FOUND    no shard has a sample to take the columns from
 * LMN_E_CORRUPT      the first shard is damaged, unless `bad` says to go on
 * LMN_E_UNSUPPORTED  a type that the field cannot become
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_webdataset_open(
    struct lmn_env *env, const char *const *shard, uint64_t shard_count,
    const struct lmn_webdataset_options *options, struct lmn_webdataset **dataset_out,
    struct lmn_error *err);

/* Give the reference of lmn_webdataset_open() back. NULL is ignored. */
LMN_API void lmn_webdataset_close(struct lmn_webdataset *dataset);

/*
 * The rows of shard number `shard`, in order. The caller releases *stream_out.
 *
 * LMN_E_UNSUPPORTED  references to a shard that is compressed
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_webdataset_shard(struct lmn_webdataset *dataset,
                                                          uint64_t shard,
                                                          struct ArrowArrayStream *stream_out,
                                                          struct lmn_error *err);

/* The shards as parts of a load; the dataset has to outlive it. */
LMN_API struct lmn_load_source lmn_webdataset_source(struct lmn_webdataset *dataset);

#endif
