/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three ways through the entries, the fastest that fits:
 *
 *   no lists       every entry adds one slot to every node; validity is a comparison
 *   one flat list  a leaf in a list: entries are either items or empty lists
 *   anything       node by node from the outside in, as the level tables say
 */
#include "codec/levels.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/bits.h"
#include "base/bytes.h"
#include "base/math.h"
#include "codec/simd.h"
#include "os/processor.h"

/* What a definition level says: where an entry stops, and why. */
struct def_meaning {
    uint8_t layer;
    bool empty; /* an empty list; otherwise null */
};

struct walk {
    const struct lmn__page_layout *layout;
    struct lmn__path *path;
    struct def_meaning def[2 * LMN__LAYER_COUNT_MAX + 1];
    uint8_t top[LMN__LAYER_COUNT_MAX + 1]; /* by repetition level: outermost layer that begins */
};

enum lmn_status lmn__levels_check(const struct lmn__page_layout *layout,
                                  const struct lmn__path *path, struct lmn_error *err)
{
    if (layout->layer_count != path->count)
        return lmn_fail(err, LMN_E_CORRUPT, "the page has %u layers, the schema %u",
                        layout->layer_count, path->count);
    for (uint32_t i = 0; i < path->count; i++) {
        if (lmn__layer_is_list(layout->layer[i]) != path->step[i].is_list)
            return lmn_fail(err, LMN_E_CORRUPT, "layer %u of the page is %s list in the schema", i,
                            path->step[i].is_list ? "a" : "no");
    }
    return LMN_OK;
}

static uint16_t level_max(const uint16_t *level, uint64_t count)
{
    uint16_t max = 0;

    for (uint64_t i = 0; i < count; i++)
        max = level[i] > max ? level[i] : max;
    return max;
}

static enum lmn_status check_levels(const struct lmn__page_layout *layout,
                                    const struct lmn__levels *levels, struct lmn_error *err)
{
    uint32_t rep = levels->rep != NULL ? level_max(levels->rep, levels->count) : 0;
    uint32_t def = levels->def != NULL ? level_max(levels->def, levels->count) : 0;

    if (rep > layout->list_count || def > layout->def_max)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "levels go up to %u and %u where the page's layers have %u and %u", rep,
                        def, layout->list_count, layout->def_max);
    return LMN_OK;
}

/* 64 bits: is level[i] below `limit`? */
LMN__KERNEL uint64_t below_mask(const uint16_t *level, uint16_t limit)
{
    uint64_t mask = 0;

#if defined(__SSE2__)
    /* Levels are far below 32768, so a signed comparison serves. */
    const __m128i bound = _mm_set1_epi16((short)limit);

    for (int i = 0; i < 64; i += 16) {
        __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(level + i));
        __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(level + i + 8));
        __m128i bytes = _mm_packs_epi16(_mm_cmplt_epi16(low, bound), _mm_cmplt_epi16(high, bound));

        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << i;
    }
#else
    for (int i = 0; i < 64; i++)
        mask |= (uint64_t)(level[i] < limit) << i;
#endif
    return mask;
}

/* The same for the last `count` levels, fewer than 64; bits behind them are 0. */
static uint64_t below_mask_tail(const uint16_t *level, uint64_t count, uint16_t limit)
{
    uint64_t mask = 0;

    for (uint64_t i = 0; i < count; i++)
        mask |= (uint64_t)(level[i] < limit) << i;
    return mask;
}

/* Append one validity bit per entry: valid when its definition level is below `limit`. */
static enum lmn_status append_validity(struct lmn__builder *builder, const uint16_t *def,
                                       uint64_t count, uint16_t limit, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;
    uint64_t i = 0;

    for (; st == LMN_OK && i + 64 <= count; i += 64) {
        uint64_t mask = below_mask(def + i, limit);

        st = lmn__builder_add_bits(builder, (const uint8_t *)&mask, 0, 64, err);
    }
    if (st == LMN_OK && i < count) {
        uint64_t mask = below_mask_tail(def + i, count - i, limit);

        st = lmn__builder_add_bits(builder, (const uint8_t *)&mask, 0, count - i, err);
    }
    return st;
}

