/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_value.h - JSON values into columns, and the shape that they have.
 *
 * The functions take one value from where the JSON reader stands. Messages name the field.
 */
#ifndef LMN_INGEST_JSON_VALUE_H
#define LMN_INGEST_JSON_VALUE_H

#include "ingest/column.h"
#include "ingest/json.h"
#include "ingest/shape.h"

/* The status and message of a text that the reader could not follow. */
enum lmn_status lmn__json_bad(const struct lmn__json *json, struct lmn_error *err);

/* How messages call a kind: "a list". */
const char *lmn__json_kind_name(enum lmn__json_kind kind);

/* LMN_E_INVALID when the next value is no object. */
LMN_MUST_USE enum lmn_status lmn__json_check_object(struct lmn__json *json, struct lmn_error *err);

/* Widen `shape` by the next value. */
LMN_MUST_USE enum lmn_status lmn__json_shape(struct lmn__json *json, struct lmn__arena *arena,
                                             struct lmn__shape *shape, struct lmn_error *err);

/* What becomes of fields that have no column. */
enum lmn__json_extra {
    LMN__JSON_EXTRA_BAD,     /* LMN_E_INVALID */
    LMN__JSON_EXTRA_GUESSED, /* so where the first rows made the type; passed over elsewhere */
    LMN__JSON_EXTRA_PASSED
};

/* Append the next value to a column. What does not fit is LMN_E_INVALID. */
LMN_MUST_USE enum lmn_status lmn__json_fill(struct lmn__json *json, struct lmn__column *column,
                                            enum lmn__json_extra extra, struct lmn_error *err);

/*
 * Append the fields of the next value, an object, to the children of `columns`, whose builder has
 * the slot of this row already; those that it lacks become null.
 */
LMN_MUST_USE enum lmn_status lmn__json_fill_fields(struct lmn__json *json,
                                                   struct lmn__column *columns,
                                                   enum lmn__json_extra extra,
                                                   struct lmn_error *err);

#endif
