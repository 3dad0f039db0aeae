/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_write.h - JSON into a buffer: commas and quotes are kept right by the calls.
 *
 * Failure shows in the buffer's status.
 */
#ifndef LMN_BASE_JSON_WRITE_H
#define LMN_BASE_JSON_WRITE_H

#include <stdbool.h>

#include "base/buf.h"

/* A string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void lmn__json_put_quoted(struct lmn__buf *buf, const char *text, size_t len);

struct lmn__json_writer {
    struct lmn__buf *buf;
    bool follows; /* a value stands before the next one */
};

/* In an object every value comes with its key; in an array, and at the top, `key` is NULL. */
void lmn__json_open(struct lmn__json_writer *writer, const char *key, char bracket);
void lmn__json_close(struct lmn__json_writer *writer, char bracket);
void lmn__json_text(struct lmn__json_writer *writer, const char *key, const char *value);
void lmn__json_number(struct lmn__json_writer *writer, const char *key, uint64_t value);
void lmn__json_real(struct lmn__json_writer *writer, const char *key, double value);
void lmn__json_bool(struct lmn__json_writer *writer, const char *key, bool value);
void lmn__json_null(struct lmn__json_writer *writer, const char *key);
/* A value that is JSON already. */
void lmn__json_raw(struct lmn__json_writer *writer, const char *key, const char *json, size_t len);

#endif
