/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor is a list of messages:
 *
 *     PlacedPages { repeated PlacedPage pages = 1; }
 *     PlacedPage  { uint32 column = 1; uint64 row_start = 2; uint64 row_count = 3;
 *                   repeated uint64 positions = 4, sizes = 5; bytes description = 6;
 *                   optional uint64 checksum = 7; }
 *
 * row_start and row_count are rows of the column.
 */
#include "format/pages.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"
#include "format/checksum.h"
#include "format/schema_write.h"
#include "format/tail.h"
#include "format/write_plan.h"
#include "os/file.h"

struct pb_placed_page {
    uint32_t column;
    uint64_t row_start;
    uint64_t row_count;
    struct lmn__pb_u64s positions;
    struct lmn__pb_u64s sizes;
    struct lmn__span description;
    bool has_checksum;
    uint64_t checksum;
};

struct pb_placed_pages {
    struct lmn__pb_list pages; /* struct pb_placed_page */
};

static const struct lmn__pb_field placed_page_fields[] = {
    { 1, LMN__PB_U32, 0, offsetof(struct pb_placed_page, column), 0, NULL },
    { 2, LMN__PB_U64, 0, offsetof(struct pb_placed_page, row_start), 0, NULL },
    { 3, LMN__PB_U64, 0, offsetof(struct pb_placed_page, row_count), 0, NULL },
    { 4, LMN__PB_U64, LMN__PB_REPEATED, offsetof(struct pb_placed_page, positions), 0, NULL },
    { 5, LMN__PB_U64, LMN__PB_REPEATED, offsetof(struct pb_placed_page, sizes), 0, NULL },
    { 6, LMN__PB_BYTES, 0, offsetof(struct pb_placed_page, description), 0, NULL },
    { 7, LMN__PB_U64, LMN__PB_PRESENCE, offsetof(struct pb_placed_page, checksum),
      offsetof(struct pb_placed_page, has_checksum), NULL },
};
static const struct lmn__pb_message placed_page_message = { "PlacedPage",
                                                            placed_page_fields,
                                                            sizeof placed_page_fields /
                                                                sizeof placed_page_fields[0],
                                                            sizeof(struct pb_placed_page),
                                                            0,
                                                            false };

static const struct lmn__pb_field placed_pages_fields[] = {
    { 1, LMN__PB_MESSAGE, LMN__PB_REPEATED, offsetof(struct pb_placed_pages, pages), 0,
      &placed_page_message },
};
static const struct lmn__pb_message placed_pages_message = {
    "PlacedPages", placed_pages_fields, 1, sizeof(struct pb_placed_pages), 0, false
};

/* One page of a set. */
struct page {
    uint32_t column;
    uint64_t row_start;
    struct lmn__encoded_page encoded;
    struct lmn__extent extent[LMN__PAGE_BUFFER_COUNT_MAX];
};

struct lmn_pages {
    struct lmn_env *env; /* counted */
    uint64_t count, cap;
    struct page *page;
    uint32_t buffer_count; /* of all pages */
    struct lmn__buf descriptor;
};

bool lmn_pages_positional(const struct ArrowSchema *column)
{
    return lmn__arrow_is_blob(column);
}

void lmn_pages_free(struct lmn_pages *pages)
{
    struct lmn_env *env;

    if (pages == NULL)
        return;
    env = pages->env;
    for (uint64_t i = 0; i < pages->count; i++)
        lmn__encoded_page_deinit(&pages->page[i].encoded);
    lmn__free(env, pages->page);
    lmn__buf_deinit(&pages->descriptor);
    lmn__free(env, pages);
    lmn_env_release(env);
}

/* Room for one more. */
static enum lmn_status reserve_page(struct lmn_pages *pages, struct lmn_error *err)
{
    uint64_t cap = pages->cap != 0 ? pages->cap * 2 : 16;
    struct page *grown;

    if (pages->count < pages->cap)
        return LMN_OK;
    grown = lmn__realloc(pages->env, pages->page, cap * sizeof *grown);
    if (grown == NULL)
        return lmn__no_memory(err, "pages", cap * sizeof *grown);
    pages->page = grown;
    pages->cap = cap;
    return LMN_OK;
}

