/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragments are found by id in a hash table of their numbers in `item`: open addressing, at most
 * half full, 0 for an empty slot and a number plus one for another.
 */
#include "table/touched.h"

#include <leman/table_scan.h>

#include "base/error.h"
#include "base/hash.h"

enum { FRAGMENT_SHIFT = 32, ROOM_MIN = 8 };

void lmn__touched_init(struct lmn__touched_set *set, struct lmn_env *env,
                       const struct lmn__manifest *manifest)
{
    *set = (struct lmn__touched_set){ .env = env, .manifest = manifest };
}

void lmn__touched_deinit(struct lmn__touched_set *set)
{
    for (uint64_t i = 0; i < set->count; i++)
        lmn__deletion_deinit(&set->item[i].rows, set->env);
    lmn__free(set->env, set->item);
    lmn__free(set->env, set->slot);
}

/* Rows that a fragment has. */
static enum lmn_status fragment_rows(const struct lmn__touched_set *set, uint64_t id,
                                     uint64_t *rows_out, struct lmn_error *err)
{
    struct lmn__arena arena;
    struct lmn__pb_fragment fragment = { 0 };
    uint64_t number;
    enum lmn_status st;

    lmn__arena_init(&arena, set->env, 0);
    st = lmn__manifest_find(set->manifest, id, &arena, &number, err);
    if (st == LMN_OK)
        st = lmn__manifest_fragment(set->manifest, number, &arena, &fragment, err);
    *rows_out = fragment.row_count;
    lmn__arena_deinit(&arena);
    return st;
}

/* The slot of a fragment, or the empty one where it would go; there are slots. */
static uint64_t *find_slot(const struct lmn__touched_set *set, uint64_t id)
{
    uint64_t mask = set->room * 2 - 1;

    for (uint64_t at = lmn__hash64(&id, sizeof id);; at++) {
        uint64_t *slot = &set->slot[at & mask];

        if (*slot == 0 || set->item[*slot - 1].fragment_id == id)
            return slot;
    }
}

static struct lmn__touched *find(const struct lmn__touched_set *set, uint64_t id)
{
    uint64_t number = set->room != 0 ? *find_slot(set, id) : 0;

    return number != 0 ? &set->item[number - 1] : NULL;
}

static enum lmn_status grow(struct lmn__touched_set *set, struct lmn_error *err)
{
    uint64_t room = set->room != 0 ? set->room * 2 : ROOM_MIN;
    uint64_t *slot = lmn__calloc(set->env, room * 2, sizeof *slot);
    struct lmn__touched *item = slot != NULL
                                    ? lmn__realloc(set->env, set->item, room * sizeof *item)
                                    : NULL;

    if (item == NULL) {
        lmn__free(set->env, slot);
        return lmn__no_memory(err, "a list of fragments", room * sizeof *item);
    }
    lmn__free(set->env, set->slot);
    set->slot = slot;
    set->item = item;
    set->room = room;
    for (uint64_t i = 0; i < set->count; i++)
        *find_slot(set, item[i].fragment_id) = i + 1;
    return LMN_OK;
}

static enum lmn_status add_fragment(struct lmn__touched_set *set, uint64_t id,
                                    struct lmn__touched **touched_out, struct lmn_error *err)
{
    uint64_t rows;
    enum lmn_status st = fragment_rows(set, id, &rows, err);

    *touched_out = NULL;
    if (st == LMN_OK && set->count == set->room)
        st = grow(set, err);
    if (st != LMN_OK)
        return st;
    *touched_out = &set->item[set->count];
    **touched_out = (struct lmn__touched){ .fragment_id = id };
    st = lmn__deletion_reserve(&(*touched_out)->rows, set->env, rows, err);
    if (st == LMN_OK)
        *find_slot(set, id) = ++set->count;
    return st;
}

enum lmn_status lmn__touched_add(struct lmn__touched_set *set, const uint64_t *address,
                                 uint64_t count, struct lmn_error *err)
{
    struct lmn__touched *touched = NULL;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint64_t id = address[i] >> FRAGMENT_SHIFT, row = (uint32_t)address[i];

        if (touched == NULL || touched->fragment_id != id)
            touched = find(set, id);
        if (touched == NULL)
            st = add_fragment(set, id, &touched, err);
        if (st == LMN_OK && row >= touched->rows.row_count)
            st = lmn_fail(err, LMN_E_INVALID, "fragment %llu has no row %llu",
                          (unsigned long long)id, (unsigned long long)row);
        if (st == LMN_OK)
            set->row_count += lmn__deletion_add(&touched->rows, row);
    }
    return st;
}

enum lmn_status lmn__touched_find(struct lmn__touched_set *set, struct lmn_table *table,
                                  const char *where, struct lmn_error *err)
{
    static const char *const none[] = { NULL };
    struct lmn_scan_options options = { .column = none, .where = where, .with_row_address = true };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = lmn_table_scan(table, &options, &stream, err);

    if (st != LMN_OK)
        return st;
    while ((st = lmn_table_scan_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        const struct ArrowArray *address = batch.children[0];

        st = lmn__touched_add(set, (const uint64_t *)address->buffers[1] + address->offset,
                              (uint64_t)address->length, err);
        batch.release(&batch);
        if (st != LMN_OK)
            break;
    }
    stream.release(&stream);
    return st;
}

bool lmn__touched_has(const struct lmn__touched_set *set, uint64_t address)
{
    const struct lmn__touched *touched = find(set, address >> FRAGMENT_SHIFT);

    return touched != NULL && (uint32_t)address < touched->rows.row_count &&
           lmn__deletion_has(&touched->rows, (uint32_t)address);
}

uint64_t lmn__touched_number(const struct lmn__touched_set *set, uint64_t id)
{
    const struct lmn__touched *touched = find(set, id);

    return touched != NULL ? (uint64_t)(touched - set->item) : set->count;
}
