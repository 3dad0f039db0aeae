/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are those described in ipc_read.c. Before a batch, each of its dictionaries is written
 * unless the last one written under its number holds the same; a stream lets a later one replace
 * an earlier one.
 */
#include "arrow/ipc_write.h"

#include <nanoarrow/nanoarrow.h>

#include "arrow/ipc_plan.h"
#include "arrow/producer.h"
#include "base/math.h"

enum { PREFIX_BYTES = 8, BLOCK_BYTES = 24, MAGIC_BYTES = 6 };

static const uint8_t magic[8] = "ARROW1\0";
static const uint8_t zeros[LMN__IPC_ALIGN];

/* Write a message whose header is made in `flat`, and what `plan` (may be NULL) holds. */
static enum lmn_status write_message(struct lmn__ipc_writer *writer, struct lmn__flat_writer *flat,
                                     int kind, lmn__flat_ref header,
                                     const struct lmn__ipc_plan *plan, struct lmn_error *err)
{
    uint64_t start = writer->sink->position;
    uint8_t prefix[PREFIX_BYTES];
    struct lmn__span metadata;
    enum lmn_status st;

    lmn__flat_set(flat, LMN__IPC_MESSAGE_VERSION, 2, LMN__IPC_VERSION_5);
    lmn__flat_set(flat, LMN__IPC_MESSAGE_KIND, 1, kind);
    lmn__flat_set_ref(flat, LMN__IPC_MESSAGE_HEADER, header);
    lmn__flat_set(flat, LMN__IPC_MESSAGE_BODY_BYTES, 8,
                  plan != NULL ? (int64_t)plan->body_bytes : 0);
    st = lmn__flat_finish(flat, lmn__flat_put_table(flat), &metadata, err);
    if (st != LMN_OK)
        return st;
    lmn__store_u32(prefix, UINT32_MAX);
    lmn__store_u32(prefix + 4, (uint32_t)metadata.len);
    st = lmn__sink_write(writer->sink, prefix, sizeof prefix, err);
    if (st == LMN_OK)
        st = lmn__sink_write(writer->sink, metadata.data, metadata.len, err);
    for (size_t at = 0; st == LMN_OK && plan != NULL && at < plan->pieces.len;
         at += sizeof(struct lmn__span)) {
        struct lmn__span piece;

        memcpy(&piece, plan->pieces.data + at, sizeof piece);
        st = lmn__sink_write(writer->sink, piece.data, piece.len, err);
        if (st == LMN_OK)
            st = lmn__sink_write(writer->sink, zeros,
                                 lmn__align_up(piece.len, LMN__IPC_ALIGN) - piece.len, err);
    }
    if (st == LMN_OK && kind == LMN__IPC_KIND_BATCH && writer->form == LMN__IPC_FILE) {
        lmn__buf_put_u64(&writer->blocks, start);
        lmn__buf_put_u64(&writer->blocks, PREFIX_BYTES + metadata.len);
        lmn__buf_put_u64(&writer->blocks, plan->body_bytes);
        st = lmn__buf_status(&writer->blocks, "a footer", err);
    }
    return st;
}

static lmn__flat_ref put_batch(struct lmn__flat_writer *flat, const struct lmn__ipc_plan *plan,
                               uint64_t length)
{
    lmn__flat_ref nodes = lmn__flat_put_items(
        flat, plan->nodes.data, plan->nodes.len / LMN__IPC_NODE_BYTES, LMN__IPC_NODE_BYTES, 8);
    lmn__flat_ref buffers = lmn__flat_put_items(flat, plan->buffers.data,
                                                plan->buffers.len / LMN__IPC_BUFFER_BYTES,
                                                LMN__IPC_BUFFER_BYTES, 8);
    lmn__flat_ref variadic = 0;

    if (plan->variadic.len != 0)
        variadic = lmn__flat_put_items(flat, plan->variadic.data, plan->variadic.len / 8, 8, 8);
    lmn__flat_set(flat, LMN__IPC_BATCH_LENGTH, 8, (int64_t)length);
    lmn__flat_set_ref(flat, LMN__IPC_BATCH_NODES, nodes);
    lmn__flat_set_ref(flat, LMN__IPC_BATCH_BUFFERS, buffers);
    lmn__flat_set_ref(flat, LMN__IPC_BATCH_VARIADIC, variadic);
    return lmn__flat_put_table(flat);
}

