/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which Arrow types have a layout, and which one.
 */

#include "arrow/layout.h"
#include "check.h"

enum { DEPTH_MAX = 64 };

static struct lmn__arena arena;

static int set_up(void **state)
{
    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmn__arena_deinit(&arena);
    return live_allocations() == 0 ? 0 : -1;
}

static void keep(struct ArrowSchema *schema)
{
    (void)schema;
}

static struct ArrowSchema type(const char *format)
{
    return (struct ArrowSchema){ .format = format, .name = "field", .release = keep };
}

static const struct lmn__layout *layout_of(const struct ArrowSchema *schema)
{
    const struct lmn__layout *layout;
    struct lmn_error err;

    CHECK_STATUS(lmn__layout_from_schema(schema, &arena, &layout, &err), LMN_OK, &err);
    return layout;
}

static void test_layout__leaves(void **state)
{
    static const struct {
        const char *format;
        enum lmn__layout_kind kind;
        uint32_t bits;
    } leaves[] = {
        { "n", LMN__LAYOUT_NULL, 0 },
        { "b", LMN__LAYOUT_FIXED, 1 },
        { "c", LMN__LAYOUT_FIXED, 8 },
        { "C", LMN__LAYOUT_FIXED, 8 },
        { "s", LMN__LAYOUT_FIXED, 16 },
        { "S", LMN__LAYOUT_FIXED, 16 },
        { "i", LMN__LAYOUT_FIXED, 32 },
        { "I", LMN__LAYOUT_FIXED, 32 },
        { "l", LMN__LAYOUT_FIXED, 64 },
        { "L", LMN__LAYOUT_FIXED, 64 },
        { "e", LMN__LAYOUT_FIXED, 16 },
        { "f", LMN__LAYOUT_FIXED, 32 },
        { "g", LMN__LAYOUT_FIXED, 64 },
        { "tdD", LMN__LAYOUT_FIXED, 32 },
        { "tdm", LMN__LAYOUT_FIXED, 64 },
        { "tts", LMN__LAYOUT_FIXED, 32 },
        { "ttn", LMN__LAYOUT_FIXED, 64 },
        { "tsu:UTC", LMN__LAYOUT_FIXED, 64 },
        { "tDn", LMN__LAYOUT_FIXED, 64 },
        { "d:10,2", LMN__LAYOUT_FIXED, 128 },
        { "d:40,2,256", LMN__LAYOUT_FIXED, 256 },
        { "w:7", LMN__LAYOUT_FIXED, 56 },
        { "w:0", LMN__LAYOUT_FIXED, 0 },
        { "u", LMN__LAYOUT_VARIABLE, 32 },
        { "z", LMN__LAYOUT_VARIABLE, 32 },
        { "U", LMN__LAYOUT_VARIABLE, 64 },
        { "Z", LMN__LAYOUT_VARIABLE, 64 },
        { "vu", LMN__LAYOUT_VARIABLE, 32 },
        { "vz", LMN__LAYOUT_VARIABLE, 32 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof leaves / sizeof leaves[0]; i++) {
        const struct ArrowSchema schema = type(leaves[i].format);
        const struct lmn__layout *layout = layout_of(&schema);

        CHECK_EQ(layout->kind, leaves[i].kind);
        CHECK_EQ(layout->bits, leaves[i].bits);
        CHECK_EQ(layout->child_count, 0);
        CHECK_EQ(layout->is_view, leaves[i].format[0] == 'v');
    }
}

static void test_layout__nested(void **state)
{
    struct ArrowSchema number = type("i"), list = type("+l"), large = type("+L");
    struct ArrowSchema vector = type("+w:3"), pair = type("+s");
    struct ArrowSchema *items[] = { &number }, *fields[] = { &list, &vector }, *one[] = { &pair };
    const struct lmn__layout *layout;

    (void)state;
    list.n_children = vector.n_children = large.n_children = 1;
    list.children = vector.children = items;
    pair.n_children = 2;
    pair.children = fields;
    large.children = one;
    layout = layout_of(&large);
    CHECK_EQ(layout->kind, LMN__LAYOUT_LIST);
    CHECK_EQ(layout->bits, 64);
    layout = layout->child[0];
    CHECK_EQ(layout->kind, LMN__LAYOUT_STRUCT);
    CHECK_EQ(layout->child_count, 2);
    CHECK_EQ(layout->child[0]->kind, LMN__LAYOUT_LIST);
    CHECK_EQ(layout->child[0]->bits, 32);
    CHECK_EQ(layout->child[1]->kind, LMN__LAYOUT_FIXED_LIST);
    CHECK_EQ(layout->child[1]->dimension, 3);
    CHECK_EQ(layout->child[1]->child[0]->bits, 32);
}

static void test_layout__maps_are_lists(void **state)
{
    struct ArrowSchema key = type("u"), value = type("l"), entries = type("+s"), map = type("+m");
    struct ArrowSchema *fields[] = { &key, &value }, *items[] = { &entries };
    const struct lmn__layout *layout;

    (void)state;
    entries.n_children = 2;
    entries.children = fields;
    map.n_children = 1;
    map.children = items;
    layout = layout_of(&map);
    CHECK_EQ(layout->kind, LMN__LAYOUT_LIST);
    CHECK_EQ(layout->bits, 32);
    CHECK_EQ(layout->child[0]->kind, LMN__LAYOUT_STRUCT);
}

/* How many values each index type can tell apart. */
static void test_layout__dictionaries(void **state)
{
    static const struct {
        const char *format;
        uint32_t bits, range;
    } indices[] = {
        { "c", 8, 128 },        { "C", 8, 256 },        { "s", 16, 32768 },
        { "S", 16, 65536 },     { "i", 32, INT32_MAX }, { "I", 32, INT32_MAX },
        { "l", 64, INT32_MAX }, { "L", 64, INT32_MAX },
    };
    struct ArrowSchema text = type("u");

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct ArrowSchema schema = type(indices[i].format);
        const struct lmn__layout *layout;

        schema.dictionary = &text;
        layout = layout_of(&schema);
        CHECK_EQ(layout->kind, LMN__LAYOUT_DICTIONARY);
        CHECK_EQ(layout->bits, indices[i].bits);
        CHECK_EQ(layout->dimension, indices[i].range);
        CHECK_EQ(layout->child_count, 1);
        CHECK_EQ(layout->child[0]->kind, LMN__LAYOUT_VARIABLE);
    }
}

