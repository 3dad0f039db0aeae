/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path is a chain of nodes. Between two lists, or behind the last one, the slots of the nodes
 * correspond one to one (fixed lists of structs: one to many), so such a segment is handled as a
 * whole: an entry is null at the outermost node of the segment that is null there.
 *
 * New slots of a segment begin `lists from here on inwards` lists, which is their repetition
 * level, except the first of a list, which takes over the level of the list itself.
 */
#include "codec/shred.h"

#include "base/math.h"
#include "codec/dictionary.h"

enum { DICTIONARY_WIDTH = sizeof(uint32_t) };

/* One call of lmn__shred_append(). */
struct walk {
    struct lmn__shred *shred;
    const struct ArrowArray *array[LMN__LAYER_COUNT_MAX]; /* of each node */
    uint16_t lists[LMN__LAYER_COUNT_MAX + 1];             /* list nodes from here on inwards */
    struct lmn__builder *dictionary; /* DICTIONARY: the batch's, as a builder */
    const uint32_t *map;             /* its values' places; NULL: as they are */
};

enum lmn_status lmn__shred_init(struct lmn__shred *shred, struct lmn_env *env,
                                const struct lmn__shred_node *node, uint32_t node_count,
                                const struct lmn__layout *value_layout, struct lmn_error *err)
{
    *shred = (struct lmn__shred){ .env = env, .node = node, .node_count = node_count, .stride = 1 };
    for (uint32_t i = 0; i + 1 < node_count; i++) {
        shred->has_rep |= node[i].layout->kind == LMN__LAYOUT_LIST;
        if (node[i].layout->kind == LMN__LAYOUT_FIXED_LIST)
            shred->stride *= node[i].layout->dimension;
    }
    return lmn__builder_init(&shred->values, env, value_layout, err);
}

void lmn__shred_deinit(struct lmn__shred *shred)
{
    lmn__vec_deinit(&shred->rep);
    lmn__vec_deinit(&shred->def);
    lmn__builder_deinit(&shred->values);
}

void lmn__shred_expect(struct lmn__shred *shred, const struct lmn__shred *like)
{
    const struct lmn__builder *from = &like->values;
    struct lmn__builder *to = &shred->values;
    enum lmn_status ignored;

    while (to->layout->kind == LMN__LAYOUT_FIXED_LIST) {
        from = &from->child[0];
        to = &to->child[0];
    }
    ignored = lmn__vec_reserve(&to->values, shred->env->pool, from->values.len, NULL);
    (void)ignored;
}

static uint16_t null_level(const struct lmn__shred *shred, uint32_t depth)
{
    return (uint16_t)(2 * (shred->node_count - 1 - depth) + 1);
}

/* Give the first `entry_count` entries definition levels; those without one get 0. */
static enum lmn_status need_def(struct lmn__shred *shred, struct lmn_error *err)
{
    uint64_t bytes = shred->entry_count * sizeof(uint16_t), have = shred->def.len;
    uint8_t *at;
    enum lmn_status st;

    if (have >= bytes)
        return LMN_OK;
    st = lmn__vec_extend(&shred->def, shred->env->pool, bytes - have, &at, err);
    if (st == LMN_OK)
        memset(at, 0, bytes - have);
    return st;
}

/* Count `count` entries: the first with repetition level `rep`, the others with 0. */
static enum lmn_status add_entries(struct lmn__shred *shred, uint64_t count, uint16_t rep,
                                   struct lmn_error *err)
{
    shred->entry_count += count;
    if (shred->has_rep) {
        uint8_t *at;
        enum lmn_status st = lmn__vec_extend(&shred->rep, shred->env->pool, count * sizeof rep, &at,
                                             err);

        if (st != LMN_OK)
            return st;
        memset(at, 0, count * sizeof rep);
        lmn__store_u16(at, rep);
    }
    return shred->def.len != 0 ? need_def(shred, err) : LMN_OK;
}

static enum lmn_status set_def(struct lmn__shred *shred, uint64_t entry, uint16_t def,
                               struct lmn_error *err)
{
    enum lmn_status st = need_def(shred, err);

