/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device gives a few megabytes in a row in the time of some tens of small reads. Who reads rows
 * in random order and comes back for others, as training does, reads all of them in the end, so
 * small reads cost more than they need to; who comes for a few rows has nothing of the rest. What
 * tells the one from the other is how often a part of the file was come back to: a stretch is worth
 * fetching when an eighth of it was read, in several visits. A scan that reads some rows of each
 * part passes it once or twice, and does not count.
 *
 *   - Neighbouring ranges of one call are one visit.
 *   - A range counts for the stretch in which it begins. Large ones fill a stretch before they make
 *     enough visits; they are read well as they are.
 *   - Only the thread that reaches the bounds sees both of them met for the first time; it begins
 *     again at zero, as the stretch may be read from the device once more when the system has
 *     dropped it.
 */
#include "os/stretch.h"

#include "base/math.h"

enum {
    STRETCH_BYTES = 4 << 20,
    PAGE_BYTES = 4096,
    PAGES_MIN = STRETCH_BYTES / PAGE_BYTES / 8,
    VISITS_MIN = 8,
    STRETCHES_MAX = 1 << 20, /* of a file of 4 TiB, which fits into no memory */
    VISIT = 1 << 16          /* visits are counted above pages */
};

void lmn__stretches_init(struct lmn__stretches *stretches, struct lmn_env *env, uint64_t file_bytes)
{
    stretches->env = env;
    stretches->file_bytes = file_bytes;
    atomic_init(&stretches->seen, NULL);
}

void lmn__stretches_deinit(struct lmn__stretches *stretches)
{
    lmn__free(stretches->env, atomic_load(&stretches->seen));
}

/* The numbers, made when they are first needed; NULL where they cannot be. */
static atomic_uint *seen_of(struct lmn__stretches *stretches)
{
    uint64_t count = stretches->file_bytes / STRETCH_BYTES + 1;
    atomic_uint *seen = atomic_load(&stretches->seen), *made;

    if (seen != NULL || count > STRETCHES_MAX)
        return seen;
    made = lmn__calloc(stretches->env, count, sizeof *made);
    if (made == NULL || atomic_compare_exchange_strong(&stretches->seen, &seen, made))
        return made;
    lmn__free(stretches->env, made); /* another thread was first */
    return seen;
}

static bool is_worth(unsigned seen)
{
    return seen / VISIT >= VISITS_MIN && seen % VISIT >= PAGES_MIN;
}

bool lmn__stretches_note(struct lmn__stretches *stretches, struct lmn__visit *visit,
                         const struct lmn__file_range *range, struct lmn__file_range *stretch_out)
{
    uint64_t number = range->offset / STRETCH_BYTES, first = number * STRETCH_BYTES;
    uint64_t bytes = lmn__min_u64(range->len, first + STRETCH_BYTES - range->offset);
    atomic_uint *seen = range->offset < stretches->file_bytes ? seen_of(stretches) : NULL;
    unsigned more = (unsigned)((bytes + PAGE_BYTES - 1) / PAGE_BYTES), before;

    if (seen == NULL)
        return false;
    if (visit->stretch != number)
        more += VISIT;
    visit->stretch = number;
    before = atomic_fetch_add(&seen[number], more);
    if (is_worth(before) || !is_worth(before + more))
        return false;
    atomic_store(&seen[number], 0);
    *stretch_out = (struct lmn__file_range){ first, lmn__min_u64(STRETCH_BYTES,
                                                                 stretches->file_bytes - first) };
    return true;
}