static enum lmn_status write_dictionary(struct lmn__ipc_writer *writer,
                                        const struct lmn__ipc_type *type,
                                        const struct ArrowArray *values, struct lmn_error *err)
{
    uint64_t *sent = &writer->sent[type->dictionary_id], hash;
    struct lmn__flat_writer flat;
    struct lmn__ipc_plan plan;
    lmn__flat_ref batch;
    enum lmn_status st;

    lmn__flat_writer_init(&flat, writer->env);
    lmn__ipc_plan_init(&plan, writer->env);
    st = lmn__ipc_plan_add(&plan, &type->child[0], values, 0, (uint64_t)values->length, err);
    if (st != LMN_OK)
        goto done;
    hash = lmn__ipc_plan_hash(&plan);
    if (hash == *sent)
        goto done;
    batch = put_batch(&flat, &plan, (uint64_t)values->length);
    lmn__flat_set(&flat, LMN__IPC_DICTIONARY_ID, 8, type->dictionary_id);
    lmn__flat_set_ref(&flat, LMN__IPC_DICTIONARY_BATCH, batch);
    st = write_message(writer, &flat, LMN__IPC_KIND_DICTIONARY, lmn__flat_put_table(&flat), &plan,
                       err);
    if (st == LMN_OK)
        *sent = hash;
done:
    lmn__ipc_plan_deinit(&plan);
    lmn__flat_writer_deinit(&flat);
    return st;
}

/* Dictionaries inside of a dictionary's values go before it. */
static enum lmn_status write_dictionaries(struct lmn__ipc_writer *writer,
                                          const struct lmn__ipc_type *type,
                                          const struct ArrowArray *array, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (type->layout->kind == LMN__LAYOUT_DICTIONARY) {
        st = write_dictionaries(writer, &type->child[0], array->dictionary, err);
        return st != LMN_OK ? st : write_dictionary(writer, type, array->dictionary, err);
    }
    for (uint32_t i = 0; st == LMN_OK && i < type->child_count; i++)
        st = write_dictionaries(writer, &type->child[i], array->children[i], err);
    return st;
}

enum lmn_status lmn__ipc_writer_write(struct lmn__ipc_writer *writer,
                                      const struct ArrowArray *batch, struct lmn_error *err)
{
    const struct lmn__ipc_type *type = writer->type;
    struct lmn__flat_writer flat;
    struct lmn__ipc_plan plan;
    enum lmn_status st = LMN_OK;

    if (batch->n_children != type->child_count)
        return lmn_fail(err, LMN_E_INVALID, "a batch of %lld columns where the schema has %u",
                        (long long)batch->n_children, type->child_count);
    if (writer->dictionary_count != 0)
        st = write_dictionaries(writer, type, batch, err);
    if (st != LMN_OK)
        return st;
    lmn__flat_writer_init(&flat, writer->env);
    lmn__ipc_plan_init(&plan, writer->env);
    for (uint32_t i = 0; st == LMN_OK && i < type->child_count; i++)
        st = lmn__ipc_plan_add(&plan, &type->child[i], batch->children[i], (uint64_t)batch->offset,
                               (uint64_t)batch->length, err);
    if (st == LMN_OK)
        st = write_message(writer, &flat, LMN__IPC_KIND_BATCH,
                           put_batch(&flat, &plan, (uint64_t)batch->length), &plan, err);
    lmn__ipc_plan_deinit(&plan);
    lmn__flat_writer_deinit(&flat);
    return st;
}

static uint32_t count_dictionaries(const struct lmn__ipc_type *type)
{
    uint32_t count = type->layout->kind == LMN__LAYOUT_DICTIONARY;

    for (uint32_t i = 0; i < type->child_count; i++)
        count += count_dictionaries(&type->child[i]);
    return count;
}

static enum lmn_status write_start(struct lmn__ipc_writer *writer, struct lmn_error *err)
{
    struct lmn__flat_writer flat;
    lmn__flat_ref schema;
    enum lmn_status st = LMN_OK;

    lmn__flat_writer_init(&flat, writer->env);
    if (writer->form == LMN__IPC_FILE)
        st = lmn__sink_write(writer->sink, magic, sizeof magic, err);
    if (st == LMN_OK)
        st = lmn__ipc_schema_write(&writer->schema, &flat, &schema, err);
    if (st == LMN_OK)
        st = write_message(writer, &flat, LMN__IPC_KIND_SCHEMA, schema, NULL, err);
    lmn__flat_writer_deinit(&flat);
    return st;
}

enum lmn_status lmn__ipc_writer_open(struct lmn__ipc_writer *writer, struct lmn_env *env,
                                     struct lmn__sink *sink, enum lmn__ipc_form form,
                                     const struct ArrowSchema *schema, struct lmn_error *err)
{
    enum lmn_status st;

    *writer = (struct lmn__ipc_writer){ .env = lmn_env_acquire(env), .sink = sink, .form = form };
    lmn__arena_init(&writer->arena, env, 0);
    lmn__buf_init(&writer->blocks, env, 0);
    st = lmn__ipc_type_make(schema, &writer->arena, &writer->type, err);
    if (st != LMN_OK)
        goto failed;
    writer->dictionary_count = count_dictionaries(writer->type);
    if (form == LMN__IPC_FILE && writer->dictionary_count != 0) {
        st = lmn_fail(err, LMN_E_UNSUPPORTED, "dictionaries are written to Arrow streams only");
        goto failed;
    }
    writer->sent = lmn__arena_array(&writer->arena, writer->dictionary_count, sizeof *writer->sent);
    if (writer->sent == NULL)
        st = lmn__arena_fail(&writer->arena, "dictionaries", err);
    else if (ArrowSchemaDeepCopy(schema, &writer->schema) != NANOARROW_OK)
        st = lmn__no_memory(err, "an Arrow schema", 0);
    if (st == LMN_OK)
        st = write_start(writer, err);
    if (st == LMN_OK)
        return LMN_OK;
failed:
    lmn__ipc_writer_abort(writer);
    return st;
}

