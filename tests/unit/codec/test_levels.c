/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels to validity and offsets: examples by hand, and the fast ways against the general one.
 */
#include <string.h>

#include "check.h"
#include "codec/levels.h"
#include "columns.h"

enum { ENTRIES = 1000 };

/* A chain of builders from a column to its leaf, with the path that fills it. */
struct chain {
    struct lmn__builder root;
    struct lmn__path path;
};

static void chain_init(struct chain *chain, const struct lmn__layout *layout)
{
    struct lmn__builder *builder = &chain->root;
    uint32_t depth = 1;

    CHECK_OK(lmn__builder_init(&chain->root, test_env(), layout, NULL));
    for (; builder->layout->child_count != 0; builder = &builder->child[0])
        depth++;
    chain->path.count = depth;
    builder = &chain->root;
    for (uint32_t i = 0; i < depth; i++, builder = builder->child)
        chain->path.step[depth - 1 - i] = (struct lmn__path_step){
            .builder = builder, .is_list = builder->layout->kind == LMN__LAYOUT_LIST, .stride = 1
        };
}

static struct lmn__page_layout make_layout(const uint8_t *layer, uint32_t count)
{
    struct lmn__page_layout layout = { .kind = LMN__PAGE_MINI_BLOCK, .layer_count = count };

    memcpy(layout.layer, layer, count);
    lmn__page_layout_derive(&layout);
    return layout;
}

