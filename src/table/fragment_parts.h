/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragment_parts.h - how the arrays of several files make one.
 *
 * Each file that has leaves of the result is a source, which gives an array of just those leaves. A
 * tree of parts, of the shape of the result, says where each node comes from:
 *
 *   FILE    all leaves below come from one source: its array is taken as it is
 *   NONE    none is in any file: nulls
 *   MERGED  slots and offsets of the first source that has the node, children put together
 *
 * The k-th child of a node that has leaves in a source is the k-th child of that source's array.
 */
#ifndef LMN_TABLE_FRAGMENT_PARTS_H
#define LMN_TABLE_FRAGMENT_PARTS_H

#include "arrow/layout.h"

enum lmn__part_kind { LMN__PART_FILE, LMN__PART_NONE, LMN__PART_MERGED };

/* A source that has leaves of a part. */
struct lmn__part_use {
    uint32_t source;
    uint32_t via;   /* which of the parent's uses */
    uint32_t place; /* which child of the parent's array in that source */
};

struct lmn__part {
    enum lmn__part_kind kind;
    const struct lmn__layout *layout;
    uint32_t use_count;
    struct lmn__part_use *use;
    uint32_t child_count; /* MERGED */
    struct lmn__part *child;
};

/* Does what a source gives for a part, of layout `found`, fit the result's type? */
bool lmn__part_fits(const struct lmn__part *part, uint32_t source, const struct lmn__layout *found);

/*
 * Put a part of `length` slots together. `from` holds its array in each source that it uses; what
 * is needed is moved out of them.
 *
 * LMN_E_CORRUPT  lists whose items lie in several sources differ in length
 */
LMN_MUST_USE enum lmn_status lmn__part_assemble(struct lmn_env *env, const struct lmn__part *part,
                                                struct ArrowArray **from, uint64_t length,
                                                struct ArrowArray *array_out,
                                                struct lmn_error *err);

#endif
