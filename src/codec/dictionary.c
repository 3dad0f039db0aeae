/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of a dictionary column may span pages, each with a dictionary of its own, while Arrow
 * wants one. The first page's dictionary is taken over as it is; a later page's values are looked
 * up in it by hash and added when they are new.
 */
#include "codec/dictionary.h"

#include "base/bits.h"
#include "base/hash.h"
#include "base/math.h"
#include "codec/fixed.h"

enum lmn_status lmn__dictionary_decode(struct lmn__scratch *scratch,
                                       const struct lmn__encoding *encoding,
                                       const struct lmn__variable *variable, struct lmn__span bytes,
                                       uint64_t count, struct lmn__builder *builder,
                                       struct lmn_error *err)
{
    const struct lmn__layout *layout = builder->layout;
    const uint8_t *bits;
    enum lmn_status st;
    uint8_t *at;

    st = lmn__builder_add_valid(builder, count, err);
    if (st != LMN_OK)
        return st;
    if (layout->kind == LMN__LAYOUT_VARIABLE)
        return lmn__variable_decode_block(scratch, variable, bytes, count, builder, err);
    if (layout->kind != LMN__LAYOUT_FIXED)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "a dictionary of lists or structs");
    if (layout->bits == 1) {
        st = lmn__fixed_open_bits(scratch, encoding, bytes, count, &bits, err);
        return st != LMN_OK ? st : lmn__builder_put_bits(builder, bits, 0, count, err);
    }
    st = lmn__builder_extend(builder, count, &at, err);
    if (st != LMN_OK)
        return st;
    return lmn__fixed_decode_block(scratch, encoding, bytes, layout->bits, count, 0, count, at,
                                   err);
}

static enum lmn_status bad_index(uint64_t index, uint64_t count, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CORRUPT, "index %llu into a dictionary of %llu values",
                    (unsigned long long)index, (unsigned long long)count);
}

static enum lmn_status gather_bits(const struct lmn__builder *dictionary, const uint8_t *index,
                                   uint32_t index_bytes, uint64_t count,
                                   struct lmn__builder *builder, struct lmn_error *err)
{
    uint64_t start = builder->length - count;
    enum lmn_status st = lmn__builder_put_bits(builder, NULL, 0, count, err);

    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint64_t k = lmn__load_uint(index + i * index_bytes, index_bytes);

        if (k >= dictionary->length)
            return bad_index(k, dictionary->length, err);
        lmn__bit_put(builder->values.data, start + i, lmn__bit_get(dictionary->values.data, k));
    }
    return st;
}

static enum lmn_status gather_fixed(const struct lmn__builder *dictionary, const uint8_t *index,
                                    uint32_t index_bytes, uint64_t count,
                                    struct lmn__builder *builder, struct lmn_error *err)
{
    uint32_t bytes = builder->layout->bits / 8;
    const uint8_t *values = dictionary->values.data;
    uint8_t *at;
    enum lmn_status st = lmn__builder_extend(builder, count, &at, err);

    for (uint64_t i = 0; st == LMN_OK && i < count; i++, at += bytes) {
        uint64_t k = lmn__load_uint(index + i * index_bytes, index_bytes);

        if (k >= dictionary->length)
            return bad_index(k, dictionary->length, err);
        if (bytes == 8)
            memcpy(at, values + k * 8, 8);
        else if (bytes == 16)
            memcpy(at, values + k * 16, 16);
        else
            memcpy(at, values + k * bytes, bytes);
    }
    return st;
}

enum lmn_status lmn__dictionary_gather(const struct lmn__builder *dictionary, const uint8_t *index,
                                       uint32_t index_bits, uint64_t count,
                                       struct lmn__builder *builder, struct lmn_error *err)
{
    if (builder->layout->kind == LMN__LAYOUT_VARIABLE)
        return lmn__variable_gather(dictionary, index, index_bits, count, builder, err);
    if (builder->layout->bits == 1)
        return gather_bits(dictionary, index, index_bits / 8, count, builder, err);
    return gather_fixed(dictionary, index, index_bits / 8, count, builder, err);
}

/* Value number `i` of a dictionary, as bytes; booleans are put into `bit`. */
static struct lmn__span value_at(const struct lmn__builder *dictionary, uint64_t i, uint8_t *bit)
{
    const struct lmn__layout *layout = dictionary->layout;
    uint32_t width = layout->bits / 8;

    if (layout->kind == LMN__LAYOUT_VARIABLE) {
        uint64_t from = lmn__load_uint(dictionary->offsets.data + i * width, width);
        uint64_t to = lmn__load_uint(dictionary->offsets.data + (i + 1) * width, width);

        return (struct lmn__span){ dictionary->values.data + from, to - from };
    }
    if (layout->bits == 1) {
        *bit = lmn__bit_get(dictionary->values.data, i);
        return (struct lmn__span){ bit, 1 };
    }
    return (struct lmn__span){ dictionary->values.data + i * width, width };
}

