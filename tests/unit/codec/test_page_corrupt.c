/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages cut short at every byte, and with every bit of them flipped in turn.
 *
 * A decoder may find nothing wrong with a flipped bit; the array that it makes has to be whole
 * all the same. The sanitizers watch over the rest: decoders get memory of the exact size.
 */
#include "check.h"
#include "columns.h"

/* A column whose page is of one kind. */
struct example {
    const char *name;
    const struct lmn__layout *layout;
    struct column_style style;
    struct lmn__encode_options options;
    uint32_t rows;
    enum { PLAIN, PACKED, CONSTANT } kind;
};

static const struct example examples[] = {
    { "flat", FIXED(32), { 0 }, { .minor = 1 }, 20, PLAIN },
    { "booleans", FIXED(1), { .null_one_in = 3 }, { .minor = 1 }, 50, PLAIN },
    { "bitpacked", FIXED(64), { .value_bits = 2, .null_one_in = 3 }, { .minor = 1 }, 100, PLAIN },
    { "runs", FIXED(16), { .run = 40 }, { .minor = 2 }, 200, PLAIN },
    { "strings", VARIABLE(32), { .null_one_in = 5 }, { .minor = 1 }, 12, PLAIN },
    { "zstd", VARIABLE(64), { .null_one_in = 5 }, { .minor = 2, .zstd_level = 1 }, 12, PLAIN },
    { "indexed", VARIABLE(32), { .distinct = 3 }, { .minor = 1 }, 120, PLAIN },
    { "dictionary",
      DICTIONARY(8, 128, VARIABLE(32)),
      { .null_one_in = 5 },
      { .minor = 1 },
      30,
      PLAIN },
    { "vectors", FIXED_LIST(3, FIXED(16)), { .null_one_in = 4 }, { .minor = 1 }, 20, PLAIN },
    { "packed", PAIR(FIXED(16), FIXED(8)), { 0 }, { .minor = 1 }, 20, PACKED },
    { "lists", LIST(32, FIXED(8)), { .null_one_in = 4 }, { .minor = 1 }, 30, PLAIN },
    { "nested lists",
      LIST(32, STRUCT(LIST(64, VARIABLE(32)))),
      { .null_one_in = 5 },
      { .minor = 2 },
      15,
      PLAIN },
    { "large strings",
      VARIABLE(32),
      { .null_one_in = 3, .bytes_max = 400 },
      { .minor = 1 },
      7,
      PLAIN },
    { "large zstd",
      LIST(32, VARIABLE(64)),
      { .bytes_max = 400 },
      { .minor = 1, .zstd_level = 1 },
      2,
      PLAIN },
    { "large vectors", FIXED_LIST(90, FIXED(32)), { 0 }, { .minor = 1 }, 3, PLAIN },
    { "large vectors with nulls",
      FIXED_LIST(90, FIXED(32)),
      { .null_one_in = 3 },
      { .minor = 1 },
      4,
      PLAIN },
    { "large values in lists",
      LIST(32, FIXED(2400)),
      { .null_one_in = 4 },
      { .minor = 1 },
      4,
      PLAIN },
    { "nulls", STRUCT(VARIABLE(32)), { .null_one_in = 1 }, { .minor = 1 }, 30, CONSTANT },
    { "empty lists", LIST(32, NOTHING), { .null_one_in = 3 }, { .minor = 1 }, 30, CONSTANT },
    { "constant",
      LIST(32, FIXED(32)),
      { .null_one_in = 4, .items_never_null = true, .run = 9999 },
      { .minor = 2 },
      30,
      CONSTANT },
};

enum { EXAMPLES = sizeof examples / sizeof examples[0] };

struct work {
    const struct example *example;
    struct column column;
    struct ArrowArray rows;
    struct column_pages pages;
};

static void work_init(struct work *work, const struct example *example)
{
    struct lmn_error err;

    *work = (struct work){ .example = example };
    column_init(&work->column, example->layout, example->kind == PACKED);
    column_random(example->layout, &example->style, example->rows, 3, &work->rows);
    CHECK_STATUS(column_encode(&work->column, &work->rows, 0, example->rows, &example->options,
                               &work->pages, &err),
                 LMN_OK, &err);
}

static void work_deinit(struct work *work)
{
    column_pages_deinit(&work->pages);
    work->rows.release(&work->rows);
}

/* Decode all rows, and some of them; the first status that is not LMN_OK. */
static enum lmn_status decode(struct work *work)
{
    const uint64_t rows = work->example->rows;
    const uint64_t ranges[2][2] = { { 0, rows }, { rows / 2, 1 } };
    enum lmn_status worst = LMN_OK;
    int64_t before = live_allocations();

