/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the buffers are, by their number and whether the description holds a value:
 *
 *     none                 all rows are null, or have the value of the description
 *     rep, def             levels; no values, or the description's wherever there is one
 *     value                strings and other values over 32 bytes
 *     value, rep, def      both
 *
 * A value buffer holds the buffers of an Arrow array of one value: their number, their lengths,
 * their bytes (numbers of 32 bits).
 */
#include "codec/constant.h"

#include "base/bits.h"
#include "base/math.h"
#include "codec/fixed.h"

enum { MARK_ROWS = 1024 };

static enum lmn_status read_levels(struct lmn__scratch *scratch,
                                   const struct lmn__encoding *encoding, struct lmn__span bytes,
                                   uint64_t count, struct lmn__vec *out, struct lmn_error *err)
{
    enum lmn_status st;
    uint64_t room;

    if (bytes.len == 0)
        return LMN_OK;
    if (encoding == NULL && bytes.len % 2 != 0)
        return lmn_fail(err, LMN_E_CORRUPT, "%zu bytes of 16-bit levels", bytes.len);
    if (encoding == NULL)
        return lmn__vec_put(out, scratch->env->pool, bytes.data, bytes.len, err);
    if (!lmn__mul_u64(count, sizeof(uint16_t), &room))
        return lmn_fail(err, LMN_E_CORRUPT, "%llu levels", (unsigned long long)count);
    st = lmn__scratch_need(scratch, out, room, err);
    return st != LMN_OK ? st
                        : lmn__fixed_decode_block(scratch, encoding, bytes, 16, count, 0, count,
                                                  out->data, err);
}

/* The last of the value's Arrow buffers: its bytes. */
static enum lmn_status read_value_buffer(struct lmn__constant *page, struct lmn_env *env,
                                         const struct lmn__layout *leaf, struct lmn__span bytes,
                                         struct lmn_error *err)
{
    uint32_t expected = leaf->kind == LMN__LAYOUT_VARIABLE ? 2 : 1;
    uint64_t skip = 4 + 4 * (uint64_t)expected, len;

    if (bytes.len < skip || lmn__load_u32(bytes.data) != expected)
        return lmn_fail(err, LMN_E_CORRUPT, "a constant's value of %zu bytes has no %u buffers",
                        bytes.len, expected);
    len = lmn__load_u32(bytes.data + 4 * expected);
    if (expected == 2)
        skip += lmn__load_u32(bytes.data + 4);
    if (!lmn__range_fits(skip, len, bytes.len))
        return lmn_fail(err, LMN_E_CORRUPT, "a constant's value is cut short");
    page->has_value = true;
    return lmn__vec_put(&page->value, env->pool, bytes.data + skip, len, err);
}

static enum lmn_status mark_rows(struct lmn__constant *page, struct lmn__arena *arena,
                                 struct lmn_error *err)
{
    const uint16_t *rep = (const uint16_t *)(const void *)page->rep.data;
    uint64_t rows = 0;

    page->row_mark = lmn__arena_array(arena, page->row_count / MARK_ROWS + 1, sizeof(uint64_t));
    if (page->row_mark == NULL)
        return lmn__arena_fail(arena, "a page's rows", err);
    for (uint64_t i = 0; i < page->entry_count; i++) {
        if (rep[i] != page->layout->list_count)
            continue;
        if (rows % MARK_ROWS == 0 && rows < page->row_count)
            page->row_mark[rows / MARK_ROWS] = i;
        rows++;
    }
    if (rows != page->row_count)
        return lmn_fail(err, LMN_E_CORRUPT, "levels of %llu rows in a page of %llu",
                        (unsigned long long)rows, (unsigned long long)page->row_count);
    return LMN_OK;
}

static enum lmn_status check_page(struct lmn__constant *page, struct lmn__arena *arena,
                                  struct lmn_error *err)
{
    uint64_t reps = page->rep.len / 2, defs = page->def.len / 2;

    page->entry_count = reps != 0 ? reps : defs;
    if (reps != 0 && defs != 0 && reps != defs)
        return lmn_fail(err, LMN_E_CORRUPT, "%llu repetition and %llu definition levels",
                        (unsigned long long)reps, (unsigned long long)defs);
    if (page->layout->list_count != 0 && reps == 0)
        return lmn_fail(err, LMN_E_CORRUPT, "a constant page of lists without repetition levels");
    if (page->layout->list_count != 0)
        return mark_rows(page, arena, err);
    if (page->entry_count != 0 && page->entry_count != page->row_count)
        return lmn_fail(err, LMN_E_CORRUPT, "%llu levels in a page of %llu rows",
                        (unsigned long long)page->entry_count, (unsigned long long)page->row_count);
    return LMN_OK;
}

enum lmn_status lmn__constant_open(struct lmn__constant *page,
                                   const struct lmn__page_layout *layout,
                                   const struct lmn__layout *leaf_layout,
                                   const struct lmn__span *buffer, uint32_t buffer_count,
                                   uint64_t row_count, struct lmn__arena *arena,
                                   struct lmn__scratch *scratch, struct lmn_error *err)
{
    bool value_first = buffer_count % 2 == 1;
    enum lmn_status st = LMN_OK;