static bool same_value(const struct lmn__builder *a, uint64_t i, const struct lmn__builder *b,
                       uint64_t k)
{
    uint8_t bit_a, bit_b;
    struct lmn__span x = value_at(a, i, &bit_a), y = value_at(b, k, &bit_b);

    return x.len == y.len && (x.len == 0 || memcmp(x.data, y.data, x.len) == 0);
}

static enum lmn_status add_value(const struct lmn__builder *from, uint64_t i,
                                 struct lmn__builder *to, struct lmn_error *err)
{
    uint32_t index = (uint32_t)i;
    enum lmn_status st = lmn__builder_add_valid(to, 1, err);

    return st != LMN_OK ? st
                        : lmn__dictionary_gather(from, (const uint8_t *)&index, 32, 1, to, err);
}

static uint64_t hash_value(const struct lmn__builder *dictionary, uint64_t i)
{
    uint8_t bit;
    struct lmn__span value = value_at(dictionary, i, &bit);

    return lmn__hash64(value.data, value.len);
}

/*
 * Find or add every value of the page's dictionary; `slot` is an open-addressed table of
 * index + 1 with room for both.
 */
static enum lmn_status merge_values(const struct lmn__builder *page, struct lmn__builder *all,
                                    uint32_t *slot, uint64_t mask, uint32_t *map,
                                    struct lmn_error *err)
{
    for (uint64_t i = 0; i < all->length; i++) {
        uint64_t at = hash_value(all, i) & mask;

        while (slot[at] != 0)
            at = (at + 1) & mask;
        slot[at] = (uint32_t)i + 1;
    }
    for (uint64_t i = 0; i < page->length; i++) {
        uint64_t at = hash_value(page, i) & mask;
        enum lmn_status st;

        while (slot[at] != 0 && !same_value(page, i, all, slot[at] - 1))
            at = (at + 1) & mask;
        if (slot[at] == 0) {
            st = add_value(page, i, all, err);
            if (st != LMN_OK)
                return st;
            slot[at] = (uint32_t)all->length;
        }
        map[i] = slot[at] - 1;
    }
    return LMN_OK;
}

enum lmn_status lmn__dictionary_merge(const struct lmn__builder *from, struct lmn__builder *into,
                                      uint32_t *map, struct lmn_error *err)
{
    uint64_t room = 16;
    uint32_t *slot;
    enum lmn_status st;

    while (room < (from->length + into->length) * 2)
        room *= 2;
    slot = lmn__calloc(into->env, room, sizeof *slot);
    if (slot == NULL)
        return lmn__no_memory(err, "a dictionary's hash table", room * sizeof *slot);
    st = merge_values(from, into, slot, room - 1, map, err);
    lmn__free(into->env, slot);
    return st;
}

static enum lmn_status merge_page(const struct lmn__values *values, struct lmn__leaf *leaf,
                                  struct lmn_error *err)
{
    struct lmn__builder *all = &leaf->builder->child[0];
    const struct lmn__builder *page = &values->dictionary;
    enum lmn_status st = LMN_OK;

    /* A page's dictionary may hold a value several times; if that is too many, each counts once. */
    leaf->merge_identity = all->length == 0 && page->length <= leaf->builder->layout->dimension;
    for (uint64_t i = 0; leaf->merge_identity && st == LMN_OK && i < page->length; i++)
        st = add_value(page, i, all, err);
    if (leaf->merge_identity || st != LMN_OK)
        return st;
    st = lmn__scratch_need(leaf->scratch, &leaf->merge, page->length * sizeof(uint32_t), err);
    return st != LMN_OK
               ? st
               : lmn__dictionary_merge(page, all, (uint32_t *)(void *)leaf->merge.data, err);
}

enum lmn_status lmn__dictionary_append(const struct lmn__values *values, struct lmn__leaf *leaf,
                                       const uint8_t *index, uint32_t index_bits, uint64_t count,
                                       struct lmn_error *err)
{
    struct lmn__builder *builder = leaf->builder;
    uint32_t index_bytes = index_bits / 8, width = builder->layout->bits / 8;
    uint64_t page_count = values->dictionary.length, valid_before = builder->length - count;
    uint8_t *at;
    enum lmn_status st = LMN_OK;

    if (leaf->merged_id != values->id) {
        st = merge_page(values, leaf, err);
        leaf->merged_id = values->id;
    }
    if (st == LMN_OK && builder->child[0].length > builder->layout->dimension)
        return lmn_fail(err, LMN_E_INVALID,
                        "a batch has %llu distinct dictionary values, more than its index type "
                        "can tell apart: ask for fewer rows at once",
                        (unsigned long long)builder->child[0].length);
    if (st == LMN_OK)
        st = lmn__builder_extend(builder, count, &at, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint64_t k = lmn__load_uint(index + i * index_bytes, index_bytes);

        /* A null slot may hold any index, also into a dictionary that has no values. */
        if (k >= page_count && builder->has_validity &&
            !lmn__bit_get(builder->validity.data, valid_before + i))
            k = 0;
        else if (k >= page_count)
            return bad_index(k, page_count, err);
        else if (!leaf->merge_identity)
            k = lmn__load_u32(leaf->merge.data + k * sizeof(uint32_t));
        lmn__store_uint(at + i * width, width, k);
    }
    return st;
}
