/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the fragments, in the order of the table. A group is open while fragments are added
 * to it, and ends at a fragment that is fine as it is, that would make it too large, or that other
 * indices cover. A group of one is kept only if its fragment has lost rows.
 */
#include "table/compact_plan.h"

#include <stdlib.h>

#include "base/roaring.h"

/* The fragments that one index covers, by rising id. */
struct cover {
    uint32_t *id;
    uint64_t count;
};

struct planning {
    const struct lmn__snapshot *snapshot;
    uint64_t target_rows;
    double deleted_share;
    struct cover *cover; /* of each index */
    uint64_t cover_count;
    struct lmn__compact_plan *plan;
    struct lmn__compact_range open; /* count 0: none is */
    uint64_t open_rows;             /* live ones */
};

/* Row ids that are addresses change with their fragments, and no index covers the new ones. */
static enum lmn_status read_covers(struct planning *planning, struct lmn__arena *arena,
                                   struct lmn_error *err)
{
    const struct lmn__manifest *manifest = planning->snapshot->manifest;
    struct lmn__pb_index_section section = { 0 };
    const struct lmn__pb_index *index;
    enum lmn_status st;

    if (!lmn__manifest_stable_ids(manifest) || manifest->index_section.data == NULL)
        return LMN_OK;
    st = lmn__pb_decode(&lmn__pb_index_section_message, manifest->index_section, arena, &section,
                        err);
    if (st != LMN_OK)
        return st;
    planning->cover = lmn__arena_array(arena, section.indices.count, sizeof *planning->cover);
    if (planning->cover == NULL)
        return lmn__arena_fail(arena, "indices", err);
    index = section.indices.item;
    for (size_t i = 0; st == LMN_OK && i < section.indices.count; i++) {
        struct cover *cover = &planning->cover[planning->cover_count];

        if (index[i].fragment_bitmap.len == 0)
            continue;
        st = lmn__roaring_to_list(index[i].fragment_bitmap, arena, &cover->id, &cover->count, err);
        planning->cover_count++;
    }
    return st;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static bool covers(const struct cover *cover, uint64_t id)
{
    uint32_t key = (uint32_t)id;

    return cover->count != 0 &&
           bsearch(&key, cover->id, cover->count, sizeof *cover->id, compare_ids) != NULL;
}

/* Do the same indices cover two fragments? */
static bool alike(const struct planning *planning, uint64_t a, uint64_t b)
{
    const struct lmn__fragment_info *info = planning->snapshot->fragment;

    for (uint64_t i = 0; i < planning->cover_count; i++) {
        if (covers(&planning->cover[i], info[a].id) != covers(&planning->cover[i], info[b].id))
            return false;
    }
    return true;
}

/* Has the fragment lost more rows than it may? */
static bool is_worn(const struct planning *planning, uint64_t index)
{
    const struct lmn__fragment_info *info = &planning->snapshot->fragment[index];
    uint64_t deleted = info->row_count - info->live_count;

    return deleted != 0 && (double)deleted > planning->deleted_share * (double)info->row_count;
}

static void close_group(struct planning *planning)
{
    struct lmn__compact_range *open = &planning->open;

    if (open->count > 1 || (open->count == 1 && is_worn(planning, open->first)))
        planning->plan->range[planning->plan->count++] = *open;
    *open = (struct lmn__compact_range){ 0 };
    planning->open_rows = 0;
}

static void add_fragment(struct planning *planning, uint64_t index)
{
    uint64_t live = planning->snapshot->fragment[index].live_count;

    if (live >= planning->target_rows && !is_worn(planning, index)) {
        close_group(planning);
        return;
    }
    if (planning->open.count != 0 && (live > planning->target_rows - planning->open_rows ||
                                      !alike(planning, planning->open.first, index)))
        close_group(planning);
    if (planning->open.count == 0)
        planning->open.first = index;
    planning->open.count++;
    planning->open_rows += live;
    if (planning->open_rows >= planning->target_rows)
        close_group(planning);
}

enum lmn_status lmn__compact_plan_make(const struct lmn__snapshot *snapshot, uint64_t target_rows,
                                       double deleted_share, const bool *taken,
                                       struct lmn__arena *arena, struct lmn__compact_plan *plan_out,
                                       struct lmn_error *err)
{
    struct planning planning = { .snapshot = snapshot,
                                 .target_rows = target_rows,
                                 .deleted_share = deleted_share,
                                 .plan = plan_out };
    enum lmn_status st = read_covers(&planning, arena, err);

    *plan_out = (struct lmn__compact_plan){ 0 };
    if (st != LMN_OK)
        return st;
    plan_out->range = lmn__arena_array(arena, snapshot->fragment_count, sizeof *plan_out->range);
    if (plan_out->range == NULL)
        return lmn__arena_fail(arena, "a plan", err);
    for (uint64_t i = 0; i < snapshot->fragment_count; i++) {
        if (taken[i])
            close_group(&planning);
        else
            add_fragment(&planning, i);
    }
    close_group(&planning);
    return LMN_OK;
}
