/* SPDX-License-Identifier: Apache-2.0 */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { BYTES_MAX = 20, ITEMS_MAX = 4, DICTIONARY_VALUES = 9 };

static void fill(struct lmn__builder *builder, const struct column_style *style, bool top,
                 uint64_t count, uint64_t *seed);

static void fill_fixed(struct lmn__builder *builder, const struct column_style *style,
                       uint64_t *seed)
{
    uint32_t bits = builder->layout->bits;
    uint64_t slot = builder->length - 1, number = 0, mask = UINT64_MAX;
    uint8_t *at, bit;

    if (style->value_bits != 0 && style->value_bits < 64)
        mask = ((uint64_t)1 << style->value_bits) - 1;
    if (bits == 1) {
        bit = (uint8_t)test_random(seed);
        CHECK_OK(lmn__builder_put_bits(builder, &bit, 0, 1, NULL));
        return;
    }
    if (style->run != 0)
        number = slot / style->run * 0x9e3779b97f4a7c15u;
    CHECK_OK(lmn__builder_extend(builder, 1, &at, NULL));
    for (uint32_t i = 0; i < bits / 8; i++) {
        if (i % 8 == 0 && style->run == 0)
            number = test_random(seed) & mask;
        at[i] = (uint8_t)((number & mask) >> (i % 8 * 8));
    }
}

static void fill_variable(struct lmn__builder *builder, const struct column_style *style,
                          uint64_t *seed)
{
    uint64_t own = style->distinct != 0 ? test_random(seed) % style->distinct + 77
                                        : test_random(seed);
    uint32_t max = style->bytes_max != 0 ? style->bytes_max : BYTES_MAX;
    uint64_t len = test_random(&own) % (max + 1), base;
    uint8_t *offset, *data;

    CHECK_OK(lmn__builder_extend_variable(builder, 1, len, &offset, &data, &base, NULL));
    for (uint64_t i = 0; i < len; i++)
        data[i] = (uint8_t)test_random(&own);
    lmn__store_uint(offset, builder->layout->bits / 8, base + len);
}

static void fill_list(struct lmn__builder *builder, const struct column_style *style, bool null,
                      uint64_t *seed)
{
    uint64_t start = builder->child[0].length;
    uint32_t max = style->items_max != 0 ? style->items_max : ITEMS_MAX;
    uint64_t items = test_random(seed) % (max + 1);

    CHECK_OK(lmn__vec_put(&builder->offsets, builder->env->pool, &start, builder->layout->bits / 8,
                          NULL));
    if (!null || style->full_null_lists)
        fill(&builder->child[0], style, false, items, seed);
}

static void fill_index(struct lmn__builder *builder, uint64_t *seed)
{
    static const struct column_style plain = { 0 };
    uint64_t index = test_random(seed) % DICTIONARY_VALUES;

    if (builder->child[0].length == 0)
        fill(&builder->child[0], &plain, false, DICTIONARY_VALUES, seed);
    CHECK_OK(lmn__vec_put(&builder->values, builder->env->pool, &index, builder->layout->bits / 8,
                          NULL));
}

static void fill_value(struct lmn__builder *builder, const struct column_style *style, bool null,
                       uint64_t *seed)
{
    const struct lmn__layout *layout = builder->layout;

    switch (layout->kind) {
    case LMN__LAYOUT_NULL:
        break;
    case LMN__LAYOUT_FIXED:
        fill_fixed(builder, style, seed);
        break;
    case LMN__LAYOUT_VARIABLE:
        fill_variable(builder, style, seed);
        break;
    case LMN__LAYOUT_LIST:
        fill_list(builder, style, null, seed);
        break;
    case LMN__LAYOUT_DICTIONARY:
        fill_index(builder, seed);
        break;
    case LMN__LAYOUT_FIXED_LIST:
        fill(&builder->child[0], style, false, layout->dimension, seed);
        break;
    case LMN__LAYOUT_STRUCT:
        for (uint32_t i = 0; i < layout->child_count; i++)
            fill(&builder->child[i], style, false, 1, seed);
        break;
    }
}

