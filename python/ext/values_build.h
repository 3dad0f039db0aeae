/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values_build.h - arrays in the making: what values_build.c and values_lists.c share.
 */
#ifndef LEMAN_PYTHON_VALUES_BUILD_H
#define LEMAN_PYTHON_VALUES_BUILD_H

#include "values.h"

enum { BUFFERS_MAX = 3 };

/* A made array owns its buffers and children. It may be released where the interpreter lock, which
   the heap needs, is not held. */
struct made {
    const void *buffer[BUFFERS_MAX];
    struct ArrowArray *child;
    struct ArrowArray **child_list;
};

/* An array of `length` rows, all valid, whose children are to be filled in. -1 on failure. */
int made_new(int64_t length, int64_t buffers, int64_t children, struct ArrowArray *array_out);

/* A zeroed buffer of the array. NULL: an exception is set. */
void *made_buffer(struct ArrowArray *array, int which, size_t bytes);

/* Bytes that grow. */
struct growing {
    char *bytes;
    size_t len, room;
};

/* Append bytes. -1 on failure. */
int grow(struct growing *out, const char *bytes, size_t len);

/* Make row i null; a value that is not None is told to `wrong`, with the exception that is set. */
int reject(struct ArrowArray *array, PyObject *wrong, int64_t i, PyObject *value,
           const struct ArrowSchema *schema);

/* Offset number i, of 4 or 8 bytes. */
void put_offset(uint8_t *offsets, int width, int64_t i, size_t value);

/* Raise that 32-bit offsets do not suffice; returns -1. */
int too_long(const struct ArrowSchema *schema);

/* Lists, fixed-size lists and maps. -1 on failure. */
int build_lists(const struct ArrowSchema *schema, const struct value_type *type, PyObject *list,
                PyObject *wrong, struct ArrowArray *array);

#endif