/* Is this entry the first of a slot? */
static bool step_begins(struct lmn__path_step *step)
{
    bool begins = step->phase == 0;

    step->phase = step->phase + 1 == step->stride ? 0 : step->phase + 1;
    return begins;
}

/* The same for nodes whose slots are several entries long: the first entry speaks for all. */
static enum lmn_status append_strided(struct lmn__path_step *step, const uint16_t *def,
                                      uint64_t count, uint16_t limit, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        if (step_begins(step))
            st = def == NULL || def[i] < limit ? lmn__builder_add_valid(step->builder, 1, err)
                                               : lmn__builder_add_null(step->builder, 1, err);
    }
    return st;
}

static enum lmn_status append_without_lists(const struct lmn__page_layout *layout,
                                            struct lmn__path *path,
                                            const struct lmn__levels *levels, struct lmn_error *err)
{
    uint16_t limit = 1;

    for (uint32_t i = 0; i < path->count; i++) {
        struct lmn__path_step *step = &path->step[i];
        bool nullable = layout->layer[i] == LMN__LAYER_NULLABLE_ITEM && levels->def != NULL;
        enum lmn_status st = LMN_OK;

        if (step->builder != NULL && step->stride != 1)
            st = append_strided(step, nullable ? levels->def : NULL, levels->count, limit, err);
        else if (step->builder != NULL && nullable)
            st = append_validity(step->builder, levels->def, levels->count, limit, err);
        else if (step->builder != NULL)
            st = lmn__builder_add_valid(step->builder, levels->count, err);
        if (st != LMN_OK)
            return st;
        limit = (uint16_t)(limit + (layout->layer[i] == LMN__LAYER_NULLABLE_ITEM));
    }
    return LMN_OK;
}

/* Up to 64 entries of a leaf in a list, one bit each. */
struct list_block {
    uint64_t begins;  /* a list begins */
    uint64_t visible; /* an item is there */
    uint64_t present; /* the item is not null */
    uint64_t null;    /* the list is null */
};

static struct list_block load_block(const struct lmn__levels *levels, uint64_t first,
                                    uint16_t visible_max, bool null_lists)
{
    uint64_t count = lmn__min_u64(levels->count - first, 64);
    uint64_t all = count == 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
    uint64_t (*below)(const uint16_t *, uint64_t, uint16_t) = below_mask_tail;
    struct list_block block = { .visible = all, .present = all };
    const uint16_t *rep = levels->rep + first, *def = levels->def;

    block.begins = all & ~(count == 64 ? below_mask(rep, 1) : below(rep, count, 1));
    if (def == NULL)
        return block;
    def += first;
    block.visible = count == 64 ? below_mask(def, (uint16_t)(visible_max + 1))
                                : below(def, count, (uint16_t)(visible_max + 1));
    block.present = count == 64 ? below_mask(def, 1) : below(def, count, 1);
    if (null_lists)
        block.null = (count == 64 ? below_mask(def, (uint16_t)(visible_max + 2))
                                  : below(def, count, (uint16_t)(visible_max + 2))) &
                     ~block.visible;
    return block;
}

/* The bits of `bits` at the places that `mask` has, moved together. */
static uint64_t gather_bits(uint64_t bits, uint64_t mask)
{
    uint64_t out = 0;

    if (mask == ~(uint64_t)0)
        return bits;
    for (uint32_t i = 0; mask != 0; mask &= mask - 1, i++)
        out |= (bits >> __builtin_ctzll(mask) & 1) << i;
    return out;
}

static enum lmn_status add_mask(struct lmn__builder *builder, uint64_t bits, uint64_t mask,
                                struct lmn_error *err)
{
    uint64_t count = (uint64_t)__builtin_popcountll(mask), moved;

