/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layout and encoding the writer chooses for which values.
 */
#include <string.h>

#include "check.h"
#include "columns.h"

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

static const struct lmn__encode_options version21 = { .minor = 1 }, version22 = { .minor = 2 };
static const struct lmn__encode_options compressed = { .minor = 1, .zstd_level = 3 };

/* The layout of the page of `rows` random values; *bytes_out are its buffers' sizes together. */
static const struct lmn__page_layout *choose(const struct lmn__layout *type,
                                             struct column_style style, uint64_t rows,
                                             const struct lmn__encode_options *options,
                                             uint64_t *bytes_out)
{
    const struct lmn__page_layout *layout;
    struct column_pages pages;
    struct ArrowArray array;
    struct column column;
    struct lmn_error err;
    uint8_t *description;
    size_t len;

    column_init(&column, type, false);
    column_random(type, &style, rows, 1, &array);
    CHECK_STATUS(column_encode(&column, &array, 0, rows, options, &pages, &err), LMN_OK, &err);
    len = pages.page[0].description.len;
    description = lmn__arena_alloc(&arena, len);
    memcpy(description, pages.page[0].description.data, len);
    CHECK_OK(lmn__page_layout_read((struct lmn__span){ description, len }, &arena, &layout, &err));
    *bytes_out = 0;
    for (uint32_t i = 0; i < pages.page[0].buffer_count; i++)
        *bytes_out += pages.page[0].buffer[i].len;
    column_pages_deinit(&pages);
    array.release(&array);
    return layout;
}

static enum lmn__encoding_kind choose_words(uint32_t bits, struct column_style style)
{
    uint64_t bytes;
    const struct lmn__page_layout *layout = choose(FIXED(bits), style, 5000, &version21, &bytes);

    CHECK_EQ(layout->kind, LMN__PAGE_MINI_BLOCK);
    CHECK_EQ(layout->values->bits, bits);
    CHECK(bytes <= 5000 * bits / 8 + 5000);
    return layout->values->kind;
}

static void test_encode__words(void **state)
{
    (void)state;
    for (uint32_t bits = 8; bits <= 64; bits *= 2) {
        CHECK_EQ(choose_words(bits, (struct column_style){ 0 }), LMN__ENC_FLAT);
        CHECK_EQ(choose_words(bits, (struct column_style){ .value_bits = 4 }), LMN__ENC_INLINE);
        CHECK_EQ(choose_words(bits, (struct column_style){ .run = 100 }), LMN__ENC_RLE);
    }
    CHECK_EQ(choose_words(128, (struct column_style){ .value_bits = 4 }), LMN__ENC_FLAT);
    CHECK_EQ(choose_words(1, (struct column_style){ 0 }), LMN__ENC_FLAT);
}

static void test_encode__strings(void **state)
{
    const struct lmn__page_layout *layout;
    uint64_t bytes;

    (void)state;
    layout = choose(VARIABLE(32), (struct column_style){ 0 }, 5000, &version21, &bytes);
    CHECK_EQ(layout->values->kind, LMN__ENC_VARIABLE);
    CHECK(layout->dictionary == NULL);
    layout = choose(VARIABLE(64), (struct column_style){ .distinct = 10 }, 5000, &version21,
                    &bytes);
    CHECK_EQ(layout->dictionary->kind, LMN__ENC_VARIABLE);
    CHECK_EQ(layout->dictionary->bits, 64);
    CHECK_EQ(layout->dictionary_count, 10);
    CHECK_EQ(layout->values->kind, LMN__ENC_INLINE);
    CHECK(bytes < 5000);
    /* Few values are not worth a dictionary. */
    layout = choose(VARIABLE(32), (struct column_style){ .distinct = 2 }, 90, &version21, &bytes);
    CHECK(layout->dictionary == NULL);
    /* One long value is enough for the other layout. */
    layout = choose(VARIABLE(32), (struct column_style){ .bytes_max = 300 }, 500, &version21,
                    &bytes);
    CHECK_EQ(layout->kind, LMN__PAGE_FULL_ZIP);
    CHECK_EQ(layout->length_bits, 32);
    CHECK_EQ(layout->value_bits, 0);
}

static void test_encode__vectors(void **state)
{
    const struct lmn__page_layout *layout;
    uint64_t bytes;

    (void)state;
    layout = choose(FIXED_LIST(63, FIXED(32)), (struct column_style){ 0 }, 50, &version21, &bytes);
    CHECK_EQ(layout->kind, LMN__PAGE_MINI_BLOCK);
    CHECK_EQ(layout->values->kind, LMN__ENC_FIXED_LIST);
    layout = choose(FIXED_LIST(64, FIXED(32)), (struct column_style){ 0 }, 50, &version21, &bytes);
    CHECK_EQ(layout->kind, LMN__PAGE_FULL_ZIP);
    CHECK_EQ(layout->value_bits, 64 * 32);
    CHECK_EQ(layout->def_bits, 0);
    CHECK_EQ(bytes, 50 * 64 * 4);
    layout = choose(FIXED_LIST(64, FIXED(32)), (struct column_style){ .null_one_in = 3 }, 50,
                    &version21, &bytes);
    CHECK(layout->values->has_validity);
    CHECK_EQ(layout->value_bits, 64 * 32 + 64);
    CHECK_EQ(layout->def_bits, 1);
    CHECK_EQ(bytes, 50 * (64 * 4 + 8 + 1));
}