static enum lmn_status add_page(struct lmn_pages *pages, const struct lmn__write_plan *plan,
                                const struct lmn__write_leaf *leaf, struct lmn__shred *shred,
                                uint64_t row_start, struct lmn__scratch *scratch,
                                struct lmn_error *err)
{
    struct page *page;
    enum lmn_status st = reserve_page(pages, err);

    if (st != LMN_OK)
        return st;
    page = &pages->page[pages->count++];
    *page = (struct page){ .column = leaf->node->column, .row_start = row_start };
    st = lmn__page_encode(shred, &plan->encode, scratch, &page->encoded, err);
    pages->buffer_count += page->encoded.buffer_count;
    return st;
}

/* Slots [first, first + count) of an array, counted without its own offset. */
struct part {
    const struct ArrowArray *array;
    uint64_t first, count;
};

/* All pages of one leaf. */
static enum lmn_status encode_leaf(struct lmn_pages *pages, const struct lmn__write_plan *plan,
                                   const struct lmn__write_leaf *leaf, struct part *part,
                                   uint64_t part_count, uint64_t row_start,
                                   struct lmn__scratch *scratch, struct lmn_error *err)
{
    uint64_t i = 0, at = 0, rows = 0; /* part, slot in it, rows before */
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && i < part_count) {
        struct lmn__shred shred;
        uint64_t first = rows;

        st = lmn__shred_init(&shred, pages->env, leaf->path, leaf->path_count, leaf->value_layout,
                             err);
        while (st == LMN_OK && i < part_count &&
               (rows == first || !lmn__write_leaf_full(plan, &shred))) {
            uint64_t from = part[i].first + at, left = part[i].count - at, count = 0;

            if (left != 0) {
                count = lmn__write_leaf_fit(plan, leaf, &shred, part[i].array, from, left);
                st = lmn__shred_append(&shred, part[i].array, from, count, err);
            }
            rows += count;
            at = count < left ? at + count : 0;
            i += count == left;
        }
        if (st == LMN_OK && rows != first)
            st = add_page(pages, plan, leaf, &shred, (row_start + first) * shred.stride, scratch,
                          err);
        lmn__shred_deinit(&shred);
    }
    return st;
}

static enum lmn_status encode_all(struct lmn_pages *pages, const struct lmn__write_plan *plan,
                                  const struct ArrowArray *array, uint64_t row_start,
                                  struct lmn_error *err)
{
    struct lmn__scratch scratch;
    enum lmn_status st = lmn__write_plan_check(plan, array, err);

    lmn__scratch_init(&scratch, pages->env);
    for (uint32_t i = 0; st == LMN_OK && i < plan->leaf_count; i++) {
        const struct lmn__write_leaf *leaf = &plan->leaf[i];
        struct part part = { array->children[leaf->top], (uint64_t)array->offset,
                             (uint64_t)array->length };

        if (leaf->node->blob != LMN__BLOB_NONE)
            st = lmn_fail(err, LMN_E_UNSUPPORTED, "blobs are written with their file");
        else
            st = encode_leaf(pages, plan, leaf, &part, 1, row_start, &scratch, err);
        if (st != LMN_OK)
            lmn__fail_within(err, st, "column \"%.100s\"", plan->column_name[leaf->top]);
    }
    lmn__scratch_deinit(&scratch);
    return st;
}

/* An empty set of pages; `env` is counted. */
static enum lmn_status pages_new(struct lmn_env *env, struct lmn_pages **pages_out,
                                 struct lmn_error *err)
{
    struct lmn_pages *pages = lmn__calloc(env, 1, sizeof *pages);

    *pages_out = pages;
    if (pages == NULL)
        return lmn__no_memory(err, "pages", sizeof *pages);
    pages->env = lmn_env_acquire(env);
    lmn__buf_init(&pages->descriptor, env, 0);
    return LMN_OK;
}

