/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading of row ids. A RowIdSequence is a list of segments, each one of
 *
 *   range               start, end                  start, start + 1, ... end - 1
 *   range with holes    start, end, array           the same without the ids of the array, which
 *                                                   rise
 *   range with bitmap   start, end, bits            the ids start + i whose bit i is set; bit i is
 *                                                   bit i mod 8 of byte i / 8
 *   sorted array, array                             any ids
 *
 * where an array is of 16-bit or 32-bit distances from a base, or of 64-bit values.
 *
 * A sequence is walked twice: the first walk checks it and counts rows and runs, the second fills
 * the runs. What a segment says it holds is compared with the rows of the fragment before anything
 * is made of it.
 */
#include "table/row_ids.h"

#include <assert.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/math.h"

/* An EncodedU64Array whose size was checked. */
struct array {
    uint64_t base;
    const uint8_t *data;
    uint64_t count;
    uint32_t width; /* bytes of an item */
};

static enum lmn_status corrupt(struct lmn_error *err, const char *what)
{
    return lmn_fail(err, LMN_E_CORRUPT, "row ids: %s", what);
}

static enum lmn_status array_open(const struct lmn__pb_encoded_array *pb, struct array *array_out,
                                  struct lmn_error *err)
{
    const struct lmn__pb_u64_array *part;
    uint32_t width;

    *array_out = (struct array){ 0 };
    if (pb == NULL || (pb->u16 != NULL) + (pb->u32 != NULL) + (pb->u64 != NULL) != 1)
        return corrupt(err, "an array is not of one width");
    part = pb->u16 != NULL ? pb->u16 : pb->u32 != NULL ? pb->u32 : pb->u64;
    width = pb->u16 != NULL ? 2 : pb->u32 != NULL ? 4 : 8;
    if (part->bytes.len % width != 0)
        return lmn_fail(err, LMN_E_CORRUPT, "row ids: an array of %u byte items has %zu bytes",
                        width, part->bytes.len);
    *array_out = (struct array){ .base = pb->u64 != NULL ? 0 : part->base,
                                 .data = part->bytes.data,
                                 .count = part->bytes.len / width,
                                 .width = width };
    return LMN_OK;
}

/* Item `i`; false when it is beyond 64 bits. */
static bool array_get(const struct array *array, uint64_t i, uint64_t *id_out)
{
    return lmn__add_u64(array->base, lmn__load_uint(array->data + i * array->width, array->width),
                        id_out);
}

/* A segment whose form was checked, and the rows it says it has. */
struct segment {
    const struct lmn__pb_u64_range *range; /* NULL: all ids are in the array */
    const uint8_t *bits;                   /* NULL: no bitmap */
    struct array array;                    /* ids, or the holes of the range */
    uint64_t row_count;
};

static enum lmn_status range_open(const struct lmn__pb_u64_segment *pb, struct segment *segment,
                                  struct lmn_error *err)
{
    const struct lmn__pb_u64_range *range = segment->range;
    uint64_t slots = range->end - range->start;
    enum lmn_status st;

    if (range->end < range->start)
        return lmn_fail(err, LMN_E_CORRUPT, "row ids: a range from %llu to %llu",
                        (unsigned long long)range->start, (unsigned long long)range->end);
    segment->row_count = slots;
    if (range == pb->range_with_holes) {
        st = array_open(range->holes, &segment->array, err);
        if (st != LMN_OK)
            return st;
        if (segment->array.count > slots)
            return lmn_fail(err, LMN_E_CORRUPT, "row ids: %llu holes in a range of %llu",
                            (unsigned long long)segment->array.count, (unsigned long long)slots);
        segment->row_count = slots - segment->array.count;
    } else if (range == pb->range_with_bitmap) {
        if (range->bitmap.len != lmn__bits_bytes(slots))
            return lmn_fail(err, LMN_E_CORRUPT, "row ids: a bitmap of %zu bytes for %llu ids",
                            range->bitmap.len, (unsigned long long)slots);
        segment->bits = slots != 0 ? range->bitmap.data : NULL;
        if (slots != 0)
            segment->row_count = lmn__bits_count(segment->bits, 0, slots);
    }
    return LMN_OK;
}

static enum lmn_status segment_open(const struct lmn__pb_u64_segment *pb,
                                    struct segment *segment_out, struct lmn_error *err)
{
    struct segment segment = { 0 };
    enum lmn_status st;

