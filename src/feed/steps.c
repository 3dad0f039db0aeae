/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/steps.h"

#include "base/math.h"

static uint64_t step_rows(const struct lmn__steps *steps)
{
    return steps->batch_rows * steps->rank_count;
}

static uint64_t full_count(const struct lmn__steps *steps, uint64_t start)
{
    return (steps->row_count - start) / step_rows(steps);
}

/* Rows behind the last full step. */
static uint64_t rest_rows(const struct lmn__steps *steps, uint64_t start)
{
    return (steps->row_count - start) % step_rows(steps);
}

uint64_t lmn__steps_count(const struct lmn__steps *steps, uint64_t start)
{
    uint64_t more = steps->remainder != LMN_REMAINDER_DROP && rest_rows(steps, start) != 0;

    return full_count(steps, start) + more;
}

uint64_t lmn__steps_of_rank(const struct lmn__steps *steps, uint64_t start, uint64_t rank)
{
    uint64_t count = lmn__steps_count(steps, start);

    if (steps->remainder == LMN_REMAINDER_UNEVEN && count > full_count(steps, start))
        count -= rank >= rest_rows(steps, start);
    return count;
}

struct lmn__share lmn__steps_share(const struct lmn__steps *steps, uint64_t start, uint64_t step,
                                   uint64_t rank)
{
    uint64_t first = start + step * step_rows(steps), rest, even, more;

    if (steps->remainder != LMN_REMAINDER_UNEVEN || step < full_count(steps, start))
        return (struct lmn__share){ first + rank * steps->batch_rows, steps->batch_rows };
    /* Rows that fill no step are dealt out as evenly as they can be. */
    rest = rest_rows(steps, start);
    even = rest / steps->rank_count;
    more = rest % steps->rank_count;
    return (struct lmn__share){ first + rank * even + lmn__min_u64(rank, more),
                                even + (rank < more) };
}

struct lmn__place lmn__steps_find(const struct lmn__steps *steps, uint64_t epoch, uint64_t position,
                                  uint64_t number)
{
    uint64_t first = lmn__steps_count(steps, position), each = lmn__steps_count(steps, 0);

    if (number < first || each == 0)
        return (struct lmn__place){ epoch, position, number };
    number -= first;
    return (struct lmn__place){ epoch + 1 + number / each, 0, number % each };
}

struct lmn__place lmn__steps_find_of_rank(const struct lmn__steps *steps, uint64_t epoch,
                                          uint64_t position, uint64_t rank, uint64_t number)
{
    uint64_t first = lmn__steps_of_rank(steps, position, rank);
    uint64_t each = lmn__steps_of_rank(steps, 0, rank);

    if (number < first || each == 0)
        return (struct lmn__place){ epoch, position, number };
    number -= first;
    return (struct lmn__place){ epoch + 1 + number / each, 0, number % each };
}

uint64_t lmn__steps_number(const struct lmn__steps *steps, uint64_t epoch, uint64_t position,
                           struct lmn__place place)
{
    if (place.epoch == epoch)
        return place.step;
    return lmn__steps_count(steps, position) +
           (place.epoch - epoch - 1) * lmn__steps_count(steps, 0) + place.step;
}

struct lmn__place lmn__steps_after(const struct lmn__steps *steps, struct lmn__place place)
{
    if (place.step + 1 >= lmn__steps_count(steps, place.position))
        return (struct lmn__place){ place.epoch + 1, 0, 0 };
    return (struct lmn__place){ place.epoch, place.position + (place.step + 1) * step_rows(steps),
                                0 };
}
