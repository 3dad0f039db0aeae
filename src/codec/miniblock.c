/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data buffer is a row of chunks, each a multiple of 8 bytes:
 *
 *     u16 entries | u16 rep bytes | u16 def bytes | value bytes for each buffer (u16; u32 in 2.2)
 *     padding to 8 | rep | padding | def | padding | value buffer 0 | padding | ...
 *
 * rep and def sizes are there only if the page has such levels. The chunk words say for each
 * chunk its bytes and the logarithm of its values: (bytes / 8 - 1) << 4 | log2. The last chunk
 * has what is left of the values.
 *
 * Where rows are lists they may run over several chunks. The repetition index has two words per
 * chunk: rows that end in it, and entries of a row that goes on after it.
 */
#include "codec/miniblock.h"

#include "base/error.h"
#include "base/math.h"
#include "codec/fixed.h"

enum { BUFFER_COUNT_MAX = 64 };

static enum lmn_status read_chunk_words(struct lmn__miniblock *page, struct lmn__span words,
                                        uint64_t data_bytes, struct lmn_error *err)
{
    uint32_t width = page->layout->large_chunks ? 4 : 2;
    uint64_t offset = 0, values = 0, item_count = page->layout->item_count;

    for (uint64_t i = 0; i < page->chunk_count; i++) {
        uint64_t word = lmn__load_uint(words.data + i * width, width);
        uint64_t bytes = ((word >> 4) + 1) * 8;
        uint64_t count = (uint64_t)1 << (word & 15);

        if (i + 1 == page->chunk_count)
            count = item_count - values;
        else if (count == 1 || count > item_count - values)
            return lmn_fail(
                err, LMN_E_CORRUPT, "chunk %llu claims %llu values where %llu of %llu are left",
                (unsigned long long)i, (unsigned long long)count,
                (unsigned long long)(item_count - values), (unsigned long long)item_count);
        page->chunk[i].offset = offset;
        page->chunk[i].first_value = values;
        offset += bytes;
        values += count;
    }
    page->chunk[page->chunk_count].offset = offset;
    page->chunk[page->chunk_count].first_value = values;
    if (offset > data_bytes || values != item_count)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "%llu chunks of %llu bytes and %llu values do not fit in %llu bytes and "
                        "%llu values",
                        (unsigned long long)page->chunk_count, (unsigned long long)offset,
                        (unsigned long long)values, (unsigned long long)data_bytes,
                        (unsigned long long)item_count);
    return LMN_OK;
}

/* Without lists every value is a row. */
static enum lmn_status rows_are_values(struct lmn__miniblock *page, struct lmn_error *err)
{
    if (page->layout->item_count != page->row_count)
        return lmn_fail(err, LMN_E_CORRUPT, "%llu values in a page of %llu rows",
                        (unsigned long long)page->layout->item_count,
                        (unsigned long long)page->row_count);
    for (uint64_t i = 0; i <= page->chunk_count; i++)
        page->chunk[i].first_row = page->chunk[i].first_value;
    return LMN_OK;
}

static enum lmn_status read_row_index(struct lmn__miniblock *page, struct lmn__span index,
                                      struct lmn_error *err)
{
    uint64_t begun = 0;
    bool continues = false;

    if (index.len / 16 < page->chunk_count)
        return lmn_fail(err, LMN_E_CORRUPT, "a repetition index of %zu bytes for %llu chunks",
                        index.len, (unsigned long long)page->chunk_count);
    for (uint64_t i = 0; i < page->chunk_count; i++) {
        uint64_t ended = lmn__load_u64(index.data + i * 16);
        uint64_t left_over = lmn__load_u64(index.data + i * 16 + 8);

        page->chunk[i].first_row = begun;
        page->chunk[i].continues = continues;
        if (ended > page->row_count || (continues && ended == 0 && left_over == 0) ||
            begun - continues + ended + (left_over != 0) > page->row_count)
            return lmn_fail(err, LMN_E_CORRUPT,
                            "chunk %llu: %llu rows end in it, beyond the page's %llu",
                            (unsigned long long)i, (unsigned long long)ended,
                            (unsigned long long)page->row_count);
        begun = begun - continues + ended + (left_over != 0);
        continues = left_over != 0;
    }
    page->chunk[page->chunk_count].first_row = begun;
    if (begun != page->row_count || continues)
        return lmn_fail(err, LMN_E_CORRUPT, "the repetition index has %llu rows, the page %llu",
                        (unsigned long long)begun, (unsigned long long)page->row_count);
    return LMN_OK;
}

