/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/saved.h"

#include <stdlib.h>
#include <string.h>

/* More than that is not kept for a job. */
static const uint64_t arena_bytes_max = 256ull << 20;

void lmn__saved_init(struct lmn__saved *saved, struct lmn_env *env)
{
    *saved = (struct lmn__saved){ .env = env };
    lmn__arena_init(&saved->arena, env, arena_bytes_max);
}

void lmn__saved_deinit(struct lmn__saved *saved)
{
    if (saved->env == NULL)
        return;
    lmn__free(saved->env, saved->row);
    lmn__arena_deinit(&saved->arena);
    *saved = (struct lmn__saved){ 0 };
}

static int compare(const void *a, const void *b)
{
    const struct lmn__saved_row *x = a, *y = b;

    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

static bool keep(struct lmn__saved *saved, uint64_t unit, const struct lmn__board_item *item)
{
    char *copy;

    if (saved->count == saved->room) {
        uint64_t room = saved->room * 2 + 64;
        struct lmn__saved_row *grown = lmn__realloc(saved->env, saved->row, room * sizeof *grown);

        if (grown == NULL)
            return false;
        saved->row = grown;
        saved->room = room;
    }
    copy = lmn__arena_strndup(&saved->arena, item->data, item->len);
    if (copy == NULL)
        return false;
    saved->row[saved->count++] = (struct lmn__saved_row){
        unit, item->ordinal, item->kind, { (const uint8_t *)copy, item->len }
    };
    return true;
}

/* In order, each row once. */
static void put_in_order(struct lmn__saved *saved)
{
    uint64_t kept = 0;

    if (saved->count != 0)
        qsort(saved->row, saved->count, sizeof *saved->row, compare);
    for (uint64_t i = 0; i < saved->count; i++) {
        if (kept == 0 || compare(&saved->row[kept - 1], &saved->row[i]) != 0)
            saved->row[kept++] = saved->row[i];
    }
    saved->count = kept;
}

void lmn__saved_take(struct lmn__saved *saved, uint64_t unit, const struct lmn__board *board,
                     uint64_t from, uint64_t count)
{
    struct lmn__board_item item;
    uint64_t at = 0;

    while (lmn__board_next(board, &at, &item)) {
        if (item.ordinal >= from && item.ordinal - from < count)
            continue;
        if (!keep(saved, unit, &item))
            break;
    }
    put_in_order(saved);
}

/* The first row at or behind an ordinal of a unit. */
static uint64_t find(const struct lmn__saved *saved, uint64_t unit, uint64_t ordinal)
{
    const struct lmn__saved_row wanted = { .unit = unit, .ordinal = ordinal };
    uint64_t low = 0, high = saved->count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (compare(&saved->row[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct lmn__saved_row *lmn__saved_find(const struct lmn__saved *saved, uint64_t unit,
                                             uint64_t from, uint64_t count, uint64_t *count_out)
{
    uint64_t first = find(saved, unit, from);

    *count_out = find(saved, unit, from + count) - first;
    return *count_out != 0 ? &saved->row[first] : NULL;
}
