/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that are added: a table is made of them, or made anew, or they are appended to it. The data
 * files are written first; the commit that follows is small and can be fitted to others.
 */
#include <leman/table_write.h>

#include "arrow/plain.h"
#include "arrow/producer.h"
#include "arrow/schema.h"
#include "base/error.h"
#include "format/schema_write.h"
#include "table/change.h"
#include "table/conform.h"
#include "table/fragment_writer.h"
#include "table/load_note.h"
#include "table/table_fields.h"
#include "table/versions.h"

static const struct lmn_write_options defaults;

/* The minor version that options ask for; otherwise 1, or 2 for references to bytes elsewhere. */
static enum lmn_status read_minor(const struct lmn_write_options *options,
                                  const struct ArrowSchema *schema, uint32_t *minor_out,
                                  struct lmn_error *err)
{
    const char *version = options->encode.version != NULL ? options->encode.version : "2.1";

    for (int64_t i = 0; options->encode.version == NULL && i < schema->n_children; i++) {
        if (lmn__arrow_is_reference(schema->children[i]))
            version = "2.2";
    }

    *minor_out = strcmp(version, "2.2") == 0 ? 2 : 1;
    if (strcmp(version, "2.1") != 0 && strcmp(version, "2.2") != 0)
        return lmn_fail(err, LMN_E_INVALID,
                        "file version \"%.20s\" cannot be written; 2.1 and 2.2 can", version);
    return LMN_OK;
}

/* What the stream's rows are when views have become strings. */
static enum lmn_status read_schema(struct lmn_env *env, struct ArrowArrayStream *stream,
                                   struct lmn__plain *plain, struct lmn_error *err)
{
    struct ArrowSchema given;
    enum lmn_status st = lmn__stream_schema(stream, &given, err);

    if (st != LMN_OK)
        return st;
    st = lmn__plain_init(plain, env, &given, err);
    given.release(&given);
    return st;
}

