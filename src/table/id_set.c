/* SPDX-License-Identifier: Apache-2.0 */
#include "table/id_set.h"

#include <stdlib.h>

#include "base/math.h"

enum { ROOM_MIN = 16 };

void lmn__id_set_deinit(struct lmn__id_set *set)
{
    lmn__free(set->env, set->range);
    *set = (struct lmn__id_set){ 0 };
}

enum lmn_status lmn__id_set_add(struct lmn__id_set *set, uint64_t first, uint64_t count,
                                struct lmn_error *err)
{
    struct lmn__id_range *last = set->count != 0 ? &set->range[set->count - 1] : NULL;

    if (last != NULL && last->first + last->count == first) {
        last->count += count;
        return LMN_OK;
    }
    if (set->count == set->room) {
        uint64_t room = set->room != 0 ? set->room * 2 : ROOM_MIN;
        struct lmn__id_range *grown = lmn__realloc(set->env, set->range, room * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "a set of row ids", room * sizeof *grown);
        set->range = grown;
        set->room = room;
    }
    set->range[set->count++] = (struct lmn__id_range){ first, count };
    return LMN_OK;
}

static int compare_ranges(const void *a, const void *b)
{
    uint64_t x = ((const struct lmn__id_range *)a)->first;
    uint64_t y = ((const struct lmn__id_range *)b)->first;

    return x < y ? -1 : x > y;
}

void lmn__id_set_sort(struct lmn__id_set *set)
{
    uint64_t kept = 0;

    if (set->count == 0)
        return;
    qsort(set->range, set->count, sizeof *set->range, compare_ranges);
    for (uint64_t i = 1; i < set->count; i++) {
        struct lmn__id_range *last = &set->range[kept], next = set->range[i];

        if (next.first <= last->first + last->count)
            last->count = lmn__max_u64(last->count, next.first + next.count - last->first);
        else
            set->range[++kept] = next;
    }
    set->count = kept + 1;
}

uint64_t lmn__id_set_run(const struct lmn__id_set *set, uint64_t first, uint64_t count,
                         bool *inside_out)
{
    uint64_t low = 0, high = set->count;
    const struct lmn__id_range *range;

    /* The first range that ends behind `first`. */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (set->range[middle].first + set->range[middle].count <= first)
            low = middle + 1;
        else
            high = middle;
    }
    *inside_out = false;
    if (low == set->count)
        return count;
    range = &set->range[low];
    *inside_out = range->first <= first;
    return lmn__min_u64(count,
                        *inside_out ? range->first + range->count - first : range->first - first);
}

uint64_t lmn__id_set_size(const struct lmn__id_set *set)
{
    uint64_t size = 0;

    for (uint64_t i = 0; i < set->count; i++)
        size += set->range[i].count;
    return size;
}
