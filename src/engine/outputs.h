/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs.h - what a function gives for rows: values, and beside them cells that say how they came
 * about.
 */
#ifndef LMN_ENGINE_OUTPUTS_H
#define LMN_ENGINE_OUTPUTS_H

#include "arrow/layout.h"
#include "table/table.h"

struct lmn__outputs {
    struct lmn_env *env; /* borrowed; NULL: not open */
    struct lmn__arena arena;
    uint32_t count;                   /* columns that the function fills */
    uint64_t function;                /* first 8 bytes of its version hash */
    struct ArrowSchema values;        /* a struct of them */
    const struct lmn__layout *layout; /* of `values` */
    struct ArrowSchema all;           /* and the ledgers behind them: what a fill's file holds */
    bool *blob;                       /* of each column: does it hold blobs? */
    char file_version[8];
};

/*
 * The outputs of a function in the version that `table` stands at. The caller closes them.
 *
 * LMN_E_NOT_FOUND  there is no such column, or it has no ledger
 */
LMN_MUST_USE enum lmn_status lmn__outputs_open(struct lmn__outputs *outputs,
                                               struct lmn_table *table, const char *const *output,
                                               uint32_t count, uint64_t function,
                                               struct lmn_error *err);
/* The function knows its columns by the names `known`, where they have others by now. */
LMN_MUST_USE enum lmn_status lmn__outputs_rename(struct lmn__outputs *outputs,
                                                 const char *const *output,
                                                 const char *const *known, struct lmn_error *err);
/* One that is zeroed may be given too. */
void lmn__outputs_close(struct lmn__outputs *outputs);

/*
 * Put values and cells together into a struct array of outputs->all. `values` is a struct array of
 * outputs->values, and moves here, also on failure; a blob column may be one of places
 * (job/payload_column.h). `failed` are the rows that have no value,
 * rising; `fingerprint` has a number for each row.
 *
 * LMN_E_UDF  the array is not as long as it should be, or has other columns
 */
LMN_MUST_USE enum lmn_status lmn__outputs_compose(const struct lmn__outputs *outputs,
                                                  struct ArrowArray *values, uint64_t count,
                                                  const uint64_t *failed, uint64_t failed_count,
                                                  const uint64_t *fingerprint,
                                                  struct ArrowArray *array_out,
                                                  struct lmn_error *err);

/* Bytes that an array of outputs->all takes in memory, about. */
uint64_t lmn__outputs_bytes(const struct lmn__outputs *outputs, const struct ArrowArray *array);

/* `count` rows without values, all failed. */
LMN_MUST_USE enum lmn_status lmn__outputs_failed(const struct lmn__outputs *outputs, uint64_t count,
                                                 const uint64_t *fingerprint,
                                                 struct ArrowArray *array_out,
                                                 struct lmn_error *err);

#endif