static uint64_t append(const struct lmn__page_layout *layout, struct chain *chain,
                       const uint16_t *rep, const uint16_t *def, uint64_t count)
{
    const struct lmn__levels levels = { rep, def, count };
    struct lmn_error err;
    uint64_t visible;

    CHECK_STATUS(lmn__levels_check(layout, &chain->path, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__levels_append(layout, &chain->path, &levels, &visible, &err), LMN_OK, &err);
    return visible;
}

/* `expected` has a letter per slot: '1' valid, '0' null. */
static void check_slots(const struct lmn__builder *builder, const char *expected)
{
    CHECK_EQ(builder->length, strlen(expected));
    for (uint64_t i = 0; i < builder->length; i++)
        CHECK_EQ(!builder->has_validity || lmn__bit_get(builder->validity.data, i),
                 expected[i] == '1');
}

static void check_starts(const struct lmn__builder *lists, const uint32_t *expected)
{
    CHECK_EQ(lists->offsets.len, lists->length * 4);
    for (uint64_t i = 0; i < lists->length; i++)
        CHECK_EQ(lmn__load_u32(lists->offsets.data + i * 4), expected[i]);
}

/* {v} {null} null {v} */
static void test_levels__structs(void **state)
{
    static const uint8_t layers[] = { LMN__LAYER_NULLABLE_ITEM, LMN__LAYER_NULLABLE_ITEM };
    static const uint16_t def[] = { 0, 1, 2, 0 };
    const struct lmn__page_layout layout = make_layout(layers, 2);
    const struct lmn__layout *type = STRUCT(FIXED(8));
    struct chain chain;

    (void)state;
    chain_init(&chain, type);
    CHECK_EQ(append(&layout, &chain, NULL, def, 4), 4);
    check_slots(&chain.root, "1101");
    check_slots(&chain.root.child[0], "1001");
    CHECK_EQ(append(&layout, &chain, NULL, NULL, 2), 2);
    check_slots(&chain.root, "110111");
    lmn__builder_deinit(&chain.root);
}

/* [v v] null [] [null v] */
static void test_levels__lists(void **state)
{
    static const uint8_t layers[] = { LMN__LAYER_NULLABLE_ITEM, LMN__LAYER_NULL_AND_EMPTY_LIST };
    static const uint16_t rep[] = { 1, 0, 1, 1, 1, 0 }, def[] = { 0, 0, 2, 3, 1, 0 };
    static const uint32_t starts[] = { 0, 2, 2, 2 };
    const struct lmn__page_layout layout = make_layout(layers, 2);
    const struct lmn__layout *type = LIST(32, FIXED(8));
    struct chain chain;

    (void)state;
    CHECK_EQ(layout.def_max, 3);
    CHECK_EQ(layout.def_visible_max, 1);
    CHECK_EQ(layout.list_count, 1);
    chain_init(&chain, type);
    CHECK_EQ(append(&layout, &chain, rep, def, 6), 4);
    check_slots(&chain.root, "1011");
    check_slots(&chain.root.child[0], "1101");
    check_starts(&chain.root, starts);
    lmn__builder_deinit(&chain.root);
}

/* [[v v] []] [] [[v] null] null [[null]] */
static void test_levels__lists_of_lists(void **state)
{
    static const uint8_t layers[] = { LMN__LAYER_NULLABLE_ITEM, LMN__LAYER_NULL_AND_EMPTY_LIST,
                                      LMN__LAYER_NULL_AND_EMPTY_LIST };
    static const uint16_t rep[] = { 2, 0, 1, 2, 2, 1, 2, 2 };
    static const uint16_t def[] = { 0, 0, 3, 5, 0, 2, 4, 1 };
    static const uint32_t outer[] = { 0, 2, 2, 4, 4 }, inner[] = { 0, 2, 2, 3, 3 };
    const struct lmn__page_layout layout = make_layout(layers, 3);
    const struct lmn__layout *type = LIST(32, LIST(32, FIXED(8)));
    struct chain chain;

    (void)state;
    chain_init(&chain, type);
    CHECK_EQ(append(&layout, &chain, rep, def, 8), 4);
    check_slots(&chain.root, "11101");
    check_starts(&chain.root, outer);
    check_slots(&chain.root.child[0], "11101");
    check_starts(&chain.root.child[0], inner);
    check_slots(&chain.root.child[0].child[0], "1110");
    lmn__builder_deinit(&chain.root);
}

/* A list of structs: [{v} null {null}] null */
static void test_levels__lists_of_structs(void **state)
{
    static const uint8_t layers[] = { LMN__LAYER_NULLABLE_ITEM, LMN__LAYER_NULLABLE_ITEM,
                                      LMN__LAYER_NULLABLE_LIST };
    static const uint16_t rep[] = { 1, 0, 0, 1 }, def[] = { 0, 2, 1, 3 };
    static const uint32_t starts[] = { 0, 3 };
    const struct lmn__page_layout layout = make_layout(layers, 3);
    const struct lmn__layout *type = LIST(32, STRUCT(FIXED(8)));
    struct chain chain;

    (void)state;
    chain_init(&chain, type);
    CHECK_EQ(append(&layout, &chain, rep, def, 4), 3);
    check_slots(&chain.root, "10");
    check_starts(&chain.root, starts);
    check_slots(&chain.root.child[0], "101");
    check_slots(&chain.root.child[0].child[0], "100");
    lmn__builder_deinit(&chain.root);
}

/* Two entries are a slot of the fixed list around a struct; its first one speaks for both. */
static void test_levels__fixed_lists_of_structs(void **state)
{
    static const uint8_t layers[] = { LMN__LAYER_NULLABLE_ITEM, LMN__LAYER_ITEM,
                                      LMN__LAYER_NULLABLE_ITEM };
    static const uint16_t def[] = { 0, 1, 2, 2, 1, 0 };
    const struct lmn__page_layout layout = make_layout(layers, 3);
    const struct lmn__layout *type = FIXED_LIST(2, STRUCT(FIXED(8)));
    struct chain chain;

    (void)state;
    chain_init(&chain, type);
    chain.path.step[2].stride = 2;
    /* A slot may be cut between two calls. */
    CHECK_EQ(append(&layout, &chain, NULL, def, 3), 3);
    CHECK_EQ(append(&layout, &chain, NULL, def + 3, 3), 3);
    check_slots(&chain.root, "101");
    check_slots(&chain.root.child[0], "111111");
    check_slots(&chain.root.child[0].child[0], "100001");
    lmn__builder_deinit(&chain.root);
}

/* A leaf in a list has a way of its own; a struct around it that is never null changes nothing. */
static void test_levels__flat_lists_agree_with_the_walk(void **state)
{
    static const uint8_t kinds[] = { LMN__LAYER_LIST, LMN__LAYER_NULLABLE_LIST,
                                     LMN__LAYER_EMPTYABLE_LIST, LMN__LAYER_NULL_AND_EMPTY_LIST };
    const struct lmn__layout *list = LIST(32, FIXED(8));
    const struct lmn__layout *within = STRUCT(list);
    uint16_t rep[ENTRIES], def[ENTRIES];
    uint64_t seed = 3;

    (void)state;
    for (int round = 0; round < 64; round++) {
        uint8_t layers[] = { round & 1 ? LMN__LAYER_NULLABLE_ITEM : LMN__LAYER_ITEM,
                             kinds[round / 2 % 4], LMN__LAYER_ITEM };
        const struct lmn__page_layout flat = make_layout(layers, 2), deep = make_layout(layers, 3);
        uint64_t count = 1 + test_random(&seed) % ENTRIES;
        struct chain fast, slow;

        for (uint64_t i = 0; i < count; i++) {
            def[i] = (uint16_t)(test_random(&seed) % (flat.def_max + 1));
            rep[i] = i == 0 || def[i] > flat.def_visible_max || test_random(&seed) % 3 == 0;
        }
        chain_init(&fast, list);
        chain_init(&slow, within);
        CHECK_EQ(append(&flat, &fast, rep, def, count), append(&deep, &slow, rep, def, count));
        CHECK_EQ(fast.root.length, slow.root.child[0].length);
        CHECK_EQ(fast.root.null_count, slow.root.child[0].null_count);
        CHECK_BYTES(fast.root.offsets.data, slow.root.child[0].offsets.data, fast.root.length * 4);
        CHECK_EQ(fast.root.child[0].length, slow.root.child[0].child[0].length);
        for (uint64_t i = 0; fast.root.child[0].has_validity && i < fast.root.child[0].length; i++)
            CHECK_EQ(lmn__bit_get(fast.root.child[0].validity.data, i),
                     lmn__bit_get(slow.root.child[0].child[0].validity.data, i));
        lmn__builder_deinit(&fast.root);
        lmn__builder_deinit(&slow.root);
    }
    CHECK_EQ(live_allocations(), 0);
}

static void test_levels__finds_rows_and_values(void **state)
{
    static const uint8_t layers[] = { LMN__LAYER_NULLABLE_ITEM, LMN__LAYER_NULL_AND_EMPTY_LIST,
                                      LMN__LAYER_LIST };
    const struct lmn__page_layout layout = make_layout(layers, 3);
    uint16_t rep[ENTRIES], def[ENTRIES];
    struct lmn__levels levels = { rep, def, 0 };
    uint64_t seed = 8;

    (void)state;
    for (int round = 0; round < 20; round++) {
        uint64_t row = 0, visible = 0;

        levels.count = test_random(&seed) % ENTRIES;
        for (uint64_t i = 0; i < levels.count; i++) {
            rep[i] = (uint16_t)(test_random(&seed) % 3);
            def[i] = (uint16_t)(test_random(&seed) % 4);
        }
        for (uint64_t i = 0; i < levels.count; i++) {
            if (rep[i] == 2)
                CHECK_EQ(lmn__levels_find_row(rep, levels.count, 2, row++), i);
            CHECK_EQ(lmn__levels_visible(&layout, def, i), visible);
            CHECK_EQ(lmn__levels_visible(&layout, def + i, 1), def[i] <= 1);
            visible += def[i] <= 1;
        }
        CHECK_EQ(lmn__levels_find_row(rep, levels.count, 2, row), levels.count);
    }
}

static void test_levels__corrupt_levels_too_large(void **state)
{
    static const uint8_t layers[] = { LMN__LAYER_NULLABLE_ITEM, LMN__LAYER_EMPTYABLE_LIST };
    const struct lmn__page_layout layout = make_layout(layers, 2);
    const struct lmn__layout *type = LIST(32, FIXED(8));
    struct lmn_error err;
    struct chain chain;

    (void)state;
    chain_init(&chain, type);
    for (uint32_t value = 0; value < 65536; value += value < 8 ? 1 : 4093) {
        uint16_t rep[] = { 1, (uint16_t)value }, def[] = { 0, (uint16_t)value }, zero[] = { 1, 0 };
        struct lmn__levels levels = { rep, NULL, 2 };
        uint64_t visible;

        CHECK_STATUS(lmn__levels_append(&layout, &chain.path, &levels, &visible, &err),
                     value <= 1 ? LMN_OK : LMN_E_CORRUPT, &err);
        levels = (struct lmn__levels){ zero, def, 2 };
        CHECK_STATUS(lmn__levels_append(&layout, &chain.path, &levels, &visible, &err),
                     value <= 2 ? LMN_OK : LMN_E_CORRUPT, &err);
    }
    lmn__builder_deinit(&chain.root);
}

static void test_levels__corrupt_layers(void **state)
{
    static const uint8_t layers[] = { LMN__LAYER_ITEM, LMN__LAYER_LIST, LMN__LAYER_ITEM };
    const struct lmn__page_layout two = make_layout(layers, 2), three = make_layout(layers, 3);
    const struct lmn__layout *list = LIST(32, FIXED(8)), *plain = STRUCT(FIXED(8));
    struct lmn_error err;
    struct chain chain;

    (void)state;
    chain_init(&chain, list);
    CHECK_OK(lmn__levels_check(&two, &chain.path, &err));
    CHECK_STATUS(lmn__levels_check(&three, &chain.path, &err), LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&chain.root);
    chain_init(&chain, plain);
    CHECK_STATUS(lmn__levels_check(&two, &chain.path, &err), LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&chain.root);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_levels__structs),
        cmocka_unit_test(test_levels__lists),
        cmocka_unit_test(test_levels__lists_of_lists),
        cmocka_unit_test(test_levels__lists_of_structs),
        cmocka_unit_test(test_levels__fixed_lists_of_structs),
        cmocka_unit_test(test_levels__flat_lists_agree_with_the_walk),
        cmocka_unit_test(test_levels__finds_rows_and_values),
        cmocka_unit_test(test_levels__corrupt_levels_too_large),
        cmocka_unit_test(test_levels__corrupt_layers),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
