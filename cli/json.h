/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - print JSON to standard output: commas and quotes are kept right by the calls.
 */
#ifndef LEMAN_CLI_JSON_H
#define LEMAN_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In an object every value comes with its key; in an array, and at the top, `key` is NULL. */
void json_open(const char *key, char bracket); /* '{' or '[' */
void json_close(char bracket);                 /* '}' or ']' */
void json_text(const char *key, const char *value);
void json_number(const char *key, uint64_t value);
void json_real(const char *key, double value);
void json_bool(const char *key, bool value);
void json_raw(const char *key, const char *value, size_t len); /* JSON already */

/* End a value at the top, and the line. */
void json_end(void);

#endif