static void fill(struct lmn__builder *builder, const struct column_style *style, bool top,
                 uint64_t count, uint64_t *seed)
{
    uint32_t nulls = style->items_never_null && !top ? 0 : style->null_one_in;

    for (uint64_t i = 0; i < count; i++) {
        bool null = builder->layout->kind == LMN__LAYOUT_NULL ||
                    (nulls != 0 && test_random(seed) % nulls == 0);

        if (null)
            CHECK_OK(lmn__builder_add_null(builder, 1, NULL));
        else
            CHECK_OK(lmn__builder_add_valid(builder, 1, NULL));
        fill_value(builder, style, null, seed);
    }
}

void column_random(const struct lmn__layout *layout, const struct column_style *style,
                   uint64_t rows, uint64_t seed, struct ArrowArray *array_out)
{
    struct lmn__builder builder;

    CHECK_OK(lmn__builder_init(&builder, test_env(), layout, NULL));
    fill(&builder, style, true, rows, &seed);
    CHECK_OK(lmn__builder_check(&builder, rows, NULL));
    CHECK_OK(lmn__builder_finish(&builder, array_out, NULL));
    lmn__builder_deinit(&builder);
}

static bool same_bytes(const struct lmn__layout *layout, const struct ArrowArray *a, uint64_t i,
                       const struct ArrowArray *b, uint64_t k)
{
    uint32_t bytes = layout->bits / 8;
    uint64_t at_a = (uint64_t)a->offset + i, at_b = (uint64_t)b->offset + k;
    const uint8_t *x, *y;

    if (layout->kind == LMN__LAYOUT_VARIABLE) {
        struct lmn__span one = lmn__view_bytes(layout, a, i), two = lmn__view_bytes(layout, b, k);

        return one.len == two.len && (one.len == 0 || memcmp(one.data, two.data, one.len) == 0);
    }
    x = a->buffers[1];
    y = b->buffers[1];
    if (layout->bits == 1)
        return lmn__bit_get(x, at_a) == lmn__bit_get(y, at_b);
    if (layout->kind == LMN__LAYOUT_DICTIONARY)
        return column_same(layout->child[0], a->dictionary, lmn__load_uint(x + at_a * bytes, bytes),
                           b->dictionary, lmn__load_uint(y + at_b * bytes, bytes), 1);
    return bytes == 0 || memcmp(x + at_a * bytes, y + at_b * bytes, bytes) == 0;
}

static bool same_slot(const struct lmn__layout *layout, const struct ArrowArray *a, uint64_t i,
                      const struct ArrowArray *b, uint64_t k)
{
    uint64_t at_a = (uint64_t)a->offset + i, at_b = (uint64_t)b->offset + k;
    uint32_t width = layout->bits / 8, many = layout->dimension;
    uint64_t len;
    bool same = true;

    switch (layout->kind) {
    case LMN__LAYOUT_NULL:
        return true;
    case LMN__LAYOUT_LIST:
        len = lmn__view_offset(a, width, i + 1) - lmn__view_offset(a, width, i);
        return lmn__view_offset(b, width, k + 1) - lmn__view_offset(b, width, k) == len &&
               column_same(layout->child[0], a->children[0], lmn__view_offset(a, width, i),
                           b->children[0], lmn__view_offset(b, width, k), len);
    case LMN__LAYOUT_FIXED_LIST:
        return column_same(layout->child[0], a->children[0], at_a * many, b->children[0],
                           at_b * many, many);
    case LMN__LAYOUT_STRUCT:
        for (uint32_t c = 0; same && c < layout->child_count; c++)
            same = column_same(layout->child[c], a->children[c], at_a, b->children[c], at_b, 1);
        return same;
    default:
        return same_bytes(layout, a, i, b, k);
    }
}

bool column_same(const struct lmn__layout *layout, const struct ArrowArray *a, uint64_t first_a,
                 const struct ArrowArray *b, uint64_t first_b, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        bool null = lmn__view_is_null(a, first_a + i);

        if (layout->kind == LMN__LAYOUT_NULL)
            continue;
        if (null != lmn__view_is_null(b, first_b + i) ||
            (!null && !same_slot(layout, a, first_a + i, b, first_b + i))) {
            print_error("slots %llu and %llu of kind %d, %u bits, differ\n",
                        (unsigned long long)(first_a + i), (unsigned long long)(first_b + i),
                        (int)layout->kind, layout->bits);
            return false;
        }
    }
    return true;
}

