/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that is made by a load: first without rows, with a note of who has begun it; the last
 * commit of the load takes the note away.
 */
#include "arrow/plain.h"
#include "arrow/producer.h"
#include "arrow/schema.h"
#include "base/error.h"
#include "ingest/load.h"
#include "store/store.h"
#include "table/conform.h"
#include "table/load_note.h"

/* A stream of no rows. */
struct nothing {
    struct lmn__producer producer; /* first */
    struct lmn_env *env;           /* counted */
    struct ArrowSchema schema;
};

static enum lmn_status nothing_schema(struct lmn__producer *producer,
                                      struct ArrowSchema *schema_out, struct lmn_error *err)
{
    return lmn__arrow_schema_copy(&((struct nothing *)producer)->schema, schema_out, err);
}

static enum lmn_status nothing_next(struct lmn__producer *producer, struct ArrowArray *array_out,
                                    struct lmn_error *err)
{
    (void)producer;
    (void)array_out;
    (void)err;
    return LMN_OK;
}

static void nothing_free(struct lmn__producer *producer)
{
    struct nothing *nothing = (struct nothing *)producer;
    struct lmn_env *env = nothing->env;

    if (nothing->schema.release != NULL)
        nothing->schema.release(&nothing->schema);
    lmn__free(env, nothing);
    lmn_env_release(env);
}

/* The columns of the first part. */
static enum lmn_status first_schema(const struct lmn_load_source *source,
                                    struct ArrowSchema *schema_out, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    enum lmn_status st = source->open(source->self, 0, &stream, err);

    if (st != LMN_OK)
        return st;
    st = lmn__stream_schema(&stream, schema_out, err);
    stream.release(&stream);
    return st;
}

/* The columns of the first part, without its rows. */
static enum lmn_status open_nothing(struct lmn_env *env, const struct lmn_load_source *source,
                                    struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn__producer_ops ops = { nothing_schema, nothing_next, nothing_free };
    struct nothing *nothing = lmn__calloc(env, 1, sizeof *nothing);
    enum lmn_status st;

    if (nothing == NULL)
        return lmn__no_memory(err, "a stream", sizeof *nothing);
    nothing->env = lmn_env_acquire(env);
    st = first_schema(source, &nothing->schema, err);
    if (st != LMN_OK) {
        nothing_free(&nothing->producer);
        return st;
    }
    lmn__producer_export(&nothing->producer, &ops, stream_out);
    return LMN_OK;
}

/* A table that was begun has the columns that it was begun with: does it take these? */
static enum lmn_status check_begun(const struct lmn_store *store,
                                   const struct lmn__manifest *manifest,
                                   const struct lmn_load_source *source, struct lmn_error *err)
{
    struct ArrowSchema schema;
    struct lmn__plain plain;
    struct lmn__conform conform;
    enum lmn_status st = first_schema(source, &schema, err);

    if (st != LMN_OK)
        return st;
    st = lmn__plain_init(&plain, store->env, &schema, err);
    schema.release(&schema);
    if (st != LMN_OK)
        return st;
    st = lmn__conform_init(&conform, store->env, &manifest->schema, &plain.schema, false, err);
    if (st == LMN_OK)
        lmn__conform_deinit(&conform);
    else if (st == LMN_E_INVALID)
        st = lmn__fail_within(err, st,
                              "%.200s: a load with other columns has begun this table and not "
                              "finished it; remove it, and it is made anew",
                              store->name);
    lmn__plain_deinit(&plain);
    return st;
}

/* Open a table that this load has begun, or begin it. */
static enum lmn_status begin(struct lmn_store *store, const struct lmn_load_source *source,
                             const struct lmn_load_options *options, struct lmn_table **table_out,
                             struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct lmn__manifest *manifest;
    enum lmn_status st = lmn_table_open(store, NULL, table_out, err);

    if (st == LMN_OK) {
        manifest = lmn__table_manifest(*table_out);
        if (!lmn__load_note_begun(manifest, source->name))
            st = lmn_fail(err, LMN_E_EXISTS, "%.300s is a table already", store->name);
        else
            st = check_begun(store, manifest, source, err);
        lmn__manifest_release(manifest);
        if (st == LMN_OK)
            return LMN_OK;
        lmn_table_release(*table_out);
        *table_out = NULL;
        return st;
    }
    if (st != LMN_E_NOT_FOUND)
        return st;
    st = open_nothing(store->env, source, &stream, err);
    return st != LMN_OK ? st
                        : lmn__load_create(store, &stream, options != NULL ? &options->write : NULL,
                                           source->name, table_out, err);
}

enum lmn_status lmn_table_load_new(struct lmn_store *store, const struct lmn_load_source *source,
                                   const struct lmn_load_options *options,
                                   struct lmn_table **table_out,
                                   struct lmn_load_progress *result_out, struct lmn_error *err)
{
    enum lmn_status st;

    *table_out = NULL;
    if (result_out != NULL)
        *result_out = (struct lmn_load_progress){ 0 };
    if (source->part_count == 0)
        return lmn_fail(err, LMN_E_INVALID, "%.200s: there are no parts", source->name);
    st = begin(store, source, options, table_out, err);
    if (st == LMN_OK)
        st = lmn__load_run(*table_out, source, options, "", NULL, result_out, err);
    if (st != LMN_OK) {
        lmn_table_release(*table_out);
        *table_out = NULL;
    }
    return st;
}