    *page = (struct lmn__constant){ .layout = layout, .row_count = row_count };
    if (buffer_count > 3 || (value_first && layout->inline_value.data != NULL))
        return lmn_fail(err, LMN_E_CORRUPT, "a constant page of %u buffers", buffer_count);
    if (layout->inline_value.data != NULL) {
        page->has_value = true;
        st = lmn__vec_put(&page->value, scratch->env->pool, layout->inline_value.data,
                          layout->inline_value.len, err);
    } else if (value_first) {
        st = read_value_buffer(page, scratch->env, leaf_layout, buffer[0], err);
    }
    buffer += value_first;
    if (st == LMN_OK && buffer_count >= 2)
        st = read_levels(scratch, layout->rep, buffer[0], layout->rep_count, &page->rep, err);
    if (st == LMN_OK && buffer_count >= 2)
        st = read_levels(scratch, layout->def, buffer[1], layout->def_count, &page->def, err);
    if (st == LMN_OK)
        st = check_page(page, arena, err);
    if (st != LMN_OK)
        lmn__constant_close(page);
    return st;
}

void lmn__constant_close(struct lmn__constant *page)
{
    lmn__vec_deinit(&page->rep);
    lmn__vec_deinit(&page->def);
    lmn__vec_deinit(&page->value);
}

/* Values for the leaf's last `count` slots. */
static enum lmn_status append_values(const struct lmn__constant *page, struct lmn__builder *builder,
                                     uint64_t count, struct lmn_error *err)
{
    struct lmn__span value = { page->value.data, page->value.len };
    uint32_t width = builder->layout->bits / 8;
    uint8_t *offsets, *data;
    uint64_t base, bytes;
    enum lmn_status st;

    if (!page->has_value)
        return lmn__builder_put_empty(builder, count, err);
    if (builder->layout->kind != LMN__LAYOUT_VARIABLE)
        return lmn__values_repeat(builder, value, count, err);
    if (!lmn__mul_u64(count, value.len, &bytes))
        return lmn__no_memory(err, "a constant's copies", UINT64_MAX);
    st = lmn__builder_extend_variable(builder, count, bytes, &offsets, &data, &base, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        memcpy(data + i * value.len, value.data, value.len);
        lmn__store_uint(offsets + i * width, width, base + (i + 1) * value.len);
    }
    return st;
}

/* Rows without levels: all of them null, or all with the value. */
static enum lmn_status append_plain(const struct lmn__constant *page, struct lmn__leaf *leaf,
                                    uint64_t count, struct lmn_error *err)
{
    struct lmn__levels levels = { NULL, NULL, count };
    uint16_t null_level[256];
    uint64_t visible;
    enum lmn_status st;

    if (page->has_value) {
        st = lmn__levels_append(page->layout, &leaf->path, &levels, &visible, err);
        return st != LMN_OK ? st : append_values(page, leaf->builder, visible, err);
    }
    for (int i = 0; i < 256; i++)
        null_level[i] = page->layout->def_max != 0;
    levels.def = null_level;
    for (st = LMN_OK; st == LMN_OK && count != 0; count -= levels.count) {
        levels.count = lmn__min_u64(count, 256);
        st = lmn__levels_append(page->layout, &leaf->path, &levels, &visible, err);
        if (st == LMN_OK)
            st = append_values(page, leaf->builder, visible, err);
    }
    return st;
}

/* The entry at which `row` begins; with lists, counted from the mark before it. */
static uint64_t find_entry(const struct lmn__constant *page, uint64_t row)
{
    const uint16_t *rep = (const uint16_t *)(const void *)page->rep.data;
    uint64_t mark;

    if (page->row_mark == NULL)
        return row;
    if (row == page->row_count)
        return page->entry_count;
    mark = page->row_mark[row / MARK_ROWS];
    return mark + lmn__levels_find_row(rep + mark, page->entry_count - mark,
                                       page->layout->list_count, row % MARK_ROWS);
}

enum lmn_status lmn__constant_append(const struct lmn__constant *page, struct lmn__leaf *leaf,
                                     uint64_t first, uint64_t count, struct lmn_error *err)
{
    const uint16_t *rep = (const uint16_t *)(const void *)page->rep.data;
    const uint16_t *def = (const uint16_t *)(const void *)page->def.data;
    struct lmn__levels levels = { 0 };
    uint64_t from, visible;
    enum lmn_status st;

    if (page->entry_count == 0)
        return append_plain(page, leaf, count, err);
    from = find_entry(page, first);
    levels.count = find_entry(page, first + count) - from;
    levels.rep = rep != NULL ? rep + from : NULL;
    levels.def = def != NULL ? def + from : NULL;
    st = lmn__levels_append(page->layout, &leaf->path, &levels, &visible, err);
    return st != LMN_OK ? st : append_values(page, leaf->builder, visible, err);
}
