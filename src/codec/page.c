/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/page.h"

int lmn__page_data_buffer(const struct lmn__page_layout *layout)
{
    switch (layout->kind) {
    case LMN__PAGE_MINI_BLOCK:
        return 1;
    case LMN__PAGE_FULL_ZIP:
        return 0;
    default:
        return LMN__PAGE_NO_DATA;
    }
}

static enum lmn_status open_mini(struct lmn__page *page, struct lmn_env *env, uint64_t id,
                                 const struct lmn__layout *leaf, const struct lmn__span *buffer,
                                 uint32_t buffer_count, uint64_t data_bytes,
                                 struct lmn__scratch *scratch, struct lmn_error *err)
{
    const struct lmn__page_layout *layout = page->layout;
    uint32_t expected = 2u + (layout->dictionary != NULL) + layout->has_row_index;
    struct lmn__span index[LMN__PAGE_BUFFER_COUNT_MAX];

    if (buffer_count != expected)
        return lmn_fail(err, LMN_E_CORRUPT, "a mini-block page of %u buffers instead of %u",
                        buffer_count, expected);
    index[0] = buffer[0];
    for (uint32_t i = 2; i < buffer_count; i++)
        index[i - 1] = buffer[i];
    return lmn__miniblock_open(&page->mini, env, id, layout, leaf, index, data_bytes,
                               page->row_count, &page->arena, scratch, err);
}

static enum lmn_status open_zip(struct lmn__page *page, const struct lmn__layout *leaf,
                                const struct lmn__span *buffer, struct lmn__block *const *block,
                                uint32_t buffer_count, uint64_t data_bytes, struct lmn_error *err)
{
    bool has_index = lmn__fullzip_has_index(page->layout);

    if (buffer_count < 1u + has_index)
        return lmn_fail(err, LMN_E_CORRUPT, "a full-zip page of %u buffers", buffer_count);
    return lmn__fullzip_open(&page->zip, page->layout, leaf, has_index ? block[1] : NULL,
                             has_index ? buffer[1] : (struct lmn__span){ NULL, 0 }, data_bytes,
                             page->row_count, &page->arena, err);
}

enum lmn_status lmn__page_open(struct lmn__page *page, struct lmn_env *env, uint64_t id,
                               const struct lmn__page_layout *layout,
                               const struct lmn__layout *leaf_layout,
                               const struct lmn__span *buffer, struct lmn__block *const *block,
                               uint32_t buffer_count, uint64_t data_bytes, uint64_t row_count,
                               struct lmn__scratch *scratch, struct lmn_error *err)
{
    enum lmn_status st;

    *page = (struct lmn__page){ .layout = layout, .row_count = row_count };
    lmn__arena_init(&page->arena, env, 0);
    switch (layout->kind) {
    case LMN__PAGE_MINI_BLOCK:
        st = open_mini(page, env, id, leaf_layout, buffer, buffer_count, data_bytes, scratch, err);
        break;
    case LMN__PAGE_FULL_ZIP:
        st = open_zip(page, leaf_layout, buffer, block, buffer_count, data_bytes, err);
        break;
    case LMN__PAGE_CONSTANT:
        st = lmn__constant_open(&page->constant, layout, leaf_layout, buffer, buffer_count,
                                row_count, &page->arena, scratch, err);
        break;
    default:
        st = lmn_fail(err, LMN_E_CORRUPT, "a blob page where values are expected");
    }
    if (st != LMN_OK)
        lmn__arena_deinit(&page->arena);
    return st;
}

void lmn__page_close(struct lmn__page *page)
{
    switch (page->layout->kind) {
    case LMN__PAGE_MINI_BLOCK:
        lmn__miniblock_close(&page->mini);
        break;
    case LMN__PAGE_FULL_ZIP:
        lmn__fullzip_close(&page->zip);
        break;
    default:
        lmn__constant_close(&page->constant);
    }
    lmn__arena_deinit(&page->arena);
}

enum lmn_status lmn__page_find(const struct lmn__page *page, uint64_t first, uint64_t count,
                               uint64_t *from_out, uint64_t *to_out, struct lmn_error *err)
{
    uint64_t from, to;

    *from_out = *to_out = 0;
    switch (page->layout->kind) {
    case LMN__PAGE_MINI_BLOCK:
        lmn__miniblock_find(&page->mini, first, count, &from, &to);
        *from_out = page->mini.chunk[from].offset;
        *to_out = page->mini.chunk[to].offset;
        return LMN_OK;
    case LMN__PAGE_FULL_ZIP:
        return lmn__fullzip_find(&page->zip, first, count, from_out, to_out, err);
    default:
        return LMN_OK;
    }
}

enum lmn_status lmn__page_land(const struct lmn__page *page, struct lmn__leaf *leaf, uint64_t bytes,
                               struct lmn__landing *landing, struct lmn_error *err)
{
    *landing = (struct lmn__landing){ 0 };
    if (page->layout->kind != LMN__PAGE_FULL_ZIP)
        return LMN_OK;
    return lmn__fullzip_land(&page->zip, leaf, bytes, landing, err);
}

enum lmn_status lmn__page_append(const struct lmn__page *page, struct lmn__leaf *leaf,
                                 struct lmn__span data, uint64_t first, uint64_t count,
                                 struct lmn_error *err)
{
    switch (page->layout->kind) {
    case LMN__PAGE_MINI_BLOCK:
        return lmn__miniblock_append(&page->mini, leaf, data, first, count, err);
    case LMN__PAGE_FULL_ZIP:
        return lmn__fullzip_append(&page->zip, leaf, data, count, err);
    default:
        return lmn__constant_append(&page->constant, leaf, first, count, err);
    }
}

uint64_t lmn__page_bytes(const struct lmn__page *page)
{
    uint64_t bytes = sizeof *page + page->arena.bytes;

    switch (page->layout->kind) {
    case LMN__PAGE_MINI_BLOCK:
        return bytes + page->mini.values.dictionary.values.len +
               page->mini.values.dictionary.offsets.len;
    case LMN__PAGE_FULL_ZIP:
        return bytes + (page->zip.index_block != NULL ? page->zip.index_block->cap : 0);
    default:
        return bytes + page->constant.rep.len + page->constant.def.len + page->constant.value.len;
    }
}
