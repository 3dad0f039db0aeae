/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape.h - the type that the first rows of a text file have, value by value.
 *
 * A shape starts as null and widens: integers become floats, dates become timestamps, scalars
 * that have nothing in common become text. Lists and structs join only with their like. Integers
 * are int64, or uint64 where none is negative and one is too large for that.
 */
#ifndef LMN_INGEST_SHAPE_H
#define LMN_INGEST_SHAPE_H

#include <stdbool.h>

#include <leman/arrow_abi.h>

#include "base/arena.h"
#include "base/bytes.h"

enum lmn__shape_kind {
    LMN__SHAPE_NULL,
    LMN__SHAPE_BOOL,
    LMN__SHAPE_INT,
    LMN__SHAPE_FLOAT,
    LMN__SHAPE_DATE,
    LMN__SHAPE_TIMESTAMP,
    LMN__SHAPE_TEXT,
    LMN__SHAPE_LIST,
    LMN__SHAPE_STRUCT
};

struct lmn__shape {
    enum lmn__shape_kind kind;
    bool negative;              /* there was an integer below 0 */
    bool large;                 /* there was one beyond int64 */
    bool zoned;                 /* TIMESTAMP: in UTC */
    bool nanos;                 /* TIMESTAMP: finer than microseconds */
    const char *name;           /* in its struct */
    uint32_t index;             /* of the field in its struct, from 0 */
    struct lmn__shape *child;   /* LIST: of the items; STRUCT: the first field */
    struct lmn__shape *last;    /* STRUCT: the last field */
    struct lmn__shape *sibling; /* the next field */
    uint32_t child_count;
    struct lmn__shape **bucket; /* STRUCT of many fields: these by the hash of their names */
    uint32_t bucket_count;
    struct lmn__shape *same; /* the next field of the same bucket */
};

/* Widen `shape` by a value of this kind. False: one is nested, the other is something else. */
bool lmn__shape_join(struct lmn__shape *shape, enum lmn__shape_kind kind);

/* Widen `shape` by what `text` reads as. Digits are never lost: such numbers are text. */
void lmn__shape_join_text(struct lmn__shape *shape, struct lmn__span text);

/* Widen `shape` by a number; those that are no integers of 64 bits are floats. False as above. */
bool lmn__shape_join_number(struct lmn__shape *shape, struct lmn__span text);

/* A new field at the end of a struct, or the item of a list; NULL when there is no memory. */
struct lmn__shape *lmn__shape_add(struct lmn__shape *shape, struct lmn__arena *arena,
                                  struct lmn__span name);
struct lmn__shape *lmn__shape_find(const struct lmn__shape *shape, struct lmn__span name);

/* The Arrow type. The caller releases *schema_out. */
LMN_MUST_USE enum lmn_status lmn__shape_schema(const struct lmn__shape *shape,
                                               struct ArrowSchema *schema_out,
                                               struct lmn_error *err);

#endif
