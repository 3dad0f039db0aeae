/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.h - one value of an Arrow array as text, for people or as JSON.
 *
 * The functions look into Arrow structs and nothing else. Arrays are taken to be valid.
 */
#ifndef LEMAN_CLI_VALUE_H
#define LEMAN_CLI_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <leman/arrow_abi.h>

enum { DECIMAL128_DIGITS = 38 };

/* Growing text, ended by a NUL. Zeroed, it is empty. Ends the program when memory is out. */
struct text {
    char *data;
    size_t len, cap;
};

void text_put(struct text *text, const void *data, size_t len);
void text_printf(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *text);

enum value_form {
    VALUE_PEOPLE, /* nulls as "null", bytes as their number and start, long values cut */
    VALUE_JSON    /* RFC 8259: base64 for bytes, ISO 8601 for times, null for NaN */
};

/* Append value `row` (from 0, whatever the array's offset) of an array of type `schema`. */
void value_put(struct text *text, const struct ArrowSchema *schema, const struct ArrowArray *array,
               int64_t row, enum value_form form);

/* Is it null? */
bool value_is_null(const struct ArrowArray *array, int64_t row);

/*
 * Append the name of a type, as Arrow's users write it and schema_read() takes it: "int64",
 * "struct<a: list<string not null>, \"b c\": date32>". Names in it are as they are.
 */
void type_put(struct text *text, const struct ArrowSchema *schema);

/* The format of a type that has a name and nothing else: "int64"; NULL: it is none. */
const char *type_format(const char *name);

/* Append a string in JSON's quotes. Bytes that are not UTF-8 become U+FFFD. */
void json_put_string(struct text *text, const uint8_t *data, size_t len);

/* Append a string as it is, but for what would move the cursor of a terminal or colour it. */
void people_put_string(struct text *text, const char *string);

/* The same of a text of several lines, which stay lines. */
void people_put_lines(struct text *text, const char *string);

/* A string for people as the whole of `text`, also with spaces up to so many columns of a terminal.
 */
const char *people_text(struct text *text, const char *string);
const char *people_column(struct text *text, const char *string, uint32_t width);

/* Columns of a terminal that a text takes. */
uint32_t text_width(const char *data, size_t len);

/* Numbers are set to the right. */
bool type_is_number(const struct ArrowSchema *schema);

/*
 * Take one character of UTF-8 from `data`, at most `len` bytes. *width_out is the columns it takes
 * on a terminal. The bytes taken, 1 with *width_out -1 where there is no valid character.
 */
size_t utf8_next(const uint8_t *data, size_t len, uint32_t *code_out, int *width_out);

#endif
