/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dictionaries.h - dictionaries that are made: of several, or of plain values.
 */
#ifndef LMN_ARROW_DICTIONARIES_H
#define LMN_ARROW_DICTIONARIES_H

#include "arrow/builder.h"

/*
 * Append the values of slot index[i] of array[part[i]] to a DICTIONARY builder, whose slots are
 * counted already and whose dictionary is empty; it gets the values that are used, each once.
 *
 * LMN_E_INVALID      more values than the index type can tell apart
 * LMN_E_UNSUPPORTED  a dictionary of lists or structs
 */
LMN_MUST_USE enum lmn_status lmn__dictionaries_gather(const struct ArrowArray *const *array,
                                                      uint32_t array_count, const uint32_t *part,
                                                      const uint64_t *index, uint64_t count,
                                                      struct lmn__builder *builder,
                                                      struct lmn_error *err);

/*
 * The values of a plain array as one of type `layout`, a DICTIONARY of strings or numbers.
 *
 * The caller releases *array_out. Fails as lmn__dictionaries_gather() does.
 */
LMN_MUST_USE enum lmn_status lmn__dictionary_make(struct lmn_env *env,
                                                  const struct lmn__layout *layout,
                                                  const struct ArrowArray *values,
                                                  struct ArrowArray *array_out,
                                                  struct lmn_error *err);

#endif