static enum lmn_status encode_parts(struct lmn_pages *pages, const struct lmn__write_plan *plan,
                                    uint32_t column, struct part *part, uint64_t count,
                                    uint64_t row_start, struct lmn_error *err)
{
    struct lmn__scratch scratch;
    enum lmn_status st = LMN_OK;

    lmn__scratch_init(&scratch, pages->env);
    for (uint32_t i = 0; st == LMN_OK && i < plan->leaf_count; i++) {
        const struct lmn__write_leaf *leaf = &plan->leaf[i];

        if (leaf->top != column)
            continue;
        if (leaf->node->blob != LMN__BLOB_NONE)
            st = lmn_fail(err, LMN_E_UNSUPPORTED, "blobs are written with their file");
        else
            st = encode_leaf(pages, plan, leaf, part, count, row_start, &scratch, err);
    }
    lmn__scratch_deinit(&scratch);
    return st != LMN_OK ? lmn__fail_within(err, st, "column \"%.100s\"", plan->column_name[column])
                        : st;
}

enum lmn_status lmn__pages_encode_column(const struct lmn__write_plan *plan, uint32_t column,
                                         const struct ArrowArray *const *array, uint64_t count,
                                         uint64_t row_start, struct lmn_pages **pages_out,
                                         struct lmn_error *err)
{
    struct part *part = lmn__calloc(plan->env, count, sizeof *part);
    enum lmn_status st;

    *pages_out = NULL;
    if (part == NULL)
        return lmn__no_memory(err, "a list of arrays", count * sizeof *part);
    /* Shredding adds an array's own offset. */
    for (uint64_t i = 0; i < count; i++)
        part[i] = (struct part){ array[i], 0, (uint64_t)array[i]->length };
    st = pages_new(plan->env, pages_out, err);
    if (st == LMN_OK)
        st = encode_parts(*pages_out, plan, column, part, count, row_start, err);
    if (st == LMN_OK)
        st = lmn_pages_place(*pages_out, 0, err);
    lmn__free(plan->env, part);
    if (st != LMN_OK) {
        lmn_pages_free(*pages_out);
        *pages_out = NULL;
    }
    return st;
}

enum lmn_status lmn__pages_encode_blobs(const struct lmn__write_plan *plan, uint32_t column,
                                        const struct lmn__blob_entries *entries, uint64_t row_start,
                                        struct lmn_pages **pages_out, struct lmn_error *err)
{
    const struct lmn__write_leaf *leaf = plan->leaf;
    struct lmn__scratch scratch;
    struct page *page;
    enum lmn_status st = pages_new(plan->env, pages_out, err);

    while (leaf->top != column)
        leaf++;
    if (st == LMN_OK)
        st = reserve_page(*pages_out, err);
    if (st == LMN_OK) {
        page = &(*pages_out)->page[(*pages_out)->count++];
        *page = (struct page){ .column = leaf->node->column, .row_start = row_start };
        lmn__scratch_init(&scratch, plan->env);
        st = lmn__blob_page_encode(plan->env, leaf->node->blob == LMN__BLOB_V2, entries,
                                   &plan->encode, &scratch, &page->encoded, err);
        lmn__scratch_deinit(&scratch);
        (*pages_out)->buffer_count = page->encoded.buffer_count;
    }
    if (st == LMN_OK)
        st = lmn_pages_place(*pages_out, 0, err);
    if (st != LMN_OK) {
        lmn_pages_free(*pages_out);
        *pages_out = NULL;
    }
    return st;
}

enum lmn_status lmn_pages_encode(struct lmn_env *env, const struct ArrowSchema *schema,
                                 const struct ArrowArray *array, uint64_t row_start,
                                 const struct lmn_encode_options *options,
                                 struct lmn_pages **pages_out, struct lmn_error *err)
{
    struct lmn__write_plan plan;
    struct lmn_pages *pages;
    enum lmn_status st = lmn__env_resolve(env, &env, err);

    *pages_out = NULL;
    if (st != LMN_OK)
        return st;
    st = pages_new(env, &pages, err);
    lmn_env_release(env);
    if (st != LMN_OK)
        return st;
    st = lmn__write_plan_init(&plan, pages->env, schema, options, err);
    if (st == LMN_OK) {
        st = encode_all(pages, &plan, array, row_start, err);
        lmn__write_plan_deinit(&plan);
    }
    if (st == LMN_OK)
        st = lmn_pages_place(pages, 0, err);
    if (st != LMN_OK) {
        lmn_pages_free(pages);
        return st;
    }
    *pages_out = pages;
    return LMN_OK;
}

