/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With LMN_SHUFFLE_BLOCK the rows are cut into blocks of equal size, the last one shorter. The
 * blocks are permuted and laid one behind the other; of the line that this makes, each window is
 * permuted by itself. The short block shifts what stands behind it, so its place is looked up once.
 */
#include "feed/order.h"

#include "base/math.h"

/* What tells the keys of one seed apart. */
static const uint64_t row_purpose = 1, window_purpose = 2, substitute_purpose = 3;

static uint64_t derive(uint64_t key, uint64_t purpose, uint64_t number)
{
    return lmn__mix64(lmn__mix64(key + purpose) + number);
}

void lmn__order_init(struct lmn__order *order, const struct lmn__order_options *options,
                     uint64_t epoch)
{
    uint64_t rows = options->row_count, blocks;

    *order = (struct lmn__order){ .options = *options };
    order->key = lmn__mix64(lmn__mix64(options->seed) + epoch);
    if (options->shuffle == LMN_SHUFFLE_FULL) {
        lmn__permutation_init(&order->rows, rows, derive(order->key, row_purpose, 0));
    } else if (options->shuffle == LMN_SHUFFLE_BLOCK && rows != 0) {
        blocks = lmn__div_up(rows, options->block_rows);
        lmn__permutation_init(&order->rows, blocks, derive(order->key, row_purpose, 0));
        order->short_rows = rows - (blocks - 1) * options->block_rows;
        order->short_at = lmn__permutation_inverse(&order->rows, blocks - 1);
    }
}

/* Move a position inside its window. */
static uint64_t mix_window(const struct lmn__order *order, uint64_t position)
{
    uint64_t size = order->options.window_rows, window = position / size, first = window * size;
    struct lmn__permutation mixed;

    lmn__permutation_init(&mixed, lmn__min_u64(size, order->options.row_count - first),
                          derive(order->key, window_purpose, window));
    return first + lmn__permutation_at(&mixed, position - first);
}

static uint64_t block_row(const struct lmn__order *order, uint64_t position)
{
    uint64_t size = order->options.block_rows, place = mix_window(order, position);
    uint64_t short_first = order->short_at * size, block;

    if (place >= short_first && place < short_first + order->short_rows) {
        block = order->short_at;
        place -= short_first;
    } else {
        if (place >= short_first)
            place += size - order->short_rows;
        block = place / size;
        place %= size;
    }
    return lmn__permutation_at(&order->rows, block) * size + place;
}

uint64_t lmn__order_row(const struct lmn__order *order, uint64_t position)
{
    switch (order->options.shuffle) {
    case LMN_SHUFFLE_FULL:
        return lmn__permutation_at(&order->rows, position);
    case LMN_SHUFFLE_BLOCK:
        return block_row(order, position);
    default:
        return position;
    }
}

uint64_t lmn__order_substitute(const struct lmn__order *order, uint64_t position, uint64_t attempt)
{
    uint64_t drawn = derive(derive(order->key, substitute_purpose, position), 0, attempt);

    return drawn % order->options.row_count;
}
