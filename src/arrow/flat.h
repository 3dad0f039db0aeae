/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat.h - flatbuffers, in which Arrow IPC writes its metadata: reading and writing.
 *
 * A reader looks into bytes that somebody else owns. Every offset is checked before it is
 * followed; what leaves the bytes reads as absent and marks the buffer as bad, so that a reader
 * of many fields asks once at the end. Offsets point forward only, so tables cannot form a ring,
 * but they can be shared: whoever walks a tree of tables counts them.
 *
 * A writer makes the parts before the tables that refer to them, from the end of the buffer to
 * its start, and keeps its first failure.
 */
#ifndef LMN_ARROW_FLAT_H
#define LMN_ARROW_FLAT_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/env.h"

struct lmn__flat {
    struct lmn__span bytes;
    bool bad; /* something in it points outside */
};

struct lmn__flat_table {
    struct lmn__flat *flat; /* NULL: there is no such table */
    uint32_t at;            /* of the table in the bytes */
    uint32_t vtable;
    uint16_t vtable_bytes;
    uint16_t bytes; /* of the table's own part */
};

/* `count` items of equal size, or of references to tables. */
struct lmn__flat_vector {
    struct lmn__flat *flat;
    uint32_t at;
    uint32_t count;
};

/* The table at the root of `flat`, whose bytes are set. */
struct lmn__flat_table lmn__flat_root(struct lmn__flat *flat);

/* An integer of 1, 2, 4 or 8 bytes, its sign extended; `absent` when it is not there. */
int64_t lmn__flat_int(const struct lmn__flat_table *table, uint32_t field, uint32_t width,
                      int64_t absent);
struct lmn__flat_table lmn__flat_table(const struct lmn__flat_table *table, uint32_t field);
/* A string without its terminating NUL; NULL data when it is not there. */
struct lmn__span lmn__flat_text(const struct lmn__flat_table *table, uint32_t field);
/* A vector of items of `width` bytes; 4 for tables. */
struct lmn__flat_vector lmn__flat_vector(const struct lmn__flat_table *table, uint32_t field,
                                         uint32_t width);

/* Item `i` of a vector of tables; i < count. */
struct lmn__flat_table lmn__flat_item(const struct lmn__flat_vector *vector, uint32_t i);
/* Where the items of a vector start. */
const uint8_t *lmn__flat_items(const struct lmn__flat_vector *vector);

enum { LMN__FLAT_FIELDS_MAX = 8 };

/* A reference to what was written: its distance from the end; 0 is nothing. */
typedef uint32_t lmn__flat_ref;

struct lmn__flat_writer {
    struct lmn_env *env; /* borrowed */
    uint8_t *data;       /* filled from its end */
    size_t cap, len;
    bool failed;
    struct {
        uint8_t width; /* 0: absent */
        bool is_ref;
        uint64_t value;
    } field[LMN__FLAT_FIELDS_MAX]; /* of the table that is being written */
};

void lmn__flat_writer_init(struct lmn__flat_writer *writer, struct lmn_env *env);
void lmn__flat_writer_deinit(struct lmn__flat_writer *writer);

lmn__flat_ref lmn__flat_put_text(struct lmn__flat_writer *writer, const char *text, size_t len);
/* A vector of `count` items of `width` bytes each, aligned to `align`. */
lmn__flat_ref lmn__flat_put_items(struct lmn__flat_writer *writer, const void *items, size_t count,
                                  size_t width, size_t align);
lmn__flat_ref lmn__flat_put_refs(struct lmn__flat_writer *writer, const lmn__flat_ref *refs,
                                 size_t count);

/* A table: its fields are set, then it is put. */
void lmn__flat_set(struct lmn__flat_writer *writer, uint32_t field, uint32_t width, int64_t value);
void lmn__flat_set_ref(struct lmn__flat_writer *writer, uint32_t field, lmn__flat_ref ref);
lmn__flat_ref lmn__flat_put_table(struct lmn__flat_writer *writer);

/*
 * End the buffer with `root`. The bytes, a multiple of 8, stay the writer's.
 *
 * LMN_E_NO_MEMORY  the heap gave nothing at some point before
 */
LMN_MUST_USE enum lmn_status lmn__flat_finish(struct lmn__flat_writer *writer, lmn__flat_ref root,
                                              struct lmn__span *bytes_out, struct lmn_error *err);

#endif