    if (st == LMN_OK)
        lmn__store_u16(shred->def.data + entry * sizeof def, def);
    return st;
}

/* An entry without a value: an empty or null list, or a null around one. */
static enum lmn_status add_hollow(struct lmn__shred *shred, uint16_t rep, uint16_t def,
                                  struct lmn_error *err)
{
    enum lmn_status st = add_entries(shred, 1, rep, err);

    return st != LMN_OK ? st : set_def(shred, shred->entry_count - 1, def, err);
}

/* Is slot i of the leaf null? A dictionary's null values make nulls, too. */
static bool leaf_is_null(const struct walk *walk, const struct ArrowArray *array, uint64_t i)
{
    uint32_t width = walk->shred->values.layout->bits / 8;
    uint64_t k;

    if (lmn__view_is_null(array, i))
        return true;
    if (walk->dictionary == NULL || !walk->dictionary->has_validity)
        return false;
    k = lmn__load_uint((const uint8_t *)array->buffers[1] + ((uint64_t)array->offset + i) * width,
                       width);
    return !lmn__bit_get(walk->dictionary->validity.data, k);
}

/* Fixed lists of structs have levels in every page: Lance's reader cannot mix pages otherwise. */
static bool is_fixed_list(const struct lmn__shred *shred, uint32_t depth)
{
    return depth + 1 < shred->node_count &&
           shred->node[depth].layout->kind == LMN__LAYOUT_FIXED_LIST;
}

static bool may_be_null(const struct walk *walk, uint32_t depth)
{
    const struct ArrowArray *array = walk->array[depth];
    bool leaf = depth + 1 == walk->shred->node_count;

    return lmn__view_validity(array) != NULL || is_fixed_list(walk->shred, depth) ||
           (leaf && walk->shred->values.layout->kind == LMN__LAYOUT_NULL) ||
           (leaf && walk->dictionary != NULL && walk->dictionary->has_validity);
}

/*
 * Nulls of one node of a segment: slot `first + e / repeat` of it belongs to entry e of the last
 * `count` entries. Nodes are taken from the inside out, so the outermost null stays.
 */
static enum lmn_status mark_nulls(struct walk *walk, uint32_t depth, uint64_t first, uint64_t count,
                                  uint64_t repeat, struct lmn_error *err)
{
    struct lmn__shred *shred = walk->shred;
    const struct ArrowArray *array = walk->array[depth];
    bool leaf = depth + 1 == shred->node_count;
    bool all = leaf && shred->values.layout->kind == LMN__LAYOUT_NULL;
    uint16_t level = null_level(shred, depth);
    uint8_t *def;
    enum lmn_status st = need_def(shred, err);

    if (st != LMN_OK)
        return st;
    def = shred->def.data + (shred->entry_count - count) * sizeof level;
    for (uint64_t e = 0; e < count; e++) {
        uint64_t slot = first + e / repeat;

        if (all || (leaf ? leaf_is_null(walk, array, slot) : lmn__view_is_null(array, slot)))
            lmn__store_u16(def + e * sizeof level, level);
    }
    return LMN_OK;
}

/* Indices of a dictionary column, moved to the page's dictionary. */
static enum lmn_status append_indices(struct walk *walk, const struct ArrowArray *array,
                                      uint64_t first, uint64_t count, struct lmn_error *err)
{
    struct lmn__builder *values = &walk->shred->values;
    uint32_t width = values->layout->bits / 8;
    const uint8_t *index = (const uint8_t *)array->buffers[1] +
                           ((uint64_t)array->offset + first) * width;
    uint8_t *at;
    enum lmn_status st = lmn__builder_extend(values, count, &at, err);

    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint64_t k = lmn__load_uint(index + i * width, width);

        if (leaf_is_null(walk, array, first + i))
            k = 0;
        else if (walk->map != NULL)
            k = walk->map[k];
        lmn__store_uint(at + i * width, width, k);
    }
    return st;
}