/* Is this node a leaf, or are there leaves below it? */
static bool is_leaf(const struct lmn__layout *layout, bool packed)
{
    while (layout->kind == LMN__LAYOUT_FIXED_LIST)
        layout = layout->child[0];
    return layout->kind != LMN__LAYOUT_LIST && (layout->kind != LMN__LAYOUT_STRUCT || packed);
}

static void add_leaves(struct column *column, const struct lmn__layout *layout, uint32_t depth,
                       struct lmn__shred_node *path)
{
    path[depth] = (struct lmn__shred_node){ layout, 0 };
    if (is_leaf(layout, column->packed)) {
        CHECK(column->leaf_count < COLUMN_LEAVES_MAX);
        column->depth[column->leaf_count] = depth + 1;
        memcpy(column->node[column->leaf_count++], path, (depth + 1) * sizeof *path);
        return;
    }
    CHECK(depth + 1 < COLUMN_DEPTH_MAX);
    for (uint32_t i = 0; i < layout->child_count; i++) {
        path[depth].child = i;
        add_leaves(column, layout->child[i], depth + 1, path);
    }
}

void column_init(struct column *column, const struct lmn__layout *layout, bool packed)
{
    struct lmn__shred_node path[COLUMN_DEPTH_MAX];

    *column = (struct column){ .layout = layout, .packed = packed };
    add_leaves(column, layout, 0, path);
}

enum lmn_status column_encode(const struct column *column, const struct ArrowArray *array,
                              uint64_t first, uint64_t count,
                              const struct lmn__encode_options *options,
                              struct column_pages *pages_out, struct lmn_error *err)
{
    struct lmn__scratch scratch;
    enum lmn_status st = LMN_OK;

    *pages_out = (struct column_pages){ .rows = count };
    lmn__scratch_init(&scratch, test_env());
    for (uint32_t i = 0; st == LMN_OK && i < column->leaf_count; i++) {
        const struct lmn__shred_node *node = column->node[i];
        struct lmn__shred shred;

        st = lmn__shred_init(&shred, test_env(), node, column->depth[i],
                             node[column->depth[i] - 1].layout, err);
        if (st != LMN_OK)
            break;
        st = lmn__shred_append(&shred, array, first, count, err);
        if (st == LMN_OK)
            st = lmn__page_encode(&shred, options, &scratch, &pages_out->page[i], err);
        lmn__shred_deinit(&shred);
    }
    lmn__scratch_deinit(&scratch);
    return st;
}

void column_pages_deinit(struct column_pages *pages)
{
    for (uint32_t i = 0; i < COLUMN_LEAVES_MAX; i++)
        lmn__encoded_page_deinit(&pages->page[i]);
}

/* A page's bytes, each buffer in memory of its exact size, so that nothing reads beyond. */
struct page_bytes {
    struct lmn__span description;
    struct lmn__span buffer[LMN__PAGE_BUFFER_COUNT_MAX];
};

static struct lmn__span copy_bytes(const void *data, size_t len)
{
    uint8_t *copy = malloc(len);

    CHECK(copy != NULL || len == 0);
    if (len != 0)
        memcpy(copy, data, len);
    return (struct lmn__span){ copy, len };
}

static void page_bytes_init(struct page_bytes *bytes, const struct lmn__encoded_page *page)
{
    bytes->description = copy_bytes(page->description.data, page->description.len);
    for (uint32_t i = 0; i < LMN__PAGE_BUFFER_COUNT_MAX; i++)
        bytes->buffer[i] = copy_bytes(page->buffer[i].data, page->buffer[i].len);
}

static void page_bytes_deinit(struct page_bytes *bytes)
{
    free((void *)bytes->description.data);
    for (uint32_t i = 0; i < LMN__PAGE_BUFFER_COUNT_MAX; i++)
        free((void *)bytes->buffer[i].data);
}

/* The steps from the leaf outwards; nodes that an earlier leaf shares are filled by that one. */
static uint64_t make_path(const struct column *column, uint32_t index, struct lmn__builder *root,
                          struct lmn__leaf *leaf)
{
    const struct lmn__shred_node *node = column->node[index];
    uint32_t depth = column->depth[index];
    uint64_t stride = 1;
    bool shared = index != 0;

