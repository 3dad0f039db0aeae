/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the function of a filled column reads.
 *
 * `leman:function` has the names that the inputs had when it was recorded; `leman:inputs` has the
 * ids of their fields, in the same order: "3,17". A column keeps its id when any program renames
 * it, so the id says which column is meant. The name stands in where there is no field of that id:
 * in columns that were recorded without ids, and where another program has made an input anew.
 */
#include "table/ledger.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/json_write.h"
#include "table/field_names.h"
#include "table/table_fields.h"

enum { INPUTS_MAX = 256, NO_ID = -1 };

/* The next id of a list; NO_ID where it has none. */
static int32_t next_id(struct lmn__span *rest)
{
    int32_t id = 0;
    size_t at = 0;

    while (at < rest->len && rest->data[at] >= '0' && rest->data[at] <= '9' && id < 100000000)
        id = id * 10 + (rest->data[at++] - '0');
    if (at == 0 || (at < rest->len && rest->data[at] != ',')) {
        id = NO_ID;
        while (at < rest->len && rest->data[at] != ',')
            at++;
    }
    at += at < rest->len;
    *rest = (struct lmn__span){ rest->data + at, rest->len - at };
    return id;
}

/* The inputs by the names that they have now; *renamed_out: they are others than were recorded. */
static enum lmn_status list(const struct lmn__schema *schema, const struct lmn__node *column,
                            struct lmn__arena *arena, const char **input, uint32_t *count_out,
                            bool *renamed_out, struct lmn_error *err)
{
    struct lmn__span text = lmn__node_metadata(column, LMN__FUNCTION_KEY), names, item;
    struct lmn__span ids = lmn__node_metadata(column, LMN__INPUTS_KEY);
    char name[LMN__FUNCTION_TEXT_MAX];
    enum lmn_status st = lmn__json_member(text, "inputs", &names, err);

    while (st == LMN_OK && names.data != NULL && lmn__json_next_item(&names, &item)) {
        const struct lmn__node *node = lmn__field_of_id(schema, next_id(&ids));

        if (*count_out == INPUTS_MAX || !lmn__json_to_text(item, name, sizeof name))
            return lmn_fail(err, LMN_E_CORRUPT, "input %u is no name", *count_out);
        input[*count_out] = node != NULL ? lmn__field_path(node, arena)
                                         : lmn__arena_strndup(arena, name, strlen(name));
        if (input[*count_out] == NULL)
            return lmn__arena_fail(arena, "the inputs of a column", err);
        *renamed_out = *renamed_out || strcmp(input[*count_out], name) != 0;
        ++*count_out;
    }
    return st;
}

static enum lmn_status list_named(const struct lmn__schema *schema, const struct lmn__node *column,
                                  struct lmn__arena *arena, const char *const **input_out,
                                  uint32_t *count_out, bool *renamed_out, struct lmn_error *err)
{
    const char **input = lmn__arena_array(arena, INPUTS_MAX, sizeof *input);
    enum lmn_status st;

    *input_out = input;
    *count_out = 0;
    *renamed_out = false;
    if (input == NULL)
        return lmn__arena_fail(arena, "the inputs of a column", err);
    if (lmn__node_metadata(column, LMN__FUNCTION_KEY).data == NULL)
        return LMN_OK;
    st = list(schema, column, arena, input, count_out, renamed_out, err);
    if (st != LMN_OK)
        lmn__fail_within(err, st, "the function of column \"%.100s\"", column->name);
    return st;
}

enum lmn_status lmn__ledger_inputs(const struct lmn__schema *schema, const struct lmn__node *column,
                                   struct lmn__arena *arena, const char *const **input_out,
                                   uint32_t *count_out, struct lmn_error *err)
{
    bool renamed;

    return list_named(schema, column, arena, input_out, count_out, &renamed, err);
}

enum lmn_status lmn__ledger_function(const struct lmn__schema *schema,
                                     const struct lmn__node *column, struct lmn__arena *arena,
                                     struct lmn__buf *text_out, struct lmn_error *err)
{
    struct lmn__span text = lmn__node_metadata(column, LMN__FUNCTION_KEY), names;
    struct lmn__json_writer writer = { text_out, false };
    const char *const *input;
    uint32_t count;
    bool renamed;
    size_t before;
    enum lmn_status st = list_named(schema, column, arena, &input, &count, &renamed, err);