static enum lmn_status append_values(struct walk *walk, uint64_t first, uint64_t count,
                                     struct lmn_error *err)
{
    struct lmn__shred *shred = walk->shred;
    const struct lmn__layout *layout = shred->node[shred->node_count - 1].layout;
    const struct ArrowArray *array = walk->array[shred->node_count - 1];
    enum lmn_status st = lmn__builder_add_valid(&shred->values, count, err);

    if (st != LMN_OK)
        return st;
    shred->bytes += lmn__view_range_bytes(layout, array, first, count);
    if (layout->kind == LMN__LAYOUT_DICTIONARY)
        return append_indices(walk, array, first, count, err);
    return lmn__view_append_values(layout, array, first, count, &shred->values, err);
}

/* The segment that ends in the leaf: `count` slots of the node at `depth`, all in one list. */
static enum lmn_status walk_leaf(struct walk *walk, uint32_t depth, uint64_t first, uint64_t count,
                                 uint16_t rep, struct lmn_error *err)
{
    struct lmn__shred *shred = walk->shred;
    uint64_t start[LMN__LAYER_COUNT_MAX], repeat[LMN__LAYER_COUNT_MAX];
    uint64_t entries = count * shred->stride, many = 1;
    enum lmn_status st = add_entries(shred, entries, rep, err);

    for (uint32_t i = depth; i < shred->node_count; i++) {
        start[i] = first;
        repeat[i] = shred->stride / many;
        first += (uint64_t)walk->array[i]->offset;
        if (i + 1 < shred->node_count && shred->node[i].layout->kind == LMN__LAYOUT_FIXED_LIST) {
            first *= shred->node[i].layout->dimension;
            many *= shred->node[i].layout->dimension;
        }
    }
    for (uint32_t i = shred->node_count; st == LMN_OK && i > depth; i--) {
        if (may_be_null(walk, i - 1))
            st = mark_nulls(walk, i - 1, start[i - 1], entries, repeat[i - 1], err);
    }
    return st != LMN_OK ? st : append_values(walk, start[shred->node_count - 1], entries, err);
}

static enum lmn_status walk_run(struct walk *walk, uint32_t depth, uint64_t first, uint64_t count,
                                uint16_t rep, struct lmn_error *err);

/* The level of the outermost null among nodes [depth, end] at a slot of the first; 0: none. */
static uint16_t segment_null(const struct walk *walk, uint32_t depth, uint32_t end, uint64_t slot)
{
    for (uint32_t i = depth; i <= end; i++) {
        if (lmn__view_is_null(walk->array[i], slot))
            return null_level(walk->shred, i);
        slot += (uint64_t)walk->array[i]->offset;
    }
    return 0;
}

/* A segment of structs that ends in a list, `end`. */
static enum lmn_status walk_lists(struct walk *walk, uint32_t depth, uint32_t end, uint64_t first,
                                  uint64_t count, uint16_t rep, struct lmn_error *err)
{
    struct lmn__shred *shred = walk->shred;
    const struct ArrowArray *lists = walk->array[end];
    uint32_t width = shred->node[end].layout->bits / 8;
    uint64_t shift = 0;
    enum lmn_status st = LMN_OK;

    for (uint32_t i = depth; i < end; i++)
        shift += (uint64_t)walk->array[i]->offset;
    for (uint64_t i = first; st == LMN_OK && i < first + count; i++) {
        uint16_t null = segment_null(walk, depth, end, i);
        uint64_t from = lmn__view_offset(lists, width, i + shift);
        uint64_t to = lmn__view_offset(lists, width, i + shift + 1);

        if (null != 0)
            st = add_hollow(shred, rep, null, err);
        else if (from == to)
            st = add_hollow(shred, rep, (uint16_t)(null_level(shred, end) + 1), err);
        else
            st = walk_run(walk, end + 1, from, to - from, rep, err);
        rep = walk->lists[depth];
    }
    return st;
}

