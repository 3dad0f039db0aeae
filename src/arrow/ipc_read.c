/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message: 0xffffffff, the length of its metadata in 32 bits, the metadata (a flatbuffer, padded
 * to 8 bytes), and a body whose length the metadata tells. Streams older than Arrow 0.15 have no
 * 0xffffffff. A length of 0 ends the stream; so does the end of the bytes, except in a file.
 *
 * A file: "ARROW1" and two bytes, zeros up to byte 64 in some, a stream with its end, then a footer
 * for random access, which is not needed here, its length, and "ARROW1" once more. A file that
 * lacks the last six bytes was cut.
 */
#include "arrow/ipc_read.h"

#include <nanoarrow/nanoarrow.h>

#include "arrow/ipc_batch.h"
#include "arrow/producer.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/math.h"

#define CONTINUATION 0xffffffffu

enum { MAGIC_BYTES = 6, MAGIC_PADDED_BYTES = 8, DRAIN_BYTES = 4096 };
enum { PADDING_WORDS_MAX = (64 - MAGIC_PADDED_BYTES) / 4 };

static const uint8_t magic[MAGIC_PADDED_BYTES] = "ARROW1\0";

struct ipc_reader {
    struct lmn__producer producer; /* first */
    struct lmn_env *env;           /* counted */
    struct lmn__source source;
    struct lmn__arena arena; /* of the type */
    struct ArrowSchema schema;
    const struct lmn__ipc_type *type;
    struct lmn__ipc_dictionaries dictionaries;
    bool is_file;
    bool check_text;
    uint64_t row_count; /* of the batches before */

    uint64_t message_count;
    struct lmn__buf metadata; /* of the message at hand, and what it says: */
    struct lmn__flat flat;
    struct lmn__flat_table header;
    int64_t kind;
    uint64_t body_bytes;
};

bool lmn__ipc_is_start(struct lmn__span bytes)
{
    return bytes.len >= MAGIC_PADDED_BYTES && (memcmp(bytes.data, magic, MAGIC_BYTES) == 0 ||
                                               lmn__load_u32(bytes.data) == CONTINUATION);
}

static enum lmn_status read_all(struct ipc_reader *reader, uint8_t *data, size_t len,
                                struct lmn_error *err)
{
    size_t got;
    enum lmn_status st = lmn__source_read(&reader->source, data, len, &got, err);

    if (st == LMN_OK && got < len)
        st = lmn_fail(err, LMN_E_CORRUPT, "ends after %llu bytes, in the middle of a message",
                      (unsigned long long)reader->source.position);
    return st;
}

/* The length of the next metadata; 0 at the end. */
static enum lmn_status read_length(struct ipc_reader *reader, uint32_t *len_out,
                                   struct lmn_error *err)
{
    /* Writers align the first message of a file to as much as 64 bytes, its magic included. */
    uint32_t padding = reader->is_file && reader->message_count == 0 ? PADDING_WORDS_MAX : 0;
    uint8_t word[4];
    size_t got;
    enum lmn_status st;

    *len_out = 0;
    do {
        st = lmn__source_read(&reader->source, word, sizeof word, &got, err);
    } while (st == LMN_OK && got == sizeof word && lmn__load_u32(word) == 0 && padding-- > 0);
    if (st != LMN_OK)
        return st;
    if (got == 0 && !reader->is_file)
        return LMN_OK;
    if (got < sizeof word)
        return lmn_fail(err, LMN_E_CORRUPT, "ends after %llu bytes, without its end mark",
                        (unsigned long long)reader->source.position);
    if (lmn__load_u32(word) == CONTINUATION)
        st = read_all(reader, word, sizeof word, err);
    *len_out = lmn__load_u32(word);
    return st;
}

static enum lmn_status parse_message(struct ipc_reader *reader, struct lmn_error *err)
{
    struct lmn__flat_table message;
    int64_t version, body_bytes;

    reader->flat = (struct lmn__flat){ { reader->metadata.data, reader->metadata.len }, false };
    message = lmn__flat_root(&reader->flat);
    version = lmn__flat_int(&message, LMN__IPC_MESSAGE_VERSION, 2, 0);
    reader->kind = lmn__flat_int(&message, LMN__IPC_MESSAGE_KIND, 1, 0);
    reader->header = lmn__flat_table(&message, LMN__IPC_MESSAGE_HEADER);
    body_bytes = lmn__flat_int(&message, LMN__IPC_MESSAGE_BODY_BYTES, 8, 0);
    if (reader->flat.bad || reader->header.flat == NULL || body_bytes < 0)
        return lmn_fail(err, LMN_E_CORRUPT, "metadata of %zu bytes does not decode",
                        reader->metadata.len);
    if (version != LMN__IPC_VERSION_4 && version != LMN__IPC_VERSION_5)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "metadata version %lld; 4 and 5 are read",
                        (long long)version + 1);
    reader->body_bytes = (uint64_t)body_bytes;
    return LMN_OK;
}

