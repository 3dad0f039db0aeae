/* SPDX-License-Identifier: Apache-2.0 */
#include "table/join_source.h"

#include <nanoarrow/nanoarrow.h>

#include "arrow/compose.h"
#include "arrow/producer.h"
#include "arrow/schema.h"
#include "arrow/view.h"

static enum lmn_status read_schema(struct lmn__join_source *source, struct lmn_error *err)
{
    struct ArrowSchema given;
    enum lmn_status st = lmn__stream_schema(source->stream, &given, err);

    if (st != LMN_OK)
        return st;
    st = lmn__plain_init(&source->plain, source->env, &given, err);
    given.release(&given);
    if (st == LMN_OK)
        st = lmn__layout_from_schema(&source->plain.schema, &source->arena, &source->layout, err);
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
    size_t room = (size_t)source->plain.schema.n_children;

    source->key = lmn__arena_array(&source->arena, on_count, sizeof *source->key);
    source->column = lmn__arena_array(&source->arena, room, sizeof *source->column);
    if (source->key == NULL || source->column == NULL)
        return lmn__arena_fail(&source->arena, "a list of columns", err);
    for (uint32_t i = 0; i < on_count; i++) {
        int64_t child;

        if (lmn__arrow_child(&source->plain.schema, on[i], &child) == NULL)
            return lmn_fail(err, LMN_E_NOT_FOUND, "the stream has no column \"%.100s\"", on[i]);
        if (is_key(source, child))
            return lmn_fail(err, LMN_E_INVALID, "key \"%.100s\" is there twice", on[i]);
        source->key[source->key_count++] = child;
    }
    for (int64_t i = 0; i < source->plain.schema.n_children; i++) {
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
        if (ArrowSchemaDeepCopy(source->plain.schema.children[source->column[i]],
                                added->children[i]) != NANOARROW_OK)
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
    lmn__plain_deinit(&source->plain);
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

enum lmn_status lmn__join_source_next(struct lmn__join_source *source, struct ArrowArray *batch_out,
                                      struct lmn_error *err)
{
    enum lmn_status st = lmn__stream_next(source->stream, batch_out, err);

    if (st != LMN_OK || batch_out->release == NULL)
        return st;
    st = check_rows(batch_out, err);
    if (st == LMN_OK)
        st = lmn__plain_batch(&source->plain, batch_out, err);
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
