/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is records one after the other, numbers little-endian:
 *
 *   u32  bytes of the values
 *   u32  0
 *   u64  XXH3 of everything behind it
 *   u64  id of the row
 *   u64  fingerprint of its inputs
 *   the values, an Arrow IPC stream of one row
 *
 * Looking reads the heads only. A head that leaves its file ends the file: it was being written
 * when its writer died. Values that do not fit their checksum are as good as none: the row is
 * computed again.
 */
#include "job/kept.h"

#include <stdio.h>
#include <string.h>

#include "arrow/compose.h"
#include "arrow/ipc_read.h"
#include "arrow/ipc_write.h"
#include "arrow/producer.h"
#include "arrow/schema.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "os/random.h"

enum { HEAD_BYTES = 32, CHECKED_AT = 16, PATH_CHARS = 256, SLOTS_FIRST = 64 };

/* Names begin so; where finished rows are computed again, with the second. */
static const char prefix[] = "kept-", prefix_again[] = "kept-again-";

/* A file of some worker, known so far. */
struct kept_file {
    char name[64];
    uint64_t bytes; /* that were looked at */
};

/* Where a record is; one of 0 bytes is an empty slot. */
struct slot {
    uint64_t row_id, fingerprint;
    uint32_t file;
    uint32_t bytes;
    uint64_t position;
};

struct lmn__kept {
    struct lmn_env *env;     /* counted */
    struct lmn_store *store; /* counted */
    char dir[PATH_CHARS];
    const struct ArrowSchema *schema;
    bool unsynced, again;
    struct kept_file *file;
    uint32_t file_count, file_room;
    struct slot *slot; /* a hash table: a power of two, at most half full */
    uint64_t slot_count, slot_room;
    char own_name[64];
    struct lmn__store_file *own; /* NULL: nothing was added */
    uint64_t own_bytes;
    bool named; /* the name of the own file is durable */
};

static void path_of(const struct lmn__kept *kept, const char *name, char path_out[PATH_CHARS])
{
    snprintf(path_out, PATH_CHARS, "%.180s/%.63s", kept->dir, name);
}

static struct slot *slot_of(struct slot *slot, uint64_t room, uint64_t row_id, uint64_t fingerprint)
{
    const uint64_t key[] = { row_id, fingerprint };
    uint64_t at = lmn__hash64(key, sizeof key);

    for (;; at++) {
        struct slot *found = &slot[at & (room - 1)];

        if (found->bytes == 0 || (found->row_id == row_id && found->fingerprint == fingerprint))
            return found;
    }
}

static enum lmn_status grow_slots(struct lmn__kept *kept, struct lmn_error *err)
{
    uint64_t room = kept->slot_room == 0 ? SLOTS_FIRST : kept->slot_room * 2;
    struct slot *slot;

    if (kept->slot_count * 2 < kept->slot_room)
        return LMN_OK;
    slot = lmn__calloc(kept->env, room, sizeof *slot);
    if (slot == NULL)
        return lmn__no_memory(err, "results that are kept", room * sizeof *slot);
    for (uint64_t i = 0; i < kept->slot_room; i++) {
        const struct slot *old = &kept->slot[i];

        if (old->bytes != 0)
            *slot_of(slot, room, old->row_id, old->fingerprint) = *old;
    }
    lmn__free(kept->env, kept->slot);
    kept->slot = slot;
    kept->slot_room = room;
    return LMN_OK;
}

/* Enter the records of a file that were not looked at. */
static enum lmn_status look_at(struct lmn__kept *kept, uint32_t number,
                               struct lmn__store_file *file, struct lmn_error *err)
{
    struct kept_file *known = &kept->file[number];
    enum lmn_status st = LMN_OK;

    while (file->bytes - known->bytes >= HEAD_BYTES) {
        uint8_t head[HEAD_BYTES];
        struct slot found = { .file = number, .position = known->bytes }, *slot;

        st = kept->store->ops->read_at(file, known->bytes, head, sizeof head, err);
        if (st == LMN_OK)
            st = grow_slots(kept, err);
        if (st != LMN_OK)
            return st;
        found.bytes = lmn__load_u32(head);
        found.row_id = lmn__load_u64(head + CHECKED_AT);
        found.fingerprint = lmn__load_u64(head + CHECKED_AT + 8);
        if (found.bytes == 0 || lmn__load_u32(head + 4) != 0 ||
            found.bytes > file->bytes - known->bytes - HEAD_BYTES)
            return LMN_OK; /* being written, or never finished */
        slot = slot_of(kept->slot, kept->slot_room, found.row_id, found.fingerprint);
        kept->slot_count += slot->bytes == 0;
        *slot = found;
        known->bytes += HEAD_BYTES + (uint64_t)found.bytes;
    }
    return LMN_OK;
}