    leaf->path.count = depth;
    leaf->builder = root;
    for (uint32_t i = 0; i < depth; i++) {
        struct lmn__path_step *step = &leaf->path.step[depth - 1 - i];

        *step = (struct lmn__path_step){ .builder = shared ? NULL : leaf->builder,
                                         .is_list = node[i].layout->kind == LMN__LAYOUT_LIST };
        shared = shared && node[i].child == column->node[index - 1][i].child;
        if (i + 1 < depth)
            leaf->builder = &leaf->builder->child[node[i].child];
    }
    for (uint32_t i = 0; i < depth; i++) {
        if (i != 0 && node[depth - 1 - i].layout->kind == LMN__LAYOUT_FIXED_LIST)
            stride *= node[depth - 1 - i].layout->dimension;
        leaf->path.step[i].stride = stride;
    }
    return stride;
}

/* Append rows of one leaf's page to the column's builders. */
static enum lmn_status append_rows(const struct column *column, uint32_t index,
                                   const struct lmn__page *page, struct lmn__span data,
                                   uint64_t first, uint64_t count, struct lmn__builder *root,
                                   struct lmn__scratch *scratch, struct lmn_error *err)
{
    struct lmn__leaf leaf = { .scratch = scratch };
    uint64_t stride = make_path(column, index, root, &leaf), from, to;
    struct lmn__span part = { NULL, 0 };
    enum lmn_status st = lmn__levels_check(page->layout, &leaf.path, err);

    if (st == LMN_OK)
        st = lmn__page_find(page, first * stride, count * stride, &from, &to, err);
    if (st != LMN_OK)
        return st;
    CHECK(from <= to && to <= data.len);
    if (from != to)
        part = copy_bytes(data.data + from, to - from);
    st = lmn__page_append(page, &leaf, part, first * stride, count * stride, err);
    free((void *)part.data);
    lmn__vec_deinit(&leaf.merge);
    return st;
}

static enum lmn_status decode_leaf(const struct column *column, uint32_t index,
                                   const struct lmn__encoded_page *encoded, uint64_t first,
                                   uint64_t count, struct lmn__builder *root, struct lmn_error *err)
{
    static struct lmn__block *const no_block[LMN__PAGE_BUFFER_COUNT_MAX];
    const struct lmn__layout *leaf_layout = column->node[index][column->depth[index] - 1].layout;
    const struct lmn__page_layout *layout;
    struct lmn__span data = { NULL, 0 };
    struct lmn__scratch scratch;
    struct page_bytes bytes;
    struct lmn__arena arena;
    struct lmn__page page;
    enum lmn_status st;

    page_bytes_init(&bytes, encoded);
    lmn__scratch_init(&scratch, test_env());
    lmn__arena_init(&arena, test_env(), 0);
    st = lmn__page_layout_read(bytes.description, &arena, &layout, err);
    if (st == LMN_OK && lmn__page_data_buffer(layout) >= 0)
        data = bytes.buffer[lmn__page_data_buffer(layout)];
    if (st == LMN_OK)
        st = lmn__page_open(&page, test_env(), 1, layout, leaf_layout, bytes.buffer, no_block,
                            encoded->buffer_count, data.len, encoded->row_count, &scratch, err);
    if (st == LMN_OK) {
        st = append_rows(column, index, &page, data, first, count, root, &scratch, err);
        lmn__page_close(&page);
    }
    lmn__arena_deinit(&arena);
    lmn__scratch_deinit(&scratch);
    page_bytes_deinit(&bytes);
    return st;
}

enum lmn_status column_decode(const struct column *column, const struct column_pages *pages,
                              uint64_t first, uint64_t count, struct ArrowArray *array_out,
                              struct lmn_error *err)
{
    struct lmn__builder root;
    enum lmn_status st = lmn__builder_init(&root, test_env(), column->layout, err);

    *array_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; st == LMN_OK && i < column->leaf_count; i++)
        st = decode_leaf(column, i, &pages->page[i], first, count, &root, err);
    if (st == LMN_OK)
        st = lmn__builder_check(&root, count, err);
    if (st == LMN_OK)
        st = lmn__builder_finish(&root, array_out, err);
    lmn__builder_deinit(&root);
    return st;
}
