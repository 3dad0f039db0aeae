/* SPDX-License-Identifier: Apache-2.0 */
#include "table/cell_states.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <string.h>

#include "arrow/compose.h"
#include "arrow/view.h"
#include "base/error.h"
#include "table/ledger.h"
#include "table/row_columns.h"
#include "table/staleness.h"
#include "table/table_fields.h"

enum { NAME_BYTES = 32, TEXT_MAX = 7 };

static const char function_name[] = "leman_state";
static const struct lmn__layout text_layout = { .kind = LMN__LAYOUT_VARIABLE, .bits = 32 };

static enum lmn_status add_state(struct lmn__cell_states *states, const struct lmn__node *column,
                                 const struct lmn__node *ledger, struct lmn_error *err)
{
    struct lmn__cell_state *state = &states->state[states->count];
    size_t bytes = strlen(ledger->name) + sizeof ".state";
    char *name = lmn__arena_alloc(states->arena, NAME_BYTES);
    char *path = lmn__arena_alloc(states->arena, bytes);

    if (name == NULL || path == NULL)
        return lmn__arena_fail(states->arena, "states of cells", err);
    snprintf(name, NAME_BYTES, "_leman_state_%d", column->field->id);
    snprintf(path, bytes, "%s.state", ledger->name);
    *state =
        (struct lmn__cell_state){ .column = column, .ledger = ledger, .name = name, .path = path };
    states->count++;
    return LMN_OK;
}

enum lmn_status lmn__cell_states_init(struct lmn__cell_states *states, struct lmn_table *table,
                                      struct lmn__manifest *manifest, struct lmn__arena *arena,
                                      struct lmn_error *err)
{
    const struct lmn__schema *schema = &manifest->schema;
    enum lmn_status st = LMN_OK;

    *states = (struct lmn__cell_states){ .table = table, .manifest = manifest, .arena = arena };
    states->state = lmn__arena_array(arena, schema->top_count, sizeof *states->state);
    if (states->state == NULL)
        return lmn__arena_fail(arena, "states of cells", err);
    for (const struct lmn__node *node = schema->top; st == LMN_OK && node != NULL;
         node = node->next) {
        const struct lmn__node *ledger = lmn__ledger_of(schema, node);

        if (ledger != NULL)
            st = add_state(states, node, ledger, err);
    }
    return st;
}

void lmn__cell_states_deinit(struct lmn__cell_states *states)
{
    for (uint32_t i = 0; i < states->count; i++) {
        if (states->state[i].stale != NULL)
            lmn__touched_deinit(states->state[i].stale);
    }
    states->count = 0;
}

/* The `find` of a resolver. */
static enum lmn_status find_state(void *context, const char *name,
                                  const struct lmn__expr_argument *argument, uint32_t count,
                                  const char **path_out, struct lmn_error *err)
{
    const struct lmn__cell_states *states = context;

    if (strcmp(name, function_name) != 0)
        return LMN_E_NOT_FOUND;
    if (count != 1 || !argument[0].is_string)
        return lmn_fail(err, LMN_E_INVALID, "%s() takes the name of one column, as a text",
                        function_name);
    for (uint32_t i = 0; i < states->count; i++) {
        if (strcmp(states->state[i].column->name, argument[0].text) == 0) {
            *path_out = states->state[i].name;
            return LMN_OK;
        }
    }
    return lmn_fail(err, LMN_E_INVALID, "%s('%.100s'): no function fills such a column",
                    function_name, argument[0].text);
}

struct lmn__expr_resolver lmn__cell_states_resolver(struct lmn__cell_states *states)
{
    return (struct lmn__expr_resolver){ find_state, states };
}

static enum lmn_status put_field(struct ArrowSchema *schema, const char *name,
                                 struct lmn_error *err)
{
    ArrowSchemaInit(schema);
    if (ArrowSchemaSetType(schema, NANOARROW_TYPE_STRING) != NANOARROW_OK ||
        ArrowSchemaSetName(schema, name) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    return LMN_OK;
}

enum lmn_status lmn__cell_states_schema(const struct lmn__cell_states *states, bool all,
                                        struct ArrowSchema *schema, struct lmn_error *err)
{
    int64_t had = schema->n_children, count = had;
    struct ArrowSchema wider;
    enum lmn_status st = LMN_OK;