/* Where a buffer begins that comes behind `bytes` others: large ones at a block, as files are
 * written past the system's cache (os/file.h). */
static uint64_t buffer_start(uint64_t bytes, const struct lmn__vec *buffer)
{
    return lmn__align_up(bytes, buffer->len >= LMN__PAGES_LARGE_BYTES
                                    ? (uint64_t)LMN__FILE_BLOCK_BYTES
                                    : (uint64_t)LMN_PAGE_ALIGN);
}

uint64_t lmn_pages_bytes(const struct lmn_pages *pages)
{
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < pages->count; i++) {
        const struct lmn__encoded_page *encoded = &pages->page[i].encoded;

        for (uint32_t k = 0; k < encoded->buffer_count; k++)
            bytes = buffer_start(bytes, &encoded->buffer[k]) + encoded->buffer[k].len;
    }
    return bytes;
}

enum lmn_status lmn_pages_place(struct lmn_pages *pages, uint64_t position, struct lmn_error *err)
{
    uint64_t bytes = 0;

    if (position % LMN_PAGE_ALIGN != 0)
        return lmn_fail(err, LMN_E_INVALID, "position %llu is not a multiple of %d",
                        (unsigned long long)position, LMN_PAGE_ALIGN);
    for (uint64_t i = 0; i < pages->count; i++) {
        struct page *page = &pages->page[i];

        for (uint32_t k = 0; k < page->encoded.buffer_count; k++) {
            const struct lmn__vec *buffer = &page->encoded.buffer[k];

            bytes = buffer_start(bytes, buffer);
            page->extent[k] = (struct lmn__extent){ position + bytes, buffer->len };
            bytes += buffer->len;
        }
    }
    return LMN_OK;
}

uint32_t lmn_pages_buffer_count(const struct lmn_pages *pages)
{
    return pages->buffer_count;
}

struct lmn_page_buffer lmn_pages_buffer(const struct lmn_pages *pages, uint32_t index)
{
    const struct page *page = pages->page;

    while (index >= page->encoded.buffer_count)
        index -= page++->encoded.buffer_count;
    return (struct lmn_page_buffer){ page->encoded.buffer[index].data, page->extent[index].bytes,
                                     page->extent[index].position };
}

static void describe_page(const struct page *page, struct lmn__buf *out)
{
    uint64_t position[LMN__PAGE_BUFFER_COUNT_MAX], size[LMN__PAGE_BUFFER_COUNT_MAX];
    uint64_t hash[LMN__PAGE_BUFFER_COUNT_MAX];
    const struct lmn__encoded_page *encoded = &page->encoded;
    struct pb_placed_page pb = { .column = page->column,
                                 .row_start = page->row_start,
                                 .row_count = encoded->row_count,
                                 .positions = { position, encoded->buffer_count },
                                 .sizes = { size, encoded->buffer_count },
                                 .description = { encoded->description.data,
                                                  encoded->description.len } };
    const struct pb_placed_pages list = { { &pb, 1 } };

    for (uint32_t i = 0; i < encoded->buffer_count; i++) {
        hash[i] = lmn__hash64(encoded->buffer[i].data, encoded->buffer[i].len);
        position[i] = page->extent[i].position;
        size[i] = page->extent[i].bytes;
    }
    pb.has_checksum = true;
    pb.checksum = lmn__checksum_of(hash, encoded->buffer_count);
    lmn__pb_encode(&placed_pages_message, &list, out);
}

enum lmn_status lmn_pages_describe(struct lmn_pages *pages, const void **data_out, size_t *len_out,
                                   struct lmn_error *err)
{
    lmn__buf_reset(&pages->descriptor);
    for (uint64_t i = 0; i < pages->count; i++)
        describe_page(&pages->page[i], &pages->descriptor);
    *data_out = pages->descriptor.data;
    *len_out = pages->descriptor.len;
    return lmn__buf_status(&pages->descriptor, "a descriptor of pages", err);
}

