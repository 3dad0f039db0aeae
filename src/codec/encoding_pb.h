/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoding_pb.h - CompressiveEncoding of the file format, member by member.
 *
 * Only encoding.c looks at these; everybody else uses struct lmn__encoding.
 */
#ifndef LMN_CODEC_ENCODING_PB_H
#define LMN_CODEC_ENCODING_PB_H

#include "base/proto.h"

struct lmn__pb_encoding;

struct lmn__pb_compression {
    uint32_t scheme;
    bool has_level;
    int32_t level;
};

struct lmn__pb_flat {
    uint64_t bits_per_value;
    struct lmn__pb_compression *data;
};

struct lmn__pb_variable {
    struct lmn__pb_encoding *offsets;
    struct lmn__pb_compression *values;
};

struct lmn__pb_constant {
    struct lmn__span value;
};

struct lmn__pb_bitpacking {
    uint64_t bits;
    struct lmn__pb_compression *buffer; /* inline only */
    struct lmn__pb_encoding *values;
};

struct lmn__pb_fsst {
    struct lmn__span symbol_table;
    struct lmn__pb_encoding *values;
};

struct lmn__pb_rle {
    struct lmn__pb_encoding *values;
    struct lmn__pb_encoding *run_lengths;
};

struct lmn__pb_byte_split {
    struct lmn__pb_encoding *values;
};

struct lmn__pb_general {
    struct lmn__pb_compression *compression;
    struct lmn__pb_encoding *values;
};

struct lmn__pb_fixed_list {
    uint64_t items_per_value;
    struct lmn__pb_encoding *values;
    bool has_validity;
};

struct lmn__pb_packed {
    struct lmn__pb_u64s bits_per_value;
    struct lmn__pb_encoding *values;
};

struct lmn__pb_packed_field {
    struct lmn__pb_encoding *value;
    uint64_t bits_per_value;
    uint64_t bits_per_length;
};

struct lmn__pb_variable_packed {
    struct lmn__pb_list fields; /* struct lmn__pb_packed_field */
};

struct lmn__pb_dictionary {
    bool unused;
};

struct lmn__pb_encoding {
    struct lmn__pb_flat *flat;
    struct lmn__pb_variable *variable;
    struct lmn__pb_constant *constant;
    struct lmn__pb_bitpacking *out_of_line;
    struct lmn__pb_bitpacking *in_line;
    struct lmn__pb_fsst *fsst;
    struct lmn__pb_dictionary *dictionary;
    struct lmn__pb_rle *rle;
    struct lmn__pb_byte_split *byte_split;
    struct lmn__pb_general *general;
    struct lmn__pb_fixed_list *fixed_list;
    struct lmn__pb_packed *packed;
    struct lmn__pb_variable_packed *variable_packed;
};

#endif
