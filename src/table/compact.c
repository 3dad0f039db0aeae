/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction: groups of neighbouring fragments are written again, each group by itself, and all of
 * them are committed at once.
 *
 * Others may change fragments while they are copied. The commit then refuses, and the next attempt
 * looks at every group that is written: one whose fragments are the same to the byte in the newest
 * version stays, the others are thrown away and their fragments planned again. So an attempt costs
 * what others have changed, not the table, and no change of theirs is lost. All groups go when a
 * column may be back that they lack.
 */
#include <leman/table_versions.h>

#include "base/error.h"
#include "table/compact_plan.h"
#include "table/fragment_writer.h"
#include "table/rewrite.h"

enum { TARGET_ROWS_DEFAULT = 1 << 20 };
static const double deleted_share_default = 0.1;

/* A group that is written. */
struct done {
    struct lmn__manifest *manifest; /* counted: what was read; `before` borrows from it */
    uint64_t first;                 /* number of its first fragment there */
    uint64_t row_count;
};

struct compaction {
    struct lmn_table *table;
    struct lmn_compact_options options;
    struct lmn__arena arena; /* of all attempts */
    struct done *done;
    struct lmn__rewrite_group *group; /* of each of them */
    uint64_t count, room;
    uint64_t kept_version; /* that the first of them was made at */
    bool committed;        /* or may be */
};

static void forget(struct compaction *compaction, uint64_t i)
{
    struct lmn__rewrite_group *group = &compaction->group[i];

    if (!compaction->committed)
        lmn__fragments_remove(compaction->table->store, group->after, group->after_count);
    lmn__manifest_release(compaction->done[i].manifest);
    compaction->count--;
    compaction->done[i] = compaction->done[compaction->count];
    compaction->group[i] = compaction->group[compaction->count];
}

static enum lmn_status reserve(struct compaction *compaction, struct lmn_error *err)
{
    struct lmn_env *env = compaction->table->env;
    uint64_t room = compaction->room != 0 ? compaction->room * 2 : 8;
    struct lmn__rewrite_group *group;
    struct done *done;

    if (compaction->count < compaction->room)
        return LMN_OK;
    done = lmn__realloc(env, compaction->done, room * sizeof *done);
    if (done != NULL)
        compaction->done = done;
    group = lmn__realloc(env, compaction->group, room * sizeof *group);
    if (group != NULL)
        compaction->group = group;
    if (done == NULL || group == NULL)
        return lmn__no_memory(err, "a list of fragments", room * sizeof *group);
    compaction->room = room;
    return LMN_OK;
}

/* Are the fragments of a group in this version as they were when they were read? */
static bool is_current(const struct lmn__snapshot *snapshot, const struct done *done,
                       const struct lmn__rewrite_group *group)
{
    uint64_t index;

    if (done->manifest->minor != snapshot->manifest->minor)
        return false;
    for (uint64_t i = 0; i < group->before_count; i++) {
        struct lmn__span then = done->manifest->pb.fragments.item[done->first + i], now;

        if (!lmn__snapshot_find(snapshot, group->before[i].id, &index))
            return false;
        now = snapshot->manifest->pb.fragments.item[index];
        if (now.len != then.len || memcmp(now.data, then.data, now.len) != 0)
            return false;
    }
    return true;
}

/* Keep the groups of earlier attempts that are still true; their fragments are taken. */
static void keep_current(struct compaction *compaction, const struct lmn__snapshot *snapshot,
                         bool *taken)
{
    const struct lmn__manifest *manifest = snapshot->manifest;
    bool back = compaction->count != 0 &&
                lmn__change_went_back(compaction->table, compaction->kept_version, manifest);
    uint64_t i = 0, index;

    while (i < compaction->count) {
        const struct lmn__rewrite_group *group = &compaction->group[i];

        if (back || !is_current(snapshot, &compaction->done[i], group)) {
            forget(compaction, i);
            continue;
        }
        for (uint64_t k = 0; k < group->before_count; k++) {
            if (lmn__snapshot_find(snapshot, group->before[k].id, &index))
                taken[index] = true;
        }
        i++;
    }
    if (compaction->count == 0)
        compaction->kept_version = manifest->pb.version;
}

/* Write one range of a plan. */
static enum lmn_status write_group(struct compaction *compaction, struct lmn_table *pinned,
                                   const struct lmn__snapshot *snapshot,
                                   const struct lmn__compact_range *range, struct lmn_error *err)
{
    uint64_t *id = lmn__arena_array(&compaction->arena, range->count, sizeof *id);
    struct lmn__rewrite rewrite = { .pinned = pinned,
                                    .id = id,
                                    .count = range->count,
                                    .minor = snapshot->manifest->minor,
                                    .options = &compaction->options.write };
    struct done done = { .first = range->first };
    enum lmn_status st = reserve(compaction, err);

    if (st != LMN_OK)
        return st;
    if (id == NULL)
        return lmn__arena_fail(&compaction->arena, "fragments", err);
    for (uint64_t i = 0; i < range->count; i++)
        id[i] = snapshot->fragment[range->first + i].id;
    st = lmn__rewrite_fragments(&rewrite, &compaction->arena, &compaction->group[compaction->count],
                                &done.row_count, err);
    if (st != LMN_OK)
        return st;
    done.manifest = lmn__manifest_acquire(snapshot->manifest);
    compaction->done[compaction->count++] = done;
    return LMN_OK;
}

