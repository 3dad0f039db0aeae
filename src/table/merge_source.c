/* SPDX-License-Identifier: Apache-2.0 */
#include "table/merge_source.h"

#include "arrow/plain.h"
#include "arrow/producer.h"
#include "base/error.h"
#include "table/key_index.h"

static enum lmn_status start(struct lmn__merge_source *source, struct lmn_store *store,
                             const char *const *on, uint32_t on_count, struct lmn_error *err)
{
    int64_t *key = lmn__calloc(store->env, on_count, sizeof *key);
    enum lmn_status st = key != NULL ? lmn__key_columns(&source->schema, on, on_count, key, err)
                                     : lmn__no_memory(err, "keys", on_count * sizeof *key);

    if (st == LMN_OK)
        st = lmn__spool_init(&source->spool, store, &source->schema, key, on_count, err);
    lmn__free(store->env, key);
    return st;
}

enum lmn_status lmn__merge_source_read(struct lmn__merge_source *source, struct lmn_store *store,
                                       struct ArrowArrayStream *stream, const char *const *on,
                                       uint32_t on_count, struct lmn_error *err)
{
    struct lmn__plain plain = { 0 };
    struct ArrowSchema given;
    struct ArrowArray batch;
    enum lmn_status st = lmn__stream_schema(stream, &given, err);

    if (st != LMN_OK)
        return st;
    st = lmn__plain_init(&plain, store->env, &given, err);
    given.release(&given);
    if (st == LMN_OK) {
        source->schema = plain.schema;
        plain.schema.release = NULL;
        st = start(source, store, on, on_count, err);
    }
    while (st == LMN_OK && (st = lmn__stream_next(stream, &batch, err)) == LMN_OK &&
           batch.release != NULL) {
        st = lmn__plain_batch(&plain, &batch, err);
        if (st == LMN_OK)
            st = lmn__spool_add(&source->spool, &batch, err);
        if (st != LMN_OK)
            batch.release(&batch);
    }
    if (st == LMN_OK)
        st = lmn__spool_end(&source->spool, err);
    lmn__plain_deinit(&plain);
    return st;
}

void lmn__merge_source_deinit(struct lmn__merge_source *source)
{
    if (source->spool.env != NULL)
        lmn__free(source->spool.env, source->matched);
    lmn__spool_deinit(&source->spool);
    if (source->schema.release != NULL)
        source->schema.release(&source->schema);
}