/* The first row of the pages of a column, and the first column. */
static void find_first(const struct lmn__pb_list *pages, uint32_t column, uint64_t *row_out,
                       uint32_t *column_out)
{
    const struct pb_placed_page *page = pages->item;

    *row_out = UINT64_MAX;
    *column_out = UINT32_MAX;
    for (size_t i = 0; i < pages->count; i++) {
        if (page[i].column == column && page[i].row_start < *row_out)
            *row_out = page[i].row_start;
        if (page[i].column < *column_out)
            *column_out = page[i].column;
    }
}

enum lmn_status lmn__pages_move_first(struct lmn_env *env, struct lmn__span descriptor,
                                      uint64_t position, struct lmn__buf *out,
                                      struct lmn_error *err)
{
    struct pb_placed_pages list = { 0 };
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, env, 0);
    st = lmn__pb_decode(&placed_pages_message, descriptor, &arena, &list, err);
    for (size_t i = 0; st == LMN_OK && i < list.pages.count; i++) {
        struct pb_placed_page moved = ((const struct pb_placed_page *)list.pages.item)[i];
        const struct pb_placed_pages one = { { &moved, 1 } };
        uint64_t first_row;
        uint32_t first_column;

        find_first(&list.pages, moved.column, &first_row, &first_column);
        moved.row_start -= first_row;
        moved.column -= first_column;
        for (size_t k = 0; st == LMN_OK && k < moved.positions.count; k++) {
            if (moved.positions.item[k] < position)
                st = lmn_fail(err, LMN_E_CORRUPT, "a page at %llu, before the %llu of its set",
                              (unsigned long long)moved.positions.item[k],
                              (unsigned long long)position);
            moved.positions.item[k] -= position;
        }
        lmn__pb_encode(&placed_pages_message, &one, out);
    }
    lmn__arena_deinit(&arena);
    return st == LMN_OK ? lmn__buf_status(out, "a descriptor of pages", err) : st;
}

struct lmn_tail {
    struct lmn_env *env; /* counted */
    struct lmn__write_plan plan;
    struct lmn__tail tail;
    uint64_t row_count; /* behind the last row of any page */
    uint64_t end;       /* behind the last byte of any page */
    struct lmn__buf bytes;
};

enum lmn_status lmn_tail_new(struct lmn_env *env, const struct ArrowSchema *schema,
                             const struct lmn_encode_options *options, struct lmn_tail **tail_out,
                             struct lmn_error *err)
{
    struct lmn_tail *tail;
    enum lmn_status st = lmn__env_resolve(env, &env, err);

    *tail_out = NULL;
    if (st != LMN_OK)
        return st;
    tail = lmn__calloc(env, 1, sizeof *tail);
    if (tail == NULL) {
        lmn_env_release(env);
        return lmn__no_memory(err, "a file's tail", sizeof *tail);
    }
    st = lmn__write_plan_init(&tail->plan, env, schema, options, err);
    if (st != LMN_OK) {
        lmn__free(env, tail);
        lmn_env_release(env);
        return st;
    }
    tail->env = env;
    lmn__buf_init(&tail->bytes, env, 0);
    st = lmn__tail_init(&tail->tail, env, tail->plan.encode.minor, &tail->plan.pb,
                        &tail->plan.schema, err);
    if (st != LMN_OK) {
        lmn_tail_free(tail);
        return st;
    }
    *tail_out = tail;
    return LMN_OK;
}

void lmn_tail_free(struct lmn_tail *tail)
{
    struct lmn_env *env;

    if (tail == NULL)
        return;
    env = tail->env;
    lmn__tail_deinit(&tail->tail);
    lmn__write_plan_deinit(&tail->plan);
    lmn__buf_deinit(&tail->bytes);
    lmn__free(env, tail);
    lmn_env_release(env);
}