static void test_layout__refuses_other_types(void **state)
{
    static const char *const formats[] = { "tiM", "tiD", "tin" };
    struct ArrowSchema number = type("i"), ends = type("+r"), view = type("+vl");
    struct ArrowSchema *both[] = { &number, &number }, *one[] = { &number };
    struct ArrowSchema any = type("+us:0,1");
    const struct ArrowSchema *const nested[] = { &ends, &any, &view };
    const struct lmn__layout *layout;
    struct lmn_error err;

    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct ArrowSchema schema = type(formats[i]);

        CHECK_STATUS(lmn__layout_from_schema(&schema, &arena, &layout, &err), LMN_E_UNSUPPORTED,
                     &err);
        CHECK_HAS(err.message, "\"field\"");
    }
    ends.n_children = any.n_children = 2;
    ends.children = any.children = both;
    view.n_children = 1;
    view.children = one;
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(lmn__layout_from_schema(nested[i], &arena, &layout, &err), LMN_E_UNSUPPORTED,
                     &err);
}

static void test_layout__refuses_what_is_no_type(void **state)
{
    static const char *const formats[] = { "?", "", "w:", "w:x", "d:", "+l", "+w:3", "+w:" };
    const struct lmn__layout *layout;
    struct lmn_error err;

    (void)state;
    for (int i = 0; i < 8; i++) {
        const struct ArrowSchema schema = type(formats[i]);

        CHECK_STATUS(lmn__layout_from_schema(&schema, &arena, &layout, &err), LMN_E_INVALID, &err);
    }
}

/* `depth` lists around a number. */
static enum lmn_status nest(int depth, struct lmn_error *err)
{
    static struct ArrowSchema schema[DEPTH_MAX + 3], *child[DEPTH_MAX + 3];
    const struct lmn__layout *layout;

    schema[depth] = type("i");
    for (int i = depth - 1; i >= 0; i--) {
        schema[i] = type("+l");
        child[i] = &schema[i + 1];
        schema[i].n_children = 1;
        schema[i].children = &child[i];
    }
    return lmn__layout_from_schema(&schema[0], &arena, &layout, err);
}

static void test_layout__depth_limit(void **state)
{
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(nest(DEPTH_MAX, &err), LMN_OK, &err);
    CHECK_STATUS(nest(DEPTH_MAX + 1, &err), LMN_E_UNSUPPORTED, &err);
    CHECK_HAS(err.message, "deeper than 64");
}

static void test_layout__value_bytes(void **state)
{
    const struct lmn__layout word = { .kind = LMN__LAYOUT_FIXED, .bits = 32 };
    const struct lmn__layout bit = { .kind = LMN__LAYOUT_FIXED, .bits = 1 };
    const struct lmn__layout *children[] = { &word, NULL, &bit, NULL };
    const struct lmn__layout list = {
        .kind = LMN__LAYOUT_FIXED_LIST, .dimension = 3, .child_count = 1, .child = &children[0]
    };
    const struct lmn__layout lists = {
        .kind = LMN__LAYOUT_FIXED_LIST, .dimension = 5, .child_count = 1, .child = &children[1]
    };
    const struct lmn__layout bits = {
        .kind = LMN__LAYOUT_FIXED_LIST, .dimension = 8, .child_count = 1, .child = &children[2]
    };

    (void)state;
    children[1] = &list;
    CHECK_EQ(lmn__layout_value_bytes(&word), 4);
    CHECK_EQ(lmn__layout_value_bytes(&list), 12);
    CHECK_EQ(lmn__layout_value_bytes(&lists), 60);
    CHECK_EQ(lmn__layout_value_bytes(&bit), 0);
    CHECK_EQ(lmn__layout_value_bytes(&bits), 0);
}

static void test_layout__faults(void **state)
{
    struct lmn_error err;

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn__arena own = arena;
        enum lmn_status st;

        lmn__arena_init(&arena, test_env(), 0);
        fault_arm(FAULT_ALLOC, nth);
        st = nest(20, &err);
        fault_disarm();
        lmn__arena_deinit(&arena);
        arena = own;
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_layout__leaves),
        cmocka_unit_test(test_layout__nested),
        cmocka_unit_test(test_layout__maps_are_lists),
        cmocka_unit_test(test_layout__dictionaries),
        cmocka_unit_test(test_layout__refuses_other_types),
        cmocka_unit_test(test_layout__refuses_what_is_no_type),
        cmocka_unit_test(test_layout__depth_limit),
        cmocka_unit_test(test_layout__value_bytes),
        cmocka_unit_test(test_layout__faults),
    };

    return cmocka_run_group_tests(cases, set_up, tear_down);
}
