/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - texts for the caller to keep: freed without their environment, which they keep alive.
 */
#ifndef LMN_BASE_TEXT_H
#define LMN_BASE_TEXT_H

#include <leman/text.h>

#include "base/env.h"

/*
 * A copy of `len` bytes with a terminating NUL, to be freed with lmn_text_free(). `data` NULL
 * leaves them zeroed. NULL when there is no memory.
 */
char *lmn__text_new(struct lmn_env *env, const void *data, size_t len);

#endif