static enum lmn_status number_of(struct lmn__kept *kept, const char *name, uint32_t *number_out,
                                 struct lmn_error *err)
{
    for (*number_out = 0; *number_out < kept->file_count; ++*number_out) {
        if (strcmp(kept->file[*number_out].name, name) == 0)
            return LMN_OK;
    }
    if (kept->file_count == kept->file_room) {
        uint32_t room = kept->file_room == 0 ? 8 : kept->file_room * 2;
        struct kept_file *file = lmn__realloc(kept->env, kept->file, room * sizeof *file);

        if (file == NULL)
            return lmn__no_memory(err, "files of kept results", room * sizeof *file);
        kept->file = file;
        kept->file_room = room;
    }
    kept->file[kept->file_count] = (struct kept_file){ 0 };
    snprintf(kept->file[kept->file_count++].name, sizeof kept->file->name, "%s", name);
    return LMN_OK;
}

/* Is it a file of results that count? What was kept before finished rows were to be computed again
 * does not. */
static bool is_kept(const struct lmn__kept *kept, const char *name)
{
    const char *begins = kept->again ? prefix_again : prefix;

    return strncmp(name, begins, strlen(begins)) == 0 && strlen(name) < sizeof kept->own_name;
}

/* A lmn__store_entry_fn. */
static enum lmn_status look_entry(void *context, const char *name, bool is_directory,
                                  struct lmn_error *err)
{
    struct lmn__kept *kept = context;
    struct lmn__store_file *file;
    char path[PATH_CHARS];
    uint32_t number;
    enum lmn_status st;

    if (is_directory || !is_kept(kept, name))
        return LMN_OK;
    st = number_of(kept, name, &number, err);
    path_of(kept, name, path);
    if (st == LMN_OK)
        st = kept->store->ops->open(kept->store, path, &file, err);
    if (st != LMN_OK)
        return st;
    st = look_at(kept, number, file, err);
    kept->store->ops->close(file);
    return st;
}

enum lmn_status lmn__kept_look(struct lmn__kept *kept, struct lmn_error *err)
{
    return kept->store->ops->list(kept->store, kept->dir, look_entry, kept, err);
}

enum lmn_status lmn__kept_open(const struct lmn__kept_options *options, struct lmn__kept **kept_out,
                               struct lmn_error *err)
{
    struct lmn_env *env = options->store->env;
    struct lmn__kept *kept = lmn__calloc(env, 1, sizeof *kept);
    char token[LMN__TOKEN_CHARS];
    enum lmn_status st;

    *kept_out = NULL;
    if (kept == NULL)
        return lmn__no_memory(err, "kept results", sizeof *kept);
    kept->env = lmn_env_acquire(env);
    kept->store = lmn_store_acquire(options->store);
    kept->schema = options->schema;
    kept->unsynced = options->unsynced;
    kept->again = options->again;
    snprintf(kept->dir, sizeof kept->dir, "%s", options->dir);
    st = lmn__random_token(token, err);
    snprintf(kept->own_name, sizeof kept->own_name, "%s%s", kept->again ? prefix_again : prefix,
             token);
    if (st == LMN_OK)
        st = lmn__kept_look(kept, err);
    if (st != LMN_OK) {
        lmn__kept_close(kept);
        return st;
    }
    *kept_out = kept;
    return LMN_OK;
}

void lmn__kept_close(struct lmn__kept *kept)
{
    struct lmn_env *env;

    if (kept == NULL)
        return;
    env = kept->env;
    if (kept->own != NULL)
        kept->store->ops->close(kept->own);
    lmn__free(env, kept->file);
    lmn__free(env, kept->slot);
    lmn_store_release(kept->store);
    lmn__free(env, kept);
    lmn_env_release(env);
}

bool lmn__kept_has(const struct lmn__kept *kept, uint64_t row_id, uint64_t fingerprint)
{
    return kept->slot_count > 0 &&
           slot_of(kept->slot, kept->slot_room, row_id, fingerprint)->bytes != 0;
}

