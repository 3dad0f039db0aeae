/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/mover.h"

#include "expr/calendar.h"

enum { DAY_SECONDS = 86400 };

/* A day of the calendar, moved. */
static bool move_days(int64_t days, const struct lmn__interval *by, int64_t *days_out)
{
    struct lmn__civil civil;
    int64_t month;
    uint32_t last;

    if (by->months != 0) {
        civil = lmn__civil_from_days(days);
        month = civil.year * 12 + (int64_t)civil.month - 1 + by->months;
        civil.year = lmn__floor_div(month, 12);
        civil.month = (uint32_t)lmn__floor_rest(month, 12) + 1;
        last = lmn__month_days(civil.year, civil.month);
        days = lmn__days_from_civil(civil.year, civil.month, civil.day < last ? civil.day : last);
    }
    return !__builtin_add_overflow(days, by->days, days_out);
}

/* The day and the time of day of a count, moved by months and days on the clock of the zone. */
static bool move_stamp(const struct lmn__mover *mover, int64_t value,
                       const struct lmn__interval *by, int64_t *value_out)
{
    int64_t seconds = lmn__floor_div(value, mover->rate),
            rest = lmn__floor_rest(value, mover->rate);
    int64_t days, of_day;

    if (mover->zone != NULL &&
        __builtin_add_overflow(seconds, lmn__zone_offset_at(mover->zone, seconds), &seconds))
        return false;
    of_day = lmn__floor_rest(seconds, DAY_SECONDS);
    if (!move_days(lmn__floor_div(seconds, DAY_SECONDS), by, &days) ||
        __builtin_mul_overflow(days, DAY_SECONDS, &seconds) ||
        __builtin_add_overflow(seconds, of_day, &seconds))
        return false;
    if (mover->zone != NULL)
        seconds = lmn__zone_to_utc(mover->zone, seconds);
    return !__builtin_mul_overflow(seconds, mover->rate, value_out) &&
           !__builtin_add_overflow(*value_out, rest, value_out);
}

bool lmn__mover_move(const struct lmn__mover *mover, int64_t value,
                     const struct lmn__interval *interval, int64_t *value_out)
{
    struct lmn__interval by = *interval;

    if (mover->sign < 0 && !lmn__interval_opposite(interval, &by))
        return false;
    if (mover->rate == 0)
        return move_days(value, &by, value_out);
    if ((by.months != 0 || by.days != 0) && !move_stamp(mover, value, &by, &value))
        return false;
    return !__builtin_add_overflow(value, lmn__floor_div(by.nanos, 1000000000 / mover->rate),
                                   value_out);
}
