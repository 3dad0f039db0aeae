/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges are cut at page borders. Within a page, neighbouring pieces whose bytes lie close
 * together are fetched by one read: a gap is read through when that costs less than another
 * call. What one read fetches is bounded, so that the memory in use is that of the batch.
 */
#include "format/leaf_reader.h"

#include "base/error.h"
#include "base/math.h"
#include "codec/page.h"
#include "format/blob.h"
#include "format/page_cache.h"

enum { GAP_BYTES_MAX = 8 << 10, FETCH_BYTES_MAX = 8 << 20 };

/* Where the walk over all ranges stands; rows are those of the column. */
struct cursor {
    const struct lmn__row_range *range;
    uint64_t range_count;
    uint64_t stride;
    uint64_t index; /* of the current range */
    uint64_t done;  /* rows of it that are behind */
};

/* A piece of a range inside one page, and where its bytes are in the page's data. */
struct piece {
    uint64_t first, count;
    uint64_t from, to;
};

/* The rest of the current range, as rows of the column; false at the end. */
static bool cursor_peek(struct cursor *cursor, uint64_t *first_out, uint64_t *count_out)
{
    while (cursor->index < cursor->range_count) {
        const struct lmn__row_range *range = &cursor->range[cursor->index];

        *first_out = range->first * cursor->stride + cursor->done;
        *count_out = range->count * cursor->stride - cursor->done;
        if (*count_out != 0)
            return true;
        cursor->index++;
        cursor->done = 0;
    }
    return false;
}

static void cursor_skip(struct cursor *cursor, uint64_t count)
{
    cursor->done += count;
}

/* The next piece if it begins in this page. */
static enum lmn_status next_piece(const struct lmn__page_info *info, const struct lmn__page *page,
                                  struct cursor *cursor, struct piece *piece, bool *found_out,
                                  struct lmn_error *err)
{
    uint64_t end = info->first_row + info->row_count;

    *found_out = cursor_peek(cursor, &piece->first, &piece->count) && piece->first < end;
    if (!*found_out)
        return LMN_OK;
    piece->count = lmn__min_u64(piece->count, end - piece->first);
    piece->first -= info->first_row;
    return lmn__page_find(page, piece->first, piece->count, &piece->from, &piece->to, err);
}

static enum lmn_status append_pieces(struct lmn_file *file, const struct lmn__cached_page *cached,
                                     struct lmn__leaf *leaf, const struct piece *piece,
                                     uint64_t count, struct lmn_error *err)
{
    uint64_t from = piece[0].from, bytes = piece[count - 1].to - from;
    struct lmn__block *block = NULL;
    enum lmn_status st = LMN_OK;

    if (bytes != 0)
        st = lmn__object_read_block(&file->object, cached->data.position + from, bytes, &block,
                                    err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        struct lmn__span data = { block != NULL ? block->data + (piece[i].from - from) : NULL,
                                  piece[i].to - piece[i].from };

        st = lmn__page_append(&cached->page, leaf, count == 1 ? block : NULL, data, piece[i].first,
                              piece[i].count, err);
    }
    lmn__block_release(block);
    return st;
}

/* All pieces of this page, in groups that one read fetches. */
static enum lmn_status read_page(struct lmn_file *file, const struct lmn__page_info *info,
                                 const struct lmn__cached_page *cached, struct lmn__leaf *leaf,
                                 struct cursor *cursor, struct lmn_error *err)
{
    enum { GROUP_MAX = 256 };
    struct piece piece[GROUP_MAX];
    uint64_t count = 0;
    bool found = true;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && found) {
        struct piece *last = &piece[count];

        st = next_piece(info, &cached->page, cursor, last, &found, err);
        if (st != LMN_OK)
            break;
        if (found)
            cursor_skip(cursor, last->count);
        if (found && (count == 0 || (count + 1 < GROUP_MAX && last->from >= piece[0].from &&
                                     last->from <= piece[count - 1].to + GAP_BYTES_MAX &&
                                     last->to >= piece[count - 1].to &&
                                     last->to - piece[0].from <= FETCH_BYTES_MAX))) {
            count++;
            continue;
        }
        if (count != 0)
            st = append_pieces(file, cached, leaf, piece, count, err);
        piece[0] = *last;
        count = found;
    }
    return st;
}

/*
 * A page of blobs holds descriptors in an inner page of its own; those of nulls say which level
 * is null.
 */
static enum lmn_status read_blob_page(struct lmn_file *file, const struct lmn__page_info *info,
                                      const struct lmn__cached_page *cached, struct lmn__leaf *leaf,
                                      struct cursor *cursor, struct lmn_error *err)
{
    struct lmn__leaf inner = { .scratch = leaf->scratch };
    struct lmn__builder raw;
    enum lmn_status st = lmn__builder_init(&raw, file->env, leaf->builder->layout, err);

    if (st != LMN_OK)
        return st;
    inner.builder = &raw;
    inner.path.count = 1;
    inner.path.step[0] = (struct lmn__path_step){ .builder = &raw, .stride = 1 };
    st = lmn__levels_check(cached->page.layout, &inner.path, err);
    if (st == LMN_OK)
        st = read_page(file, info, cached, &inner, cursor, err);
    if (st == LMN_OK)
        st = lmn__builder_check(&raw, raw.length, err);
    if (st == LMN_OK)
        st = lmn__blob_append_descriptors(info->layout, &raw, leaf, err);
    lmn__builder_deinit(&raw);
    return st;
}