    *segment_out = segment;
    if (pb == NULL || (pb->range != NULL) + (pb->range_with_holes != NULL) +
                              (pb->range_with_bitmap != NULL) + (pb->sorted != NULL) +
                              (pb->array != NULL) !=
                          1)
        return corrupt(err, "a segment is not of one kind that is known");
    if (pb->sorted != NULL || pb->array != NULL) {
        st = array_open(pb->sorted != NULL ? pb->sorted : pb->array, &segment.array, err);
        segment.row_count = segment.array.count;
    } else {
        segment.range = pb->range != NULL              ? pb->range
                        : pb->range_with_holes != NULL ? pb->range_with_holes
                                                       : pb->range_with_bitmap;
        st = range_open(pb, &segment, err);
    }
    if (st == LMN_OK)
        *segment_out = segment;
    return st;
}

/* Count `more` rows; the sum stays within the fragment. */
static enum lmn_status add_rows(uint64_t *rows, uint64_t more, uint64_t row_max,
                                struct lmn_error *err)
{
    if (more > row_max - *rows)
        return lmn_fail(err, LMN_E_CORRUPT, "row ids: %llu rows after %llu, the fragment has %llu",
                        (unsigned long long)more, (unsigned long long)*rows,
                        (unsigned long long)row_max);
    *rows += more;
    return LMN_OK;
}

static enum lmn_status check_rows(uint64_t rows, uint64_t row_count, struct lmn_error *err)
{
    if (rows != row_count)
        return lmn_fail(err, LMN_E_CORRUPT, "row ids: %llu rows, the fragment has %llu",
                        (unsigned long long)rows, (unsigned long long)row_count);
    return LMN_OK;
}

/* Where runs go; in the first walk, without `run`, they are counted. */
struct sink {
    struct lmn__id_run *run;
    uint64_t run_count;
    uint64_t row;     /* rows so far */
    uint64_t next_id; /* that would make the last run longer */
};

static void put_run(struct sink *sink, uint64_t id, uint64_t count)
{
    if (count == 0)
        return;
    if (sink->run_count == 0 || id != sink->next_id || id == 0) {
        if (sink->run != NULL)
            sink->run[sink->run_count] = (struct lmn__id_run){ sink->row, id, 0 };
        sink->run_count++;
    }
    if (sink->run != NULL)
        sink->run[sink->run_count - 1].count += count;
    sink->row += count;
    sink->next_id = id + count;
}

static enum lmn_status put_holes(const struct segment *segment, struct sink *sink,
                                 struct lmn_error *err)
{
    uint64_t at = segment->range->start, hole;

    for (uint64_t i = 0; i < segment->array.count; i++) {
        if (!array_get(&segment->array, i, &hole) || hole < at || hole >= segment->range->end)
            return corrupt(err, "the holes of a range are not in order inside it");
        put_run(sink, at, hole - at);
        at = hole + 1;
    }
    put_run(sink, at, segment->range->end - at);
    return LMN_OK;
}

static void put_bitmap(const struct segment *segment, struct sink *sink)
{
    uint64_t slots = segment->range->end - segment->range->start;

    for (uint64_t i = 0; i < slots; i++) {
        if (i % 8 == 0 && segment->bits[i / 8] == 0)
            i += 7;
        else if (lmn__bit_get(segment->bits, i))
            put_run(sink, segment->range->start + i, 1);
    }
}

static enum lmn_status put_array(const struct array *array, struct sink *sink,
                                 struct lmn_error *err)
{
    uint64_t id;

    for (uint64_t i = 0; i < array->count; i++) {
        if (!array_get(array, i, &id))
            return corrupt(err, "an id is beyond 64 bits");
        put_run(sink, id, 1);
    }
    return LMN_OK;
}

static enum lmn_status put_segment(const struct segment *segment, struct sink *sink,
                                   struct lmn_error *err)
{
    if (segment->range == NULL)
        return put_array(&segment->array, sink, err);
    if (segment->bits != NULL) {
        put_bitmap(segment, sink);
        return LMN_OK;
    }
    return put_holes(segment, sink, err); /* also of a range without any */
}

static enum lmn_status walk(const struct lmn__pb_row_ids *pb, uint64_t row_count, struct sink *sink,
                            struct lmn_error *err)
{
    const struct lmn__pb_u64_segment *item = pb->segments.item;
    struct segment segment;
    uint64_t rows = 0;
    enum lmn_status st = LMN_OK;

    for (size_t i = 0; i < pb->segments.count && st == LMN_OK; i++) {
        st = segment_open(&item[i], &segment, err);
        if (st == LMN_OK)
            st = add_rows(&rows, segment.row_count, row_count, err);
        if (st == LMN_OK)
            st = put_segment(&segment, sink, err);
    }
    return st == LMN_OK ? check_rows(rows, row_count, err) : st;
}

