/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zone_rule.h - how the clock of a zone goes on when no change of it is listed any more, as POSIX
 * writes it: "CET-1CEST,M3.5.0,M10.5.0/3".
 */
#ifndef LMN_EXPR_ZONE_RULE_H
#define LMN_EXPR_ZONE_RULE_H

#include <stdbool.h>

#include "base/bytes.h"

enum lmn__zone_day_kind {
    LMN__ZONE_DAY_OF_YEAR,      /* `day` from 0, leap days counted */
    LMN__ZONE_DAY_WITHOUT_LEAP, /* `day` from 1, 29 February never counted */
    LMN__ZONE_DAY_OF_WEEK       /* the `week`th `day` (0: Sunday) of `month`; 5: the last */
};

/* A moment of each year, on the clock that is left. */
struct lmn__zone_day {
    enum lmn__zone_day_kind kind;
    int32_t month, week, day;
    int32_t seconds; /* from the day's start */
};

/* Seconds are those ahead of UTC. */
struct lmn__zone_rule {
    bool has_summer; /* false: `standard` all the year */
    int32_t standard, summer;
    struct lmn__zone_day start, end; /* of summer */
};

/* False when the text is no rule. */
bool lmn__zone_rule_parse(struct lmn__span text, struct lmn__zone_rule *rule_out);

/* Seconds ahead of UTC at a moment, given in seconds since 1970. */
int32_t lmn__zone_rule_offset(const struct lmn__zone_rule *rule, int64_t seconds);

#endif
