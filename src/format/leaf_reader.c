/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges are cut at page borders. Within a page, neighbouring pieces whose bytes lie close
 * together are fetched by one read: a gap is read through when that costs less than another
 * call. What one read fetches is bounded, so that the memory in use is that of the batch.
 *
 * Before the first of several ranges is read, the store is told of the next ones in all pages, so
 * that a device gets many requests at a time and not one after the other.
 */
#include "format/leaf_reader.h"

#include "base/error.h"
#include "base/math.h"
#include "codec/page.h"
#include "format/blob.h"
#include "format/page_cache.h"

enum {
    GAP_BYTES_MAX = 8 << 10,
    FETCH_BYTES_MAX = 8 << 20,
    AHEAD_RANGES_MAX = 256,
    AHEAD_BYTES_MAX = 32 << 20
};

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

    *found_out = cursor_peek(cursor, &piece->first, &piece->count) &&
                 piece->first >= info->first_row && piece->first < end;
    if (!*found_out)
        return LMN_OK;
    piece->count = lmn__min_u64(piece->count, end - piece->first);
    piece->first -= info->first_row;
    return lmn__page_find(page, piece->first, piece->count, &piece->from, &piece->to, err);
}

/* Bytes of a lone piece are read to where its values stay, if the page has it so. */
static enum lmn_status append_landed(struct lmn_file *file, const struct lmn__cached_page *cached,
                                     struct lmn__leaf *leaf, const struct piece *piece,
                                     bool *done_out, struct lmn_error *err)
{
    struct lmn__span data = { NULL, piece->to - piece->from };
    struct lmn__landing landing;
    enum lmn_status st = lmn__page_land(&cached->page, leaf, data.len, &landing, err);

    *done_out = st == LMN_OK && landing.at != NULL;
    if (!*done_out)
        return st;
    data.data = landing.at;
    st = lmn__object_read(&file->object, cached->data.position + piece->from, landing.at, data.len,
                          err);
    if (st == LMN_OK)
        st = lmn__page_append(&cached->page, leaf, data, piece->first, piece->count, err);
    lmn__landing_close(&landing);
    return st;
}