enum lmn_status lmn__row_ids_read(struct lmn__span bytes, uint64_t row_count,
                                  struct lmn__arena *arena, struct lmn__row_ids *ids_out,
                                  struct lmn_error *err)
{
    struct lmn__pb_row_ids pb = { 0 };
    struct sink sink = { 0 };
    struct lmn__id_run *run;
    enum lmn_status st = lmn__pb_decode(&lmn__pb_row_ids_message, bytes, arena, &pb, err);

    *ids_out = (struct lmn__row_ids){ 0 };
    if (st == LMN_OK)
        st = walk(&pb, row_count, &sink, err);
    if (st != LMN_OK)
        return st;
    run = lmn__arena_array(arena, sink.run_count, sizeof *run);
    if (run == NULL)
        return lmn__arena_fail(arena, "the row ids of a fragment", err);
    sink = (struct sink){ .run = run };
    st = walk(&pb, row_count, &sink, err);
    if (st != LMN_OK)
        return st;
    *ids_out = (struct lmn__row_ids){ run, sink.run_count, row_count };
    return LMN_OK;
}

/* The run that holds `row`; there is one. */
static const struct lmn__id_run *find_run(const struct lmn__row_ids *ids, uint64_t row)
{
    uint64_t low = 0, high = ids->run_count;

    assert(row < ids->row_count);
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (ids->run[middle].row <= row)
            low = middle;
        else
            high = middle;
    }
    return &ids->run[low];
}

uint64_t lmn__row_ids_get(const struct lmn__row_ids *ids, uint64_t row)
{
    const struct lmn__id_run *run = find_run(ids, row);

    return run->id + (row - run->row);
}

void lmn__row_ids_copy(const struct lmn__row_ids *ids, uint64_t first, uint64_t count,
                       uint64_t *id_out)
{
    const struct lmn__id_run *run;

    if (count == 0)
        return;
    for (run = find_run(ids, first); count > 0; run++) {
        uint64_t skip = first - run->row, take = lmn__min_u64(run->count - skip, count);

        for (uint64_t i = 0; i < take; i++)
            *id_out++ = run->id + skip + i;
        first += take;
        count -= take;
    }
}

/* As put_run(), for versions: rows of one version that follow each other are one run. */
static enum lmn_status walk_versions(const struct lmn__pb_row_versions *pb, uint64_t row_count,
                                     struct lmn__version_run *run, uint64_t *run_count,
                                     struct lmn_error *err)
{
    const struct lmn__pb_version_run *item = pb->runs.item;
    uint64_t rows = 0, before, last = 0;
    struct segment span;
    enum lmn_status st;

    *run_count = 0;
    for (size_t i = 0; i < pb->runs.count; i++) {
        st = segment_open(item[i].span, &span, err);
        if (st != LMN_OK)
            return st;
        before = rows;
        st = add_rows(&rows, span.row_count, row_count, err);
        if (st != LMN_OK)
            return st;
        if (span.row_count == 0)
            continue;
        if (*run_count == 0 || item[i].version != last) {
            if (run != NULL)
                run[*run_count] = (struct lmn__version_run){ before, 0, item[i].version };
            ++*run_count;
        }
        if (run != NULL)
            run[*run_count - 1].count += span.row_count;
        last = item[i].version;
    }
    return check_rows(rows, row_count, err);
}

enum lmn_status lmn__row_versions_read(struct lmn__span bytes, uint64_t row_count,
                                       struct lmn__arena *arena,
                                       struct lmn__row_versions *versions_out,
                                       struct lmn_error *err)
{
    struct lmn__pb_row_versions pb = { 0 };
    struct lmn__version_run *run = NULL;
    uint64_t run_count = 0;
    enum lmn_status st = lmn__pb_decode(&lmn__pb_row_versions_message, bytes, arena, &pb, err);

    *versions_out = (struct lmn__row_versions){ 0 };
    if (st == LMN_OK)
        st = walk_versions(&pb, row_count, NULL, &run_count, err);
    if (st != LMN_OK)
        return lmn__fail_within(err, st, "versions of rows");
    run = lmn__arena_array(arena, run_count, sizeof *run);
    if (run == NULL)
        return lmn__arena_fail(arena, "the versions of a fragment's rows", err);
    st = walk_versions(&pb, row_count, run, &run_count, err);
    if (st == LMN_OK)
        *versions_out = (struct lmn__row_versions){ run, run_count, row_count };
    return st;
}

uint64_t lmn__row_versions_get(const struct lmn__row_versions *versions, uint64_t row)
{
    uint64_t low = 0, high = versions->run_count;

    assert(row < versions->row_count);
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (versions->run[middle].row <= row)
            low = middle;
        else
            high = middle;
    }
    return versions->run[low].version;
}
