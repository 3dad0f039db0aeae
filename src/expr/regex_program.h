/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex_program.h - a regular expression as the instructions that are run over texts.
 *
 * Where an instruction goes on at two places, x is tried first: of several matches at one place the
 * one that the first tries lead to is taken.
 */
#ifndef LMN_EXPR_REGEX_PROGRAM_H
#define LMN_EXPR_REGEX_PROGRAM_H

#include "expr/regex_tree.h"

enum lmn__regex_op {
    LMN__REGEX_OP_SET,
    LMN__REGEX_OP_SPLIT, /* to x and y */
    LMN__REGEX_OP_JUMP,  /* to x */
    LMN__REGEX_OP_ASSERT,
    LMN__REGEX_OP_KEEP, /* the place in the text, as number x */
    LMN__REGEX_OP_MATCH
};

struct lmn__regex_instruction {
    enum lmn__regex_op op;
    uint32_t x, y;
    int32_t assertion;
    const struct lmn__regex_set *set;
};

struct lmn__regex_program {
    uint32_t group_count; /* without that of the whole match */
    struct lmn__span name[LMN__REGEX_GROUPS_MAX];
    uint32_t place_count; /* that are kept */
    uint32_t count;
    struct lmn__regex_instruction *instruction;
};

/*
 * Compile a constant pattern, and make *text a string. `flags` may be NULL; with `global_out` they
 * may have a g.
 *
 * LMN_E_INVALID      it is no regular expression, or *text no string
 * LMN_E_UNSUPPORTED  the pattern is no constant
 */
LMN_MUST_USE enum lmn_status lmn__regex_compile(struct lmn__binder *binder, uint32_t place,
                                                struct lmn__term **text,
                                                const struct lmn__term *pattern,
                                                const struct lmn__term *flags, bool *global_out,
                                                const struct lmn__regex_program **program_out);

/* Does an assertion hold at byte `at`? */
bool lmn__regex_asserted(struct lmn__span text, int32_t assertion, size_t at);

#endif
