/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/encoding_pb.h"

#include "codec/encoding.h"

#define SCALAR(number, kind, type, member)                                                         \
    { number, kind, 0, offsetof(struct type, member), 0, NULL }
#define MESSAGE(number, type, member, message)                                                     \
    { number, LMN__PB_MESSAGE, 0, offsetof(struct type, member), 0, &message }
#define TABLE(name, type, fields)                                                                  \
    { name, fields, sizeof fields / sizeof fields[0], sizeof(struct type), 0, false }

static const struct lmn__pb_field compression_fields[] = {
    SCALAR(1, LMN__PB_U32, lmn__pb_compression, scheme),
    { 2, LMN__PB_I32, LMN__PB_PRESENCE, offsetof(struct lmn__pb_compression, level),
      offsetof(struct lmn__pb_compression, has_level), NULL },
};
static const struct lmn__pb_message compression_message = TABLE(
    "BufferCompression", lmn__pb_compression, compression_fields);

static const struct lmn__pb_field flat_fields[] = {
    SCALAR(1, LMN__PB_U64, lmn__pb_flat, bits_per_value),
    MESSAGE(2, lmn__pb_flat, data, compression_message),
};
static const struct lmn__pb_message flat_message = TABLE("Flat", lmn__pb_flat, flat_fields);

static const struct lmn__pb_field variable_fields[] = {
    MESSAGE(1, lmn__pb_variable, offsets, lmn__pb_encoding_message),
    MESSAGE(2, lmn__pb_variable, values, compression_message),
};
static const struct lmn__pb_message variable_message = TABLE("Variable", lmn__pb_variable,
                                                             variable_fields);

static const struct lmn__pb_field constant_fields[] = {
    { 1, LMN__PB_BYTES, LMN__PB_PRESENCE, offsetof(struct lmn__pb_constant, value), 0, NULL },
};
static const struct lmn__pb_message constant_message = TABLE("Constant", lmn__pb_constant,
                                                             constant_fields);

static const struct lmn__pb_field out_of_line_fields[] = {
    SCALAR(1, LMN__PB_U64, lmn__pb_bitpacking, bits),
    MESSAGE(3, lmn__pb_bitpacking, values, lmn__pb_encoding_message),
};
static const struct lmn__pb_message out_of_line_message = TABLE(
    "OutOfLineBitpacking", lmn__pb_bitpacking, out_of_line_fields);

static const struct lmn__pb_field in_line_fields[] = {
    SCALAR(1, LMN__PB_U64, lmn__pb_bitpacking, bits),
    MESSAGE(2, lmn__pb_bitpacking, buffer, compression_message),
};
static const struct lmn__pb_message in_line_message = TABLE("InlineBitpacking", lmn__pb_bitpacking,
                                                            in_line_fields);

static const struct lmn__pb_field fsst_fields[] = {
    SCALAR(1, LMN__PB_BYTES, lmn__pb_fsst, symbol_table),
    MESSAGE(2, lmn__pb_fsst, values, lmn__pb_encoding_message),
};
static const struct lmn__pb_message fsst_message = TABLE("Fsst", lmn__pb_fsst, fsst_fields);

static const struct lmn__pb_message dictionary_message = {
    "Dictionary", NULL, 0, sizeof(struct lmn__pb_dictionary), 0, false
};

static const struct lmn__pb_field rle_fields[] = {
    MESSAGE(1, lmn__pb_rle, values, lmn__pb_encoding_message),
    MESSAGE(2, lmn__pb_rle, run_lengths, lmn__pb_encoding_message),
};
static const struct lmn__pb_message rle_message = TABLE("Rle", lmn__pb_rle, rle_fields);

static const struct lmn__pb_field byte_split_fields[] = {
    MESSAGE(1, lmn__pb_byte_split, values, lmn__pb_encoding_message),
};
static const struct lmn__pb_message byte_split_message = TABLE(
    "ByteStreamSplit", lmn__pb_byte_split, byte_split_fields);

static const struct lmn__pb_field general_fields[] = {
    MESSAGE(1, lmn__pb_general, compression, compression_message),
    MESSAGE(3, lmn__pb_general, values, lmn__pb_encoding_message),
};
static const struct lmn__pb_message general_message = TABLE("General", lmn__pb_general,
                                                            general_fields);

static const struct lmn__pb_field fixed_list_fields[] = {
    SCALAR(1, LMN__PB_U64, lmn__pb_fixed_list, items_per_value),
    MESSAGE(2, lmn__pb_fixed_list, values, lmn__pb_encoding_message),
    SCALAR(3, LMN__PB_BOOL, lmn__pb_fixed_list, has_validity),
};
static const struct lmn__pb_message fixed_list_message = TABLE("FixedSizeList", lmn__pb_fixed_list,
                                                               fixed_list_fields);

static const struct lmn__pb_field packed_fields[] = {
    { 1, LMN__PB_U64, LMN__PB_REPEATED, offsetof(struct lmn__pb_packed, bits_per_value), 0, NULL },
    MESSAGE(2, lmn__pb_packed, values, lmn__pb_encoding_message),
};
static const struct lmn__pb_message packed_message = TABLE("PackedStruct", lmn__pb_packed,
                                                           packed_fields);

static const struct lmn__pb_field packed_field_fields[] = {
    MESSAGE(1, lmn__pb_packed_field, value, lmn__pb_encoding_message),
    SCALAR(2, LMN__PB_U64, lmn__pb_packed_field, bits_per_value),
    SCALAR(3, LMN__PB_U64, lmn__pb_packed_field, bits_per_length),
};
static const struct lmn__pb_message packed_field_message = TABLE(
    "FieldEncoding", lmn__pb_packed_field, packed_field_fields);

static const struct lmn__pb_field variable_packed_fields[] = {
    { 1, LMN__PB_MESSAGE, LMN__PB_REPEATED, offsetof(struct lmn__pb_variable_packed, fields), 0,
      &packed_field_message },
};
static const struct lmn__pb_message variable_packed_message = TABLE(
    "VariablePackedStruct", lmn__pb_variable_packed, variable_packed_fields);

static const struct lmn__pb_field encoding_fields[] = {
    MESSAGE(1, lmn__pb_encoding, flat, flat_message),
    MESSAGE(2, lmn__pb_encoding, variable, variable_message),
    MESSAGE(3, lmn__pb_encoding, constant, constant_message),
    MESSAGE(4, lmn__pb_encoding, out_of_line, out_of_line_message),
    MESSAGE(5, lmn__pb_encoding, in_line, in_line_message),
    MESSAGE(6, lmn__pb_encoding, fsst, fsst_message),
    MESSAGE(7, lmn__pb_encoding, dictionary, dictionary_message),
    MESSAGE(8, lmn__pb_encoding, rle, rle_message),
    MESSAGE(9, lmn__pb_encoding, byte_split, byte_split_message),
    MESSAGE(10, lmn__pb_encoding, general, general_message),
    MESSAGE(11, lmn__pb_encoding, fixed_list, fixed_list_message),
    MESSAGE(12, lmn__pb_encoding, packed, packed_message),
    MESSAGE(13, lmn__pb_encoding, variable_packed, variable_packed_message),
};
const struct lmn__pb_message lmn__pb_encoding_message = TABLE("CompressiveEncoding",
                                                              lmn__pb_encoding, encoding_fields);
