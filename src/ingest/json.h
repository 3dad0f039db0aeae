/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - one JSON text, read from left to right, as RFC 8259 has it and nothing beyond.
 *
 * The reader asks for the kind of the next value and takes it. A function that answers false has
 * set `problem`; then the text is done with.
 */
#ifndef LMN_INGEST_JSON_H
#define LMN_INGEST_JSON_H

#include "base/buf.h"

enum { LMN__JSON_DEPTH_MAX = 58 }; /* a column of a Lance file nests as deep */

enum lmn__json_kind {
    LMN__JSON_NULL,
    LMN__JSON_BOOL,
    LMN__JSON_NUMBER,
    LMN__JSON_STRING,
    LMN__JSON_ARRAY,
    LMN__JSON_OBJECT
};

struct lmn__json {
    struct lmn__span text;
    size_t at;
    uint32_t depth;
    const char *problem;
    struct lmn__buf string; /* the last string that had escapes */
};

void lmn__json_init(struct lmn__json *json, struct lmn_env *env);
void lmn__json_deinit(struct lmn__json *json);

/* Start with another text, which is UTF-8 and stays where it is while it is read. */
void lmn__json_start(struct lmn__json *json, struct lmn__span text);

/* What comes next? */
bool lmn__json_kind(struct lmn__json *json, enum lmn__json_kind *kind_out);

/*
 * Take a value that is neither array nor object: the text as it stands there, of a string what it
 * says. It stays until the next call.
 */
bool lmn__json_scalar(struct lmn__json *json, struct lmn__span *text_out);

/* Take the bracket that opens an array or object. */
bool lmn__json_enter(struct lmn__json *json);

/* Is there another item of an array or object? Takes commas and the end. */
bool lmn__json_item(struct lmn__json *json, enum lmn__json_kind kind, bool first, bool *more_out);

/* Take the name of an item of an object, and the colon. It stays until the next call. */
bool lmn__json_name(struct lmn__json *json, struct lmn__span *name_out);

/* Take a whole value and forget it. */
bool lmn__json_skip(struct lmn__json *json);

/* Is nothing left? */
bool lmn__json_end(struct lmn__json *json);

#endif
