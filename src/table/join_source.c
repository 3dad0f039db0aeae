/* SPDX-License-Identifier: Apache-2.0 */
#include "table/join_source.h"

#include <nanoarrow/nanoarrow.h>

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "arrow/producer.h"
#include "arrow/schema.h"
#include "arrow/view.h"

/* Make plain strings of views, everywhere in a type. */
static enum lmn_status make_plain(struct ArrowSchema *schema, bool *had_views,
                                  struct lmn_error *err)
{
    bool text = strcmp(schema->format, "vu") == 0;
    enum lmn_status st = LMN_OK;

    if (text || strcmp(schema->format, "vz") == 0) {
        *had_views = true;
        if (ArrowSchemaSetFormat(schema, text ? "u" : "z") != NANOARROW_OK)
            return lmn__no_memory(err, "a schema", 0);
    }
    for (int64_t i = 0; st == LMN_OK && i < schema->n_children; i++)
        st = make_plain(schema->children[i], had_views, err);
    if (st == LMN_OK && schema->dictionary != NULL)
        st = make_plain(schema->dictionary, had_views, err);
    return st;
}

static enum lmn_status read_schema(struct lmn__join_source *source, struct lmn_error *err)
{
    struct ArrowSchema given;
    enum lmn_status st = lmn__stream_schema(source->stream, &given, err);

    if (st != LMN_OK)
        return st;
    if (given.format == NULL || strcmp(given.format, "+s") != 0)
        st = lmn_fail(err, LMN_E_INVALID, "rows are a struct of columns, not of type \"%.40s\"",
                      given.format != NULL ? given.format : "");
    if (st == LMN_OK)
        st = lmn__layout_from_schema(&given, &source->arena, &source->given, err);
    if (st == LMN_OK)
        st = lmn__arrow_schema_copy(&given, &source->schema, err);
    if (st == LMN_OK)
        st = make_plain(&source->schema, &source->has_views, err);
    if (st == LMN_OK)
        st = lmn__layout_from_schema(&source->schema, &source->arena, &source->layout, err);
    given.release(&given);
    return st;
}

static bool is_key(const struct lmn__join_source *source, int64_t child)
{
    for (uint32_t i = 0; i < source->key_count; i++) {
        if (source->key[i] == child)
            return true;
    }
    return false;
}

/* Tell keys from columns that are added. */
static enum lmn_status divide(struct lmn__join_source *source, const char *const *on,
                              uint32_t on_count, struct lmn_error *err)
{
    size_t room = (size_t)source->schema.n_children;

    source->key = lmn__arena_array(&source->arena, on_count, sizeof *source->key);
    source->column = lmn__arena_array(&source->arena, room, sizeof *source->column);
    if (source->key == NULL || source->column == NULL)
        return lmn__arena_fail(&source->arena, "a list of columns", err);
    for (uint32_t i = 0; i < on_count; i++) {
        int64_t child;

        if (lmn__arrow_child(&source->schema, on[i], &child) == NULL)
            return lmn_fail(err, LMN_E_NOT_FOUND, "the stream has no column \"%.100s\"", on[i]);
        if (is_key(source, child))
            return lmn_fail(err, LMN_E_INVALID, "key \"%.100s\" is there twice", on[i]);
        source->key[source->key_count++] = child;
    }
    for (int64_t i = 0; i < source->schema.n_children; i++) {
        if (!is_key(source, i))
            source->column[source->column_count++] = i;
    }
    if (source->column_count == 0)
        return lmn_fail(err, LMN_E_INVALID, "the stream has no columns to add");
    return LMN_OK;
}

static enum lmn_status make_added(struct lmn__join_source *source, struct lmn_error *err)
{
    struct ArrowSchema *added = &source->added;

    ArrowSchemaInit(added);
    if (ArrowSchemaSetFormat(added, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(added, source->column_count) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    for (uint32_t i = 0; i < source->column_count; i++) {
        if (ArrowSchemaDeepCopy(source->schema.children[source->column[i]], added->children[i]) !=
            NANOARROW_OK)
            return lmn__no_memory(err, "a schema", 0);
        added->children[i]->flags |= ARROW_FLAG_NULLABLE;
    }
    return LMN_OK;
}

enum lmn_status lmn__join_source_init(struct lmn__join_source *source, struct lmn_env *env,
                                      struct ArrowArrayStream *stream, const char *const *on,
                                      uint32_t on_count, struct lmn_error *err)
{
    enum lmn_status st;

    *source = (struct lmn__join_source){ .env = env, .stream = stream };
    lmn__arena_init(&source->arena, env, 0);
    st = read_schema(source, err);
    if (st == LMN_OK)
        st = divide(source, on, on_count, err);
    if (st == LMN_OK)
        st = make_added(source, err);
    if (st != LMN_OK)
        lmn__join_source_deinit(source);
    return st;
}

void lmn__join_source_deinit(struct lmn__join_source *source)
{
    if (source->schema.release != NULL)
        source->schema.release(&source->schema);
    if (source->added.release != NULL)
        source->added.release(&source->added);
    lmn__arena_deinit(&source->arena);
}

static enum lmn_status check_rows(const struct ArrowArray *batch, struct lmn_error *err)
{
    for (int64_t i = 0; lmn__view_validity(batch) != NULL && i < batch->length; i++) {
        if (lmn__view_is_null(batch, (uint64_t)i))
            return lmn_fail(err, LMN_E_INVALID, "row %lld of a batch is null as a whole",
                            (long long)i);
    }
    return LMN_OK;
}

/* Replace a batch by one without views. */
static enum lmn_status copy_plain(struct lmn__join_source *source, struct ArrowArray *batch,
                                  struct lmn_error *err)
{
    uint64_t count = (uint64_t)batch->length;
    uint64_t *index = lmn__calloc(source->env, count, sizeof *index);
    struct ArrowArray plain = { 0 };
    enum lmn_status st = index != NULL ? LMN_OK : lmn__no_memory(err, "a list of rows", 0);

    for (uint64_t i = 0; st == LMN_OK && i < count; i++)
        index[i] = i;
    if (st == LMN_OK)
        st = lmn__array_gather(source->env, source->given, batch, index, count, &plain, err);
    if (st == LMN_OK) {
        batch->release(batch);
        lmn__array_move(&plain, batch);
    }
    lmn__free(source->env, index);
    return st;
}

enum lmn_status lmn__join_source_next(struct lmn__join_source *source, struct ArrowArray *batch_out,
                                      struct lmn_error *err)
{
    enum lmn_status st = lmn__stream_next(source->stream, batch_out, err);

    if (st != LMN_OK || batch_out->release == NULL)
        return st;
    st = check_rows(batch_out, err);
    if (st == LMN_OK && source->has_views)
        st = copy_plain(source, batch_out, err);
    if (st != LMN_OK) {
        batch_out->release(batch_out);
        return st;
    }
    for (int64_t i = 0; i < batch_out->n_children; i++) {
        batch_out->children[i]->offset += batch_out->offset;
        batch_out->children[i]->length = batch_out->length;
        batch_out->children[i]->null_count = -1;
    }
    batch_out->offset = 0;
    return LMN_OK;
}
