/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saved.h - rows of a job that workers had finished when they died: taken from their shelves, given
 * to whoever computes the rows next.
 *
 * Belongs to the driver.
 */
#ifndef LMN_ENGINE_SAVED_H
#define LMN_ENGINE_SAVED_H

#include "base/arena.h"
#include "base/proto.h"
#include "engine/shelf.h"

struct lmn__saved_row {
    uint64_t unit, ordinal;
    uint32_t kind;
    struct lmn__span bytes; /* in the arena */
};

struct lmn__saved {
    struct lmn_env *env;
    struct lmn__arena arena;
    struct lmn__saved_row *row; /* by rising unit and ordinal, each once */
    uint64_t count, room;
};

void lmn__saved_init(struct lmn__saved *saved, struct lmn_env *env);
void lmn__saved_deinit(struct lmn__saved *saved);

/*
 * Take the rows of a unit from a board, but ordinals [from, from + count). What there is no memory
 * for is left: it is computed again.
 */
void lmn__saved_take(struct lmn__saved *saved, uint64_t unit, const struct lmn__board *board,
                     uint64_t from, uint64_t count);

/* The rows of ordinals [from, from + count) of a unit that are there: the first, and how many. */
const struct lmn__saved_row *lmn__saved_find(const struct lmn__saved *saved, uint64_t unit,
                                             uint64_t from, uint64_t count, uint64_t *count_out);

#endif
