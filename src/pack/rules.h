/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - what of a folder stays at home: patterns as in .gitignore, the last that fits decides.
 *
 * A pattern without a slash fits a name at any depth; one with a slash in front or within fits from
 * the top. "*", "?" and "[...]" stay within a name, "**" crosses folders, a slash at the end is for
 * folders only, and "!" in front takes back what earlier patterns left out. A folder that is left
 * out is not looked into.
 */
#ifndef LMN_PACK_RULES_H
#define LMN_PACK_RULES_H

#include <stdbool.h>

#include <leman/pack.h>

#include "base/arena.h"

struct lmn__rule {
    struct lmn__span pattern; /* without the marks */
    const char *reason;       /* what a plan says of that which it leaves out */
    bool keeps;               /* "!" */
    bool folders;             /* "/" at the end */
    bool from_top;
};

struct lmn__rules {
    struct lmn__arena *arena; /* borrowed */
    struct lmn__rule *rule;
    size_t count, cap;
};

/* The rules that every path of this kind has. */
LMN_MUST_USE enum lmn_status lmn__rules_init(struct lmn__rules *rules, struct lmn__arena *arena,
                                             enum lmn_pack_kind kind, struct lmn_error *err);

/*
 * Add the lines of a file of rules; `text` is copied. A plan gives the pattern itself as the reason
 * when `reason` is NULL.
 *
 * LMN_E_INVALID  a pattern that is too long, or there are too many
 */
LMN_MUST_USE enum lmn_status lmn__rules_add(struct lmn__rules *rules, struct lmn__span text,
                                            const char *reason, struct lmn_error *err);

/* Why a file or folder stays at home; NULL when it does not. `path` is relative. */
const char *lmn__rules_reason(const struct lmn__rules *rules, const char *path, bool is_folder);

#endif