/* Read the metadata of the next message; *more_out is false at the end. */
static enum lmn_status next_message(struct ipc_reader *reader, bool *more_out,
                                    struct lmn_error *err)
{
    uint32_t len;
    enum lmn_status st = read_length(reader, &len, err);

    *more_out = st == LMN_OK && len != 0;
    if (!*more_out)
        return st;
    reader->message_count++;
    if (len > INT32_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "metadata of %u bytes", len);
    lmn__buf_reset(&reader->metadata);
    while (st == LMN_OK && reader->metadata.len < len) {
        /* In pieces: a length that is not true must not take memory that it does not fill. */
        size_t piece = lmn__min_u64(len - reader->metadata.len, 1 << 20);

        if (!lmn__buf_reserve(&reader->metadata, piece)) {
            reader->metadata.failed = true;
            return lmn__buf_status(&reader->metadata, "Arrow IPC metadata", err);
        }
        st = read_all(reader, reader->metadata.data + reader->metadata.len, piece, err);
        reader->metadata.len += piece;
    }
    return st != LMN_OK ? st : parse_message(reader, err);
}

static enum lmn_status read_body(struct ipc_reader *reader, struct lmn__ipc_body *body_out,
                                 struct lmn_error *err)
{
    size_t len = reader->body_bytes;
    enum lmn_status st;

    *body_out =
        (struct lmn__ipc_body){ .env = reader->env, .len = len, .check_text = reader->check_text };
    if (reader->source.fd < 0 && len > reader->source.left.len)
        return lmn_fail(err, LMN_E_CORRUPT, "a body of %zu bytes where %zu bytes are left", len,
                        reader->source.left.len);
    st = lmn__block_new(reader->env->pool, len, &body_out->block, err);
    if (st != LMN_OK)
        return st;
    st = read_all(reader, body_out->block->data, len, err);
    if (st != LMN_OK)
        lmn__block_release(body_out->block);
    return st;
}

/* Say which row or value a failure is about, if it is about one. */
static enum lmn_status within_slot(enum lmn_status st, const char *what, uint64_t slot,
                                   struct lmn_error *err)
{
    return slot != LMN__IPC_NO_ROW
               ? lmn__fail_within(err, st, "%s %llu", what, (unsigned long long)slot)
               : st;
}

static enum lmn_status read_dictionary(struct ipc_reader *reader, struct lmn__ipc_body *body,
                                       struct lmn_error *err)
{
    int64_t id = lmn__flat_int(&reader->header, LMN__IPC_DICTIONARY_ID, 8, 0);
    struct lmn__flat_table batch = lmn__flat_table(&reader->header, LMN__IPC_DICTIONARY_BATCH);
    struct lmn__ipc_dictionary *dictionary = lmn__ipc_dictionary_find(&reader->dictionaries, id);
    struct ArrowArray array, *values;
    uint64_t value;
    enum lmn_status st;

    if (dictionary == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "dictionary %lld is not in the schema", (long long)id);
    if (lmn__flat_int(&reader->header, LMN__IPC_DICTIONARY_DELTA, 1, 0) != 0 &&
        dictionary->array.release != NULL && dictionary->array.length != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "dictionary %lld is extended by a delta",
                        (long long)id);
    st = lmn__ipc_batch_read(&batch, dictionary->values, 1, &reader->dictionaries, body, &array,
                             &value, err);
    if (st != LMN_OK) {
        st = within_slot(st, "value", value, err);
        return lmn__fail_within(err, st, "dictionary %lld", (long long)id);
    }
    values = array.children[0];
    if (dictionary->array.release != NULL)
        dictionary->array.release(&dictionary->array);
    dictionary->array = *values;
    values->release = NULL;
    array.release(&array);
    return LMN_OK;
}

/* A cut file could still end at a message: read on to the magic at its end. */
static enum lmn_status check_end(struct ipc_reader *reader, struct lmn_error *err)
{
    uint8_t bytes[MAGIC_BYTES + DRAIN_BYTES];
    size_t got, held = 0;
    enum lmn_status st;