void lmn__ipc_writer_abort(struct lmn__ipc_writer *writer)
{
    if (writer->env == NULL)
        return;
    if (writer->schema.release != NULL)
        ArrowSchemaRelease(&writer->schema);
    lmn__buf_deinit(&writer->blocks);
    lmn__arena_deinit(&writer->arena);
    lmn_env_release(writer->env);
    *writer = (struct lmn__ipc_writer){ 0 };
}

static enum lmn_status write_footer(struct lmn__ipc_writer *writer, struct lmn_error *err)
{
    struct lmn__flat_writer flat;
    struct lmn__span footer;
    lmn__flat_ref schema, none, blocks;
    uint8_t len[4];
    enum lmn_status st;

    lmn__flat_writer_init(&flat, writer->env);
    st = lmn__ipc_schema_write(&writer->schema, &flat, &schema, err);
    if (st != LMN_OK)
        goto done;
    none = lmn__flat_put_items(&flat, NULL, 0, BLOCK_BYTES, 8);
    blocks = lmn__flat_put_items(&flat, writer->blocks.data, writer->blocks.len / BLOCK_BYTES,
                                 BLOCK_BYTES, 8);
    lmn__flat_set(&flat, 0, 2, LMN__IPC_VERSION_5);
    lmn__flat_set_ref(&flat, 1, schema);
    lmn__flat_set_ref(&flat, 2, none);
    lmn__flat_set_ref(&flat, 3, blocks);
    st = lmn__flat_finish(&flat, lmn__flat_put_table(&flat), &footer, err);
    if (st == LMN_OK)
        st = lmn__sink_write(writer->sink, footer.data, footer.len, err);
    lmn__store_u32(len, (uint32_t)footer.len);
    if (st == LMN_OK)
        st = lmn__sink_write(writer->sink, len, sizeof len, err);
    if (st == LMN_OK)
        st = lmn__sink_write(writer->sink, magic, MAGIC_BYTES, err);
done:
    lmn__flat_writer_deinit(&flat);
    return st;
}

enum lmn_status lmn__ipc_writer_finish(struct lmn__ipc_writer *writer, struct lmn_error *err)
{
    static const uint8_t end[PREFIX_BYTES] = { 0xff, 0xff, 0xff, 0xff };
    enum lmn_status st = lmn__sink_write(writer->sink, end, sizeof end, err);

    if (st == LMN_OK && writer->form == LMN__IPC_FILE)
        st = write_footer(writer, err);
    lmn__ipc_writer_abort(writer);
    return st;
}

enum lmn_status lmn__ipc_write(struct lmn_env *env, struct lmn__sink *sink, enum lmn__ipc_form form,
                               struct ArrowArrayStream *stream, struct lmn_error *err)
{
    struct lmn__ipc_writer writer;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    enum lmn_status st = lmn__stream_schema(stream, &schema, err);

    if (st != LMN_OK)
        return st;
    st = lmn__ipc_writer_open(&writer, env, sink, form, &schema, err);
    ArrowSchemaRelease(&schema);
    if (st != LMN_OK)
        return st;
    while ((st = lmn__stream_next(stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        st = lmn__ipc_writer_write(&writer, &batch, err);
        batch.release(&batch);
        if (st != LMN_OK)
            break;
    }
    if (st == LMN_OK)
        return lmn__ipc_writer_finish(&writer, err);
    lmn__ipc_writer_abort(&writer);
    return st;
}

enum lmn_status lmn__ipc_write_buffer(struct lmn_env *env, enum lmn__ipc_form form,
                                      const struct ArrowSchema *schema,
                                      const struct ArrowArray *batch, struct lmn__buf *buf,
                                      struct lmn_error *err)
{
    struct lmn__ipc_writer writer = { 0 };
    struct lmn__sink sink;
    enum lmn_status st = lmn__sink_open_buf(&sink, env, buf, err);

    if (st != LMN_OK)
        return st;
    st = lmn__ipc_writer_open(&writer, env, &sink, form, schema, err);
    if (st == LMN_OK)
        st = lmn__ipc_writer_write(&writer, batch, err);
    if (st == LMN_OK)
        st = lmn__ipc_writer_finish(&writer, err);
    else
        lmn__ipc_writer_abort(&writer);
    return lmn__sink_close(&sink, st == LMN_OK ? err : NULL) == LMN_OK ? st : LMN_E_IO;
}