enum lmn_status lmn__miniblock_open(struct lmn__miniblock *page, struct lmn_env *env, uint64_t id,
                                    const struct lmn__page_layout *layout,
                                    const struct lmn__layout *leaf_layout,
                                    const struct lmn__span *buffer, uint64_t data_bytes,
                                    uint64_t row_count, struct lmn__arena *arena,
                                    struct lmn__scratch *scratch, struct lmn_error *err)
{
    struct lmn__span words = buffer[0], dictionary = { NULL, 0 }, row_index = { NULL, 0 };
    uint32_t next = 1;
    enum lmn_status st;

    *page = (struct lmn__miniblock){ .layout = layout, .row_count = row_count };
    if (layout->dictionary != NULL)
        dictionary = buffer[next++];
    if (layout->has_row_index)
        row_index = buffer[next++];
    page->chunk_count = words.len / (layout->large_chunks ? 4 : 2);
    if (page->chunk_count == 0 || layout->buffer_count > BUFFER_COUNT_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "a page of %llu chunks with %u buffers each",
                        (unsigned long long)page->chunk_count, layout->buffer_count);
    page->chunk = lmn__arena_array(arena, page->chunk_count + 1, sizeof *page->chunk);
    if (page->chunk == NULL)
        return lmn__arena_fail(arena, "a page's chunks", err);
    st = read_chunk_words(page, words, data_bytes, err);
    if (st == LMN_OK)
        st = layout->has_row_index ? read_row_index(page, row_index, err)
                                   : rows_are_values(page, err);
    if (st == LMN_OK)
        st = lmn__values_init(&page->values, env, id, layout, leaf_layout, dictionary, arena,
                              scratch, err);
    if (st != LMN_OK)
        lmn__miniblock_close(page);
    return st;
}

void lmn__miniblock_close(struct lmn__miniblock *page)
{
    lmn__values_deinit(&page->values);
}

/*
 * The last chunk whose first row is at or before `row`; chunk `low` is at or before it. It is
 * looked for near `low` first.
 */
