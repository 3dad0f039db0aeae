/* SPDX-License-Identifier: Apache-2.0 */
#include "page_target.h"

#include "input.h"
#include "leaves.h"

enum { ROWS_MAX = 20000, NODES_MAX = 8 };

struct page_input {
    const struct lmn__layout *leaf;
    const char *nesting;
    uint64_t rows;
    struct lmn__span description;
    uint32_t buffer_count;
    struct lmn__span buffer[LMN__PAGE_BUFFER_COUNT_MAX];
};

/* The layouts around a leaf, outermost first; node[depth] is the leaf. */
struct nest {
    struct lmn__layout layout[NODES_MAX];
    const struct lmn__layout *child[NODES_MAX];
    const struct lmn__layout *outermost;
    uint32_t depth;
};

static struct page_input take_input(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len };
    struct page_input page = { 0 };

    page.leaf = leaf_layout((uint32_t)take_number(&input, 1));
    page.nesting = leaf_nesting((uint32_t)take_number(&input, 1));
    page.rows = take_number(&input, 4) % (ROWS_MAX + 1);
    page.description = take_piece(&input);
    page.buffer_count = (uint32_t)take_number(&input, 1) % (LMN__PAGE_BUFFER_COUNT_MAX + 1);
    for (uint32_t i = 0; i < page.buffer_count; i++)
        page.buffer[i] = take_piece(&input);
    return page;
}

static void make_nest(const struct page_input *page, struct nest *nest)
{
    nest->depth = (uint32_t)strlen(page->nesting);
    for (uint32_t i = nest->depth; i > 0; i--) {
        bool list = page->nesting[i - 1] == 'l';

        nest->child[i - 1] = i == nest->depth ? page->leaf : &nest->layout[i];
        nest->layout[i - 1] = (struct lmn__layout){ .kind = list ? LMN__LAYOUT_LIST
                                                                 : LMN__LAYOUT_STRUCT,
                                                    .bits = list ? 32 : 0,
                                                    .child_count = 1,
                                                    .child = &nest->child[i - 1] };
    }
    nest->outermost = nest->depth != 0 ? &nest->layout[0] : page->leaf;
}

/* Read rows [first, first + count) into builders of their own. */
static void read_rows(const struct lmn__page *page, const struct page_input *input,
                      const struct nest *nest, struct lmn__span data, uint64_t first,
                      uint64_t count, struct lmn__scratch *scratch)
{
    struct lmn__leaf leaf = { .scratch = scratch };
    struct lmn__builder root, *builder = &root;
    uint64_t from, to;
    struct ArrowArray array;

    if (lmn__page_find(page, first, count, &from, &to, NULL) != LMN_OK || to > data.len ||
        lmn__builder_init(&root, fuzz_env(), nest->outermost, NULL) != LMN_OK)
        return;
    leaf.path.count = nest->depth + 1;
    for (uint32_t i = 0; i <= nest->depth; i++) {
        leaf.path.step[nest->depth - i] = (struct lmn__path_step){
            .builder = builder, .is_list = input->nesting[i] == 'l', .stride = 1
        };
        leaf.builder = builder;
        builder = builder->child;
    }
    if (data.len != 0)
        data = (struct lmn__span){ data.data + from, to - from };
    if (lmn__levels_check(page->layout, &leaf.path, NULL) == LMN_OK &&
        lmn__page_append(page, &leaf, data, first, count, NULL) == LMN_OK &&
        lmn__builder_check(&root, count, NULL) == LMN_OK &&
        lmn__builder_finish(&root, &array, NULL) == LMN_OK)
        array.release(&array);
    lmn__vec_deinit(&leaf.merge);
    lmn__builder_deinit(&root);
}

static void open_and_read(const struct page_input *input, const struct lmn__page_layout *layout)
{
    int data_buffer = lmn__page_data_buffer(layout);
    struct lmn__block *block[LMN__PAGE_BUFFER_COUNT_MAX] = { NULL };
    struct lmn__span data = { NULL, 0 }, buffer[LMN__PAGE_BUFFER_COUNT_MAX];
    struct lmn__scratch scratch;
    struct lmn__page page;
    struct nest nest;
    bool ok = data_buffer < (int)input->buffer_count;

    make_nest(input, &nest);
    lmn__scratch_init(&scratch, fuzz_env());
    memcpy(buffer, input->buffer, sizeof buffer);
    for (uint32_t i = 0; ok && i < input->buffer_count; i++) {
        ok = lmn__block_new(fuzz_env()->pool, buffer[i].len, &block[i], NULL) == LMN_OK;
        if (ok && buffer[i].len != 0)
            memcpy(block[i]->data, buffer[i].data, buffer[i].len);
    }
    if (ok && data_buffer >= 0) {
        data = buffer[data_buffer];
        buffer[data_buffer] = (struct lmn__span){ NULL, 0 };
    }
    if (ok &&
        lmn__page_open(&page, fuzz_env(), 1, layout, input->leaf, buffer, block,
                       input->buffer_count, data.len, input->rows, &scratch, NULL) == LMN_OK) {
        if (input->rows != 0) {
            read_rows(&page, input, &nest, data, 0, input->rows, &scratch);
            read_rows(&page, input, &nest, data, input->rows / 2, 1, &scratch);
            read_rows(&page, input, &nest, data, input->rows / 3, input->rows / 2 + 1, &scratch);
        }
        lmn__page_close(&page);
    }
    for (uint32_t i = 0; i < input->buffer_count; i++)
        lmn__block_release(block[i]);
    lmn__scratch_deinit(&scratch);
}

void page_target(enum lmn__page_kind kind, const uint8_t *data, size_t len)
{
    struct page_input input = take_input(data, len);
    const struct lmn__page_layout *layout;
    struct lmn__arena arena;

    lmn__arena_init(&arena, fuzz_env(), 0);
    if (lmn__page_layout_read(input.description, &arena, &layout, NULL) == LMN_OK) {
        if (layout->kind == LMN__PAGE_BLOB)
            layout = layout->inner;
        if (layout->kind == kind)
            open_and_read(&input, layout);
    }
    lmn__arena_deinit(&arena);
}