    for (int i = 0; i < 2; i++) {
        struct ArrowArray back;
        struct lmn_error err;
        enum lmn_status st = column_decode(&work->column, &work->pages, ranges[i][0], ranges[i][1],
                                           &back, &err);

        if (st == LMN_OK) {
            /* Every value is looked at; an array is equal to itself. */
            CHECK(column_same(work->example->layout, &back, 0, &back, 0, ranges[i][1]));
            back.release(&back);
        } else {
            CHECK(err.message[0] != '\0');
        }
        worst = worst != LMN_OK ? worst : st;
    }
    CHECK_EQ(live_allocations(), before);
    return worst;
}

static bool is_refusal(enum lmn_status st)
{
    return st == LMN_E_CORRUPT || st == LMN_E_UNSUPPORTED;
}

static void test_page__corrupt_cut_short(void **state)
{
    (void)state;
    for (int e = 0; e < EXAMPLES; e++) {
        struct lmn__encoded_page *page;
        struct work work;

        work_init(&work, &examples[e]);
        CHECK_OK(decode(&work));
        page = &work.pages.page[0];
        for (uint32_t b = 0; b < page->buffer_count; b++) {
            size_t len = page->buffer[b].len;

            /* A page without a data buffer may be without levels: then all rows are null. */
            for (size_t cut = examples[e].kind == CONSTANT; cut < len; cut++) {
                page->buffer[b].len = cut;
                if (!is_refusal(decode(&work)))
                    check_fail(__FILE__, __LINE__, "%s: buffer %u of %zu bytes decodes with %zu",
                               examples[e].name, b, len, cut);
            }
            page->buffer[b].len = len;
        }
        CHECK_OK(decode(&work));
        work_deinit(&work);
    }
    CHECK_EQ(live_allocations(), 0);
}

static void check_flips(struct work *work, uint8_t *data, size_t len, size_t step)
{
    for (size_t i = 0; i < len; i += step) {
        for (uint32_t bit = 0; bit < 8; bit++) {
            enum lmn_status st;

            data[i] = (uint8_t)(data[i] ^ 1u << bit);
            st = decode(work);
            data[i] = (uint8_t)(data[i] ^ 1u << bit);
            /* Sizes may be too large for the limit on memory before they are seen to be wrong. */
            if (st != LMN_OK && !is_refusal(st) && st != LMN_E_NO_MEMORY)
                check_fail(__FILE__, __LINE__, "%s: bit %u of byte %zu gives status %d",
                           work->example->name, bit, i, (int)st);
        }
    }
}

static void test_page__corrupt_bits_in_buffers(void **state)
{
    (void)state;
    for (int e = 0; e < EXAMPLES; e++) {
        struct work work;

        work_init(&work, &examples[e]);
        for (uint32_t b = 0; b < work.pages.page[0].buffer_count; b++) {
            struct lmn__vec *buffer = &work.pages.page[0].buffer[b];

            check_flips(&work, buffer->data, buffer->len, 1 + buffer->len / 500);
        }
        work_deinit(&work);
    }
    CHECK_EQ(live_allocations(), 0);
}

static void test_page__corrupt_bits_in_descriptions(void **state)
{
    (void)state;
    for (int e = 0; e < EXAMPLES; e++) {
        struct lmn__buf *description;
        struct work work;

        work_init(&work, &examples[e]);
        description = &work.pages.page[0].description;
        check_flips(&work, description->data, description->len, 1);
        work_deinit(&work);
    }
    CHECK_EQ(live_allocations(), 0);
}

/* A page under the description of another one. */
static void test_page__corrupt_descriptions_of_others(void **state)
{
    (void)state;
    for (int a = 0; a < EXAMPLES; a++) {
        for (int b = 0; b < EXAMPLES; b++) {
            struct work one, other;
            struct lmn__buf own;
            enum lmn_status st;

            work_init(&one, &examples[a]);
            work_init(&other, &examples[b]);
            own = one.pages.page[0].description;
            one.pages.page[0].description = other.pages.page[0].description;
            st = decode(&one);
            CHECK(st == LMN_OK || is_refusal(st) || st == LMN_E_NO_MEMORY);
            one.pages.page[0].description = own;
            work_deinit(&one);
            work_deinit(&other);
        }
    }
    CHECK_EQ(live_allocations(), 0);
}

/* Rows that the page does not have, or fewer than it has. */
static void test_page__corrupt_number_of_rows(void **state)
{
    (void)state;
    for (int e = 0; e < EXAMPLES; e++) {
        struct lmn__encoded_page *page;
        struct ArrowArray back;
        struct work work;
        struct lmn_error err;

        work_init(&work, &examples[e]);
        page = &work.pages.page[0];
        page->row_count++;
        if (page->buffer_count != 0)
            CHECK_STATUS(column_decode(&work.column, &work.pages, 0, page->row_count, &back, &err),
                         LMN_E_CORRUPT, &err);
        work_deinit(&work);
    }
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_page__corrupt_cut_short),
        cmocka_unit_test(test_page__corrupt_bits_in_buffers),
        cmocka_unit_test(test_page__corrupt_bits_in_descriptions),
        cmocka_unit_test(test_page__corrupt_descriptions_of_others),
        cmocka_unit_test(test_page__corrupt_number_of_rows),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