static uint64_t find_chunk(const struct lmn__miniblock *page, uint64_t low, uint64_t row)
{
    uint64_t high = lmn__min_u64(low + 1, page->chunk_count);

    for (uint64_t step = 1; high < page->chunk_count && page->chunk[high].first_row <= row;
         step *= 2) {
        low = high;
        high = lmn__min_u64(high + step, page->chunk_count);
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (page->chunk[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void lmn__miniblock_find(const struct lmn__miniblock *page, uint64_t first, uint64_t count,
                         uint64_t *from_out, uint64_t *to_out)
{
    uint64_t end = first + count, to;

    *from_out = find_chunk(page, 0, first);
    if (end >= page->row_count) {
        *to_out = page->chunk_count;
        return;
    }
    /* The chunk where the next row begins is needed too, unless that row stands first in it. */
    to = find_chunk(page, *from_out, end);
    *to_out = page->chunk[to].first_row == end && !page->chunk[to].continues ? to : to + 1;
}

/* The parts of one chunk. */
struct chunk {
    uint64_t value_count;
    struct lmn__span rep, def;
    uint64_t entry_count;
    struct lmn__span value[BUFFER_COUNT_MAX];
};

/* Take `len` bytes and the padding to 8 behind them from the front of `bytes`. */
static bool take_padded(struct lmn__span *bytes, uint64_t len, struct lmn__span *part_out)
{
    uint64_t padded = lmn__align_up(len, 8);

    if (len > bytes->len)
        return false;
    *part_out = (struct lmn__span){ bytes->data, len };
    padded = lmn__min_u64(padded, bytes->len);
    bytes->data += padded;
    bytes->len -= padded;
    return true;
}

static enum lmn_status split_chunk(const struct lmn__page_layout *layout, struct lmn__span bytes,
                                   struct chunk *chunk, struct lmn_error *err)
{
    uint32_t size_bytes = layout->large_chunks ? 4 : 2;
    uint64_t header = 2u * (1u + (layout->rep != NULL) + (layout->def != NULL)) +
                      (uint64_t)layout->buffer_count * size_bytes;
    uint64_t rep = 0, def = 0;
    const uint8_t *size = bytes.data + 2;
    struct lmn__span head;
    bool fits;

    if (!take_padded(&bytes, header, &head))
        return lmn_fail(err, LMN_E_CORRUPT, "a chunk of %zu bytes has no room for its header",
                        bytes.len);
    chunk->entry_count = lmn__load_u16(head.data);
    if (layout->rep != NULL) {
        rep = lmn__load_u16(size);
        size += 2;
    }
    if (layout->def != NULL) {
        def = lmn__load_u16(size);
        size += 2;
    }
    fits = take_padded(&bytes, rep, &chunk->rep) && take_padded(&bytes, def, &chunk->def);
    for (uint32_t i = 0; fits && i < layout->buffer_count; i++, size += size_bytes)
        fits = take_padded(&bytes, lmn__load_uint(size, size_bytes), &chunk->value[i]);
    if (!fits)
        return lmn_fail(err, LMN_E_CORRUPT, "the parts of a chunk are larger than the chunk");
    return LMN_OK;
}

/* Levels [first, first + take) of the `count` in a block; *levels_out is NULL without `encoding`.
 */
static enum lmn_status decode_levels(struct lmn__scratch *scratch, struct lmn__vec *vec,
                                     const struct lmn__encoding *encoding, struct lmn__span block,
                                     uint64_t count, uint64_t first, uint64_t take,
                                     const uint16_t **levels_out, struct lmn_error *err)
{
    enum lmn_status st;

    *levels_out = NULL;
    if (encoding == NULL)
        return LMN_OK;
    st = lmn__scratch_need(scratch, vec, take * sizeof(uint16_t), err);
    if (st != LMN_OK)
        return st;
    *levels_out = (const uint16_t *)(const void *)vec->data;
    return lmn__fixed_decode_block(scratch, encoding, block, 16, count, first, take, vec->data,
                                   err);
}

/* Entries [from, to) of a chunk, whose rep levels are decoded: their slots, then their values. */
static enum lmn_status append_entries(const struct lmn__miniblock *page, struct lmn__leaf *leaf,
                                      const struct chunk *chunk, const uint16_t *rep, uint64_t from,
                                      uint64_t to, struct lmn_error *err)
{
    const struct lmn__page_layout *layout = page->layout;
    struct lmn__levels levels = { rep != NULL ? rep + from : NULL, NULL, to - from };
    /* Values before `from` are counted by the def levels of all entries before it. */
    uint64_t first = layout->list_count != 0 ? 0 : from, before = from, visible;
    const uint16_t *def;
    enum lmn_status st = decode_levels(leaf->scratch, &leaf->scratch->def, layout->def, chunk->def,
                                       chunk->entry_count, first, to - first, &def, err);

    if (st == LMN_OK && def != NULL) {
        before = first + lmn__levels_visible(layout, def, from - first);
        levels.def = def + (from - first);
    }
    if (st == LMN_OK)
        st = lmn__levels_append(layout, &leaf->path, &levels, &visible, err);
    if (st != LMN_OK)
        return st;
    return lmn__values_append(&page->values, leaf, chunk->value, layout->buffer_count,
                              chunk->value_count, before, visible, err);
}

/* Rows [first, end) as far as they lie in chunk number `index`. */
static enum lmn_status append_chunk(const struct lmn__miniblock *page, struct lmn__leaf *leaf,
                                    uint64_t index, struct lmn__span bytes, uint64_t first,
                                    uint64_t end, struct lmn_error *err)
{
    const struct lmn__page_layout *layout = page->layout;
    const struct lmn__mini_chunk *info = &page->chunk[index];
    struct chunk chunk; /* large, and filled as far as it is used */
    uint64_t from = first > info->first_row ? first - info->first_row : 0;
    uint64_t to = end - info->first_row;
    const uint16_t *rep;
    enum lmn_status st = split_chunk(layout, bytes, &chunk, err);

    if (st != LMN_OK)
        return st;
    chunk.value_count = info[1].first_value - info->first_value;
    chunk.entry_count = layout->rep == NULL ? chunk.value_count
                                            : lmn__fixed_level_count(layout->rep, chunk.rep,
                                                                     (uint16_t)chunk.entry_count);
    st = decode_levels(leaf->scratch, &leaf->scratch->rep, layout->rep, chunk.rep,
                       chunk.entry_count, 0, chunk.entry_count, &rep, err);
    if (st != LMN_OK)
        return st;
    if (rep == NULL) {
        to = lmn__min_u64(to, chunk.entry_count);
    } else {
        uint64_t count = chunk.entry_count, rows = to - from;

        from = first < info->first_row ? 0
                                       : lmn__levels_find_row(rep, count, layout->list_count, from);
        to = end >= info[1].first_row
                 ? count
                 : from + lmn__levels_find_row(rep + from, count - from, layout->list_count, rows);
    }
    return from < to ? append_entries(page, leaf, &chunk, rep, from, to, err) : LMN_OK;
}

enum lmn_status lmn__miniblock_append(const struct lmn__miniblock *page, struct lmn__leaf *leaf,
                                      struct lmn__span data, uint64_t first, uint64_t count,
                                      struct lmn_error *err)
{
    uint64_t from, to;

    lmn__miniblock_find(page, first, count, &from, &to);
    for (uint64_t i = from; i < to; i++) {
        const struct lmn__mini_chunk *info = &page->chunk[i];
        uint64_t offset = info->offset - page->chunk[from].offset;
        struct lmn__span bytes = { data.data + offset, info[1].offset - info->offset };
        enum lmn_status st = append_chunk(page, leaf, i, bytes, first, first + count, err);

        if (st != LMN_OK)
            return lmn__fail_within(err, st, "chunk %llu", (unsigned long long)i);
    }
    return LMN_OK;
}
