/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shelf.h - rows that a call has finished, in memory that outlives the worker, until their receipt
 * is sent.
 *
 * Each thread of a worker has a shelf behind the pages (page.h) with two boards: one for the
 * results that are gathered, one for those in writing. The worker puts items there, each the bytes
 * of one row; the engine reads them when the worker is dead. An item counts when `used` covers it.
 */
#ifndef LMN_ENGINE_SHELF_H
#define LMN_ENGINE_SHELF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "engine/page.h"

enum { LMN__BOARDS = 2, LMN__BOARD_BYTES = 16 << 20 };

/* A board; the items follow it. */
struct lmn__board {
    _Alignas(64) atomic_uint_fast64_t task; /* that the items are of */
    atomic_uint_fast64_t used;              /* bytes of items */
};

struct lmn__board_item {
    uint64_t ordinal; /* of the row, in its unit */
    uint32_t kind;    /* as it was given */
    uint32_t len;
    const uint8_t *data; /* in the board */
};

/* Bytes of shared memory for the pages and shelves of `threads` threads. */
size_t lmn__shelf_memory_bytes(uint32_t threads);

/* Pages and boards of `threads` threads as they are in new memory; what lies on boards is not
 * touched, because most of that memory has never been. */
void lmn__shelf_reset(void *memory, uint32_t threads);

/* Board `which` of a thread. */
struct lmn__board *lmn__shelf_board(void *memory, uint32_t thread, uint32_t which);

/* Take everything off, for rows of a task. */
void lmn__board_clear(struct lmn__board *board, uint64_t task);

/* Put an item on. False: it does not fit. */
bool lmn__board_put(struct lmn__board *board, uint64_t ordinal, uint32_t kind, const void *data,
                    uint64_t len);

/* The item at *at, which moves behind it; false behind the last, or at something that is none. */
bool lmn__board_next(const struct lmn__board *board, uint64_t *at,
                     struct lmn__board_item *item_out);

/* The items as they lie there. */
struct lmn__span lmn__board_items(const struct lmn__board *board);

/* Put items of another board on, in the place of what is there. False: they are too long. */
bool lmn__board_copy(struct lmn__board *board, uint64_t task, struct lmn__span items);

#endif
