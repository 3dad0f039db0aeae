/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex.h - does a string match a regular expression anywhere?
 *
 * Time is linear in the string: there are no back references and no looking around.
 */
#ifndef LMN_EXPR_REGEX_H
#define LMN_EXPR_REGEX_H

#include "expr/bind.h"

/*
 * regexp_like(text, pattern [, flags]). The pattern is a constant. Flags: i, m, s.
 *
 *     . [abc] [^a-z] [[:alpha:]] \d \w \s \b \A \z \x41 ^ $ | * + ? {2,5} and their lazy forms
 *     (...) (?:...) (?<name>...) (?i) (?i:...)
 */
LMN_MUST_USE enum lmn_status lmn__bind_regex(struct lmn__binder *binder, uint32_t place,
                                             int32_t choice, struct lmn__term **arg, uint32_t count,
                                             struct lmn__term **term_out);

#endif
