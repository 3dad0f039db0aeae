/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mini-block pages: their chunks' limits, and damage to each of their buffers.
 */
#include <string.h>

#include "check.h"
#include "columns.h"

static const struct lmn__encode_options version21 = { .minor = 1 };

/* Lists of 64-bit numbers while they are put together. */
static void add_list(struct lmn__builder *lists, const uint64_t *item, uint64_t count)
{
    struct lmn__builder *items = &lists->child[0];
    uint32_t start = (uint32_t)items->length;
    uint8_t *at;

    CHECK_OK(lmn__builder_add_valid(lists, 1, NULL));
    CHECK_OK(lmn__vec_put(&lists->offsets, lists->env->pool, &start, sizeof start, NULL));
    CHECK_OK(lmn__builder_add_valid(items, count, NULL));
    CHECK_OK(lmn__builder_extend(items, count, &at, NULL));
    if (count != 0)
        memcpy(at, item, count * sizeof *item);
}

static enum lmn__page_kind page_kind(const struct lmn__encoded_page *page)
{
    struct lmn__span description = { page->description.data, page->description.len };
    const struct lmn__page_layout *layout;
    enum lmn__page_kind kind;
    struct lmn__arena arena;

    lmn__arena_init(&arena, test_env(), 0);
    CHECK_OK(lmn__page_layout_read(description, &arena, &layout, NULL));
    kind = layout->kind;
    lmn__arena_deinit(&arena);
    return kind;
}

static void check_lists(struct lmn__builder *lists, enum lmn__page_kind kind)
{
    uint64_t count = lists->length;
    struct ArrowArray rows, back;
    struct column_pages pages;
    struct column column;
    struct lmn_error err;

    column_init(&column, lists->layout, false);
    CHECK_OK(lmn__builder_finish(lists, &rows, &err));
    CHECK_STATUS(column_encode(&column, &rows, 0, count, &version21, &pages, &err), LMN_OK, &err);
    CHECK_EQ(page_kind(&pages.page[0]), kind);
    CHECK_STATUS(column_decode(&column, &pages, 0, count, &back, &err), LMN_OK, &err);
    CHECK(column_same(column.layout, &rows, 0, &back, 0, count));
    back.release(&back);
    column_pages_deinit(&pages);
    rows.release(&rows);
}

/* Runs that do not run in one chunk take more bytes there than flat values; levels add to it. */
static void test_miniblock__runs_and_levels_share_a_chunk(void **state)
{
    const struct lmn__layout *layout = LIST(32, FIXED(64));
    struct lmn__builder lists;
    uint64_t equal[255];

    (void)state;
    CHECK_OK(lmn__builder_init(&lists, test_env(), layout, NULL));
    for (uint64_t i = 0; i < 2048; i++) {
        uint64_t other = i * 0x9e3779b97f4a7c15u + 1;

        add_list(&lists, &other, 1);
        for (int k = 0; k < 27; k++)
            add_list(&lists, NULL, 0);
    }
    for (uint64_t i = 0; i < 2000; i++) {
        for (int k = 0; k < 255; k++)
            equal[k] = ~i;
        add_list(&lists, equal, 255);
    }
    check_lists(&lists, LMN__PAGE_MINI_BLOCK);
    lmn__builder_deinit(&lists);
    CHECK_EQ(live_allocations(), 0);
}

/* Entries without a value have no chunk of their own: too many of them need another layout. */
static void test_miniblock__gives_way_to_full_zip(void **state)
{
    const struct lmn__layout *layout = LIST(32, FIXED(64));
    static const uint64_t item[3] = { 1, 1, 2 };
    struct lmn__builder lists;

    (void)state;
    CHECK_OK(lmn__builder_init(&lists, test_env(), layout, NULL));
    add_list(&lists, item, 3);
    for (int k = 0; k < 90000; k++)
        add_list(&lists, NULL, 0);
    add_list(&lists, item, 3);
    check_lists(&lists, LMN__PAGE_FULL_ZIP);
    lmn__builder_deinit(&lists);
    CHECK_EQ(live_allocations(), 0);
}

/* Two rows have to fit into a chunk; that of version 2.2 has room for any. */
static void test_miniblock__refuses_wide_packed_structs(void **state)
{
    static const struct lmn__encode_options version22 = { .minor = 2 };
    static const struct column_style style = { 0 };
    const struct lmn__layout *layout = PAIR(FIXED(160000), FIXED(16));
    struct ArrowArray rows, back;
    struct column_pages pages;
    struct column column;
    struct lmn_error err;

    (void)state;
    column_random(layout, &style, 5, 1, &rows);
    column_init(&column, layout, true);
    CHECK_STATUS(column_encode(&column, &rows, 0, 5, &version21, &pages, &err), LMN_E_UNSUPPORTED,
                 &err);
    CHECK_HAS(err.message, "20002 bytes");
    column_pages_deinit(&pages);
    CHECK_OK(column_encode(&column, &rows, 0, 5, &version22, &pages, &err));
    CHECK_STATUS(column_decode(&column, &pages, 0, 5, &back, &err), LMN_OK, &err);
    CHECK(column_same(layout, &rows, 0, &back, 0, 5));
    back.release(&back);
    column_pages_deinit(&pages);
    rows.release(&rows);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_miniblock__runs_and_levels_share_a_chunk),
        cmocka_unit_test(test_miniblock__gives_way_to_full_zip),
        cmocka_unit_test(test_miniblock__refuses_wide_packed_structs),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
