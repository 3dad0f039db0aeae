/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs.h - the rows that a function reads: some columns of a table, or fields inside of them, in
 * the order in which they are bound.
 *
 * Inputs belong to one thread at a time.
 */
#ifndef LMN_ENGINE_INPUTS_H
#define LMN_ENGINE_INPUTS_H

#include "arrow/share.h"
#include "table/fingerprint.h"
#include "table/fragment_reader.h"
#include "table/table.h"

struct lmn__input_way;

/* How inputs that are blobs are read. */
enum lmn__input_blobs {
    LMN__INPUT_BLOBS_WHOLE,
    LMN__INPUT_BLOBS_LAZY /* their sketches; see format/blob.h */
};

struct lmn__inputs {
    struct lmn_env *env;     /* borrowed; NULL: not open */
    struct lmn_table *table; /* counted; stands at the version that is read */
    struct lmn__manifest *manifest;
    struct lmn__projection projection; /* the columns, each once */
    uint32_t count;
    struct lmn__input_way *way; /* from the projection to each input */
    struct ArrowSchema schema;  /* a struct of the inputs */
    struct lmn__fingerprint *fingerprint;
    struct lmn__fragment_reader *reader; /* of the fragment read last */
    uint64_t fragment_id;
    struct lmn__scratch scratch;
};

/*
 * Open the inputs with the given names and paths ("info.url") of the version that `table` stands
 * at. The caller closes them.
 *
 * LMN_E_NOT_FOUND    there is no such column; the message lists what there is
 * LMN_E_UNSUPPORTED  a path through a list
 */
LMN_MUST_USE enum lmn_status lmn__inputs_open(struct lmn__inputs *inputs, struct lmn_table *table,
                                              const char *const *input, uint32_t count,
                                              enum lmn__input_blobs blobs, struct lmn_error *err);
/* One that is zeroed may be given too. */
void lmn__inputs_close(struct lmn__inputs *inputs);

/* Go to a fragment. LMN_E_NOT_FOUND when the version does not have it. */
LMN_MUST_USE enum lmn_status lmn__inputs_enter(struct lmn__inputs *inputs, uint64_t fragment_id,
                                               struct lmn_error *err);

/* Rows of the fragment in memory. */
struct lmn__input_rows {
    struct lmn__share *share;
    uint64_t count;
    uint64_t bytes;                            /* about */
    uint64_t *row_id, *physical, *fingerprint; /* of each */
    struct lmn__input_column *column;
    uint32_t column_count;
    struct lmn_env *env;
};

/* Read ranges of physical rows, rising. The caller frees *rows_out. */
LMN_MUST_USE enum lmn_status lmn__inputs_read(struct lmn__inputs *inputs,
                                              const struct lmn__row_range *range,
                                              uint64_t range_count,
                                              struct lmn__input_rows *rows_out,
                                              struct lmn_error *err);
/* A zeroed one is allowed. Slices live on. */
void lmn__input_rows_free(struct lmn__input_rows *rows);

/* Rows [first, first + count) as a struct array of inputs->schema. The caller releases it. */
LMN_MUST_USE enum lmn_status lmn__input_rows_slice(const struct lmn__input_rows *rows,
                                                   uint64_t first, uint64_t count,
                                                   struct ArrowArray *array_out,
                                                   struct lmn_error *err);

/* Is input number `i` a blob? */
bool lmn__inputs_is_blob(const struct lmn__inputs *inputs, uint32_t i);

/* Bytes that an average row takes in the files of the fragment; at least 1. */
uint64_t lmn__inputs_row_bytes(const struct lmn__inputs *inputs);

#endif
