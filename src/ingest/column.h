/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column.h - a column while text is read into it, one value at a time.
 *
 * Columns form the tree of a schema; each stands on a builder of its layout. What does not fit
 * the type is refused with the column's name; the reader adds file and line.
 */
#ifndef LMN_INGEST_COLUMN_H
#define LMN_INGEST_COLUMN_H

#include "arrow/builder.h"
#include "base/bytes.h"

enum lmn__column_kind {
    LMN__COLUMN_NULL,
    LMN__COLUMN_BOOL,
    LMN__COLUMN_INT,
    LMN__COLUMN_UINT,
    LMN__COLUMN_FLOAT,
    LMN__COLUMN_DECIMAL,
    LMN__COLUMN_DATE,      /* bits: 32 counts days, 64 milliseconds */
    LMN__COLUMN_TIME,      /* since midnight, in `unit_nanos` */
    LMN__COLUMN_TIMESTAMP, /* in `unit_nanos` */
    LMN__COLUMN_TEXT,
    LMN__COLUMN_BINARY, /* as base64 */
    LMN__COLUMN_LIST,   /* maps too */
    LMN__COLUMN_FIXED_LIST,
    LMN__COLUMN_STRUCT
};

struct lmn__text_dictionary;

struct lmn__column {
    enum lmn__column_kind kind;
    const char *name; /* the schema's */
    const char *type; /* Arrow's name of it, for messages */
    bool nullable;
    bool guessed; /* the type is that of the first rows: a schema may have another */
    bool zoned;   /* TIMESTAMP: texts must tell their zone */
    bool is_map;  /* LIST: the child is a struct of key and value */
    uint32_t bits;
    int64_t unit_nanos;
    int32_t precision, scale;
    struct lmn__builder *builder;            /* borrowed */
    struct lmn__text_dictionary *dictionary; /* TEXT whose values are kept once; NULL: all are */
    uint32_t child_count;
    struct lmn__column *child;
};

/*
 * Make the columns of `schema`, which must live as long as they do, and the builder they fill.
 * Both are in the arena; the caller deinits the builder.
 *
 * LMN_E_UNSUPPORTED  a type that text cannot fill
 */
LMN_MUST_USE enum lmn_status lmn__column_make(const struct ArrowSchema *schema, struct lmn_env *env,
                                              struct lmn__arena *arena,
                                              struct lmn__column **column_out,
                                              struct lmn_error *err);

/* Note that the type of a column, and of what is inside of it, is that of the first rows. */
void lmn__column_set_guessed(struct lmn__column *column);

/* LMN_E_INVALID when the column has no place for a null. */
LMN_MUST_USE enum lmn_status lmn__column_put_null(struct lmn__column *column,
                                                  struct lmn_error *err);

/* A value as a program would write it: "12", "1.5e3", "true", "2024-01-31", plain text. */
LMN_MUST_USE enum lmn_status lmn__column_put_text(struct lmn__column *column, struct lmn__span text,
                                                  struct lmn_error *err);

/* Room for one text or binary of `len` bytes, which the caller writes to *data_out as they are. */
LMN_MUST_USE enum lmn_status lmn__column_add_bytes(struct lmn__column *column, size_t len,
                                                   uint8_t **data_out, struct lmn_error *err);

/* What a message about a value that does not fit ends with: a schema helps where none was given. */
const char *lmn__column_advice(const struct lmn__column *column);

/*
 * Have the entries of a map, from number `from` on, keys of their own?
 *
 * LMN_E_INVALID  two have the same
 */
LMN_MUST_USE enum lmn_status lmn__column_check_keys(const struct lmn__column *map, uint64_t from,
                                                    struct lmn_error *err);

/* Start a list or a struct; the caller appends to its children, and then ends a fixed list. */
LMN_MUST_USE enum lmn_status lmn__column_open(struct lmn__column *column, struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__column_close(struct lmn__column *column, uint64_t items,
                                               struct lmn_error *err);

#endif
