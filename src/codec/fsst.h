/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsst.h - strings as codes into a table of up to 255 symbols of 1 to 8 bytes.
 */
#ifndef LMN_CODEC_FSST_H
#define LMN_CODEC_FSST_H

#include <stdbool.h>

#include <leman/status.h>

#include "base/bytes.h"

enum { LMN__FSST_TABLE_BYTES = 2312, LMN__FSST_EXPANSION_MAX = 8 };

struct lmn__fsst {
    bool plain; /* the table says that strings are stored as they are */
    uint64_t symbol[256];
    uint8_t len[256]; /* 0 for codes without a symbol */
};

/* Read a symbol table. LMN_E_CORRUPT when it is none. */
LMN_MUST_USE enum lmn_status lmn__fsst_init(struct lmn__fsst *fsst, struct lmn__span table,
                                            struct lmn_error *err);

/*
 * Decode `len` bytes of codes to `out`, which has room for LMN__FSST_EXPANSION_MAX times as many
 * and 8 bytes more. Returns the end of what was written; NULL when an escape stands last.
 */
uint8_t *lmn__fsst_decode(const struct lmn__fsst *fsst, const uint8_t *codes, size_t len,
                          uint8_t *out);

#endif