    if (!reader->is_file)
        return LMN_OK;
    do {
        st = lmn__source_read(&reader->source, bytes + held, DRAIN_BYTES, &got, err);
        if (st != LMN_OK)
            return st;
        held += got;
        if (held > MAGIC_BYTES) {
            memmove(bytes, bytes + held - MAGIC_BYTES, MAGIC_BYTES);
            held = MAGIC_BYTES;
        }
    } while (got == DRAIN_BYTES);
    if (held != MAGIC_BYTES || memcmp(bytes, magic, MAGIC_BYTES) != 0)
        return lmn_fail(err, LMN_E_CORRUPT, "an Arrow file that was cut: its end is missing");
    return LMN_OK;
}

static enum lmn_status read_batch(struct ipc_reader *reader, struct lmn__ipc_body *body,
                                  struct ArrowArray *array_out, struct lmn_error *err)
{
    const struct lmn__ipc_type *type = reader->type;
    uint64_t row;
    enum lmn_status st = lmn__ipc_batch_read(&reader->header, type->child, type->child_count,
                                             &reader->dictionaries, body, array_out, &row, err);

    if (st == LMN_OK)
        reader->row_count += (uint64_t)array_out->length;
    else if (row != LMN__IPC_NO_ROW)
        st = within_slot(st, "row", reader->row_count + row, err);
    return st;
}

static enum lmn_status read_until_batch(struct ipc_reader *reader, struct ArrowArray *array_out,
                                        struct lmn_error *err)
{
    struct lmn__ipc_body body;
    enum lmn_status st;
    bool more, is_batch = false;

    while (!is_batch) {
        st = next_message(reader, &more, err);
        if (st != LMN_OK || !more)
            return st != LMN_OK ? st : check_end(reader, err);
        is_batch = reader->kind == LMN__IPC_KIND_BATCH;
        if (!is_batch && reader->kind != LMN__IPC_KIND_DICTIONARY)
            return lmn_fail(err, LMN_E_CORRUPT, "a message of kind %lld among the batches",
                            (long long)reader->kind);
        st = read_body(reader, &body, err);
        if (st != LMN_OK)
            return st;
        st = is_batch ? read_batch(reader, &body, array_out, err)
                      : read_dictionary(reader, &body, err);
        lmn__block_release(body.block);
        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}

static enum lmn_status reader_next(struct lmn__producer *producer, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    struct ipc_reader *reader = (struct ipc_reader *)producer;
    enum lmn_status st = read_until_batch(reader, array_out, err);

    return st == LMN_OK ? st
                        : lmn__fail_within(err, st, "%.200s: message %llu", reader->source.name,
                                           (unsigned long long)reader->message_count);
}

static enum lmn_status reader_schema(struct lmn__producer *producer, struct ArrowSchema *schema_out,
                                     struct lmn_error *err)
{
    struct ipc_reader *reader = (struct ipc_reader *)producer;

    if (ArrowSchemaDeepCopy(&reader->schema, schema_out) != NANOARROW_OK)
        return lmn__no_memory(err, "an Arrow schema", 0);
    return LMN_OK;
}

static void reader_free(struct lmn__producer *producer)
{
    struct ipc_reader *reader = (struct ipc_reader *)producer;
    struct lmn_env *env = reader->env;

    for (uint32_t i = 0; i < reader->dictionaries.count; i++) {
        if (reader->dictionaries.item[i].array.release != NULL)
            reader->dictionaries.item[i].array.release(&reader->dictionaries.item[i].array);
    }
    if (reader->schema.release != NULL)
        ArrowSchemaRelease(&reader->schema);
    lmn__buf_deinit(&reader->metadata);
    lmn__arena_deinit(&reader->arena);
    lmn__source_close(&reader->source);
    lmn__free(env, reader);
    lmn_env_release(env);
}

/* How many dictionaries the type names, those inside of values included. */
static uint32_t count_dictionaries(const struct lmn__ipc_type *type)
{
    uint32_t count = type->layout->kind == LMN__LAYOUT_DICTIONARY;

    for (uint32_t i = 0; i < type->child_count; i++)
        count += count_dictionaries(&type->child[i]);
    return count;
}

/* Fields may share a dictionary; the first one's type is taken for it. */
static void add_dictionaries(struct ipc_reader *reader, const struct lmn__ipc_type *type)
{
    if (type->layout->kind == LMN__LAYOUT_DICTIONARY &&
        lmn__ipc_dictionary_find(&reader->dictionaries, type->dictionary_id) == NULL)
        reader->dictionaries.item[reader->dictionaries.count++] =
            (struct lmn__ipc_dictionary){ .values = &type->child[0], .id = type->dictionary_id };
    for (uint32_t i = 0; i < type->child_count; i++)
        add_dictionaries(reader, &type->child[i]);
}

/* Do both types have the same layout, so that a dictionary of one serves the other? */
static bool same_layout(const struct lmn__layout *a, const struct lmn__layout *b)
{
    bool same = a->kind == b->kind && a->bits == b->bits && a->dimension == b->dimension &&
                a->is_view == b->is_view && a->child_count == b->child_count;

    for (uint32_t i = 0; same && i < a->child_count; i++)
        same = same_layout(a->child[i], b->child[i]);
    return same;
}

static enum lmn_status check_shared(const struct ipc_reader *reader,
                                    const struct lmn__ipc_type *type, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (type->layout->kind == LMN__LAYOUT_DICTIONARY) {
        const struct lmn__ipc_dictionary *dictionary = lmn__ipc_dictionary_find(
            &reader->dictionaries, type->dictionary_id);

        if (!same_layout(dictionary->values->layout, type->child[0].layout))
            return lmn_fail(err, LMN_E_CORRUPT, "two types for dictionary %lld",
                            (long long)type->dictionary_id);
    }
    for (uint32_t i = 0; st == LMN_OK && i < type->child_count; i++)
        st = check_shared(reader, &type->child[i], err);
    return st;
}

static enum lmn_status read_schema(struct ipc_reader *reader, struct lmn_error *err)
{
    struct lmn__span start;
    uint32_t count;
    bool more;
    uint8_t passed[MAGIC_PADDED_BYTES];
    enum lmn_status st = lmn__source_peek(&reader->source, sizeof magic, &start, err);

