/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval.h - spans of time as calendars count them: months, days and nanoseconds, each of which
 * is kept, since a month has no fixed number of days, and a day in a time zone none of hours.
 */
#ifndef LMN_EXPR_INTERVAL_H
#define LMN_EXPR_INTERVAL_H

#include <stdbool.h>

#include "base/bytes.h"

/* As Arrow lays out month_day_nano. */
struct lmn__interval {
    int32_t months, days;
    int64_t nanos;
};

/*
 * "1 year 2 months", "-3 days 04:05:06.7", "1.5 hours": numbers with units, of which those up to
 * weeks may have fractions, and times of a clock. False when the text is none.
 */
bool lmn__interval_parse(struct lmn__span text, struct lmn__interval *interval_out);

enum { LMN__INTERVAL_TEXT_BYTES = 80 };

/* As lmn__interval_parse() reads it. Returns the length. */
size_t lmn__interval_print(const struct lmn__interval *interval,
                           char text_out[LMN__INTERVAL_TEXT_BYTES]);

/* Is the word a unit of lmn__interval_parse()? */
bool lmn__interval_is_unit(struct lmn__span word);

/* -1, 0, 1, where a month counts 30 days and a day 24 hours. */
int lmn__interval_compare(const struct lmn__interval *a, const struct lmn__interval *b);

/* The opposite; false: it does not fit. */
bool lmn__interval_opposite(const struct lmn__interval *interval, struct lmn__interval *out);

/* Equal intervals have equal hashes. */
uint64_t lmn__interval_hash(const struct lmn__interval *interval);

#endif