static void test_encode__constants(void **state)
{
    const struct column_style same = { .run = 9999 };
    const struct lmn__page_layout *layout;
    uint64_t bytes;

    (void)state;
    layout = choose(VARIABLE(32), (struct column_style){ .null_one_in = 1 }, 50, &version21,
                    &bytes);
    CHECK_EQ(layout->kind, LMN__PAGE_CONSTANT);
    CHECK_EQ(layout->layer[0], LMN__LAYER_NULLABLE_ITEM);
    CHECK(layout->inline_value.data == NULL);
    CHECK_EQ(bytes, 0);
    layout = choose(FIXED(64), same, 50, &version22, &bytes);
    CHECK_EQ(layout->kind, LMN__PAGE_CONSTANT);
    CHECK_EQ(layout->inline_value.len, 8);
    CHECK_EQ(bytes, 0);
    /* 2.1 has no place for the value, and 32 bytes are the most there is room for. */
    CHECK_EQ(choose(FIXED(64), same, 50, &version21, &bytes)->kind, LMN__PAGE_MINI_BLOCK);
    CHECK_EQ(choose(FIXED(256), same, 50, &version22, &bytes)->kind, LMN__PAGE_CONSTANT);
    CHECK_EQ(choose(FIXED(264), same, 50, &version22, &bytes)->kind, LMN__PAGE_MINI_BLOCK);
    /* Empty and null lists have levels and nothing else. */
    layout = choose(LIST(32, NOTHING), (struct column_style){ .null_one_in = 2 }, 50, &version21,
                    &bytes);
    CHECK_EQ(layout->kind, LMN__PAGE_CONSTANT);
    CHECK(bytes != 0);
}

static void test_encode__compression(void **state)
{
    const struct lmn__page_layout *layout;
    uint64_t plain, bytes;

    (void)state;
    layout = choose(FIXED(32), (struct column_style){ 0 }, 5000, &compressed, &bytes);
    CHECK_EQ(layout->values->kind, LMN__ENC_GENERAL);
    CHECK_EQ(layout->values->scheme, LMN__SCHEME_ZSTD);
    CHECK_EQ(layout->values->child->kind, LMN__ENC_FLAT);
    (void)choose(FIXED(128), (struct column_style){ .value_bits = 6 }, 5000, &version21, &plain);
    layout = choose(FIXED(128), (struct column_style){ .value_bits = 6 }, 5000, &compressed,
                    &bytes);
    CHECK(bytes < plain / 2);
    layout = choose(VARIABLE(32), (struct column_style){ .bytes_max = 900 }, 50, &compressed,
                    &bytes);
    CHECK_EQ(layout->kind, LMN__PAGE_FULL_ZIP);
    CHECK_EQ(layout->values->kind, LMN__ENC_GENERAL);
    /* The first buffer is the validity of the items; it alone would be compressed. */
    layout = choose(FIXED_LIST(4, FIXED(32)), (struct column_style){ .null_one_in = 3 }, 500,
                    &compressed, &bytes);
    CHECK_EQ(layout->values->kind, LMN__ENC_FIXED_LIST);
}

static void test_encode__refuses_values_of_no_bytes(void **state)
{
    static const struct column_style style = { 0 };
    const struct lmn__layout *type = FIXED(0);
    struct column_pages pages;
    struct ArrowArray array;
    struct column column;
    struct lmn_error err;

    (void)state;
    column_init(&column, type, false);
    column_random(type, &style, 5, 1, &array);
    CHECK_STATUS(column_encode(&column, &array, 0, 5, &version21, &pages, &err), LMN_E_UNSUPPORTED,
                 &err);
    column_pages_deinit(&pages);
    CHECK_OK(column_encode(&column, &array, 0, 5, &version22, &pages, &err));
    column_pages_deinit(&pages);
    array.release(&array);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_encode__words),
        cmocka_unit_test(test_encode__strings),
        cmocka_unit_test(test_encode__vectors),
        cmocka_unit_test(test_encode__constants),
        cmocka_unit_test(test_encode__compression),
        cmocka_unit_test(test_encode__refuses_values_of_no_bytes),
    };

    return cmocka_run_group_tests(cases, set_up, tear_down);
}