/*
 * The builders from the leaf outwards. Entries of nodes around a fixed list of structs come once
 * per item of the list; their stride says how many make one slot.
 */
static void make_path(const struct lmn__leaf_plan *plan, struct lmn__builder *root,
                      struct lmn__leaf *leaf)
{
    struct lmn__builder *builder = root;
    const struct lmn__node *node = plan->node;
    uint64_t stride = 1;

    leaf->path.count = plan->depth;
    for (uint32_t i = 0; i < plan->depth; i++) {
        struct lmn__path_step *step = &leaf->path.step[plan->depth - 1 - i];

        builder = &builder->child[plan->child[i]];
        step->builder = plan->fills[i] ? builder : NULL;
    }
    leaf->builder = builder;
    for (uint32_t i = 0; i < plan->depth; i++, node = node->parent) {
        if (node->kind == LMN__NODE_FIXED_LIST)
            stride *= node->dimension;
        leaf->path.step[i].is_list = node->kind == LMN__NODE_LIST;
        leaf->path.step[i].stride = stride;
        leaf->path.step[i].phase = 0;
    }
}

static enum lmn_status read_ranges(struct lmn_file *file, const struct lmn__leaf_plan *plan,
                                   struct lmn__leaf *leaf, struct cursor *cursor,
                                   struct lmn_error *err)
{
    uint64_t first, count;

    while (cursor_peek(cursor, &first, &count)) {
        uint32_t index = lmn__column_find_page(plan->column, first);
        const struct lmn__page_info *info = &plan->column->page[index];
        struct lmn__cached_page *cached;
        enum lmn_status st = lmn__page_get(file, plan->column, index, plan->node->layout,
                                           leaf->scratch, &cached, err);

        if (st == LMN_OK)
            st = lmn__levels_check(info->layout, &leaf->path, err);
        if (st == LMN_OK && info->layout->kind == LMN__PAGE_BLOB)
            st = read_blob_page(file, info, cached, leaf, cursor, err);
        else if (st == LMN_OK)
            st = read_page(file, info, cached, leaf, cursor, err);
        lmn__cached_page_release(cached);
        if (st != LMN_OK)
            return lmn__fail_within(
                err, st, "page %u at byte %llu", index,
                info->buffer_count != 0 ? (unsigned long long)info->buffer[0].position : 0);
    }
    return LMN_OK;
}

/* A struct without fields has a page that says nothing; its rows are all there. */
static enum lmn_status read_empty_struct(struct lmn__leaf *leaf, const struct lmn__row_range *range,
                                         uint64_t range_count, struct lmn_error *err)
{
    struct lmn__levels levels = { 0 };
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < range_count; i++)
        levels.count += range[i].count;
    for (uint32_t i = 0; st == LMN_OK && i < leaf->path.count; i++) {
        if (leaf->path.step[i].builder != NULL)
            st = lmn__builder_add_valid(leaf->path.step[i].builder, levels.count, err);
    }
    return st;
}

/* Descriptors first, apart; then the bytes they name. */
static enum lmn_status read_blob_bytes(struct lmn_file *file, const struct lmn__leaf_plan *plan,
                                       struct lmn__leaf *leaf, struct cursor *cursor,
                                       struct lmn_error *err)
{
    struct lmn__builder *bytes = leaf->builder, descriptors;
    enum lmn_status st = lmn__builder_init(&descriptors, file->env, plan->node->layout, err);

    if (st != LMN_OK)
        return st;
    leaf->builder = leaf->path.step[0].builder = &descriptors;
    st = read_ranges(file, plan, leaf, cursor, err);
    if (st == LMN_OK)
        st = lmn__builder_check(&descriptors, descriptors.length, err);
    if (st == LMN_OK)
        st = lmn__blob_fetch(file, &descriptors, bytes, err);
    lmn__builder_deinit(&descriptors);
    return st;
}

enum lmn_status lmn__leaf_read(const struct lmn__reader *reader, const struct lmn__leaf_plan *plan,
                               struct lmn__scratch *scratch, const struct lmn__row_range *range,
                               uint64_t range_count, struct lmn__builder *root,
                               struct lmn_error *err)
{
    struct cursor cursor = { range, range_count, plan->stride, 0, 0 };
    const struct lmn__layout *layout = plan->node->layout;
    struct lmn__leaf leaf = { .scratch = scratch };
    enum lmn_status st;

    make_path(plan, root, &leaf);
    if (layout->kind == LMN__LAYOUT_STRUCT && layout->child_count == 0)
        return read_empty_struct(&leaf, range, range_count, err);
    if (plan->node->blob != LMN__BLOB_NONE && reader->projection.blob_bytes)
        st = read_blob_bytes(reader->file, plan, &leaf, &cursor, err);
    else
        st = read_ranges(reader->file, plan, &leaf, &cursor, err);
    lmn__vec_deinit(&leaf.merge);
    return st;
}