    if ((bits & mask) == mask)
        return lmn__builder_add_valid(builder, count, err);
    moved = gather_bits(bits, mask);
    return lmn__builder_add_bits(builder, (const uint8_t *)&moved, 0, count, err);
}

/* A leaf in a list, and nothing around them. */
static enum lmn_status append_flat_list(const struct lmn__page_layout *layout,
                                        struct lmn__path *path, const struct lmn__levels *levels,
                                        uint64_t *visible_out, struct lmn_error *err)
{
    struct lmn__builder *leaf = path->step[0].builder, *list = path->step[1].builder;
    bool null_lists = layout->layer[1] == LMN__LAYER_NULLABLE_LIST ||
                      layout->layer[1] == LMN__LAYER_NULL_AND_EMPTY_LIST;
    uint32_t width = list->layout->bits / 8;
    uint64_t first_item = leaf->length, item = first_item;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < levels->count; i += 64) {
        struct list_block block = load_block(levels, i, (uint16_t)layout->def_visible_max,
                                             null_lists);
        uint8_t *at;

        st = lmn__vec_extend(&list->offsets, list->env->pool,
                             (size_t)__builtin_popcountll(block.begins) * width, &at, err);
        for (uint64_t left = block.begins; st == LMN_OK && left != 0; left &= left - 1) {
            uint64_t before = (left & -left) - 1;
            uint64_t start = item + (uint64_t)__builtin_popcountll(block.visible & before);

            if (width == 4)
                lmn__store_u32(at, (uint32_t)start);
            else
                lmn__store_u64(at, start);
            at += width;
        }
        if (st == LMN_OK)
            st = add_mask(list, ~block.null, block.begins, err);
        if (st == LMN_OK)
            st = add_mask(leaf, block.present, block.visible, err);
        item += (uint64_t)__builtin_popcountll(block.visible);
    }
    *visible_out = item - first_item;
    return st;
}

static void walk_init(struct walk *walk, const struct lmn__page_layout *layout,
                      struct lmn__path *path)
{
    uint32_t def = 1, lists = 0;

    *walk = (struct walk){ .layout = layout, .path = path };
    for (uint32_t i = 0; i < layout->layer_count; i++) {
        uint8_t layer = layout->layer[i];

        if (lmn__layer_is_list(layer))
            walk->top[lists++] = (uint8_t)(i == 0 ? 0 : i - 1);
        if (layer == LMN__LAYER_NULLABLE_ITEM || layer == LMN__LAYER_NULLABLE_LIST ||
            layer == LMN__LAYER_NULL_AND_EMPTY_LIST)
            walk->def[def++] = (struct def_meaning){ (uint8_t)i, false };
        if (layer == LMN__LAYER_EMPTYABLE_LIST || layer == LMN__LAYER_NULL_AND_EMPTY_LIST)
            walk->def[def++] = (struct def_meaning){ (uint8_t)i, true };
    }
    walk->top[lists] = (uint8_t)(layout->layer_count - 1);
}

static enum lmn_status begin_list(struct lmn__builder *builder, bool valid, struct lmn_error *err)
{
    uint64_t start = builder->child[0].length;
    enum lmn_status st = lmn__vec_put(&builder->offsets, builder->env->pool, &start,
                                      builder->layout->bits / 8, err);

    if (st != LMN_OK)
        return st;
    return valid ? lmn__builder_add_valid(builder, 1, err) : lmn__builder_add_null(builder, 1, err);
}

/* One entry: from the outermost node that begins here down to where the entry stops. */
static enum lmn_status walk_entry(struct walk *walk, uint32_t rep, uint32_t def, bool *visible_out,
                                  struct lmn_error *err)
{
    int stop = def == 0 ? -1 : walk->def[def].layer;