enum lmn_status lmn__pages_tail_add(struct lmn_tail *tail, uint32_t column,
                                    const struct lmn__placed_page *page, struct lmn_error *err)
{
    uint64_t row_end, end;

    if (column >= tail->tail.column_count ||
        !lmn__add_u64(page->row_start, page->row_count, &row_end) || page->row_count == 0)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "a page of column %u, rows %llu and %llu more, in a file of %u columns",
                        column, (unsigned long long)page->row_start,
                        (unsigned long long)page->row_count, tail->tail.column_count);
    for (uint32_t i = 0; i < page->buffer_count; i++) {
        struct lmn__extent buffer = page->buffer[i];

        if (buffer.position % LMN_PAGE_ALIGN != 0)
            return lmn_fail(err, LMN_E_CORRUPT, "a page at position %llu, no multiple of %d",
                            (unsigned long long)buffer.position, LMN_PAGE_ALIGN);
        if (!lmn__add_u64(buffer.position, buffer.bytes, &end))
            return lmn_fail(err, LMN_E_CORRUPT, "a page at position %llu, of %llu bytes",
                            (unsigned long long)buffer.position, (unsigned long long)buffer.bytes);
        tail->end = lmn__max_u64(tail->end, end);
    }
    tail->row_count = lmn__max_u64(tail->row_count, row_end / tail->tail.column[column].stride);
    return lmn__tail_add(&tail->tail, column, page, err);
}

static enum lmn_status add_placed(struct lmn_tail *tail, const struct pb_placed_page *pb,
                                  struct lmn_error *err)
{
    struct lmn__extent extent[LMN__PAGE_BUFFER_COUNT_MAX];
    struct lmn__placed_page page = { .row_start = pb->row_start,
                                     .row_count = pb->row_count,
                                     .buffer_count = (uint32_t)pb->positions.count,
                                     .buffer = extent,
                                     .description = pb->description,
                                     .has_checksum = pb->has_checksum,
                                     .checksum = pb->checksum };

    if (pb->positions.count > LMN__PAGE_BUFFER_COUNT_MAX || pb->positions.count != pb->sizes.count)
        return lmn_fail(err, LMN_E_CORRUPT, "a page of column %u with %zu positions and %zu sizes",
                        pb->column, pb->positions.count, pb->sizes.count);
    for (uint32_t i = 0; i < page.buffer_count; i++)
        extent[i] = (struct lmn__extent){ pb->positions.item[i], pb->sizes.item[i] };
    return lmn__pages_tail_add(tail, pb->column, &page, err);
}

enum lmn_status lmn_tail_add(struct lmn_tail *tail, const void *data, size_t len,
                             struct lmn_error *err)
{
    struct pb_placed_pages pb = { 0 };
    const struct pb_placed_page *page;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, tail->env, 0);
    st = lmn__pb_decode(&placed_pages_message, (struct lmn__span){ data, len }, &arena, &pb, err);
    page = pb.pages.item;
    for (size_t i = 0; st == LMN_OK && i < pb.pages.count; i++)
        st = add_placed(tail, &page[i], err);
    lmn__arena_deinit(&arena);
    return st;
}

uint64_t lmn__pages_tail_end(const struct lmn_tail *tail)
{
    return lmn__align_up(tail->end, LMN_PAGE_ALIGN);
}

enum lmn_status lmn_tail_finish(struct lmn_tail *tail, uint64_t position, const void **data_out,
                                size_t *len_out, struct lmn_error *err)
{
    enum lmn_status st;

    *data_out = NULL;
    *len_out = 0;
    if (position % LMN_PAGE_ALIGN != 0)
        return lmn_fail(err, LMN_E_INVALID, "position %llu is not a multiple of %d",
                        (unsigned long long)position, LMN_PAGE_ALIGN);
    if (position < tail->end)
        return lmn_fail(err, LMN_E_INVALID, "position %llu is before the end of the pages, %llu",
                        (unsigned long long)position, (unsigned long long)tail->end);
    lmn__buf_reset(&tail->bytes);
    st = lmn__tail_encode(&tail->tail, tail->row_count, position, &tail->bytes, err);
    if (st != LMN_OK)
        return st;
    *data_out = tail->bytes.data;
    *len_out = tail->bytes.len;
    return LMN_OK;
}