    if (states->count == 0 || (!all && states->used_count == 0))
        return LMN_OK;
    ArrowSchemaInit(&wider);
    if (ArrowSchemaSetFormat(&wider, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(&wider, had + (all ? states->count : states->used_count)) !=
            NANOARROW_OK)
        st = lmn__no_memory(err, "a schema", 0);
    for (uint32_t i = 0; st == LMN_OK && i < states->count; i++) {
        if (all || states->state[i].used)
            st = put_field(wider.children[count++], states->state[i].name, err);
    }
    if (st != LMN_OK) {
        wider.release(&wider);
        return st;
    }
    for (int64_t i = 0; i < had; i++)
        ArrowSchemaMove(schema->children[i], wider.children[i]);
    schema->release(schema);
    *schema = wider;
    return LMN_OK;
}

bool lmn__cell_states_use(struct lmn__cell_states *states, const char *path, const char **path_out)
{
    for (uint32_t i = 0; i < states->count; i++) {
        if (strcmp(states->state[i].name, path) != 0)
            continue;
        states->used_count += !states->state[i].used;
        states->state[i].used = true;
        *path_out = states->state[i].path;
        return true;
    }
    return false;
}

/* Does the table still have all inputs? */
static bool has_inputs(const struct lmn__stale_query *query)
{
    const struct lmn__node *node;

    for (uint32_t i = 0; i < query->input_count; i++) {
        if (lmn__fields_find(query->manifest, query->input[i], &node, NULL) == LMN_E_NOT_FOUND)
            return false;
    }
    return query->input_count != 0;
}

enum lmn_status lmn__cells_find_stale(struct lmn_table *table, struct lmn__manifest *manifest,
                                      const struct lmn__node *column,
                                      const struct lmn__node *ledger,
                                      struct lmn__touched_set *stale, struct lmn_error *err)
{
    struct lmn__stale_query query = {
        .table = table, .manifest = manifest, .column = column, .ledger = ledger
    };
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, table->env, 0);
    st = lmn__ledger_inputs(&manifest->schema, column, &arena, &query.input, &query.input_count,
                            err);
    /* A function whose input was dropped cannot run again; its cells are what they are. */
    if (st == LMN_OK && has_inputs(&query))
        st = lmn__stale_find(&query, stale, err);
    lmn__arena_deinit(&arena);
    return st;
}

/* Where the state lies in a batch. */
static void locate(struct lmn__cell_state *state, const struct lmn__projection *projection)
{
    const struct lmn__selected *root = projection->root, *ledger;

    while (root->child[state->child]->node != state->ledger)
        state->child++;
    ledger = root->child[state->child];
    while (ledger->child[state->grandchild]->node != state->ledger->child)
        state->grandchild++;
}

enum lmn_status lmn__cell_states_prepare(struct lmn__cell_states *states,
                                         const struct lmn__projection *projection,
                                         struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < states->count; i++) {
        struct lmn__cell_state *state = &states->state[i];

        if (!state->used)
            continue;
        locate(state, projection);
        state->stale = lmn__arena_alloc(states->arena, sizeof *state->stale);
        if (state->stale == NULL)
            return lmn__arena_fail(states->arena, "states of cells", err);
        lmn__touched_init(state->stale, states->table->env, states->manifest);
        st = lmn__cells_find_stale(states->table, states->manifest, state->column, state->ledger,
                                   state->stale, err);
    }
    return st;
}

static const char *text_of(const struct lmn__cell_state *state, const struct ArrowArray *ledger,
                           uint64_t i, uint64_t address)
{
    const struct ArrowArray *array = ledger->children[state->grandchild];
    uint64_t slot = (uint64_t)ledger->offset + i;
    uint8_t cell;

    if (lmn__view_is_null(ledger, i) || lmn__view_is_null(array, slot))
        return "pending";
    cell = ((const uint8_t *)array->buffers[1])[(uint64_t)array->offset + slot];
    if (cell == LMN__CELL_FAILED)
        return "failed";
    if (cell != LMN__CELL_OK)
        return "pending";
    return state->stale->row_count != 0 && lmn__touched_has(state->stale, address) ? "stale" : "ok";
}

/* One column of texts. */
static enum lmn_status make_column(const struct lmn__cell_state *state, struct lmn_env *env,
                                   uint64_t fragment_id, const struct lmn__row_range *range,
                                   uint64_t range_count, const struct ArrowArray *batch,
                                   struct ArrowArray *array_out, struct lmn_error *err)
{
    const struct ArrowArray *ledger = batch->children[state->child];
    uint64_t rows = (uint64_t)batch->length, at = 0, base;
    uint8_t *offset, *data;
    uint32_t used = 0;
    struct lmn__builder builder;
    enum lmn_status st = lmn__builder_init(&builder, env, &text_layout, err);

    if (st == LMN_OK)
        st = lmn__builder_add_valid(&builder, rows, err);
    if (st == LMN_OK)
        st = lmn__builder_extend_variable(&builder, rows, rows * TEXT_MAX, &offset, &data, &base,
                                          err);
    for (uint64_t i = 0; st == LMN_OK && i < range_count; i++) {
        for (uint64_t k = 0; k < range[i].count; k++, at++) {
            const char *text = text_of(state, ledger, (uint64_t)batch->offset + at,
                                       lmn__row_address(fragment_id, range[i].first + k));
            uint32_t len = (uint32_t)strlen(text);

            memcpy(data + used, text, len);
            used += len;
            lmn__store_u32(offset + at * 4, used);
        }
    }
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array_out, err);
    lmn__builder_deinit(&builder);
    return st;
}

enum lmn_status lmn__cell_states_add(const struct lmn__cell_states *states, uint64_t fragment_id,
                                     const struct lmn__row_range *range, uint64_t range_count,
                                     struct ArrowArray *array, struct lmn_error *err)
{
    uint32_t had = (uint32_t)array->n_children, count = had;
    struct ArrowArray wider;
    enum lmn_status st;

    if (states->used_count == 0)
        return LMN_OK;
    st = lmn__array_compose(states->table->env, (uint64_t)array->length, had + states->used_count,
                            &wider, err);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; st == LMN_OK && i < states->count; i++) {
        if (states->state[i].used)
            st = make_column(&states->state[i], states->table->env, fragment_id, range, range_count,
                             array, wider.children[count++], err);
    }
    if (st != LMN_OK) {
        wider.release(&wider);
        return st;
    }
    for (uint32_t i = 0; i < had; i++)
        lmn__array_move(array->children[i], wider.children[i]);
    array->release(array);
    *array = wider;
    return LMN_OK;
}
