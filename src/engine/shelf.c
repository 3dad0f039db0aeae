/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An item is
 *
 *   u64  ordinal of the row
 *   u32  kind
 *   u32  bytes that follow, filled up to a multiple of 8
 */
#include "engine/shelf.h"

#include <string.h>

#include "base/math.h"
#include "os/process.h"

enum { ITEM_HEAD_BYTES = 16, MEMORY_ALIGN = 4096 };

/* The pages of as many threads as a worker may have come first: where the boards are does not
 * depend on how many there are. */
static size_t boards_at(void)
{
    return lmn__align_up(LMN__PROCESS_FDS_MAX * sizeof(struct lmn__page), MEMORY_ALIGN);
}

size_t lmn__shelf_memory_bytes(uint32_t threads)
{
    return boards_at() + (size_t)threads * LMN__BOARDS * LMN__BOARD_BYTES;
}

struct lmn__board *lmn__shelf_board(void *memory, uint32_t thread, uint32_t which)
{
    size_t number = (size_t)thread * LMN__BOARDS + which;

    return (struct lmn__board *)(void *)((uint8_t *)memory + boards_at() +
                                         number * LMN__BOARD_BYTES);
}

void lmn__shelf_reset(void *memory, uint32_t threads)
{
    memset(memory, 0, boards_at());
    for (uint32_t i = 0; i < threads; i++) {
        for (uint32_t k = 0; k < LMN__BOARDS; k++)
            lmn__board_clear(lmn__shelf_board(memory, i, k), 0);
    }
}

void lmn__board_clear(struct lmn__board *board, uint64_t task)
{
    atomic_store(&board->used, 0);
    atomic_store(&board->task, task);
}

bool lmn__board_put(struct lmn__board *board, uint64_t ordinal, uint32_t kind, const void *data,
                    uint64_t len)
{
    uint64_t used = atomic_load_explicit(&board->used, memory_order_relaxed);
    uint64_t room = LMN__BOARD_BYTES - sizeof *board - used;
    uint8_t *item = (uint8_t *)(board + 1) + used;

    if (room < ITEM_HEAD_BYTES || len > room - ITEM_HEAD_BYTES)
        return false;
    lmn__store_u64(item, ordinal);
    lmn__store_u32(item + 8, kind);
    lmn__store_u32(item + 12, (uint32_t)len);
    if (len != 0)
        memcpy(item + ITEM_HEAD_BYTES, data, len);
    used = lmn__min_u64(used + ITEM_HEAD_BYTES + lmn__align_up(len, 8),
                        LMN__BOARD_BYTES - sizeof *board);
    atomic_store_explicit(&board->used, used, memory_order_release);
    return true;
}

bool lmn__board_next(const struct lmn__board *board, uint64_t *at, struct lmn__board_item *item_out)
{
    uint64_t used = lmn__min_u64(atomic_load(&board->used), LMN__BOARD_BYTES - sizeof *board);
    const uint8_t *item = (const uint8_t *)(board + 1) + *at;

    *item_out = (struct lmn__board_item){ 0 };
    if (*at > used || used - *at < ITEM_HEAD_BYTES)
        return false;
    *item_out = (struct lmn__board_item){ lmn__load_u64(item), lmn__load_u32(item + 8),
                                          lmn__load_u32(item + 12), item + ITEM_HEAD_BYTES };
    if (item_out->len > used - *at - ITEM_HEAD_BYTES)
        return false;
    *at = lmn__min_u64(*at + ITEM_HEAD_BYTES + lmn__align_up(item_out->len, 8), used);
    return true;
}

struct lmn__span lmn__board_items(const struct lmn__board *board)
{
    uint64_t used = lmn__min_u64(atomic_load(&board->used), LMN__BOARD_BYTES - sizeof *board);

    return (struct lmn__span){ (const uint8_t *)(board + 1), used };
}

bool lmn__board_copy(struct lmn__board *board, uint64_t task, struct lmn__span items)
{
    if (items.len > LMN__BOARD_BYTES - sizeof *board)
        return false;
    lmn__board_clear(board, task);
    if (items.len > 0)
        memcpy(board + 1, items.data, items.len);
    atomic_store(&board->used, items.len);
    return true;
}