/* Lists of plain leaves without nulls among the items: one pass over the offsets. */
static enum lmn_status walk_plain_lists(struct walk *walk, uint32_t depth, uint64_t first,
                                        uint64_t count, uint16_t rep, struct lmn_error *err)
{
    struct lmn__shred *shred = walk->shred;
    const struct ArrowArray *lists = walk->array[depth];
    uint32_t width = shred->node[depth].layout->bits / 8;
    uint64_t start = lmn__view_offset(lists, width, first), run = start;
    uint64_t items = lmn__view_offset(lists, width, first + count) - start;
    enum lmn_status st = lmn__vec_reserve(&shred->rep, shred->env->pool,
                                          (items + count) * sizeof rep, err);

    for (uint64_t i = first; st == LMN_OK && i < first + count; i++) {
        uint64_t from = lmn__view_offset(lists, width, i);
        uint64_t to = lmn__view_offset(lists, width, i + 1);
        bool null = lmn__view_is_null(lists, i);

        if (null || from == to) {
            st = add_hollow(shred, rep, (uint16_t)(null_level(shred, depth) + !null), err);
            if (st == LMN_OK && from != to) {
                st = append_values(walk, run, from - run, err);
                run = to;
            }
        } else {
            st = add_entries(shred, to - from, rep, err);
        }
        rep = walk->lists[depth];
    }
    return st != LMN_OK ? st : append_values(walk, run, start + items - run, err);
}

static enum lmn_status walk_run(struct walk *walk, uint32_t depth, uint64_t first, uint64_t count,
                                uint16_t rep, struct lmn_error *err)
{
    struct lmn__shred *shred = walk->shred;
    uint32_t leaf = shred->node_count - 1, end = depth;

    if (count == 0)
        return LMN_OK;
    if (walk->lists[depth] == 0)
        return walk_leaf(walk, depth, first, count, rep, err);
    while (shred->node[end].layout->kind != LMN__LAYOUT_LIST)
        end++;
    if (end == depth && end + 1 == leaf && !may_be_null(walk, leaf))
        return walk_plain_lists(walk, depth, first, count, rep, err);
    return walk_lists(walk, depth, end, first, count, rep, err);
}

/* Does `values` hold exactly what `all` holds? */
static bool same_dictionary(const struct lmn__builder *all, const struct lmn__builder *values)
{
    return all->length == values->length && all->offsets.len == values->offsets.len &&
           all->values.len == values->values.len &&
           (all->offsets.len == 0 ||
            memcmp(all->offsets.data, values->offsets.data, all->offsets.len) == 0) &&
           (all->values.len == 0 ||
            memcmp(all->values.data, values->values.data, all->values.len) == 0);
}

/* Bring the batch's dictionary into the page's, and append with the indices mapped. */
static enum lmn_status append_with_dictionary(struct walk *walk, uint64_t first, uint64_t count,
                                              struct lmn_error *err)
{
    struct lmn__shred *shred = walk->shred;
    const struct ArrowArray *dictionary = walk->array[shred->node_count - 1]->dictionary;
    const struct lmn__layout *layout = shred->values.layout->child[0];
    struct lmn__builder *all = &shred->values.child[0], values;
    uint64_t length = (uint64_t)dictionary->length;
    uint32_t *map = NULL;
    enum lmn_status st = lmn__builder_init(&values, shred->env, layout, err);

    if (st != LMN_OK)
        return st;
    st = lmn__view_append(shred->node[shred->node_count - 1].layout->child[0], dictionary, 0,
                          length, &values, err);
    if (st == LMN_OK && !same_dictionary(all, &values)) {
        map = lmn__calloc(shred->env, length, DICTIONARY_WIDTH);
        st = map != NULL ? lmn__dictionary_merge(&values, all, map, err)
                         : lmn__no_memory(err, "a dictionary", length * DICTIONARY_WIDTH);
    }
    walk->dictionary = &values;
    walk->map = map;
    if (st == LMN_OK)
        st = walk_run(walk, 0, first, count, walk->lists[0], err);
    lmn__free(shred->env, map);
    lmn__builder_deinit(&values);
    return st;
}

