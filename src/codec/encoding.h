/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoding.h - the tree that says how values became bytes (CompressiveEncoding of Lance 2.1).
 *
 * A tree is read from a page's description and checked once, here: every member a kind needs is
 * there and in range, so that decoders need not ask again. Writers build the same struct and
 * turn it into the description.
 */
#ifndef LMN_CODEC_ENCODING_H
#define LMN_CODEC_ENCODING_H

#include "base/proto.h"

/* The numbers are those of the oneof in the file format. */
enum lmn__encoding_kind {
    LMN__ENC_FLAT = 1,
    LMN__ENC_VARIABLE = 2,
    LMN__ENC_CONSTANT = 3,
    LMN__ENC_OUT_OF_LINE = 4, /* bit-packing, one width for the buffer */
    LMN__ENC_INLINE = 5,      /* bit-packing, the width stands before each 1024 values */
    LMN__ENC_FSST = 6,
    LMN__ENC_DICTIONARY = 7, /* in the format, never used in it: refused */
    LMN__ENC_RLE = 8,
    LMN__ENC_BYTE_SPLIT = 9,
    LMN__ENC_GENERAL = 10, /* lz4 or zstd around child */
    LMN__ENC_FIXED_LIST = 11,
    LMN__ENC_PACKED = 12,         /* fixed-width fields, row by row */
    LMN__ENC_VARIABLE_PACKED = 13 /* the same with variable fields */
};

enum lmn__scheme { LMN__SCHEME_LZ4 = 1, LMN__SCHEME_ZSTD = 2 };

struct lmn__encoding {
    enum lmn__encoding_kind kind;
    uint32_t bits;        /* of a value before packing; of an offset in VARIABLE */
    uint32_t packed_bits; /* OUT_OF_LINE */
    enum lmn__scheme scheme;
    uint64_t dimension;     /* FIXED_LIST: items per value */
    bool has_validity;      /* FIXED_LIST */
    struct lmn__span table; /* FSST: symbols; CONSTANT: the value, .data NULL without one */
    const struct lmn__encoding *child;
    uint32_t field_count; /* PACKED, VARIABLE_PACKED */
    const struct lmn__packed_field *field;
};

struct lmn__packed_field {
    uint32_t bits; /* of the value, or of its length when it is variable */
    bool variable;
    const struct lmn__encoding *encoding; /* VARIABLE_PACKED only */
};

/* One line for people: "zstd(fsst(variable32))". */
void lmn__encoding_print(const struct lmn__encoding *encoding, struct lmn__buf *buf);

/* The message of the file format, for layouts that contain encodings. */
struct lmn__pb_encoding;
extern const struct lmn__pb_message lmn__pb_encoding_message;

/*
 * Check a decoded message and make the tree of it, in the arena.
 *
 * LMN_E_CORRUPT      a member is missing or out of range
 * LMN_E_UNSUPPORTED  a kind or scheme of a later format
 */
LMN_MUST_USE enum lmn_status lmn__encoding_from_pb(const struct lmn__pb_encoding *pb,
                                                   struct lmn__arena *arena,
                                                   const struct lmn__encoding **encoding_out,
                                                   struct lmn_error *err);

/* The message of a tree, in the arena; NULL when that is full. */
const struct lmn__pb_encoding *lmn__encoding_to_pb(const struct lmn__encoding *encoding,
                                                   struct lmn__arena *arena);

#endif
