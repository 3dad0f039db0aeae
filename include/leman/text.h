/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - texts and bytes that a call hands out for the caller to keep.
 */
#ifndef LEMAN_TEXT_H
#define LEMAN_TEXT_H

#include <leman/status.h>

/* Free a text that a call gave. NULL is ignored. */
LMN_API void lmn_text_free(char *text);

#endif