static void walk_init(struct walk *walk, struct lmn__shred *shred, const struct ArrowArray *column)
{
    *walk = (struct walk){ .shred = shred };
    for (uint32_t i = 0; i < shred->node_count; i++) {
        walk->array[i] = column;
        if (i + 1 < shred->node_count)
            column = column->children[shred->node[i].child];
    }
    for (uint32_t i = shred->node_count; i > 0; i--)
        walk->lists[i - 1] = (uint16_t)(walk->lists[i] +
                                        (i < shred->node_count &&
                                         shred->node[i - 1].layout->kind == LMN__LAYOUT_LIST));
}

enum lmn_status lmn__shred_append(struct lmn__shred *shred, const struct ArrowArray *column,
                                  uint64_t first, uint64_t count, struct lmn_error *err)
{
    struct walk walk;

    walk_init(&walk, shred, column);
    shred->row_count += count * shred->stride;
    if (shred->values.layout->kind == LMN__LAYOUT_DICTIONARY)
        return append_with_dictionary(&walk, first, count, err);
    return walk_run(&walk, 0, first, count, walk.lists[0], err);
}

bool lmn__shred_must_close(const struct lmn__shred *shred, const struct ArrowArray *column)
{
    const struct lmn__layout *layout = shred->values.layout;

    if (layout->kind != LMN__LAYOUT_DICTIONARY || shred->row_count == 0)
        return false;
    for (uint32_t i = 0; i + 1 < shred->node_count; i++)
        column = column->children[shred->node[i].child];
    return shred->values.child[0].length + (uint64_t)column->dictionary->length > layout->dimension;
}

/* Which provisional definition levels occur? */
static void find_levels(const struct lmn__shred *shred, bool *occurs)
{
    const uint16_t *def = lmn__shred_def(shred);

    for (uint64_t i = 0; def != NULL && i < shred->entry_count; i++)
        occurs[def[i]] = true;
    for (uint32_t i = 0; def != NULL && i < shred->node_count; i++)
        occurs[null_level(shred, i)] |= is_fixed_list(shred, i);
}

static bool is_list(const struct lmn__shred *shred, uint32_t layer)
{
    return layer != 0 &&
           shred->node[shred->node_count - 1 - layer].layout->kind == LMN__LAYOUT_LIST;
}

/*
 * A struct that is null hides what is in it. What reads a field of it alone, as Lance's filters
 * do, looks at the field's own layer, so that has to be nullable as well, and so has a list.
 */
static void carry_nulls_inwards(const struct lmn__shred *shred, bool *occurs)
{
    for (uint32_t i = shred->node_count - 1; i > 0; i--) {
        if (!is_list(shred, i))
            occurs[2 * i - 1] |= occurs[2 * i + 1];
    }
}

void lmn__shred_close(struct lmn__shred *shred, struct lmn__page_layout *layout)
{
    bool occurs[2 * LMN__LAYER_COUNT_MAX + 1] = { false };
    uint16_t number[2 * LMN__LAYER_COUNT_MAX + 1] = { 0 }, next = 1;
    uint16_t *def = (uint16_t *)(void *)shred->def.data;

    find_levels(shred, occurs);
    carry_nulls_inwards(shred, occurs);
    layout->layer_count = shred->node_count;
    for (uint32_t i = 0; i < shred->node_count; i++) {
        bool null = occurs[2 * i + 1], empty = occurs[2 * i + 2];

        if (null)
            number[2 * i + 1] = next++;
        if (empty)
            number[2 * i + 2] = next++;
        if (is_list(shred, i))
            layout->layer[i] = null && empty ? LMN__LAYER_NULL_AND_EMPTY_LIST
                               : null        ? LMN__LAYER_NULLABLE_LIST
                               : empty       ? LMN__LAYER_EMPTYABLE_LIST
                                             : LMN__LAYER_LIST;
        else
            layout->layer[i] = null ? LMN__LAYER_NULLABLE_ITEM : LMN__LAYER_ITEM;
    }
    lmn__page_layout_derive(layout);
    if (next == 1)
        lmn__vec_deinit(&shred->def);
    for (uint64_t i = 0; shred->def.len != 0 && i < shred->entry_count; i++) {
        def[i] = number[def[i]];
        shred->null_count += def[i] != 0 && def[i] <= layout->def_visible_max;
    }
}
