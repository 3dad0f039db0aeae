/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/slate.h"

#include <string.h>

#include "base/math.h"

/* An array with its place. */
struct lmn__slate_array {
    struct lmn__slate_array *before;
    struct lmn__slate_mark place;
    struct ArrowArray array;
};

enum { FIRST_BYTES = 64 << 10, SLACK = 64 };

void lmn__slate_init(struct lmn__slate *slate, struct lmn__pool *pool)
{
    *slate = (struct lmn__slate){ .pool = pool };
}

/* Release the arrays that lie behind the mark. */
static void release_arrays(struct lmn__slate *slate, struct lmn__slate_mark mark)
{
    while (slate->array != NULL) {
        struct lmn__slate_array *last = slate->array;

        if (last->place.at < mark.at || (last->place.at == mark.at && last->place.used < mark.used))
            return;
        slate->array = last->before;
        if (last->array.release != NULL)
            last->array.release(&last->array);
    }
}

void lmn__slate_deinit(struct lmn__slate *slate)
{
    release_arrays(slate, (struct lmn__slate_mark){ 0 });
    for (uint32_t i = 0; i < slate->count; i++)
        lmn__block_release(slate->block[i]);
    slate->count = 0;
}

/* Go to a block with room for `need` bytes. */
static enum lmn_status turn(struct lmn__slate *slate, uint64_t need, struct lmn_error *err)
{
    uint64_t bytes = FIRST_BYTES;
    enum lmn_status st;

    while (slate->at + 1 < slate->count) {
        slate->at++;
        slate->used = 0;
        if (need <= slate->block[slate->at]->cap)
            return LMN_OK;
    }
    if (slate->count == LMN__SLATE_BLOCKS_MAX)
        return lmn__no_memory(err, "an expression's values", need);
    if (slate->count != 0)
        bytes = slate->block[slate->count - 1]->cap * 2;
    st = lmn__block_new(slate->pool, lmn__max_u64(bytes, need), &slate->block[slate->count], err);
    if (st != LMN_OK && bytes > need)
        st = lmn__block_new(slate->pool, need, &slate->block[slate->count], err);
    if (st != LMN_OK)
        return st;
    slate->at = slate->count++;
    slate->used = 0;
    return LMN_OK;
}

enum lmn_status lmn__slate_take(struct lmn__slate *slate, uint64_t bytes, void *memory_out,
                                struct lmn_error *err)
{
    uint64_t need;
    void *memory;

    if (!lmn__add_u64(bytes, SLACK + LMN__BLOCK_ALIGN, &need))
        return lmn__no_memory(err, "an expression's values", bytes);
    need = lmn__align_up(bytes + SLACK, LMN__BLOCK_ALIGN);
    if (slate->count == 0 || need > slate->block[slate->at]->cap - slate->used) {
        enum lmn_status st = turn(slate, need, err);

        if (st != LMN_OK)
            return st;
    }
    memory = slate->block[slate->at]->data + slate->used;
    slate->used += need;
    memcpy(memory_out, &memory, sizeof memory);
    return LMN_OK;
}

enum lmn_status lmn__slate_take_array(struct lmn__slate *slate, struct ArrowArray **array_out,
                                      struct lmn_error *err)
{
    struct lmn__slate_array *made;
    enum lmn_status st = lmn__slate_take(slate, sizeof *made, &made, err);

    *array_out = NULL;
    if (st != LMN_OK)
        return st;
    /* The place is the end of its memory, which every later mark is at or behind. */
    *made = (struct lmn__slate_array){ .before = slate->array,
                                       .place = { slate->at, slate->used - 1 } };
    slate->array = made;
    *array_out = &made->array;
    return LMN_OK;
}

struct lmn__slate_mark lmn__slate_mark(const struct lmn__slate *slate)
{
    return (struct lmn__slate_mark){ slate->at, slate->used };
}

void lmn__slate_wipe(struct lmn__slate *slate, struct lmn__slate_mark mark)
{
    release_arrays(slate, mark);
    slate->at = mark.at;
    slate->used = mark.used;
}
