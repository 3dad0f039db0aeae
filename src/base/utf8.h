/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - is it text?
 */
#ifndef LMN_BASE_UTF8_H
#define LMN_BASE_UTF8_H

#include <stdbool.h>

#include "base/bytes.h"

/* Is this UTF-8, in the shortest form of each character, without surrogates and NULs? */
bool lmn__utf8_valid(struct lmn__span text);

#endif
