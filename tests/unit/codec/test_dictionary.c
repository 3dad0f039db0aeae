/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionaries of pages: decoded, looked up, merged into that of a batch, and made.
 */
#include <string.h>

#include "check.h"
#include "codec/dictionary.h"
#include "columns.h"

static struct lmn__scratch scratch;

static int set_up(void **state)
{
    (void)state;
    lmn__scratch_init(&scratch, test_env());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmn__scratch_deinit(&scratch);
    return live_allocations() == 0 ? 0 : -1;
}

/* A builder of these words, separated by spaces. */
static void make_words(struct lmn__builder *builder, const struct lmn__layout *layout,
                       const char *words)
{
    CHECK_OK(lmn__builder_init(builder, test_env(), layout, NULL));
    while (*words != '\0') {
        size_t len = strcspn(words, " ");
        uint8_t *offset, *data;
        uint64_t base;

        CHECK_OK(lmn__builder_add_valid(builder, 1, NULL));
        CHECK_OK(lmn__builder_extend_variable(builder, 1, len, &offset, &data, &base, NULL));
        memcpy(data, words, len);
        lmn__store_uint(offset, layout->bits / 8, base + len);
        words += len + (words[len] == ' ');
    }
}

static void check_words(const struct lmn__builder *actual, const char *words)
{
    struct lmn__builder expected;

    make_words(&expected, actual->layout, words);
    CHECK_EQ(actual->length, expected.length);
    CHECK_EQ(actual->values.len, expected.values.len);
    CHECK_BYTES(actual->offsets.data, expected.offsets.data, expected.offsets.len);
    CHECK_BYTES(actual->values.data, expected.values.data, expected.values.len);
    lmn__builder_deinit(&expected);
}

static void test_dictionary__gathers_by_index_of_every_width(void **state)
{
    static const uint8_t order[] = { 2, 0, 1, 2 };
    const struct lmn__layout *layout = VARIABLE(32), *large = VARIABLE(64);
    struct lmn__builder words, out;

    (void)state;
    make_words(&words, layout, "zero a-longer-word-than-sixteen-bytes two");
    for (uint32_t bits = 8; bits <= 64; bits *= 2) {
        uint8_t index[4 * 8] = { 0 };

        for (int i = 0; i < 4; i++)
            index[i * (int)(bits / 8)] = order[i];
        CHECK_OK(lmn__builder_init(&out, test_env(), bits == 16 ? large : layout, NULL));
        CHECK_OK(lmn__builder_add_valid(&out, 4, NULL));
        CHECK_OK(lmn__dictionary_gather(&words, index, bits, 4, &out, NULL));
        check_words(&out, "two zero a-longer-word-than-sixteen-bytes two");
        lmn__builder_deinit(&out);
    }
    lmn__builder_deinit(&words);
}

static void test_dictionary__corrupt_index(void **state)
{
    static const uint8_t index[] = { 0, 3 };
    const struct lmn__layout *const layouts[] = { VARIABLE(32), FIXED(64), FIXED(1) };

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct lmn__builder values, out;
        struct lmn_error err;

        CHECK_OK(lmn__builder_init(&values, test_env(), layouts[i], NULL));
        CHECK_OK(lmn__builder_add_valid(&values, 3, NULL));
        CHECK_OK(lmn__builder_put_empty(&values, 3, NULL));
        CHECK_OK(lmn__builder_init(&out, test_env(), layouts[i], NULL));
        CHECK_OK(lmn__builder_add_valid(&out, 2, NULL));
        CHECK_STATUS(lmn__dictionary_gather(&values, index, 8, 2, &out, &err), LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "index 3 into a dictionary of 3 values");
        lmn__builder_deinit(&out);
        lmn__builder_deinit(&values);
    }
}

static void test_dictionary__merge(void **state)
{
    static const uint32_t expected[] = { 1, 3, 0, 4, 3 };
    const struct lmn__layout *layout = VARIABLE(32);
    struct lmn__builder all, more;
    uint32_t map[5];

    (void)state;
    make_words(&all, layout, "a b c");
    make_words(&more, layout, "b x a y x");
    CHECK_OK(lmn__dictionary_merge(&more, &all, map, NULL));
    check_words(&all, "a b c x y");
    for (int i = 0; i < 5; i++)
        CHECK_EQ(map[i], expected[i]);
    lmn__builder_deinit(&all);
    lmn__builder_deinit(&more);
}

