/* SPDX-License-Identifier: Apache-2.0 */
#include "format/file_pb.h"

#define SCALAR(number, kind, type, member)                                                         \
    { number, kind, 0, offsetof(struct type, member), 0, NULL }
#define REPEATED(number, kind, type, member, message)                                              \
    { number, kind, LMN__PB_REPEATED, offsetof(struct type, member), 0, message }
#define MESSAGE(number, type, member, message)                                                     \
    { number, LMN__PB_MESSAGE, 0, offsetof(struct type, member), 0, &message }
#define TABLE(name, type, fields)                                                                  \
    { name, fields, sizeof fields / sizeof fields[0], sizeof(struct type), 0, false }

static const struct lmn__pb_field field_fields[] = {
    SCALAR(1, LMN__PB_U32, lmn__pb_schema_field, type),
    SCALAR(2, LMN__PB_BYTES, lmn__pb_schema_field, name),
    SCALAR(3, LMN__PB_I32, lmn__pb_schema_field, id),
    SCALAR(4, LMN__PB_I32, lmn__pb_schema_field, parent_id),
    SCALAR(5, LMN__PB_BYTES, lmn__pb_schema_field, logical_type),
    SCALAR(6, LMN__PB_BOOL, lmn__pb_schema_field, nullable),
    SCALAR(7, LMN__PB_U32, lmn__pb_schema_field, encoding),
    SCALAR(9, LMN__PB_BYTES, lmn__pb_schema_field, extension_name),
    REPEATED(10, LMN__PB_MESSAGE, lmn__pb_schema_field, metadata, &lmn__pb_entry_message),
    SCALAR(12, LMN__PB_BOOL, lmn__pb_schema_field, primary_key),
    SCALAR(13, LMN__PB_U32, lmn__pb_schema_field, primary_key_position),
};
const struct lmn__pb_message lmn__pb_schema_field_message = {
    "Field",
    field_fields,
    sizeof field_fields / sizeof field_fields[0],
    sizeof(struct lmn__pb_schema_field),
    offsetof(struct lmn__pb_schema_field, unknown),
    true
};

static const struct lmn__pb_field schema_fields[] = {
    REPEATED(1, LMN__PB_MESSAGE, lmn__pb_schema, fields, &lmn__pb_schema_field_message),
    REPEATED(5, LMN__PB_MESSAGE, lmn__pb_schema, metadata, &lmn__pb_entry_message),
};
static const struct lmn__pb_message schema_message = TABLE("Schema", lmn__pb_schema, schema_fields);

static const struct lmn__pb_field descriptor_fields[] = {
    MESSAGE(1, lmn__pb_descriptor, schema, schema_message),
    SCALAR(2, LMN__PB_U64, lmn__pb_descriptor, length),
};
const struct lmn__pb_message lmn__pb_descriptor_message = TABLE(
    "FileDescriptor", lmn__pb_descriptor, descriptor_fields);

static const struct lmn__pb_field any_fields[] = {
    SCALAR(1, LMN__PB_BYTES, lmn__pb_any, type_url),
    SCALAR(2, LMN__PB_BYTES, lmn__pb_any, value),
};
const struct lmn__pb_message lmn__pb_any_message = TABLE("Any", lmn__pb_any, any_fields);

static const struct lmn__pb_field direct_fields[] = {
    SCALAR(1, LMN__PB_BYTES, lmn__pb_direct, encoding),
};
static const struct lmn__pb_message direct_message = TABLE("DirectEncoding", lmn__pb_direct,
                                                           direct_fields);

static const struct lmn__pb_field encoding_fields[] = {
    MESSAGE(2, lmn__pb_page_encoding, direct, direct_message),
};
static const struct lmn__pb_message encoding_message = TABLE("Encoding", lmn__pb_page_encoding,
                                                             encoding_fields);

static const struct lmn__pb_field page_fields[] = {
    REPEATED(1, LMN__PB_U64, lmn__pb_page, buffer_offsets, NULL),
    REPEATED(2, LMN__PB_U64, lmn__pb_page, buffer_sizes, NULL),
    SCALAR(3, LMN__PB_U64, lmn__pb_page, length),
    MESSAGE(4, lmn__pb_page, encoding, encoding_message),
    SCALAR(5, LMN__PB_U64, lmn__pb_page, priority),
};
const struct lmn__pb_message lmn__pb_page_message = TABLE("Page", lmn__pb_page, page_fields);

static const struct lmn__pb_field column_fields[] = {
    MESSAGE(1, lmn__pb_column, encoding, encoding_message),
    REPEATED(2, LMN__PB_MESSAGE, lmn__pb_column, pages, &lmn__pb_page_message),
    REPEATED(3, LMN__PB_U64, lmn__pb_column, buffer_offsets, NULL),
    REPEATED(4, LMN__PB_U64, lmn__pb_column, buffer_sizes, NULL),
};
const struct lmn__pb_message lmn__pb_column_message = TABLE("ColumnMetadata", lmn__pb_column,
                                                            column_fields);

enum lmn_status lmn__pb_encoding_any(const struct lmn__pb_page_encoding *encoding,
                                     struct lmn__arena *arena, struct lmn__pb_any *any_out,
                                     struct lmn_error *err)
{
    *any_out = (struct lmn__pb_any){ 0 };
    if (encoding == NULL || encoding->direct == NULL)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "its encoding is not written beside it");
    return lmn__pb_decode(&lmn__pb_any_message, encoding->direct->encoding, arena, any_out, err);
}