static enum lmn_status append_pieces(struct lmn_file *file, const struct lmn__cached_page *cached,
                                     struct lmn__leaf *leaf, const struct piece *piece,
                                     uint64_t count, struct lmn_error *err)
{
    uint64_t from = piece[0].from, bytes = piece[count - 1].to - from;
    struct lmn__vec *fetched = &leaf->scratch->fetched;
    bool done = false;
    enum lmn_status st = LMN_OK;

    if (count == 1)
        st = append_landed(file, cached, leaf, piece, &done, err);
    if (st != LMN_OK || done)
        return st;
    st = lmn__scratch_need(leaf->scratch, fetched, bytes, err);
    if (st == LMN_OK)
        st = lmn__object_read(&file->object, cached->data.position + from, fetched->data, bytes,
                              err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        struct lmn__span data = { fetched->data + (piece[i].from - from),
                                  piece[i].to - piece[i].from };

        st = lmn__page_append(&cached->page, leaf, data, piece[i].first, piece[i].count, err);
    }
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

static bool is_in_list(const struct lmn__path *path)
{
    for (uint32_t i = 0; i < path->count; i++) {
        if (path->step[i].is_list)
            return true;
    }
    return false;
}

/*
 * Room for all values of these rows at once, so that they need not move as they grow. Fixed
 * values outside of lists are counted; other rows are taken to be as large as the column's rows
 * are on average. It is a guess: without the room all goes well, too.
 */
static void reserve_values(const struct lmn__leaf_plan *plan, struct lmn__leaf *leaf,
                           const struct lmn__row_range *range, uint64_t range_count)
{
    uint64_t row_bytes = plan->column->bytes / lmn__max_u64(plan->column->row_count, 1) + 1;
    struct lmn__builder *builder = leaf->builder;
    uint64_t rows = 0, items = 1, bytes;
    bool fits = true;
    enum lmn_status ignored;

    for (uint64_t i = 0; i < range_count; i++)
        rows += range[i].count * plan->stride;
    for (; fits && builder->layout->kind == LMN__LAYOUT_FIXED_LIST; builder = &builder->child[0])
        fits = lmn__mul_u64(items, builder->layout->dimension, &items);
    if (builder->layout->kind == LMN__LAYOUT_FIXED && !is_in_list(&leaf->path))
        fits = fits && lmn__mul_u64(items, (builder->layout->bits + 7) / 8, &row_bytes);
    else if (builder->layout->kind != LMN__LAYOUT_VARIABLE)
        return;
    if (!fits || !lmn__mul_u64(rows, row_bytes, &bytes))
        return;
    ignored = lmn__vec_reserve(&builder->values, builder->env->pool, bytes, NULL);
    (void)ignored;
}

/* What the store is told of. */
struct ahead {
    struct lmn__file_range range[AHEAD_RANGES_MAX];
    size_t count;
    uint64_t bytes;
};

/* Add the pieces that the cursor has in one page; those that one read fetches are one range. */
static enum lmn_status look_at_page(const struct lmn__page_info *info,
                                    const struct lmn__cached_page *cached, struct cursor *cursor,
                                    struct ahead *ahead, struct lmn_error *err)
{
    struct lmn__file_range *last = NULL;

    while (ahead->count < AHEAD_RANGES_MAX && ahead->bytes < AHEAD_BYTES_MAX) {
        struct piece piece;
        bool found;
        enum lmn_status st = next_piece(info, &cached->page, cursor, &piece, &found, err);
        uint64_t offset;

        if (st != LMN_OK || !found)
            return st;
        offset = cached->data.position + piece.from;
        cursor_skip(cursor, piece.count);
        if (piece.from >= piece.to)
            continue;
        if (last != NULL && offset >= last->offset &&
            offset <= last->offset + last->len + GAP_BYTES_MAX) {
            last->len = lmn__max_u64(last->len, offset + (piece.to - piece.from) - last->offset);
        } else {
            last = &ahead->range[ahead->count++];
            *last = (struct lmn__file_range){ offset, piece.to - piece.from };
        }
        ahead->bytes += piece.to - piece.from;
    }
    return LMN_OK;
}

static enum lmn_status fail_in_page(struct lmn_error *err, enum lmn_status st,
                                    const struct lmn__leaf_plan *plan, uint32_t index)
{
    const struct lmn__page_info *info = &plan->column->page[index];

    return lmn__fail_within(err, st, "page %u at byte %llu", index,
                            info->buffer_count != 0 ? (unsigned long long)info->buffer[0].position
                                                    : 0);
}

/* Tell the store what the next ranges need; *told_out is the first one that it was not told of. */
static enum lmn_status look_ahead(struct lmn_file *file, const struct lmn__leaf_plan *plan,
                                  struct lmn__scratch *scratch, struct cursor cursor,
                                  uint64_t *told_out, struct lmn_error *err)
{
    struct ahead ahead;
    uint64_t first, count;

    ahead.count = 0;
    ahead.bytes = 0;
    while (ahead.count < AHEAD_RANGES_MAX && ahead.bytes < AHEAD_BYTES_MAX &&
           cursor_peek(&cursor, &first, &count)) {
        uint32_t index = lmn__column_find_page(plan->column, first);
        struct lmn__cached_page *cached;
        enum lmn_status st = lmn__page_get(file, plan->column, index, plan->node->layout, scratch,
                                           &cached, err);

        if (st == LMN_OK)
            st = look_at_page(&plan->column->page[index], cached, &cursor, &ahead, err);
        lmn__cached_page_release(cached);
        if (st != LMN_OK)
            return fail_in_page(err, st, plan, index);
    }
    if (ahead.count > 1)
        lmn__object_will_read(&file->object, ahead.range, ahead.count);
    *told_out = cursor.index + 1;
    return LMN_OK;
}

static enum lmn_status read_ranges(struct lmn_file *file, const struct lmn__leaf_plan *plan,
                                   struct lmn__leaf *leaf, struct cursor *cursor, uint64_t told,
                                   struct lmn_error *err)
{
    uint64_t first, count;

    while (cursor_peek(cursor, &first, &count)) {
        uint32_t index = lmn__column_find_page(plan->column, first);
        const struct lmn__page_info *info = &plan->column->page[index];
        struct lmn__cached_page *cached;
        enum lmn_status st = LMN_OK;

        if (cursor->index >= told && cursor->range_count - cursor->index > 1)
            st = look_ahead(file, plan, leaf->scratch, *cursor, &told, err);
        if (st != LMN_OK)
            return st;
        st = lmn__page_get(file, plan->column, index, plan->node->layout, leaf->scratch, &cached,
                           err);
        if (st == LMN_OK)
            st = lmn__levels_check(info->layout, &leaf->path, err);
        if (st == LMN_OK && info->layout->kind == LMN__PAGE_BLOB)
            st = read_blob_page(file, info, cached, leaf, cursor, err);
        else if (st == LMN_OK)
            st = read_page(file, info, cached, leaf, cursor, err);
        lmn__cached_page_release(cached);
        if (st != LMN_OK)
            return fail_in_page(err, st, plan, index);
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
                                       struct lmn__leaf *leaf, struct cursor *cursor, uint64_t told,
                                       bool sketch, struct lmn_error *err)
{
    struct lmn__builder *bytes = leaf->builder, descriptors;
    enum lmn_status st = lmn__builder_init(&descriptors, file->env, plan->node->layout, err);

    if (st != LMN_OK)
        return st;
    leaf->builder = leaf->path.step[0].builder = &descriptors;
    st = read_ranges(file, plan, leaf, cursor, told, err);
    if (st == LMN_OK)
        st = lmn__builder_check(&descriptors, descriptors.length, err);
    if (st == LMN_OK)
        st = bytes->layout->kind == LMN__LAYOUT_STRUCT
                 ? lmn__blob_fetch_either(file, &descriptors, bytes, err)
                 : lmn__blob_fetch(file, &descriptors, sketch, bytes, err);
    lmn__builder_deinit(&descriptors);
    return st;
}

static bool is_empty_struct(const struct lmn__layout *layout)
{
    return layout->kind == LMN__LAYOUT_STRUCT && layout->child_count == 0;
}

enum lmn_status lmn__leaf_look_ahead(const struct lmn__reader *reader,
                                     const struct lmn__leaf_plan *plan,
                                     struct lmn__scratch *scratch,
                                     const struct lmn__row_range *range, uint64_t range_count,
                                     uint64_t *told_out, struct lmn_error *err)
{
    struct cursor cursor = { range, range_count, plan->stride, 0, 0 };

    *told_out = 0;
    if (range_count <= 1 || is_empty_struct(plan->node->layout))
        return LMN_OK;
    return look_ahead(reader->file, plan, scratch, cursor, told_out, err);
}

enum lmn_status lmn__leaf_read(const struct lmn__reader *reader, const struct lmn__leaf_plan *plan,
                               struct lmn__scratch *scratch, const struct lmn__row_range *range,
                               uint64_t range_count, uint64_t told, struct lmn__builder *root,
                               struct lmn_error *err)
{
    struct cursor cursor = { range, range_count, plan->stride, 0, 0 };
    struct lmn__leaf leaf = { .scratch = scratch };
    enum lmn_status st;

    make_path(plan, root, &leaf);
    if (is_empty_struct(plan->node->layout))
        return read_empty_struct(&leaf, range, range_count, err);
    reserve_values(plan, &leaf, range, range_count);
    if (plan->node->blob != LMN__BLOB_NONE && reader->projection.blobs != LMN_BLOB_DESCRIPTORS)
        st = read_blob_bytes(reader->file, plan, &leaf, &cursor, told,
                             (int)reader->projection.blobs == LMN__BLOB_SKETCH, err);
    else
        st = read_ranges(reader->file, plan, &leaf, &cursor, told, err);
    lmn__vec_deinit(&leaf.merge);
    return st;
}