/* Numbers and bits are found by their bytes. */
static void test_dictionary__merge_of_numbers(void **state)
{
    static const uint16_t one[] = { 7, 300, 9 }, two[] = { 300, 301, 7 };
    const struct lmn__layout *layout = FIXED(16), *bits = FIXED(1);
    struct lmn__builder all, more;
    uint32_t map[3];
    uint8_t *at, mixed = 0x2;

    (void)state;
    CHECK_OK(lmn__builder_init(&all, test_env(), layout, NULL));
    CHECK_OK(lmn__builder_init(&more, test_env(), layout, NULL));
    CHECK_OK(lmn__builder_add_valid(&all, 3, NULL));
    CHECK_OK(lmn__builder_extend(&all, 3, &at, NULL));
    memcpy(at, one, sizeof one);
    CHECK_OK(lmn__builder_add_valid(&more, 3, NULL));
    CHECK_OK(lmn__builder_extend(&more, 3, &at, NULL));
    memcpy(at, two, sizeof two);
    CHECK_OK(lmn__dictionary_merge(&more, &all, map, NULL));
    CHECK_EQ(all.length, 4);
    CHECK(map[0] == 1 && map[1] == 3 && map[2] == 0);
    lmn__builder_deinit(&all);
    lmn__builder_deinit(&more);
    CHECK_OK(lmn__builder_init(&all, test_env(), bits, NULL));
    CHECK_OK(lmn__builder_init(&more, test_env(), bits, NULL));
    CHECK_OK(lmn__builder_add_valid(&more, 3, NULL));
    CHECK_OK(lmn__builder_put_bits(&more, &mixed, 0, 3, NULL));
    CHECK_OK(lmn__dictionary_merge(&more, &all, map, NULL));
    CHECK_EQ(all.length, 2);
    CHECK(map[0] == 0 && map[1] == 1 && map[2] == 0);
    lmn__builder_deinit(&all);
    lmn__builder_deinit(&more);
}

/* Two pages of a dictionary column fill one batch. */
static void append_page(struct lmn__leaf *leaf, uint64_t id, const char *words,
                        const uint8_t *index, uint64_t count, enum lmn_status expected)
{
    const struct lmn__layout *layout = VARIABLE(32);
    struct lmn__values values = { .id = id };
    struct lmn_error err;

    make_words(&values.dictionary, layout, words);
    CHECK_OK(lmn__builder_add_valid(leaf->builder, count, NULL));
    CHECK_STATUS(lmn__dictionary_append(&values, leaf, index, 8, count, &err), expected, &err);
    lmn__builder_deinit(&values.dictionary);
}

static void test_dictionary__pages_share_one(void **state)
{
    const struct lmn__layout *type = DICTIONARY(8, 4, VARIABLE(32));
    struct lmn__builder builder;
    struct lmn__leaf leaf = { .builder = &builder, .scratch = &scratch };

    (void)state;
    CHECK_OK(lmn__builder_init(&builder, test_env(), type, NULL));
    append_page(&leaf, 1, "red green", (const uint8_t *)"\0\1\1", 3, LMN_OK);
    append_page(&leaf, 2, "blue red", (const uint8_t *)"\1\0", 2, LMN_OK);
    append_page(&leaf, 2, "blue red", (const uint8_t *)"\1", 1, LMN_OK);
    check_words(&builder.child[0], "red green blue");
    CHECK_BYTES(builder.values.data, "\0\1\1\0\2\0", 6);
    append_page(&leaf, 3, "one", (const uint8_t *)"\1", 1, LMN_E_CORRUPT);
    /* The index type tells four values apart. */
    append_page(&leaf, 4, "more", (const uint8_t *)"\0", 1, LMN_E_INVALID);
    lmn__vec_deinit(&leaf.merge);
    lmn__builder_deinit(&builder);
}