static enum lmn_status write_groups(struct compaction *compaction, struct lmn_table *pinned,
                                    struct lmn_error *err)
{
    struct lmn__compact_plan plan = { 0 };
    struct lmn__snapshot *snapshot;
    bool *taken;
    enum lmn_status st = lmn__snapshot_open(pinned, &snapshot, err);

    if (st != LMN_OK)
        return st;
    taken = lmn__arena_array(&compaction->arena, snapshot->fragment_count, sizeof *taken);
    if (taken == NULL)
        st = lmn__arena_fail(&compaction->arena, "a plan", err);
    if (st == LMN_OK) {
        keep_current(compaction, snapshot, taken);
        st = lmn__compact_plan_make(snapshot, compaction->options.target_rows_per_fragment,
                                    compaction->options.deleted_share, taken, &compaction->arena,
                                    &plan, err);
    }
    for (uint64_t i = 0; st == LMN_OK && i < plan.count; i++)
        st = write_group(compaction, pinned, snapshot, &plan.range[i], err);
    lmn__snapshot_release(snapshot);
    return st;
}

static enum lmn_status commit(struct compaction *compaction, const struct lmn__manifest *manifest,
                              bool *again_out, struct lmn_error *err)
{
    struct lmn__change change = { .kind = LMN__CHANGE_REWRITE,
                                  .read_version = manifest->pb.version,
                                  .known = manifest,
                                  .group = compaction->group,
                                  .group_count = compaction->count,
                                  .message = compaction->options.write.message,
                                  .unsynced = compaction->options.write.unsynced };
    enum lmn_status st;

    if (compaction->count == 0)
        return LMN_OK;
    st = lmn__change_commit(compaction->table, &change, again_out, err);
    compaction->committed = st == LMN_OK || change.may_stand;
    return st;
}

static enum lmn_status attempt_compact(void *context, bool *again_out, struct lmn_error *err)
{
    struct compaction *compaction = context;
    struct lmn__manifest *manifest = lmn__table_manifest(compaction->table);
    struct lmn_table *pinned = NULL;
    enum lmn_status st = lmn__manifest_check_writable(manifest, err);

    if (st == LMN_OK)
        st = lmn__table_new(compaction->table->store, manifest, &pinned, err);
    if (st == LMN_OK)
        st = write_groups(compaction, pinned, err);
    if (st == LMN_OK)
        st = commit(compaction, manifest, again_out, err);
    lmn_table_release(pinned);
    lmn__manifest_release(manifest);
    return st;
}

static enum lmn_status set_defaults(struct compaction *compaction,
                                    const struct lmn_compact_options *options,
                                    struct lmn_error *err)
{
    struct lmn_compact_options *own = &compaction->options;

    if (options != NULL)
        *own = *options;
    if (own->target_rows_per_fragment == 0)
        own->target_rows_per_fragment = TARGET_ROWS_DEFAULT;
    if (own->deleted_share == 0)
        own->deleted_share = deleted_share_default;
    if (!(own->deleted_share > 0 && own->deleted_share <= 1))
        return lmn_fail(err, LMN_E_INVALID, "a share of deleted rows of %g, not between 0 and 1",
                        own->deleted_share);
    own->write.fragment_rows_max = own->target_rows_per_fragment;
    return LMN_OK;
}

enum lmn_status lmn_table_compact(struct lmn_table *table,
                                  const struct lmn_compact_options *options,
                                  struct lmn_compact_result *result_out, struct lmn_error *err)
{
    struct compaction compaction = { .table = table };
    struct lmn_compact_result result = { 0 };
    enum lmn_status st = set_defaults(&compaction, options, err);

    lmn__arena_init(&compaction.arena, table->env, 0);
    if (st == LMN_OK)
        st = lmn__change_make(table, attempt_compact, &compaction, err);
    for (uint64_t i = 0; st == LMN_OK && i < compaction.count; i++) {
        result.fragments_removed += compaction.group[i].before_count;
        result.fragments_added += compaction.group[i].after_count;
        result.rows_rewritten += compaction.done[i].row_count;
    }
    while (compaction.count != 0)
        forget(&compaction, compaction.count - 1);
    lmn__free(table->env, compaction.done);
    lmn__free(table->env, compaction.group);
    lmn__arena_deinit(&compaction.arena);
    if (result_out != NULL)
        *result_out = result;
    /* A conflict has the name already. */
    return st != LMN_OK && st != LMN_E_CONFLICT
               ? lmn__fail_within(err, st, "%.200s", table->store->name)
               : st;
}
