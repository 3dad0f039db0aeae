/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long list of constants becomes a table of slots, at least twice as many as items, that is
 * searched from the place of a value's hash on. Its items leave the term's children, so that they
 * are not evaluated for each run of rows. A short list, or one with columns in it, is compared
 * item by item.
 */
#include "expr/in_set.h"

#include "base/hash.h"
#include "expr/compare.h"
#include "expr/interval.h"
#include "expr/simd.h"

enum { TABLE_ITEMS_MIN = 12 };

struct in_set {
    enum lmn__form form;
    uint32_t mask;     /* slots - 1 */
    const void **slot; /* values; NULL: empty */
    uint64_t *bits;    /* whole numbers: those of the values; NULL for other forms */
    bool has_null;
};

static uint64_t hash_bits(uint64_t bits)
{
    bits *= 0x9e3779b97f4a7c15ull;
    return bits ^ bits >> 32;
}

/* Equal values have equal hashes: zeros of both signs, and all NaNs. */
static uint64_t hash_of(enum lmn__form form, const void *value)
{
    const struct lmn__span *span = value;
    uint64_t bits = 0;
    double real;

    switch (form) {
    case LMN__FORM_SPAN:
        return lmn__hash64(span->len != 0 ? (const void *)span->data : "", span->len);
    case LMN__FORM_INTERVAL:
        return lmn__interval_hash(value);
    case LMN__FORM_WIDE:
        return lmn__hash64(value, lmn__form_bytes(form));
    case LMN__FORM_F32:
    case LMN__FORM_F64:
        real = form == LMN__FORM_F32 ? (double)*(const float *)value : *(const double *)value;
        if (real != real)
            return 1;
        real += 0.0; /* turns -0.0 into 0.0 */
        memcpy(&bits, &real, sizeof bits);
        break;
    default:
        bits = lmn__load_uint(value, lmn__form_bytes(form));
    }
    return hash_bits(bits);
}

static bool in_table(const struct in_set *set, const void *value, const void ***slot_out)
{
    uint32_t at = (uint32_t)hash_of(set->form, value) & set->mask;

    while (set->slot[at] != NULL && lmn__compare_values(set->form, set->slot[at], value) != 0)
        at = (at + 1) & set->mask;
    if (slot_out != NULL)
        *slot_out = &set->slot[at];
    return set->slot[at] != NULL;
}

static bool is_whole(enum lmn__form form)
{
    switch (form) {
#define WHOLE(FORM, T) case LMN__FORM_##FORM:
        LMN__INTEGER_FORMS(WHOLE)
        return true;
    default:
        return false;
    }
}

enum lmn_status lmn__in_set_prepare(struct lmn__binder *binder, struct lmn__term *term)
{
    uint32_t slots = 2 * TABLE_ITEMS_MIN;
    struct in_set *set;

    for (uint32_t i = 1; i < term->child_count; i++) {
        if (term->child[i]->op != LMN__OP_CONSTANT)
            return LMN_OK;
    }
    if (term->child_count <= TABLE_ITEMS_MIN ||
        lmn__type_form(&term->child[0]->type) < LMN__FORM_I8)
        return LMN_OK;
    for (slots = 32; slots < term->child_count * 2; slots *= 2)
        ;
    set = lmn__arena_alloc(binder->arena, sizeof *set);
    if (set == NULL)
        return lmn__bind_no_memory(binder);
    set->form = lmn__type_form(&term->child[0]->type);
    set->mask = slots - 1;
    set->slot = lmn__arena_array(binder->arena, slots, sizeof *set->slot);
    if (set->slot == NULL)
        return lmn__bind_no_memory(binder);
    for (uint32_t i = 1; i < term->child_count; i++) {
        const void **slot;

        if (lmn__term_is_null(term->child[i]))
            set->has_null = true;
        else if (!in_table(set, term->child[i]->constant.values, &slot))
            *slot = term->child[i]->constant.values;
    }
    if (is_whole(set->form)) {
        set->bits = lmn__arena_array(binder->arena, slots, sizeof *set->bits);
        if (set->bits == NULL)
            return lmn__bind_no_memory(binder);
        for (uint32_t i = 0; i < slots; i++)
            set->bits[i] = set->slot[i] != NULL
                               ? lmn__load_uint(set->slot[i], lmn__form_bytes(set->form))
                               : 0;
    }
    term->data = set;
    term->child_count = 1;
    return LMN_OK;
}

static bool in_bits(const struct in_set *set, uint64_t bits)
{
    uint32_t at = (uint32_t)hash_bits(bits) & set->mask;

    while (set->bits[at] != bits && set->slot[at] != NULL)
        at = (at + 1) & set->mask;
    return set->slot[at] != NULL;
}

