/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex_find.h - where in a text a regular expression matches, and its groups.
 */
#ifndef LMN_EXPR_REGEX_FIND_H
#define LMN_EXPR_REGEX_FIND_H

#include "expr/regex_program.h"

enum { LMN__REGEX_PLACES = 2 * LMN__REGEX_GROUPS_MAX };

/* What a search needs, in the slate of the run. */
struct lmn__regex_finder;

LMN_MUST_USE enum lmn_status lmn__regex_finder_new(struct lmn__frame *frame,
                                                   const struct lmn__regex_program *program,
                                                   struct lmn__regex_finder **finder_out);

/*
 * The first match that starts at byte `from` or behind it: group n is [place[2n], place[2n + 1]),
 * both SIZE_MAX where it took no part. False when there is none.
 */
bool lmn__regex_find(struct lmn__regex_finder *finder, struct lmn__span text, size_t from,
                     size_t place_out[LMN__REGEX_PLACES]);

/*
 * The next match of all: it is not empty directly behind the last one. Begin with *at 0 and
 * *behind SIZE_MAX.
 */
bool lmn__regex_find_next(struct lmn__regex_finder *finder, struct lmn__span text, size_t *at,
                          size_t *behind, size_t place_out[LMN__REGEX_PLACES]);

#endif
