/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shred.h - from nested Arrow arrays to what one leaf's page is made of: levels and values.
 *
 * A shredded leaf gathers rows of its column until they are enough for a page. Levels are
 * provisional while it does: layer i (from the inside out) has the definition levels 2i + 1 for
 * null and 2i + 2 for an empty list, whether they occur or not; lmn__shred_close() renumbers them
 * as the page needs them. A leaf belongs to one thread at a time.
 */
#ifndef LMN_CODEC_SHRED_H
#define LMN_CODEC_SHRED_H

#include "arrow/view.h"
#include "codec/layout.h"

/* A node on the way from a column to a leaf, outermost first. */
struct lmn__shred_node {
    const struct lmn__layout *layout;
    uint32_t child; /* which child of it the next node is; fixed lists and lists: 0 */
};

struct lmn__shred {
    struct lmn_env *env; /* borrowed */
    uint32_t node_count;
    const struct lmn__shred_node *node; /* borrowed */
    uint64_t stride;                    /* entries per row in fixed lists of structs; 1 without */
    uint64_t row_count;                 /* of the column: rows x stride */
    uint64_t entry_count;               /* levels */
    bool has_rep;                       /* the path has lists */
    struct lmn__vec rep;                /* 16 bits per entry, with has_rep */
    struct lmn__vec def;                /* 16 bits per entry; empty while all are 0 */
    uint64_t null_count;                /* values that are null, among values.length */
    struct lmn__builder values;         /* one slot per value of the page, nulls included */
    uint64_t bytes;                     /* of the values, about */
};

/* A leaf's path; `node` and the layouts must live on. `value_layout` is the leaf's. */
LMN_MUST_USE enum lmn_status lmn__shred_init(struct lmn__shred *shred, struct lmn_env *env,
                                             const struct lmn__shred_node *node,
                                             uint32_t node_count,
                                             const struct lmn__layout *value_layout,
                                             struct lmn_error *err);
void lmn__shred_deinit(struct lmn__shred *shred);

/*
 * Make room for as many values as `like` holds, so that they need not move as they grow: pages of
 * a column are alike. It is a guess: without the room all goes well, too.
 */
void lmn__shred_expect(struct lmn__shred *shred, const struct lmn__shred *like);

/* Append rows [first, first + count) of a column. */
LMN_MUST_USE enum lmn_status lmn__shred_append(struct lmn__shred *shred,
                                               const struct ArrowArray *column, uint64_t first,
                                               uint64_t count, struct lmn_error *err);

/*
 * Must the page be closed before rows of `column` are added? Only of dictionary columns, whose
 * index type may not be able to tell both dictionaries' values apart.
 */
bool lmn__shred_must_close(const struct lmn__shred *shred, const struct ArrowArray *column);

/*
 * Find the page's layers and give the levels their final numbers: fills layer[], layer_count
 * and what derives from them in *layout. A page without nulls and empty lists has no def levels
 * after this (shred->def is empty).
 */
void lmn__shred_close(struct lmn__shred *shred, struct lmn__page_layout *layout);

/* The levels, after lmn__shred_close(). */
static inline const uint16_t *lmn__shred_rep(const struct lmn__shred *shred)
{
    return shred->has_rep ? (const uint16_t *)(const void *)shred->rep.data : NULL;
}

static inline const uint16_t *lmn__shred_def(const struct lmn__shred *shred)
{
    return shred->def.len != 0 ? (const uint16_t *)(const void *)shred->def.data : NULL;
}

#endif
