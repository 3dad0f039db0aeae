/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/plain.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "arrow/compose.h"
#include "arrow/gather.h"
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

enum lmn_status lmn__plain_init(struct lmn__plain *plain, struct lmn_env *env,
                                const struct ArrowSchema *given, struct lmn_error *err)
{
    enum lmn_status st;

    *plain = (struct lmn__plain){ .env = env };
    lmn__arena_init(&plain->arena, env, 0);
    if (given->format == NULL || strcmp(given->format, "+s") != 0)
        st = lmn_fail(err, LMN_E_INVALID, "rows are a struct of columns, not of type \"%.40s\"",
                      given->format != NULL ? given->format : "");
    else
        st = lmn__arrow_schema_copy(given, &plain->schema, err);
    if (st == LMN_OK)
        st = make_plain(&plain->schema, &plain->has_views, err);
    if (st == LMN_OK && plain->has_views)
        st = lmn__layout_from_schema(given, &plain->arena, &plain->given, err);
    if (st != LMN_OK)
        lmn__plain_deinit(plain);
    return st;
}

void lmn__plain_deinit(struct lmn__plain *plain)
{
    if (plain->env == NULL)
        return;
    if (plain->schema.release != NULL)
        plain->schema.release(&plain->schema);
    lmn__arena_deinit(&plain->arena);
    *plain = (struct lmn__plain){ 0 };
}

enum lmn_status lmn__plain_batch(const struct lmn__plain *plain, struct ArrowArray *batch,
                                 struct lmn_error *err)
{
    uint64_t count = (uint64_t)batch->length;
    uint64_t *index;
    struct ArrowArray made = { 0 };
    enum lmn_status st = lmn__view_check_columns(&plain->schema, batch, err);

    if (st != LMN_OK || !plain->has_views)
        return st;
    index = lmn__calloc(plain->env, count, sizeof *index);
    if (index == NULL)
        return lmn__no_memory(err, "a list of rows", count * sizeof *index);
    for (uint64_t i = 0; i < count; i++)
        index[i] = i;
    st = lmn__array_gather(plain->env, plain->given, batch, index, count, &made, err);
    if (st == LMN_OK) {
        batch->release(batch);
        lmn__array_move(&made, batch);
    }
    lmn__free(plain->env, index);
    return st;
}
