/* SPDX-License-Identifier: Apache-2.0 */
#include "table/schema_edit.h"

enum lmn_status lmn__schema_edit_init(struct lmn__schema_edit *edit, struct lmn_table *table,
                                      enum lmn__change_kind kind, struct lmn_error *err)
{
    *edit = (struct lmn__schema_edit){ .manifest = lmn__table_manifest(table) };
    lmn__arena_init(&edit->arena, table->env, 0);
    edit->change = (struct lmn__change){ .kind = kind,
                                         .read_version = edit->manifest->pb.version,
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
