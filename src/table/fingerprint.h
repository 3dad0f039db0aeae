/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fingerprint.h - one number per row that stands for the values of a function's inputs.
 *
 * Two rows with equal inputs have the same number, however the values lie in memory: slices,
 * dictionaries, views, small and large offsets make no difference. docs/format/ledger.md gives the
 * form that is hashed; the number is what a ledger keeps as `inputs`.
 *
 * A fingerprint does not change once it is made: any number of threads may use it at once.
 */
#ifndef LMN_TABLE_FINGERPRINT_H
#define LMN_TABLE_FINGERPRINT_H

#include <leman/arrow_abi.h>

#include "table/manifest.h"

/*
 * The columns that the fingerprint of `input` (names and paths) is made of, in the same order: the
 * input itself, or the ledger of the column where a function fills it, because its entry says all
 * that matters. An entry of *column_out is one of `input` or the name of a ledger; the list lies in
 * the arena. Two inputs may have the same column.
 *
 * LMN_E_NOT_FOUND  an input is not there
 */
LMN_MUST_USE enum lmn_status lmn__fingerprint_columns(
    const struct lmn__manifest *manifest, const char *const *input, uint32_t input_count,
    struct lmn__arena *arena, const char *const **column_out, struct lmn_error *err);

struct lmn__fingerprint;

/*
 * The fingerprint of the columns `column` (names and paths, in that order) of batches of type
 * `schema`, a struct that has them and may have others. Nothing is borrowed. The caller frees it.
 *
 * LMN_E_NOT_FOUND    a column is not in `schema`
 * LMN_E_UNSUPPORTED  a type that tables do not hold
 */
LMN_MUST_USE enum lmn_status lmn__fingerprint_new(struct lmn_env *env,
                                                  const struct ArrowSchema *schema,
                                                  const char *const *column, uint32_t column_count,
                                                  struct lmn__fingerprint **fingerprint_out,
                                                  struct lmn_error *err);
/* NULL is ignored. */
void lmn__fingerprint_free(struct lmn__fingerprint *fingerprint);

/* The numbers of the rows of `batch`, which stays the caller's: number_out[0 .. batch->length). */
LMN_MUST_USE enum lmn_status lmn__fingerprint_rows(const struct lmn__fingerprint *fingerprint,
                                                   const struct ArrowArray *batch,
                                                   uint64_t *number_out, struct lmn_error *err);

#endif
