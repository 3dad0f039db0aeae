/* SPDX-License-Identifier: Apache-2.0 */
#include "table/merge_source.h"

#include "arrow/gather.h"
#include "arrow/plain.h"
#include "arrow/producer.h"
#include "base/error.h"

static enum lmn_status keep_batch(struct lmn__merge_source *source, struct ArrowArray *batch,
                                  struct lmn_error *err)
{
    if (source->count == source->room) {
        uint64_t room = source->room != 0 ? source->room * 2 : 16;
        struct ArrowArray *grown = lmn__realloc(source->env, source->batch, room * sizeof *grown);
        uint64_t *first = lmn__realloc(source->env, source->first, room * sizeof *first);

        if (grown != NULL)
            source->batch = grown;
        if (first != NULL)
            source->first = first;
        if (grown == NULL || first == NULL)
            return lmn__no_memory(err, "the rows to merge", room * sizeof *grown);
        source->room = room;
    }
    source->first[source->count] = source->row_count;
    source->batch[source->count++] = *batch;
    source->row_count += (uint64_t)batch->length;
    return LMN_OK;
}

enum lmn_status lmn__merge_source_read(struct lmn__merge_source *source,
                                       struct ArrowArrayStream *stream, struct lmn_error *err)
{
    struct lmn__plain plain = { 0 };
    struct ArrowSchema given;
    struct ArrowArray batch;
    enum lmn_status st = lmn__stream_schema(stream, &given, err);

    if (st != LMN_OK)
        return st;
    st = lmn__plain_init(&plain, source->env, &given, err);
    given.release(&given);
    while (st == LMN_OK && (st = lmn__stream_next(stream, &batch, err)) == LMN_OK &&
           batch.release != NULL) {
        st = lmn__plain_batch(&plain, &batch, err);
        if (st == LMN_OK)
            st = keep_batch(source, &batch, err);
        if (st != LMN_OK)
            batch.release(&batch);
    }
    if (plain.schema.release != NULL) {
        source->schema = plain.schema;
        plain.schema.release = NULL;
    }
    lmn__plain_deinit(&plain);
    return st;
}

void lmn__merge_source_deinit(struct lmn__merge_source *source)
{
    for (uint64_t i = 0; i < source->count; i++)
        source->batch[i].release(&source->batch[i]);
    lmn__free(source->env, source->batch);
    lmn__free(source->env, source->first);
    lmn__free(source->env, source->matched);
    if (source->schema.release != NULL)
        source->schema.release(&source->schema);
}

uint64_t lmn__merge_source_batch(const struct lmn__merge_source *source, uint64_t row)
{
    uint64_t low = 0, high = source->count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (source->first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

enum lmn_status lmn__merge_source_pick(const struct lmn__merge_source *source, const uint64_t *row,
                                       uint64_t count, struct ArrowArray *rows_out,
                                       struct lmn_error *err)
{
    const struct ArrowArray **from = lmn__calloc(source->env, source->count, sizeof *from);
    uint32_t *part = lmn__calloc(source->env, count, sizeof *part);
    uint64_t *index = lmn__calloc(source->env, count, sizeof *index);
    const struct lmn__layout *layout;
    struct lmn__arena arena;
    enum lmn_status st;

    *rows_out = (struct ArrowArray){ 0 };
    lmn__arena_init(&arena, source->env, 0);
    st = from != NULL && part != NULL && index != NULL
             ? lmn__layout_from_schema(&source->schema, &arena, &layout, err)
             : lmn__no_memory(err, "a list of rows", count * sizeof *index);
    for (uint64_t i = 0; st == LMN_OK && i < source->count; i++)
        from[i] = &source->batch[i];
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        part[i] = (uint32_t)lmn__merge_source_batch(source, row[i]);
        index[i] = row[i] - source->first[part[i]];
    }
    if (st == LMN_OK)
        st = lmn__arrays_gather(source->env, layout, from, (uint32_t)source->count, part, index,
                                count, rows_out, err);
    lmn__arena_deinit(&arena);
    lmn__free(source->env, from);
    lmn__free(source->env, part);
    lmn__free(source->env, index);
    return st;
}
