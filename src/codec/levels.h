/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levels.h - from repetition and definition levels back to validity bitmaps and list offsets.
 *
 * The entries of a page are walked once; each adds a slot to the leaf and to those lists and
 * structs around it that begin there. Levels count from the inside out:
 *
 *   definition  0: a value is there. Otherwise layers claim the numbers 1, 2, ... in their order:
 *               one for "null", one for "empty list".
 *   repetition  0: one more item of the innermost list; k: a new list begins at the kth list
 *               layer; the number of list layers: a new row begins.
 */
#ifndef LMN_CODEC_LEVELS_H
#define LMN_CODEC_LEVELS_H

#include "arrow/builder.h"
#include "codec/layout.h"

/* One node on the way from a leaf to its column. */
struct lmn__path_step {
    struct lmn__builder *builder; /* NULL: another leaf of the same node fills it */
    bool is_list;
    uint64_t stride; /* entries per slot: 1, or the dimension of fixed lists of structs inside */
    uint64_t phase;  /* entries of the slot that is open, modulo stride; kept between calls */
};

/* A leaf's nodes from the inside out; step[0] is the leaf itself. One thread fills it. */
struct lmn__path {
    struct lmn__path_step step[LMN__LAYER_COUNT_MAX];
    uint32_t count;
};

/* Levels of consecutive entries; either may be NULL when all of them are 0. */
struct lmn__levels {
    const uint16_t *rep;
    const uint16_t *def;
    uint64_t count;
};

/* LMN_E_CORRUPT when a page's layers do not match the schema. */
LMN_MUST_USE enum lmn_status lmn__levels_check(const struct lmn__page_layout *layout,
                                               const struct lmn__path *path, struct lmn_error *err);

/*
 * Append the slots of `levels` to the builders of `path`.
 *
 * *visible_out is the number of slots the leaf got: as many values follow. Values themselves are
 * not touched. Whether the builders' lengths agree in the end is for the caller to check.
 *
 * LMN_E_CORRUPT  a level is larger than the layout allows
 */
LMN_MUST_USE enum lmn_status lmn__levels_append(const struct lmn__page_layout *layout,
                                                struct lmn__path *path,
                                                const struct lmn__levels *levels,
                                                uint64_t *visible_out, struct lmn_error *err);

/*
 * The index of the entry at which row number `row` (from 0) begins, counted in `rep`; entries
 * before the first row's beginning belong to an earlier one. Returns `count` when there are
 * fewer rows.
 */
uint64_t lmn__levels_find_row(const uint16_t *rep, uint64_t count, uint32_t rep_max, uint64_t row);

/* How many of these entries have a place among the values? */
uint64_t lmn__levels_visible(const struct lmn__page_layout *layout, const uint16_t *def,
                             uint64_t count);

#endif
