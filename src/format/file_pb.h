/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_pb.h - the messages of a file's tail: descriptor, schema, column metadata.
 */
#ifndef LMN_FORMAT_FILE_PB_H
#define LMN_FORMAT_FILE_PB_H

#include "base/proto.h"

/* lance.file.Field: one node of a schema; a schema is a list of them in pre-order. */
struct lmn__pb_schema_field {
    uint32_t type;
    struct lmn__span name;
    int32_t id;
    int32_t parent_id; /* -1: top level */
    struct lmn__span logical_type;
    bool nullable;
    uint32_t encoding;
    struct lmn__span extension_name;
    struct lmn__pb_list metadata;  /* struct lmn__pb_entry */
    bool primary_key;              /* in manifests */
    uint32_t primary_key_position; /* from 1 on; 0: in the order of ids */
    struct lmn__span unknown;
};
extern const struct lmn__pb_message lmn__pb_schema_field_message;

struct lmn__pb_schema {
    struct lmn__pb_list fields;   /* struct lmn__pb_schema_field */
    struct lmn__pb_list metadata; /* struct lmn__pb_entry */
};

struct lmn__pb_descriptor {
    struct lmn__pb_schema *schema;
    uint64_t length;
};
extern const struct lmn__pb_message lmn__pb_descriptor_message;

/* google.protobuf.Any */
struct lmn__pb_any {
    struct lmn__span type_url;
    struct lmn__span value;
};
extern const struct lmn__pb_message lmn__pb_any_message;

struct lmn__pb_direct {
    struct lmn__span encoding; /* a struct lmn__pb_any */
};

struct lmn__pb_page_encoding {
    struct lmn__pb_direct *direct; /* NULL: indirect or none, which no writer uses */
};

struct lmn__pb_page {
    struct lmn__pb_u64s buffer_offsets;
    struct lmn__pb_u64s buffer_sizes;
    uint64_t length;
    struct lmn__pb_page_encoding *encoding;
    uint64_t priority;
};
extern const struct lmn__pb_message lmn__pb_page_message;

struct lmn__pb_column {
    struct lmn__pb_page_encoding *encoding;
    struct lmn__pb_list pages; /* struct lmn__pb_page */
    struct lmn__pb_u64s buffer_offsets;
    struct lmn__pb_u64s buffer_sizes;
};
extern const struct lmn__pb_message lmn__pb_column_message;

/* Unpack the direct encoding of a page or column. LMN_E_UNSUPPORTED when there is none. */
LMN_MUST_USE enum lmn_status lmn__pb_encoding_any(const struct lmn__pb_page_encoding *encoding,
                                                  struct lmn__arena *arena,
                                                  struct lmn__pb_any *any_out,
                                                  struct lmn_error *err);

#endif