    if (st != LMN_OK || text.data == NULL)
        return st;
    if (!renamed) {
        lmn__buf_put(text_out, text.data, text.len);
        return LMN_OK;
    }
    st = lmn__json_member(text, "inputs", &names, err);
    if (st != LMN_OK)
        return st;
    before = (size_t)(names.data - text.data);
    lmn__buf_put(text_out, text.data, before);
    lmn__json_open(&writer, NULL, '[');
    for (uint32_t i = 0; i < count; i++)
        lmn__json_text(&writer, NULL, input[i]);
    lmn__json_close(&writer, ']');
    lmn__buf_put(text_out, names.data + names.len, text.len - before - names.len);
    return LMN_OK;
}

/* The list with `id` behind it. */
static void put_id(struct lmn__buf *ids, int32_t id)
{
    lmn__buf_printf(ids, ids->len > 0 ? ",%d" : "%d", id);
}

enum lmn_status lmn__ledger_input_ids(const struct lmn__manifest *manifest, const char *function,
                                      struct lmn__arena *arena, const char **ids_out,
                                      struct lmn_error *err)
{
    struct lmn__span text = { (const uint8_t *)function, strlen(function) }, names, item, kept;
    char name[LMN__FUNCTION_TEXT_MAX];
    struct lmn__buf ids;
    enum lmn_status st = lmn__json_member(text, "inputs", &names, err);

    lmn__buf_init(&ids, arena->env, 0);
    while (st == LMN_OK && names.data != NULL && lmn__json_next_item(&names, &item)) {
        const struct lmn__node *node = NULL;

        if (lmn__json_to_text(item, name, sizeof name) &&
            lmn__fields_find(manifest, name, &node, NULL) == LMN_E_NO_MEMORY)
            st = lmn__no_memory(err, "the inputs of a column", 0);
        put_id(&ids, node != NULL ? node->field->id : NO_ID);
    }
    lmn__buf_put_u8(&ids, 0);
    if (st == LMN_OK)
        st = lmn__arena_keep(arena, &ids, "the inputs of a column", &kept, err);
    else
        lmn__buf_deinit(&ids);
    *ids_out = st == LMN_OK ? (const char *)kept.data : "";
    return st;
}

/* The list with one id for another, in the arena. */
static enum lmn_status replace_id(struct lmn__span *list, int32_t from, int32_t to,
                                  struct lmn__arena *arena, struct lmn_error *err)
{
    struct lmn__span rest = *list;
    struct lmn__buf ids;

    lmn__buf_init(&ids, arena->env, 0);
    while (rest.len > 0) {
        int32_t id = next_id(&rest);

        put_id(&ids, id == from ? to : id);
    }
    return lmn__arena_keep(arena, &ids, "the inputs of a column", list, err);
}

static bool has_id(struct lmn__span ids, int32_t id)
{
    while (ids.len > 0) {
        if (next_id(&ids) == id)
            return true;
    }
    return false;
}

enum lmn_status lmn__ledger_follow_inputs(struct lmn__pb_list *fields, int32_t from, int32_t to,
                                          struct lmn__arena *arena, struct lmn_error *err)
{
    struct lmn__pb_schema_field *field = fields->item;
    enum lmn_status st = LMN_OK;

    for (size_t i = 0; st == LMN_OK && i < fields->count; i++) {
        const struct lmn__pb_entry *had = field[i].metadata.item;
        size_t count = field[i].metadata.count;

        for (size_t k = 0; st == LMN_OK && k < count; k++) {
            struct lmn__pb_entry *entry;

            if (!lmn__span_equal(had[k].key, LMN__INPUTS_KEY) || !has_id(had[k].value, from))
                continue;
            entry = lmn__arena_array(arena, count, sizeof *entry);
            if (entry == NULL)
                return lmn__arena_fail(arena, "a column's metadata", err);
            memcpy(entry, had, count * sizeof *entry);
            st = replace_id(&entry[k].value, from, to, arena, err);
            field[i].metadata.item = entry;
            had = entry;
        }
    }
    return st;
}
