/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h - protobuf messages as C structs, described by tables.
 *
 * A message table lists the fields of a C struct: number, kind, place. Decoding fills the
 * struct; strings and bytes are views into the input, the rest lies in an arena. Encoding writes
 * it back. Fields the table does not list are kept as raw bytes when the struct has a place for
 * them and are written back at the end, so that a newer writer's fields survive a rewrite.
 *
 * How a field is stored, by kind:
 *
 *   scalar            the C type itself; with presence, a bool beside it says it was there
 *   BYTES             struct lmn__span; .data is not NULL exactly when it was there
 *   MESSAGE           a pointer to the struct, NULL when absent
 *   repeated scalar   struct lmn__pb_u64s: every element widened to 64 bits
 *   repeated BYTES    struct lmn__pb_spans
 *   repeated MESSAGE  struct lmn__pb_list: an array of structs
 */
#ifndef LMN_BASE_PROTO_H
#define LMN_BASE_PROTO_H

#include "base/arena.h"
#include "base/buf.h"

enum lmn__pb_kind {
    LMN__PB_BOOL,  /* bool */
    LMN__PB_U32,   /* uint32_t; also enums */
    LMN__PB_U64,   /* uint64_t */
    LMN__PB_I32,   /* int32_t; a negative one is ten bytes on the wire */
    LMN__PB_I64,   /* int64_t */
    LMN__PB_BYTES, /* also strings */
    LMN__PB_MESSAGE
};

enum { LMN__PB_REPEATED = 1, LMN__PB_PRESENCE = 2 };

/* The most fields a message table may list. */
enum { LMN__PB_FIELDS_MAX = 64 };

struct lmn__pb_message;

struct lmn__pb_field {
    uint32_t number;
    uint8_t kind;
    uint8_t flags;
    uint16_t offset;     /* of the value in the struct */
    uint16_t has_offset; /* of its bool, with LMN__PB_PRESENCE on a scalar */
    const struct lmn__pb_message *message;
};

struct lmn__pb_message {
    const char *name;
    const struct lmn__pb_field *field; /* by ascending number */
    uint16_t field_count;              /* at most LMN__PB_FIELDS_MAX */
    uint16_t size;                     /* of the struct */
    uint16_t unknown_offset;           /* of a struct lmn__span; used if keeps_unknown */
    bool keeps_unknown;
};

struct lmn__pb_u64s {
    uint64_t *item;
    size_t count;
};

struct lmn__pb_spans {
    struct lmn__span *item;
    size_t count;
};

struct lmn__pb_list {
    void *item;
    size_t count;
};

/* A map<string, bytes> or map<string, string> entry; the same message for all of them. */
struct lmn__pb_entry {
    struct lmn__span key;
    struct lmn__span value;
};
extern const struct lmn__pb_message lmn__pb_entry_message;

/*
 * Decode `bytes` into `out`, a zeroed struct of message->size bytes.
 *
 * Views in *out point into `bytes`. When a field that is not repeated stands there twice the
 * last one counts.
 *
 * LMN_E_CORRUPT    cut short, a wrong wire type, nesting deeper than 32; names message and offset
 * LMN_E_NO_MEMORY  the arena is full
 */
LMN_MUST_USE enum lmn_status lmn__pb_decode(const struct lmn__pb_message *message,
                                            struct lmn__span bytes, struct lmn__arena *arena,
                                            void *out, struct lmn_error *err);

/* Append the encoding of `in` to `buf`; failure shows in the buffer's status. */
void lmn__pb_encode(const struct lmn__pb_message *message, const void *in, struct lmn__buf *buf);

/* Raw pieces, for callers that assemble messages by hand. */
void lmn__pb_put_varint(struct lmn__buf *buf, uint64_t value);
void lmn__pb_put_tag_bytes(struct lmn__buf *buf, uint32_t number, struct lmn__span bytes);

/* Does `span` hold exactly `text`? */
bool lmn__span_equal(struct lmn__span span, const char *text);

#endif