/* A null slot may have any index. */
static void test_dictionary__index_of_a_null(void **state)
{
    const struct lmn__layout *type = DICTIONARY(8, 4, VARIABLE(32)), *layout = VARIABLE(32);
    struct lmn__values values = { .id = 1 };
    struct lmn__builder builder;
    struct lmn__leaf leaf = { .builder = &builder, .scratch = &scratch };
    struct lmn_error err;

    (void)state;
    make_words(&values.dictionary, layout, "x y");
    CHECK_OK(lmn__builder_init(&builder, test_env(), type, NULL));
    CHECK_OK(lmn__builder_add_null(&builder, 1, NULL));
    CHECK_OK(lmn__builder_add_valid(&builder, 1, NULL));
    CHECK_STATUS(lmn__dictionary_append(&values, &leaf, (const uint8_t *)"\311\1", 8, 2, &err),
                 LMN_OK, &err);
    CHECK_BYTES(builder.values.data, "\0\1", 2);
    lmn__builder_deinit(&values.dictionary);
    lmn__vec_deinit(&leaf.merge);
    lmn__builder_deinit(&builder);
}

static void test_dictionary__encode_numbers_strings(void **state)
{
    const struct lmn__layout *layout = VARIABLE(32);
    struct lmn__builder values, dictionary, back;
    struct lmn__vec index = { 0 };
    char text[150 * 7];
    size_t len = 0;
    bool worth;

    (void)state;
    for (int i = 0; i < 150; i++) {
        static const char *const words[] = { "first ", "second ", "third " };

        memcpy(text + len, words[i % 3], strlen(words[i % 3]));
        len += strlen(words[i % 3]);
    }
    text[len - 1] = '\0';
    make_words(&values, layout, text);
    CHECK_OK(lmn__builder_init(&dictionary, test_env(), layout, NULL));
    CHECK_OK(lmn__dictionary_encode(&values, &dictionary, &index, &worth, NULL));
    CHECK(worth);
    check_words(&dictionary, "first second third");
    CHECK_EQ(index.len, 150 * 4);
    CHECK_OK(lmn__builder_init(&back, test_env(), layout, NULL));
    CHECK_OK(lmn__builder_add_valid(&back, 150, NULL));
    CHECK_OK(lmn__dictionary_gather(&dictionary, index.data, 32, 150, &back, NULL));
    check_words(&back, text);
    lmn__builder_deinit(&back);
    lmn__builder_deinit(&dictionary);
    lmn__vec_deinit(&index);
    lmn__builder_deinit(&values);
}

/* What put_block() writes is what decode() reads. */
static void test_dictionary__block_round_trip(void **state)
{
    for (uint32_t bits = 32; bits <= 64; bits += 32) {
        const struct lmn__layout *layout = VARIABLE(bits);
        const struct lmn__encoding encoding = { .kind = LMN__ENC_VARIABLE, .bits = bits };
        const struct lmn__variable variable = { .plain = &encoding };
        struct lmn__builder words, back;
        struct lmn__vec block = { 0 };
        struct lmn_error err;

        (void)state;
        make_words(&words, layout, "some words for a block");
        CHECK_OK(lmn__dictionary_put_block(&words, &block, NULL));
        CHECK_OK(lmn__builder_init(&back, test_env(), layout, NULL));
        CHECK_STATUS(lmn__dictionary_decode(&scratch, &encoding, &variable,
                                            (struct lmn__span){ block.data, block.len }, 5, &back,
                                            &err),
                     LMN_OK, &err);
        check_words(&back, "some words for a block");
        lmn__builder_deinit(&back);
        lmn__builder_deinit(&words);
        lmn__vec_deinit(&block);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_dictionary__gathers_by_index_of_every_width),
        cmocka_unit_test(test_dictionary__corrupt_index),
        cmocka_unit_test(test_dictionary__merge),
        cmocka_unit_test(test_dictionary__merge_of_numbers),
        cmocka_unit_test(test_dictionary__pages_share_one),
        cmocka_unit_test(test_dictionary__index_of_a_null),
        cmocka_unit_test(test_dictionary__encode_numbers_strings),
        cmocka_unit_test(test_dictionary__block_round_trip),
    };

    return cmocka_run_group_tests(cases, set_up, tear_down);
}