/* Write all rows; *fragment_out lies in the arena. */
static enum lmn_status write_rows(struct lmn_store *store, const struct lmn__plain *plain,
                                  struct lmn__conform *conform, struct ArrowArrayStream *stream,
                                  uint32_t minor, const struct lmn_write_options *options,
                                  struct lmn__arena *arena, struct lmn__pb_fragment **fragment_out,
                                  uint64_t *count_out, struct lmn_error *err)
{
    struct lmn__fragment_writer *writer;
    struct ArrowArray batch, view;
    enum lmn_status st = lmn__fragment_writer_open(store, &conform->schema, &conform->fields, minor,
                                                   options, &writer, err);

    *fragment_out = NULL;
    *count_out = 0;
    if (st != LMN_OK)
        return st;
    while ((st = lmn__stream_next(stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        st = lmn__plain_batch(plain, &batch, err);
        if (st == LMN_OK)
            st = lmn__conform_batch(conform, &batch, &view, err);
        if (st == LMN_OK)
            st = lmn__conform_check_new(conform, &view, err);
        if (st == LMN_OK)
            st = lmn__fragment_writer_write(writer, &view, err);
        batch.release(&batch);
        if (st != LMN_OK)
            break;
    }
    if (st == LMN_OK)
        return lmn__fragment_writer_finish(writer, arena, fragment_out, count_out, err);
    lmn__fragment_writer_abort(writer);
    return st;
}

/* Fields and fragments of a table that is made of the rows of a stream. */
struct made {
    struct lmn__arena arena;
    struct lmn__pb_schema pb;
    struct lmn__change change;
    char version[8];
};

static enum lmn_status make_table(struct lmn_store *store, struct ArrowArrayStream *stream,
                                  const struct lmn_write_options *options, struct made *made,
                                  struct lmn_error *err)
{
    struct lmn__plain plain = { 0 };
    struct lmn__conform conform;
    struct lmn__schema schema;
    uint32_t minor = 1;
    enum lmn_status st = read_schema(store->env, stream, &plain, err);

    if (st == LMN_OK)
        st = read_minor(options, &plain.schema, &minor, err);
    if (st == LMN_OK)
        st = lmn__fields_check_names(&plain.schema, err);
    if (st == LMN_OK)
        st = lmn__fields_from_arrow(&plain.schema, minor, 0, &made->arena, &made->pb, err);
    if (st == LMN_OK)
        st = lmn__fields_set_key(&made->pb, options->primary_key, options->primary_key_count, err);
    if (st == LMN_OK)
        st = lmn__schema_read(&made->pb, minor, &made->arena, &schema, err);
    if (st == LMN_OK)
        st = lmn__conform_init(&conform, store->env, &schema, &plain.schema, false, err);
    if (st == LMN_OK) {
        st = write_rows(store, &plain, &conform, stream, minor, options, &made->arena,
                        &made->change.added, &made->change.added_count, err);
        lmn__conform_deinit(&conform);
    }
    lmn__plain_deinit(&plain);
    made->change.kind = LMN__CHANGE_OVERWRITE;
    made->change.fields = &made->pb.fields;
    made->change.schema_metadata = &made->pb.metadata;
    made->change.file_version = minor == 2 ? "2.2" : "2.1";
    made->change.stable_row_ids = !options->unstable_row_ids;
    made->change.message = options->message;
    made->change.unsynced = options->unsynced;
    return st;
}

static bool is_there(struct lmn_store *store)
{
    return store->ops->dir_stamp != NULL && store->ops->dir_stamp(store, "") != 0;
}

/* What is left of a table that was not made, unless others have put something into it. */
static void remove_dirs(struct lmn_store *store, bool was_there)
{
    static const char *const dir[] = { "data", "_transactions", "_versions" };

    for (size_t i = 0; i < sizeof dir / sizeof dir[0]; i++)
        (void)store->ops->remove_dir(store, dir[i], NULL);
    if (!was_there)
        (void)store->ops->remove_dir(store, "", NULL);
}

enum lmn_status lmn__load_create(struct lmn_store *store, struct ArrowArrayStream *stream,
                                 const struct lmn_write_options *options, const char *begun,
                                 struct lmn_table **table_out, struct lmn_error *err)
{
    const struct lmn__load_note note = { .begun = begun };
    struct made made = { .change.note = begun != NULL ? &note : NULL };
    uint64_t version;
    bool plain, was_there = is_there(store);
    enum lmn_status st;

    *table_out = NULL;
    lmn__arena_init(&made.arena, store->env, 0);
    st = lmn__versions_newest(store, &version, &plain, NULL);
    if (st == LMN_OK)
        st = lmn_fail(err, LMN_E_EXISTS, "%.300s is a table already", store->name);
    else
        st = make_table(store, stream, options != NULL ? options : &defaults, &made, err);
    if (st == LMN_OK) {
        st = lmn__change_create(store, &made.change, table_out, err);
        if (st != LMN_OK && !made.change.may_stand)
            lmn__fragments_remove(store, made.change.added, made.change.added_count);
    }
    if (st != LMN_OK && st != LMN_E_EXISTS && !made.change.may_stand)
        remove_dirs(store, was_there);
    lmn__arena_deinit(&made.arena);
    stream->release(stream);
    return st;
}

enum lmn_status lmn_table_create(struct lmn_store *store, struct ArrowArrayStream *stream,
                                 const struct lmn_write_options *options,
                                 struct lmn_table **table_out, struct lmn_error *err)
{
    return lmn__load_create(store, stream, options, NULL, table_out, err);
}

enum lmn_status lmn_table_overwrite(struct lmn_table *table, struct ArrowArrayStream *stream,
                                    const struct lmn_write_options *options, struct lmn_error *err)
{
    struct lmn__manifest *before;
    struct made made = { 0 };
    bool again, plain;
    enum lmn_status st = lmn__table_newest(table, &before, err);

    lmn__arena_init(&made.arena, table->env, 0);
    if (st == LMN_OK)
        st = make_table(table->store, stream, options != NULL ? options : &defaults, &made, err);
    if (st == LMN_OK) {
        made.change.known = before;
        st = lmn__versions_newest(table->store, &made.change.read_version, &plain, err);
        if (st == LMN_OK)
            st = lmn__change_commit(table, &made.change, &again, err);
        if (st != LMN_OK && !made.change.may_stand)
            lmn__fragments_remove(table->store, made.change.added, made.change.added_count);
    }
    lmn__manifest_release(before);
    lmn__arena_deinit(&made.arena);
    stream->release(stream);
    return st;
}

/* Append to the version `manifest`; the files are removed if they come to nothing. */
static enum lmn_status append_rows(struct lmn_table *table, const struct lmn__manifest *manifest,
                                   const struct lmn__plain *plain, struct lmn__conform *conform,
                                   struct ArrowArrayStream *stream,
                                   const struct lmn_write_options *options, struct lmn_error *err)
{
    struct lmn__arena arena;
    struct lmn__change change = { .kind = LMN__CHANGE_APPEND,
                                  .read_version = manifest->pb.version,
                                  .known = manifest,
                                  .message = options->message,
                                  .unsynced = options->unsynced };
    bool again;
    enum lmn_status st;

    lmn__arena_init(&arena, table->env, 0);
    st = write_rows(table->store, plain, conform, stream, manifest->minor, options, &arena,
                    &change.added, &change.added_count, err);
    if (st == LMN_OK && change.added_count != 0) {
        st = lmn__change_commit(table, &change, &again, err);
        if (st != LMN_OK && !change.may_stand)
            lmn__fragments_remove(table->store, change.added, change.added_count);
    }
    lmn__arena_deinit(&arena);
    return st;
}

enum lmn_status lmn_table_append(struct lmn_table *table, struct ArrowArrayStream *stream,
                                 const struct lmn_write_options *options, struct lmn_error *err)
{
    struct lmn__manifest *manifest = NULL;
    struct lmn__plain plain = { 0 };
    struct lmn__conform conform;
    enum lmn_status st = read_schema(table->env, stream, &plain, err);

    if (st == LMN_OK)
        st = lmn__table_newest(table, &manifest, err);
    if (st == LMN_OK)
        st = lmn__manifest_check_writable(manifest, err);
    if (st == LMN_OK)
        st = lmn__conform_init(&conform, table->env, &manifest->schema, &plain.schema, false, err);
    if (st == LMN_OK) {
        conform.manifest = manifest;
        st = append_rows(table, manifest, &plain, &conform, stream,
                         options != NULL ? options : &defaults, err);
        lmn__conform_deinit(&conform);
    }
    lmn__plain_deinit(&plain);
    lmn__manifest_release(manifest);
    stream->release(stream);
    /* A conflict has the name already. */
    return st != LMN_OK && st != LMN_E_CONFLICT
               ? lmn__fail_within(err, st, "%.200s", table->store->name)
               : st;
}
