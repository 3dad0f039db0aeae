/* SPDX-License-Identifier: Apache-2.0 */
#include "table/schema_edit.h"

#include "base/error.h"

enum lmn_status lmn__schema_edit_init(struct lmn__schema_edit *edit, struct lmn_table *table,
                                      enum lmn__change_kind kind, struct lmn_error *err)
{
    *edit = (struct lmn__schema_edit){ .manifest = lmn__table_manifest(table) };
    lmn__arena_init(&edit->arena, table->env, 0);
    edit->change = (struct lmn__change){ .kind = kind,
                                         .read_version = edit->manifest->pb.version,
                                         .known = edit->manifest,
                                         .fields = &edit->fields,
                                         .keeps_nullability = true };
    return lmn__manifest_check_writable(edit->manifest, err);
}

void lmn__schema_edit_deinit(struct lmn__schema_edit *edit)
{
    lmn__arena_deinit(&edit->arena);
    lmn__manifest_release(edit->manifest);
}

enum lmn_status lmn__schema_edit_list(struct lmn__schema_edit *edit, struct lmn_error *err)
{
    uint64_t count = lmn__manifest_fragment_count(edit->manifest);
    struct lmn__pb_fragment *fragment = lmn__arena_array(&edit->arena, count, sizeof *fragment);
    enum lmn_status st = LMN_OK;

    if (fragment == NULL)
        return lmn__arena_fail(&edit->arena, "fragments", err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++)
        st = lmn__manifest_fragment(edit->manifest, i, &edit->arena, &fragment[i], err);
    edit->change.replaced = fragment;
    edit->change.replaced_count = count;
    return st;
}

static struct lmn__span span_of(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

enum lmn_status lmn__schema_edit_note(struct lmn__schema_edit *edit,
                                      struct lmn__pb_schema_field *field, const char *key,
                                      const char *value, struct lmn_error *err)
{
    const struct lmn__pb_entry *had = field->metadata.item;
    struct lmn__pb_entry *entry = lmn__arena_array(&edit->arena, field->metadata.count + 1,
                                                   sizeof *entry);
    size_t count = 0;

    if (entry == NULL)
        return lmn__arena_fail(&edit->arena, "a column's metadata", err);
    for (size_t i = 0; i < field->metadata.count; i++) {
        if (!lmn__span_equal(had[i].key, key))
            entry[count++] = had[i];
    }
    entry[count++] = (struct lmn__pb_entry){ .key = span_of(key), .value = span_of(value) };
    field->metadata = (struct lmn__pb_list){ entry, count };
    return LMN_OK;
}
