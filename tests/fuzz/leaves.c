/* SPDX-License-Identifier: Apache-2.0 */
#include "leaves.h"

#define FIXED(n)    { .kind = LMN__LAYOUT_FIXED, .bits = n }
#define VARIABLE(n) { .kind = LMN__LAYOUT_VARIABLE, .bits = n }
#define CHILD(l)                                                                                   \
    (const struct lmn__layout *const[])                                                            \
    {                                                                                              \
        l                                                                                          \
    }
#define FIXED_LIST(n, l)                                                                           \
    { .kind = LMN__LAYOUT_FIXED_LIST, .dimension = n, .child_count = 1, .child = CHILD(l) }
#define DICTIONARY(n, max, l)                                                                      \
    { .kind = LMN__LAYOUT_DICTIONARY,                                                              \
      .bits = n,                                                                                   \
      .dimension = max,                                                                            \
      .child_count = 1,                                                                            \
      .child = CHILD(l) }

static const struct lmn__layout bit = FIXED(1), fixed8 = FIXED(8), fixed16 = FIXED(16);
static const struct lmn__layout fixed32 = FIXED(32), fixed64 = FIXED(64), fixed128 = FIXED(128);
static const struct lmn__layout fixed40 = FIXED(40), variable32 = VARIABLE(32);
static const struct lmn__layout variable64 = VARIABLE(64), nothing = { .kind = LMN__LAYOUT_NULL };
static const struct lmn__layout list4 = FIXED_LIST(4, &fixed32), list_bits = FIXED_LIST(5, &bit);
static const struct lmn__layout list3 = FIXED_LIST(3, &fixed16), list_lists = FIXED_LIST(2, &list3);
static const struct lmn__layout list_nothing = FIXED_LIST(2, &nothing);
static const struct lmn__layout list96 = FIXED_LIST(96, &fixed32);
static const struct lmn__layout dictionary8 = DICTIONARY(8, 128, &variable32);
static const struct lmn__layout dictionary32 = DICTIONARY(32, INT32_MAX, &variable64);
static const struct lmn__layout dictionary_numbers = DICTIONARY(16, 1 << 15, &fixed64);
static const struct lmn__layout *const pair_fields[] = { &fixed64, &fixed64 };
static const struct lmn__layout pair = { .kind = LMN__LAYOUT_STRUCT,
                                         .child_count = 2,
                                         .child = pair_fields };
static const struct lmn__layout *const blob_fields[] = { &fixed8, &fixed64, &fixed64, &fixed32,
                                                         &variable32 };
static const struct lmn__layout blob = { .kind = LMN__LAYOUT_STRUCT,
                                         .child_count = 5,
                                         .child = blob_fields };

static const struct lmn__layout *const leaves[] = {
    &fixed64,    &fixed32,      &fixed16,    &fixed8,      &bit,          &fixed128,
    &fixed40,    &variable32,   &variable64, &nothing,     &list4,        &list_bits,
    &list_lists, &list_nothing, &list96,     &dictionary8, &dictionary32, &dictionary_numbers,
    &pair,       &blob,
};

static const char *const nestings[] = { "", "l", "s", "ss", "ll", "sl", "ls", "lsl", "sls" };

uint32_t leaf_count(void)
{
    return sizeof leaves / sizeof leaves[0];
}

const struct lmn__layout *leaf_layout(uint32_t number)
{
    return leaves[number % leaf_count()];
}

static bool same_layout(const struct lmn__layout *a, const struct lmn__layout *b)
{
    if (a->kind != b->kind || a->bits != b->bits || a->dimension != b->dimension ||
        a->child_count != b->child_count)
        return false;
    for (uint32_t i = 0; i < a->child_count; i++) {
        if (!same_layout(a->child[i], b->child[i]))
            return false;
    }
    return true;
}

int leaf_number(const struct lmn__layout *layout)
{
    for (uint32_t i = 0; i < leaf_count(); i++) {
        if (same_layout(layout, leaves[i]))
            return (int)i;
    }
    return -1;
}

uint32_t nesting_count(void)
{
    return sizeof nestings / sizeof nestings[0];
}

const char *leaf_nesting(uint32_t number)
{
    return nestings[number % nesting_count()];
}
