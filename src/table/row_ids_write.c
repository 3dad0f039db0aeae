/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing of row ids; see row_ids.c for the segments.
 *
 * Ids come in two ways: whole (one segment), or as pieces. A piece is dense - rising ids with few
 * of them left out, as an append and later deletions make them - or it is what lies between two
 * dense pieces. Each piece is the segment that is smallest for it; whichever way is smaller is
 * written. Sizes are exact, so that a message is put out in one go, its length before it.
 */
#include <assert.h>

#include "base/bits.h"
#include "base/math.h"
#include "table/row_ids.h"

enum {
    DENSE_GAP_MAX = 8,   /* ids left out between two of a dense piece */
    DENSE_COUNT_MIN = 16 /* ids of a dense piece; fewer are not worth a segment */
};

/* Field numbers of U64Segment and of EncodedU64Array. */
enum segment_kind { RANGE = 1, RANGE_WITH_HOLES, RANGE_WITH_BITMAP, SORTED_ARRAY, ARRAY };
enum array_kind { U16_ARRAY = 1, U32_ARRAY, U64_ARRAY };

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* An encoded array: which, and the sizes of its message and of what the message holds. */
struct array_plan {
    enum array_kind kind;
    uint64_t base;
    uint64_t item_bytes;
    uint64_t inner_bytes;
    uint64_t bytes;
};

/* One segment: the ids, how they are written, and its size. */
struct plan {
    const uint64_t *id;
    uint64_t count;
    enum segment_kind kind;
    uint64_t start, end;
    struct array_plan array; /* of the ids, or of the holes */
    uint64_t inner_bytes;
    uint64_t bytes;
};

static uint64_t varint_bytes(uint64_t value)
{
    return value == 0 ? 1 : (lmn__bit_width(value) + 6) / 7;
}

/* A field of scalar type; zero is left out. */
static uint64_t number_bytes(uint64_t value)
{
    return value == 0 ? 0 : 1 + varint_bytes(value);
}

/* A field of `len` bytes, with its tag. */
static uint64_t field_bytes(uint64_t len)
{
    return 1 + varint_bytes(len) + len;
}

static void put_tag(struct lmn__buf *buf, uint32_t number, enum wire wire, uint64_t value)
{
    lmn__pb_put_varint(buf, number << 3 | wire);
    lmn__pb_put_varint(buf, value);
}

static void put_number(struct lmn__buf *buf, uint32_t number, uint64_t value)
{
    if (value != 0)
        put_tag(buf, number, WIRE_VARINT, value);
}

/* `count` numbers from `min` to `max`, in the narrowest items. */
static struct array_plan plan_array(uint64_t min, uint64_t max, uint64_t count)
{
    static const uint32_t width[] = { [U16_ARRAY] = 2, [U32_ARRAY] = 4, [U64_ARRAY] = 8 };
    struct array_plan plan = { .kind = max - min <= UINT16_MAX   ? U16_ARRAY
                                       : max - min <= UINT32_MAX ? U32_ARRAY
                                                                 : U64_ARRAY };

    plan.base = plan.kind == U64_ARRAY ? 0 : min;
    plan.item_bytes = count * width[plan.kind];
    plan.inner_bytes = number_bytes(plan.base) + field_bytes(plan.item_bytes);
    plan.bytes = field_bytes(plan.inner_bytes);
    return plan;
}

static void use_if_smaller(struct plan *plan, enum segment_kind kind, uint64_t inner_bytes,
                           const struct array_plan *array)
{
    if (plan->kind != 0 && inner_bytes >= plan->inner_bytes)
        return;
    plan->kind = kind;
    plan->inner_bytes = inner_bytes;
    if (array != NULL)
        plan->array = *array;
}

/* What is left out of rising ids: how many, the first and the last. */
struct gaps {
    uint64_t count, first, last;
};

static struct gaps find_gaps(const uint64_t *id, uint64_t count)
{
    struct gaps gaps = { .count = id[count - 1] - id[0] - (count - 1) };
    uint64_t i = 1;

    if (gaps.count == 0)
        return gaps;
    while (id[i] == id[i - 1] + 1)
        i++;
    gaps.first = id[i - 1] + 1;
    i = count - 1;
    while (id[i] == id[i - 1] + 1)
        i--;
    gaps.last = id[i] - 1;
    return gaps;
}

/* Choose the segment for `count` ids, at least one. */
static struct plan plan_segment(const uint64_t *id, uint64_t count)
{
    struct plan plan = { .id = id, .count = count };
    uint64_t min = id[0], max = id[0];
    struct array_plan array;
    bool rises = true;

    for (uint64_t i = 1; i < count; i++) {
        rises = rises && id[i] > id[i - 1];
        min = lmn__min_u64(min, id[i]);
        max = lmn__max_u64(max, id[i]);
    }
    array = plan_array(min, max, count);
    use_if_smaller(&plan, rises ? SORTED_ARRAY : ARRAY, array.bytes, &array);
    if (rises && max != UINT64_MAX) { /* a range ends behind its last id */
        struct gaps gaps = find_gaps(id, count);
        struct array_plan holes = plan_array(gaps.first, gaps.last, gaps.count);
        uint64_t range_bytes = number_bytes(min) + number_bytes(max + 1);

        plan.start = min;
        plan.end = max + 1;
        if (gaps.count == 0) {
            plan.kind = RANGE;
            plan.inner_bytes = range_bytes;
        } else {
            if (gaps.count < count * 8)
                use_if_smaller(&plan, RANGE_WITH_HOLES, range_bytes + field_bytes(holes.bytes),
                               &holes);
            use_if_smaller(&plan, RANGE_WITH_BITMAP,
                           range_bytes + field_bytes(lmn__bits_bytes(max - min + 1)), NULL);
        }
    }
    plan.bytes = field_bytes(field_bytes(plan.inner_bytes));
    return plan;
}

