/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upgrading: every fragment of a table of version 2.0 is written again as 2.1, and all of them are
 * committed as one version. What others commit meanwhile makes it begin again, so that none of
 * their rows is lost.
 */
#include <leman/table_versions.h>

#include "base/error.h"
#include "table/fragment_writer.h"
#include "table/rewrite.h"

enum { MINOR = 1 };
static const char version[] = "2.1";

struct upgrade {
    struct lmn_table *table;
    struct lmn__arena arena; /* of one attempt */
    struct lmn__pb_fragment *added;
    uint64_t count, room;
};

static enum lmn_status add(struct upgrade *upgrade, const struct lmn__rewrite_group *group,
                           struct lmn_error *err)
{
    struct lmn_env *env = upgrade->table->env;
    uint64_t need = upgrade->count + group->after_count;

    if (need > upgrade->room) {
        uint64_t room = need * 2;
        struct lmn__pb_fragment *grown = lmn__realloc(env, upgrade->added, room * sizeof *grown);

        if (grown == NULL) {
            lmn__fragments_remove(upgrade->table->store, group->after, group->after_count);
            return lmn__no_memory(err, "fragments", room * sizeof *grown);
        }
        upgrade->added = grown;
        upgrade->room = room;
    }
    for (uint64_t i = 0; i < group->after_count; i++)
        upgrade->added[upgrade->count++] = group->after[i];
    return LMN_OK;
}

/* Write every fragment by itself: the ids of its rows are what is kept in memory. */
static enum lmn_status write_fragments(struct upgrade *upgrade, struct lmn_table *pinned,
                                       const struct lmn__manifest *manifest, struct lmn_error *err)
{
    static const struct lmn_write_options defaults;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(manifest); i++) {
        struct lmn__pb_fragment fragment = { 0 };
        struct lmn__rewrite rewrite = {
            .pinned = pinned, .id = &fragment.id, .count = 1, .minor = MINOR, .options = &defaults
        };
        struct lmn__rewrite_group group;
        uint64_t rows;

        st = lmn__manifest_fragment(manifest, i, &upgrade->arena, &fragment, err);
        if (st == LMN_OK)
            st = lmn__rewrite_fragments(&rewrite, &upgrade->arena, &group, &rows, err);
        if (st == LMN_OK)
            st = add(upgrade, &group, err);
    }
    return st;
}

static enum lmn_status commit(struct upgrade *upgrade, const struct lmn__manifest *manifest,
                              bool *again_out, struct lmn_error *err)
{
    struct lmn__change change = { .kind = LMN__CHANGE_OVERWRITE,
                                  .read_version = manifest->pb.version,
                                  .known = manifest,
                                  .added = upgrade->added,
                                  .added_count = upgrade->count,
                                  .fields = &manifest->pb.fields,
                                  .schema_metadata = &manifest->pb.schema_metadata,
                                  .file_version = version,
                                  .alone = true };
    enum lmn_status st = lmn__change_commit(upgrade->table, &change, again_out, err);

    if (st == LMN_OK || change.may_stand)
        upgrade->count = 0;
    return st;
}

static enum lmn_status attempt_upgrade(void *context, bool *again_out, struct lmn_error *err)
{
    struct lmn_table *table = context, *pinned = NULL;
    struct upgrade upgrade = { .table = table };
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    enum lmn_status st = lmn__manifest_check_writable(manifest, err);

    lmn__arena_init(&upgrade.arena, table->env, 0);
    if (st == LMN_OK && manifest->format_minor < MINOR) {
        st = lmn__table_new(table->store, manifest, &pinned, err);
        if (st == LMN_OK)
            st = write_fragments(&upgrade, pinned, manifest, err);
        if (st == LMN_OK)
            st = commit(&upgrade, manifest, again_out, err);
    }
    lmn__fragments_remove(table->store, upgrade.added, upgrade.count);
    lmn__free(table->env, upgrade.added);
    lmn__arena_deinit(&upgrade.arena);
    lmn_table_release(pinned);
    lmn__manifest_release(manifest);
    return st;
}

enum lmn_status lmn_table_upgrade(struct lmn_table *table, struct lmn_error *err)
{
    enum lmn_status st = lmn__change_make(table, attempt_upgrade, table, err);

    /* A conflict has the name already. */
    return st != LMN_OK && st != LMN_E_CONFLICT
               ? lmn__fail_within(err, st, "%.200s", table->store->name)
               : st;
}