/* Values of `width` bytes, which is known where this is called. */
LMN__BODY void search_bits(const struct in_set *set, const struct lmn__vector *arg, uint32_t rows,
                           uint32_t width, uint8_t *found)
{
    const uint8_t *value = arg->values;

    for (uint32_t i = 0; i < rows; i++, value += width)
        lmn__bit_put(found, i,
                     in_bits(set, lmn__load_uint(value, width)) && !lmn__vector_is_null(arg, i));
}

static void search_table(const struct in_set *set, const struct lmn__vector *arg, uint32_t rows,
                         uint8_t *found)
{
    uint32_t width = lmn__form_bytes(set->form);
    const uint8_t *value = arg->values;

    if (set->bits != NULL && width == 8)
        search_bits(set, arg, rows, 8, found);
    else if (set->bits != NULL && width == 4)
        search_bits(set, arg, rows, 4, found);
    else if (set->bits != NULL)
        search_bits(set, arg, rows, width, found);
    for (uint32_t i = 0; set->bits == NULL && i < rows; i++, value += width)
        lmn__bit_put(found, i, !lmn__vector_is_null(arg, i) && in_table(set, value, NULL));
}

/* Rows of one item that are equal, and rows where it is null. */
static enum lmn_status search_item(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t item, uint32_t rows,
                                   uint8_t *found, uint8_t *unknown)
{
    enum lmn__form form = lmn__type_form(&term->child[0]->type);
    const struct lmn__vector *other = &arg[item];
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    if (st == LMN_OK)
        st = lmn__compare_rows(frame, form, LMN__COMPARE_EQ, &arg[0], other, rows, bits);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < lmn__bits_bytes(rows); i++) {
        uint8_t valid = 0xff;

        if (other->constant)
            valid = lmn__vector_is_null(other, 0) ? 0 : 0xff;
        else if (other->validity != NULL)
            valid = other->validity[i];
        found[i] |= bits[i] & valid;
        unknown[i] |= (uint8_t)~valid;
    }
    return LMN_OK;
}

enum lmn_status lmn__in_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                               const struct lmn__vector *arg, uint32_t rows,
                               struct lmn__vector *out)
{
    const struct in_set *set = term->data;
    uint64_t bytes = lmn__bits_bytes(rows);
    uint8_t *found, *unknown;
    enum lmn_status st = lmn__frame_bits(frame, rows, &found);

    if (st == LMN_OK)
        st = lmn__frame_bits(frame, rows, &unknown);
    if (st != LMN_OK)
        return st;
    memset(found, 0, bytes);
    memset(unknown, set != NULL && set->has_null ? 0xff : 0, bytes);
    if (set != NULL)
        search_table(set, arg, rows, found);
    for (uint32_t i = 1; st == LMN_OK && i < term->child_count; i++)
        st = search_item(frame, term, arg, i, rows, found, unknown);
    /* True where an item is equal, null where the value or any item is, false otherwise. */
    for (uint64_t i = 0; i < bytes; i++) {
        uint8_t valid = 0xff;

        if (arg[0].constant)
            valid = lmn__vector_is_null(&arg[0], 0) ? 0 : 0xff;
        else if (arg[0].validity != NULL)
            valid = arg[0].validity[i];
        unknown[i] = valid & (uint8_t)(found[i] | ~unknown[i]);
        if (term->negated)
            found[i] = (uint8_t)~found[i];
    }
    out->values = found;
    out->validity = unknown;
    return st;
}

bool lmn__in_set_within(const struct lmn__term *term, const void *min, const void *max,
                        bool *null_out, bool *constant_out)
{
    const struct in_set *set = term->data;
    enum lmn__form form = lmn__type_form(&term->child[0]->type);
    bool found = false;

    *null_out = set != NULL && set->has_null;
    *constant_out = true;
    for (uint32_t i = 0; set != NULL && i <= set->mask && !found; i++)
        found = set->slot[i] != NULL && lmn__compare_values(form, set->slot[i], min) >= 0 &&
                lmn__compare_values(form, set->slot[i], max) <= 0;
    for (uint32_t i = 1; i < term->child_count; i++) {
        const struct lmn__term *item = term->child[i];

        if (item->op != LMN__OP_CONSTANT)
            *constant_out = false;
        else if (lmn__term_is_null(item))
            *null_out = true;
        else
            found = found || (lmn__compare_values(form, item->constant.values, min) >= 0 &&
                              lmn__compare_values(form, item->constant.values, max) <= 0);
    }
    return found;
}