static void put_item(struct lmn__buf *buf, const struct array_plan *plan, uint64_t value)
{
    if (plan->kind == U16_ARRAY)
        lmn__buf_put_u16(buf, (uint16_t)(value - plan->base));
    else if (plan->kind == U32_ARRAY)
        lmn__buf_put_u32(buf, (uint32_t)(value - plan->base));
    else
        lmn__buf_put_u64(buf, value);
}

static void put_array_head(struct lmn__buf *buf, const struct array_plan *plan)
{
    put_tag(buf, plan->kind, WIRE_BYTES, plan->inner_bytes);
    put_number(buf, 1, plan->base);
    put_tag(buf, 2, WIRE_BYTES, plan->item_bytes);
}

static void put_holes(struct lmn__buf *buf, const struct plan *plan)
{
    put_tag(buf, 3, WIRE_BYTES, plan->array.bytes);
    put_array_head(buf, &plan->array);
    for (uint64_t i = 1; i < plan->count; i++)
        for (uint64_t hole = plan->id[i - 1] + 1; hole < plan->id[i]; hole++)
            put_item(buf, &plan->array, hole);
}

static void put_bitmap(struct lmn__buf *buf, const struct plan *plan)
{
    uint64_t bytes = lmn__bits_bytes(plan->end - plan->start);
    size_t at;

    put_tag(buf, 3, WIRE_BYTES, bytes);
    at = buf->len;
    lmn__buf_put_zeros(buf, bytes);
    for (uint64_t i = 0; i < plan->count && !buf->failed; i++)
        lmn__bit_set(buf->data + at, plan->id[i] - plan->start);
}

/* As the field `number` of the message around it. */
static void put_segment(struct lmn__buf *buf, uint32_t number, const struct plan *plan)
{
    put_tag(buf, number, WIRE_BYTES, field_bytes(plan->inner_bytes));
    put_tag(buf, plan->kind, WIRE_BYTES, plan->inner_bytes);
    if (plan->kind == SORTED_ARRAY || plan->kind == ARRAY) {
        put_array_head(buf, &plan->array);
        for (uint64_t i = 0; i < plan->count; i++)
            put_item(buf, &plan->array, plan->id[i]);
        return;
    }
    put_number(buf, 1, plan->start);
    put_number(buf, 2, plan->end);
    if (plan->kind == RANGE_WITH_HOLES)
        put_holes(buf, plan);
    else if (plan->kind == RANGE_WITH_BITMAP)
        put_bitmap(buf, plan);
}

static uint64_t dense_end(const uint64_t *id, uint64_t at, uint64_t count)
{
    uint64_t end = at + 1;

    while (end < count && id[end] > id[end - 1] && id[end] - id[end - 1] - 1 <= DENSE_GAP_MAX)
        end++;
    return end;
}

/* The end of the piece that starts at `at`. */
static uint64_t piece_end(const uint64_t *id, uint64_t at, uint64_t count)
{
    uint64_t end = dense_end(id, at, count), next;

    if (end - at >= DENSE_COUNT_MIN)
        return end;
    for (; end < count; end = next) {
        next = dense_end(id, end, count);
        if (next - end >= DENSE_COUNT_MIN)
            break;
    }
    return end;
}

void lmn__row_ids_write(const uint64_t *id, uint64_t count, struct lmn__buf *buf)
{
    uint64_t piece_bytes = 0, end;
    struct plan plan, whole;

    if (count == 0)
        return;
    whole = plan_segment(id, count);
    for (uint64_t at = 0; at < count && piece_bytes <= whole.bytes; at = end) {
        end = piece_end(id, at, count);
        piece_bytes += plan_segment(id + at, end - at).bytes;
    }
    if (whole.bytes <= piece_bytes) {
        put_segment(buf, 1, &whole);
        return;
    }
    for (uint64_t at = 0; at < count; at = end) {
        end = piece_end(id, at, count);
        plan = plan_segment(id + at, end - at);
        put_segment(buf, 1, &plan);
    }
}

static struct plan plan_range(uint64_t start, uint64_t count)
{
    struct plan plan = { .kind = RANGE, .start = start, .end = start + count };

    assert(count <= UINT64_MAX - start);
    plan.inner_bytes = number_bytes(plan.start) + number_bytes(plan.end);
    plan.bytes = field_bytes(field_bytes(plan.inner_bytes));
    return plan;
}

void lmn__row_ids_write_range(uint64_t start, uint64_t count, struct lmn__buf *buf)
{
    struct plan plan = plan_range(start, count);

    if (count != 0)
        put_segment(buf, 1, &plan);
}

void lmn__row_versions_write_same(uint64_t version, uint64_t count, struct lmn__buf *buf)
{
    struct plan span = plan_range(0, count);

    if (count == 0)
        return;
    put_tag(buf, 1, WIRE_BYTES, span.bytes + number_bytes(version));
    put_segment(buf, 1, &span);
    put_number(buf, 2, version);
}

void lmn__row_versions_write(const uint64_t *version, uint64_t count, struct lmn__buf *buf)
{
    uint64_t end;

    for (uint64_t at = 0; at < count; at = end) {
        end = at + 1;
        while (end < count && version[end] == version[at])
            end++;
        lmn__row_versions_write_same(version[at], end - at, buf);
    }
}