    if (st != LMN_OK)
        return st;
    reader->is_file = start.len == sizeof magic && memcmp(start.data, magic, MAGIC_BYTES) == 0;
    if (reader->is_file)
        st = read_all(reader, passed, sizeof passed, err);
    if (st != LMN_OK)
        return st;
    st = next_message(reader, &more, err);
    if (st != LMN_OK)
        return st;
    if (!more || reader->kind != LMN__IPC_KIND_SCHEMA || reader->body_bytes != 0)
        return lmn_fail(err, LMN_E_CORRUPT, "no Arrow IPC: it does not begin with a schema");
    st = lmn__ipc_schema_read(&reader->header, &reader->arena, &reader->schema, &reader->type, err);
    if (st != LMN_OK)
        return st;
    count = count_dictionaries(reader->type);
    reader->dictionaries.item = lmn__arena_array(&reader->arena, count,
                                                 sizeof *reader->dictionaries.item);
    if (reader->dictionaries.item == NULL)
        return lmn__arena_fail(&reader->arena, "dictionaries", err);
    add_dictionaries(reader, reader->type);
    return check_shared(reader, reader->type, err);
}

static enum lmn_status start_reading(struct lmn_env *env, struct lmn__source *source,
                                     bool check_text, struct ArrowArrayStream *stream_out,
                                     struct lmn_error *err)
{
    static const struct lmn__producer_ops ops = { reader_schema, reader_next, reader_free };
    struct ipc_reader *reader = lmn__calloc(env, 1, sizeof *reader);
    enum lmn_status st;

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (reader == NULL) {
        lmn__source_close(source);
        return lmn__no_memory(err, "an Arrow reader", sizeof *reader);
    }
    reader->env = lmn_env_acquire(env);
    reader->check_text = check_text;
    reader->source = *source;
    *source = (struct lmn__source){ .fd = -1 };
    lmn__arena_init(&reader->arena, env, 0);
    lmn__buf_init(&reader->metadata, env, env->metadata_bytes_max);
    st = read_schema(reader, err);
    if (st != LMN_OK) {
        st = lmn__fail_within(err, st, "%.200s", reader->source.name);
        reader_free(&reader->producer);
        return st;
    }
    lmn__producer_export(&reader->producer, &ops, stream_out);
    return LMN_OK;
}

enum lmn_status lmn__ipc_read(struct lmn_env *env, struct lmn__source *source,
                              struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    return start_reading(env, source, true, stream_out, err);
}

enum lmn_status lmn__ipc_read_buffer(struct lmn_env *env, const char *name, struct lmn__span bytes,
                                     struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    struct lmn__source source;
    enum lmn_status st = lmn__source_open_memory(&source, env, name, bytes, err);

    *stream_out = (struct ArrowArrayStream){ 0 };
    return st != LMN_OK ? st : start_reading(env, &source, false, stream_out, err);
}
