/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - the schema of a file as a tree, and which columns of the file hold what.
 *
 * In file version 2.1 and later only leaves own a column, in the order of the tree: plain values,
 * strings, fixed lists of plain values, dictionaries, packed structs, blobs. In 2.0 every node
 * does. A tree does not change once it is read.
 */
#ifndef LMN_FORMAT_SCHEMA_H
#define LMN_FORMAT_SCHEMA_H

#include <leman/arrow_abi.h>

#include "format/file_pb.h"

enum lmn__node_kind {
    LMN__NODE_LEAF,
    LMN__NODE_STRUCT,
    LMN__NODE_LIST,      /* maps too */
    LMN__NODE_FIXED_LIST /* of structs; fixed lists of plain values are leaves */
};

enum lmn__blob_kind {
    LMN__BLOB_NONE,
    LMN__BLOB_V1, /* large binaries beside the pages; pages hold position and size */
    LMN__BLOB_V2  /* descriptors with kind, position, size, id and uri */
};

enum { LMN__NODE_DEPTH_MAX = 60, LMN__NO_COLUMN = 0xffffffff };

struct lmn__layout;

struct lmn__node {
    const struct lmn__pb_schema_field *field;
    const struct lmn__layout *layout; /* in memory; blobs: of their descriptors */
    const char *name;                 /* with a terminating NUL */
    enum lmn__node_kind kind;
    enum lmn__blob_kind blob;
    bool packed;              /* a struct stored as one column */
    uint32_t dimension;       /* FIXED_LIST */
    uint32_t depth;           /* 0: top level */
    uint32_t column;          /* LMN__NO_COLUMN: none of its own */
    struct lmn__node *parent; /* NULL: top level */
    struct lmn__node *child;  /* the first; packed structs have children, too */
    struct lmn__node *last_child;
    struct lmn__node *next; /* of the same parent */
    uint32_t child_count;
};

struct lmn__schema {
    struct lmn__node *top; /* the first column's */
    struct lmn__node *last_top;
    uint32_t top_count;
    uint32_t node_count;
    struct lmn__node *node;              /* all, in pre-order */
    uint32_t column_count;               /* that the tree asks for */
    const struct lmn__pb_list *metadata; /* struct lmn__pb_entry */
};

/*
 * Make the tree of a decoded schema message, in the arena. `minor` is the file's minor version.
 *
 * LMN_E_CORRUPT      parents are missing, or nesting is deeper than LMN__NODE_DEPTH_MAX
 * LMN_E_UNSUPPORTED  a type of a later format
 */
LMN_MUST_USE enum lmn_status lmn__schema_read(const struct lmn__pb_schema *pb, uint32_t minor,
                                              struct lmn__arena *arena,
                                              struct lmn__schema *schema_out,
                                              struct lmn_error *err);

/* The value of a key in a node's metadata; .data is NULL when it is not there. */
struct lmn__span lmn__node_metadata(const struct lmn__node *node, const char *key);

/* Is a key there with the value "true"? */
bool lmn__node_flag(const struct lmn__node *node, const char *key);

#endif
