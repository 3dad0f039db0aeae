/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_encoding.h - how a page of file version 2.0 stores its values (ArrayEncoding).
 *
 * Like encodings of later versions, a tree is checked once, when it is read.
 */
#ifndef LMN_FORMAT_ARRAY_ENCODING_H
#define LMN_FORMAT_ARRAY_ENCODING_H

#include "base/proto.h"
#include "codec/encoding.h"

/* The numbers are those of the oneof in the file format. */
enum lmn__array_kind {
    LMN__ARRAY_FLAT = 1,
    LMN__ARRAY_NULLABLE = 2,
    LMN__ARRAY_FIXED_LIST = 3,
    LMN__ARRAY_LIST = 4,
    LMN__ARRAY_STRUCT = 5,
    LMN__ARRAY_BINARY = 6,
    LMN__ARRAY_DICTIONARY = 7,
    LMN__ARRAY_FSST = 8,
    LMN__ARRAY_PACKED = 9
};

struct lmn__array_encoding {
    enum lmn__array_kind kind;
    uint32_t bits;           /* FLAT */
    uint32_t buffer;         /* FLAT, PACKED: which of the page's buffers */
    enum lmn__scheme scheme; /* FLAT: 0 when not compressed */
    bool all_null;           /* NULLABLE */
    uint64_t dimension;      /* FIXED_LIST */
    uint64_t adjustment;     /* LIST, BINARY: an offset at or above it is that of a null */
    uint64_t item_count;     /* LIST: items of the page's lists; DICTIONARY: its values */
    struct lmn__span table;  /* FSST */
    const struct lmn__array_encoding *validity; /* NULLABLE; NULL: no nulls */
    const struct lmn__array_encoding *values;   /* NULLABLE, FIXED_LIST items, BINARY bytes,
                                                   DICTIONARY items, FSST binary */
    const struct lmn__array_encoding *indices;  /* LIST, BINARY, DICTIONARY */
    uint32_t field_count;                       /* PACKED */
    const uint32_t *field_bits;                 /* PACKED */
};

/*
 * Read a page's description, which must live as long as the result.
 *
 * LMN_E_CORRUPT      it does not decode, or a member is missing or out of range
 * LMN_E_UNSUPPORTED  an encoding that writers of 2.0 files do not use
 */
LMN_MUST_USE enum lmn_status lmn__array_encoding_read(struct lmn__span bytes,
                                                      struct lmn__arena *arena,
                                                      const struct lmn__array_encoding **out,
                                                      struct lmn_error *err);

/* One line for people. */
void lmn__array_encoding_print(const struct lmn__array_encoding *encoding, struct lmn__buf *buf);

#endif
