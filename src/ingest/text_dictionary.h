/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_dictionary.h - a column of texts of which each is kept once, while it is filled.
 *
 * It stands on a DICTIONARY builder of strings, and begins anew when that is finished. It lies in
 * the arena it is given.
 */
#ifndef LMN_INGEST_TEXT_DICTIONARY_H
#define LMN_INGEST_TEXT_DICTIONARY_H

#include "arrow/builder.h"
#include "base/arena.h"
#include "base/bytes.h"

struct lmn__text_dictionary {
    struct lmn__builder *builder; /* borrowed */
    struct lmn__arena *arena;
    uint32_t *bucket; /* indices of texts by their hashes; a power of two of them */
    uint64_t bucket_count;
};

/*
 * Append one text.
 *
 * LMN_E_INVALID  more texts than the index type can tell apart
 */
LMN_MUST_USE enum lmn_status lmn__text_dictionary_put(struct lmn__text_dictionary *dictionary,
                                                      struct lmn__span text, struct lmn_error *err);

#endif