    *visible_out = false;
    for (int i = walk->top[rep]; i >= 0; i--) {
        struct lmn__path_step *step = &walk->path->step[i];
        bool nullable = lmn__layer_def_count(walk->layout->layer[i]) != 0;
        bool valid = stop < i || !nullable || (stop == i && walk->def[def].empty);
        enum lmn_status st = LMN_OK;

        if (step->builder != NULL && step_begins(step)) {
            if (step->is_list)
                st = begin_list(step->builder, valid, err);
            else if (valid)
                st = lmn__builder_add_valid(step->builder, 1, err);
            else
                st = lmn__builder_add_null(step->builder, 1, err);
        }
        if (st != LMN_OK)
            return st;
        if (step->is_list && stop >= i)
            return LMN_OK;
    }
    *visible_out = true;
    return LMN_OK;
}

static enum lmn_status append_walking(const struct lmn__page_layout *layout, struct lmn__path *path,
                                      const struct lmn__levels *levels, uint64_t *visible_out,
                                      struct lmn_error *err)
{
    struct walk walk;

    walk_init(&walk, layout, path);
    for (uint64_t i = 0; i < levels->count; i++) {
        bool visible;
        enum lmn_status st = walk_entry(&walk, levels->rep != NULL ? levels->rep[i] : 0,
                                        levels->def != NULL ? levels->def[i] : 0, &visible, err);

        if (st != LMN_OK)
            return st;
        *visible_out += visible;
    }
    return LMN_OK;
}

enum lmn_status lmn__levels_append(const struct lmn__page_layout *layout, struct lmn__path *path,
                                   const struct lmn__levels *levels, uint64_t *visible_out,
                                   struct lmn_error *err)
{
    enum lmn_status st = check_levels(layout, levels, err);

    *visible_out = 0;
    if (st != LMN_OK)
        return st;
    if (path->count == 2 && layout->list_count == 1 && levels->rep != NULL)
        return append_flat_list(layout, path, levels, visible_out, err);
    if (layout->list_count != 0)
        return append_walking(layout, path, levels, visible_out, err);
    *visible_out = levels->count;
    return append_without_lists(layout, path, levels, err);
}

LMN__KERNEL uint64_t find_row_body(const uint16_t *rep, uint64_t count, uint16_t rep_max,
                                   uint64_t row)
{
    uint64_t i = 0;

    for (; i + 64 <= count; i += 64) {
        uint64_t begins = ~below_mask(rep + i, rep_max);
        uint64_t found = (uint64_t)__builtin_popcountll(begins);

        if (row < found) {
            for (; row > 0; row--)
                begins &= begins - 1;
            return i + (uint64_t)__builtin_ctzll(begins);
        }
        row -= found;
    }
    for (; i < count; i++) {
        if (rep[i] == rep_max && row-- == 0)
            break;
    }
    return i;
}

LMN__WIDE static uint64_t find_row_wide(const uint16_t *rep, uint64_t count, uint16_t rep_max,
                                        uint64_t row)
{
    return find_row_body(rep, count, rep_max, row);
}

uint64_t lmn__levels_find_row(const uint16_t *rep, uint64_t count, uint32_t rep_max, uint64_t row)
{
    return lmn__processor_is_wide() ? find_row_wide(rep, count, (uint16_t)rep_max, row)
                                    : find_row_body(rep, count, (uint16_t)rep_max, row);
}

LMN__KERNEL uint64_t count_below_body(const uint16_t *level, uint64_t count, uint16_t limit)
{
    uint64_t below = 0, i = 0;

    for (; i + 64 <= count; i += 64)
        below += (uint64_t)__builtin_popcountll(below_mask(level + i, limit));
    for (; i < count; i++)
        below += level[i] < limit;
    return below;
}

LMN__WIDE static uint64_t count_below_wide(const uint16_t *level, uint64_t count, uint16_t limit)
{
    return count_below_body(level, count, limit);
}

uint64_t lmn__levels_visible(const struct lmn__page_layout *layout, const uint16_t *def,
                             uint64_t count)
{
    uint16_t limit = (uint16_t)(layout->def_visible_max + 1);

    return lmn__processor_is_wide() ? count_below_wide(def, count, limit)
                                    : count_below_body(def, count, limit);
}
