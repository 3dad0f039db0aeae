/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dictionaries.h - one array of several, each with a dictionary of its own.
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

#endif