/* One row of the type wanted, or nothing. */
static enum lmn_status decode(struct lmn__kept *kept, struct lmn__span bytes,
                              struct ArrowArray *array_out, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema = { 0 };
    enum lmn_status st = lmn__ipc_read_buffer(kept->env, "kept results", bytes, &stream, err);

    if (st != LMN_OK)
        return st;
    st = lmn__stream_schema(&stream, &schema, err);
    if (st == LMN_OK)
        st = lmn__arrow_type_check(&schema, kept->schema, err);
    if (schema.release != NULL)
        schema.release(&schema);
    if (st == LMN_OK)
        st = lmn__stream_next(&stream, array_out, err);
    if (st == LMN_OK && array_out->release != NULL && array_out->length != 1)
        lmn__array_release(array_out);
    stream.release(&stream);
    return st;
}

static enum lmn_status read_record(struct lmn__kept *kept, struct lmn__store_file *file,
                                   const struct slot *slot, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    size_t len = HEAD_BYTES + (size_t)slot->bytes;
    uint8_t *record = lmn__alloc(kept->env, len);
    enum lmn_status st;

    if (record == NULL)
        return lmn__no_memory(err, "a kept result", len);
    st = kept->store->ops->read_at(file, slot->position, record, len, err);
    if (st == LMN_OK &&
        lmn__hash64(record + CHECKED_AT, len - CHECKED_AT) == lmn__load_u64(record + 8))
        st = decode(kept, (struct lmn__span){ record + HEAD_BYTES, slot->bytes }, array_out, err);
    lmn__free(kept->env, record);
    return st;
}

enum lmn_status lmn__kept_read(struct lmn__kept *kept, uint64_t row_id, uint64_t fingerprint,
                               struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn__store_file *file;
    const struct slot *slot;
    char path[PATH_CHARS];
    enum lmn_status st;

    *array_out = (struct ArrowArray){ 0 };
    if (!lmn__kept_has(kept, row_id, fingerprint))
        return LMN_OK;
    slot = slot_of(kept->slot, kept->slot_room, row_id, fingerprint);
    path_of(kept, kept->file[slot->file].name, path);
    st = kept->store->ops->open(kept->store, path, &file, err);
    if (st == LMN_OK) {
        st = read_record(kept, file, slot, array_out, err);
        kept->store->ops->close(file);
    }
    /* What cannot be read is computed again; memory and the disk itself are another matter. */
    return st == LMN_E_CORRUPT || st == LMN_E_UNSUPPORTED || st == LMN_E_INVALID ? LMN_OK : st;
}

static enum lmn_status write_record(struct lmn__kept *kept, const struct lmn__buf *buf,
                                    struct lmn_error *err)
{
    char path[PATH_CHARS];
    enum lmn_status st = LMN_OK;

    if (kept->own == NULL) {
        path_of(kept, kept->own_name, path);
        st = kept->store->ops->create(kept->store, path, &kept->own, err);
    }
    if (st == LMN_OK)
        st = kept->store->ops->write_at(kept->own, kept->own_bytes, buf->data, buf->len, err);
    if (st == LMN_OK)
        kept->own_bytes += buf->len;
    return st;
}

enum lmn_status lmn__kept_add(struct lmn__kept *kept, uint64_t row_id, uint64_t fingerprint,
                              const struct ArrowArray *values, struct lmn_error *err)
{
    struct lmn__buf buf;
    enum lmn_status st;

    lmn__buf_init(&buf, kept->env, 0);
    lmn__buf_put_u64(&buf, 0);
    lmn__buf_put_u64(&buf, 0);
    lmn__buf_put_u64(&buf, row_id);
    lmn__buf_put_u64(&buf, fingerprint);
    st = lmn__ipc_write_buffer(kept->env, LMN__IPC_STREAM, kept->schema, values, &buf, err);
    if (st == LMN_OK)
        st = lmn__buf_status(&buf, "a kept result", err);
    if (st == LMN_OK && buf.len - HEAD_BYTES > UINT32_MAX)
        st = lmn_fail(err, LMN_E_UNSUPPORTED, "a result of %zu bytes is too large to be kept",
                      buf.len);
    if (st == LMN_OK) {
        lmn__store_u32(buf.data, (uint32_t)(buf.len - HEAD_BYTES));
        lmn__store_u64(buf.data + 8, lmn__hash64(buf.data + CHECKED_AT, buf.len - CHECKED_AT));
        st = write_record(kept, &buf, err);
    }
    lmn__buf_deinit(&buf);
    return st;
}

enum lmn_status lmn__kept_sync(struct lmn__kept *kept, struct lmn_error *err)
{
    enum lmn_status st;

    if (kept->own == NULL || kept->unsynced)
        return LMN_OK;
    st = kept->store->ops->sync(kept->own, err);
    if (st == LMN_OK && !kept->named) {
        st = kept->store->ops->sync_dir(kept->store, kept->dir, err);
        kept->named = st == LMN_OK;
    }
    return st;
}
