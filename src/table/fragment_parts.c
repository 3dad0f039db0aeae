/* SPDX-License-Identifier: Apache-2.0 */
#include "table/fragment_parts.h"

#include "arrow/compose.h"

static bool same_node(const struct lmn__layout *a, const struct lmn__layout *b)
{
    return a->kind == b->kind && a->bits == b->bits && a->dimension == b->dimension;
}

static bool same_layout(const struct lmn__layout *a, const struct lmn__layout *b)
{
    if (!same_node(a, b) || a->child_count != b->child_count)
        return false;
    for (uint32_t i = 0; i < a->child_count; i++) {
        if (!same_layout(a->child[i], b->child[i]))
            return false;
    }
    return true;
}

bool lmn__part_fits(const struct lmn__part *part, uint32_t source, const struct lmn__layout *found)
{
    uint32_t children = 0;

    if (part->kind == LMN__PART_FILE)
        return same_layout(part->layout, found);
    if (!same_node(part->layout, found))
        return false;
    for (uint32_t i = 0; i < part->child_count; i++) {
        const struct lmn__part *child = &part->child[i];

        for (uint32_t k = 0; k < child->use_count; k++) {
            if (child->use[k].source != source)
                continue;
            if (child->use[k].place >= found->child_count ||
                !lmn__part_fits(child, source, found->child[child->use[k].place]))
                return false;
            children++;
        }
    }
    return children == found->child_count;
}

/* Child number i of a merged part, whose arrays are `from`. */
static enum lmn_status assemble_child(struct lmn_env *env, const struct lmn__part *part, uint32_t i,
                                      struct ArrowArray **from, uint64_t length,
                                      struct ArrowArray *array_out, struct lmn_error *err)
{
    const struct lmn__part *child = &part->child[i];
    struct ArrowArray *one, **below = &one;
    enum lmn_status st = LMN_OK;

    if (child->use_count > 1) {
        below = lmn__calloc(env, child->use_count, sizeof(struct ArrowArray *));
        if (below == NULL)
            return lmn__no_memory(err, "an array", child->use_count * sizeof(void *));
    }
    for (uint32_t k = 0; st == LMN_OK && k < child->use_count; k++) {
        below[k] = from[child->use[k].via]->children[child->use[k].place];
        if ((uint64_t)below[k]->length != length)
            st = lmn_fail(err, LMN_E_CORRUPT,
                          "lists whose items lie in several files have %llu items in one and %llu "
                          "in another",
                          (unsigned long long)length, (unsigned long long)below[k]->length);
    }
    if (st == LMN_OK)
        st = lmn__part_assemble(env, child, below, length, array_out, err);
    if (below != &one)
        lmn__free(env, below);
    return st;
}

enum lmn_status lmn__part_assemble(struct lmn_env *env, const struct lmn__part *part,
                                   struct ArrowArray **from, uint64_t length,
                                   struct ArrowArray *array_out, struct lmn_error *err)
{
    enum lmn_status st;

    if (part->kind == LMN__PART_FILE) {
        lmn__array_move(from[0], array_out);
        return LMN_OK;
    }
    if (part->kind == LMN__PART_NONE)
        return lmn__array_nulls(env, part->layout, length, array_out, err);
    st = lmn__array_compose(env, length, part->child_count, array_out, err);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; st == LMN_OK && i < part->child_count; i++) {
        bool is_struct = part->layout->kind == LMN__LAYOUT_STRUCT;
        uint64_t slots = is_struct ? length : (uint64_t)from[0]->children[0]->length;

        st = assemble_child(env, part, i, from, slots, array_out->children[i], err);
    }
    if (st != LMN_OK)
        lmn__array_release(array_out);
    else if (part->use_count != 0)
        lmn__array_compose_onto(array_out, from[0]);
    return st;
}
