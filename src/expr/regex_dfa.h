/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex_dfa.h - a regular expression as a table of states, which asks only whether there is a
 * match: one step per character, whatever the pattern.
 *
 * Lies in the binder's arena and does not change: any number of threads may use it.
 */
#ifndef LMN_EXPR_REGEX_DFA_H
#define LMN_EXPR_REGEX_DFA_H

#include "expr/regex_program.h"

enum { LMN__REGEX_SYMBOLS = 129 }; /* the characters of ASCII, and one for all others */

struct lmn__regex_places;

struct lmn__regex_dfa {
    uint8_t class_of[LMN__REGEX_SYMBOLS]; /* characters that no part of the pattern tells apart */
    uint32_t class_count;
    const struct lmn__regex_program *program; /* NULL: characters beyond ASCII are of one class */
    const struct lmn__regex_places *accepts;  /* of a class: where it is taken */
    uint16_t *next;                           /* of a state and a class */
    uint8_t *ends; /* of a state: is there a match if the text ends here? */
};

/*
 * Make the table of `program`. *dfa_out is NULL where there is none: it would be large, or the
 * pattern looks at more than the ends of the text.
 */
LMN_MUST_USE enum lmn_status lmn__regex_dfa_new(struct lmn__binder *binder,
                                                const struct lmn__regex_program *program,
                                                const struct lmn__regex_dfa **dfa_out);

/* Is there a match in `text`? False: the table does not know, because of a character. */
bool lmn__regex_dfa_search(const struct lmn__regex_dfa *dfa, struct lmn__span text,
                           bool *match_out);

#endif
