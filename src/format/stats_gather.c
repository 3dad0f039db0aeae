/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zone has ZONE_ROWS rows; of strings fewer, when they take ZONE_BYTES before. Zones know nothing
 * of pages: rows are counted from the start of the file.
 *
 * Numbers are compared in lanes that do not depend on each other, so that compilers make vectors of
 * them. NaN is greater than all other numbers: comparisons leave it out, and where there was one it
 * is the upper bound.
 *
 * Of a string the first bytes are kept. They are a lower bound as they are; the upper bound is the
 * least string of that length that is greater than all that begin with them.
 */
#include "format/stats_gather.h"

#include "base/bits.h"
#include "base/hash.h"
#include "base/math.h"
#include "codec/simd.h"
#include "format/stats_layout.h"
#include "os/processor.h"

enum { ZONE_ROWS = 8192, ZONE_BYTES = 64 << 10, LANES = 32, TEXT_GROUP = 64 };

/*
 * Numbers are compared by keys, integers that sort as they do: those of floats are their bits, of
 * negative ones all but the sign turned. Twice is the float again.
 */
#define KEY_OF_INTEGER(key) (key)
#define KEY_OF_FLOAT(key)   ((key) ^ (int32_t)((uint32_t)((key) >> 31) >> 1))
#define KEY_OF_DOUBLE(key)  ((key) ^ (int64_t)((uint64_t)((key) >> 63) >> 1))

/*
 * NAME_add(): take the keys of `count` values into the bounds of a zone. `def` is NULL where no row
 * is null; a null takes part as the neutral key of the comparison, so if all are, min stays above
 * max.
 */
#define NUMBER_KERNEL(NAME, T, KEY, LEAST, GREATEST)                                               \
    LMN__KERNEL void NAME##_loop(const uint8_t *x, const uint16_t *def, uint64_t count, T *min,    \
                                 T *max)                                                           \
    {                                                                                              \
        T low[LANES], high[LANES], key;                                                            \
        uint64_t i = 0;                                                                            \
                                                                                                   \
        for (uint32_t k = 0; k < LANES; k++) {                                                     \
            low[k] = *min;                                                                         \
            high[k] = *max;                                                                        \
        }                                                                                          \
        for (; i + LANES <= count; i += LANES) {                                                   \
            for (uint32_t k = 0; k < LANES; k++) {                                                 \
                T a, b;                                                                            \
                                                                                                   \
                memcpy(&key, x + (i + k) * sizeof key, sizeof key);                                \
                a = def != NULL && def[i + k] != 0 ? (GREATEST) : KEY(key);                        \
                b = def != NULL && def[i + k] != 0 ? (LEAST) : KEY(key);                           \
                low[k] = a < low[k] ? a : low[k];                                                  \
                high[k] = b > high[k] ? b : high[k];                                               \
            }                                                                                      \
        }                                                                                          \
        for (uint32_t k = 0; k < LANES; k++) {                                                     \
            *min = low[k] < *min ? low[k] : *min;                                                  \
            *max = high[k] > *max ? high[k] : *max;                                                \
        }                                                                                          \
        for (; i < count; i++) {                                                                   \
            memcpy(&key, x + i * sizeof key, sizeof key);                                          \
            key = KEY(key);                                                                        \
            *min = (def == NULL || def[i] == 0) && key < *min ? key : *min;                        \
            *max = (def == NULL || def[i] == 0) && key > *max ? key : *max;                        \
        }                                                                                          \
    }                                                                                              \
    LMN__WIDE static void NAME##_wide(const uint8_t *x, const uint16_t *def, uint64_t count,       \
                                      T *min, T *max)                                              \
    {                                                                                              \
        if (def == NULL)                                                                           \
            NAME##_loop(x, NULL, count, min, max);                                                 \
        else                                                                                       \
            NAME##_loop(x, def, count, min, max);                                                  \
    }                                                                                              \
    static void NAME##_plain(const uint8_t *x, const uint16_t *def, uint64_t count, T *min,        \
                             T *max)                                                               \
    {                                                                                              \
        NAME##_loop(x, def, count, min, max);                                                      \
    }                                                                                              \
    static void NAME##_add(struct lmn__gather_zone *zone, const uint8_t *x, const uint16_t *def,   \
                           uint64_t count)                                                         \
    {                                                                                              \
        T min = (GREATEST), max = (LEAST);                                                         \
                                                                                                   \
        if (zone->has_bounds) {                                                                    \
            memcpy(&min, zone->min, sizeof min);                                                   \
            memcpy(&max, zone->max, sizeof max);                                                   \
        }                                                                                          \
        (lmn__processor_is_wide() ? NAME##_wide : NAME##_plain)(x, def, count, &min, &max);        \
        zone->has_bounds = min <= max;                                                             \
        memcpy(zone->min, &min, sizeof min);                                                       \
        memcpy(zone->max, &max, sizeof max);                                                       \
    }

NUMBER_KERNEL(i8, int8_t, KEY_OF_INTEGER, INT8_MIN, INT8_MAX)
NUMBER_KERNEL(i16, int16_t, KEY_OF_INTEGER, INT16_MIN, INT16_MAX)
NUMBER_KERNEL(i32, int32_t, KEY_OF_INTEGER, INT32_MIN, INT32_MAX)
NUMBER_KERNEL(i64, int64_t, KEY_OF_INTEGER, INT64_MIN, INT64_MAX)
NUMBER_KERNEL(u8, uint8_t, KEY_OF_INTEGER, 0, UINT8_MAX)
NUMBER_KERNEL(u16, uint16_t, KEY_OF_INTEGER, 0, UINT16_MAX)
NUMBER_KERNEL(u32, uint32_t, KEY_OF_INTEGER, 0, UINT32_MAX)
NUMBER_KERNEL(u64, uint64_t, KEY_OF_INTEGER, 0, UINT64_MAX)
NUMBER_KERNEL(f32, int32_t, KEY_OF_FLOAT, INT32_MIN, INT32_MAX)
NUMBER_KERNEL(f64, int64_t, KEY_OF_DOUBLE, INT64_MIN, INT64_MAX)

typedef __int128 int128_t;

/* Decimals; their vectors need not be aligned for the type. */
static void wide_add(struct lmn__gather_zone *zone, const uint8_t *values, const uint16_t *def,
                     uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        int128_t value, bound;

        if (def != NULL && def[i] != 0)
            continue;
        memcpy(&value, values + i * sizeof value, sizeof value);
        memcpy(&bound, zone->min, sizeof bound);
        if (!zone->has_bounds || value < bound)
            memcpy(zone->min, &value, sizeof value);
        memcpy(&bound, zone->max, sizeof bound);
        if (!zone->has_bounds || value > bound)
            memcpy(zone->max, &value, sizeof value);
        zone->has_bounds = true;
    }
}

/* The key of a float of `width` bytes, or the float of a key. */
static int64_t turn_float(const uint8_t *at, uint32_t width)
{
    uint32_t unused = 64 - 8 * width;
    int64_t bits = (int64_t)(lmn__load_uint(at, width) << unused) >> unused;

    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> (unused + 1));
}

static int64_t infinite_key(uint32_t width)
{
    return width == 2 ? 0x7c00 : width == 4 ? 0x7f800000 : 0x7ff0000000000000;
}

static bool is_nan_key(int64_t key, uint32_t width)
{
    return key > infinite_key(width) || key < ~infinite_key(width);
}

static int64_t load_key(const uint8_t *at, uint32_t width)
{
    uint32_t unused = 64 - 8 * width;

    return (int64_t)(lmn__load_uint(at, width) << unused) >> unused;
}

/* Floats among which is NaN, and those of two bytes. */
static void floats_add_each(struct lmn__gather_zone *zone, uint32_t width, const uint8_t *values,
                            const uint16_t *def, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        int64_t key = turn_float(values + i * width, width);

        if (def != NULL && def[i] != 0)
            continue;
        if (is_nan_key(key, width)) {
            zone->has_nan = true;
            continue;
        }
        if (!zone->has_bounds || key < load_key(zone->min, width))
            lmn__store_uint(zone->min, width, (uint64_t)key);
        if (!zone->has_bounds || key > load_key(zone->max, width))
            lmn__store_uint(zone->max, width, (uint64_t)key);
        zone->has_bounds = true;
    }
}

static void floats_add(struct lmn__gather_zone *zone, uint32_t width, const uint8_t *values,
                       const uint16_t *def, uint64_t count)
{
    struct lmn__gather_zone before = *zone;

    if (width != 2)
        (width == 4 ? f32_add : f64_add)(zone, values, def, count);
    if (width == 2 || (zone->has_bounds && (is_nan_key(load_key(zone->min, width), width) ||
                                            is_nan_key(load_key(zone->max, width), width)))) {
        *zone = before;
        floats_add_each(zone, width, values, def, count);
    }
}

static void bool_add(struct lmn__gather_zone *zone, const uint8_t *bits, uint64_t first,
                     const uint16_t *def, uint64_t count)
{
    uint64_t ones = 0, values = count;

    if (def == NULL) {
        ones = lmn__bits_count(bits, first, count);
    } else {
        for (uint64_t i = 0; i < count; i++) {
            values -= def[i] != 0;
            ones += def[i] == 0 && lmn__bit_get(bits, first + i);
        }
    }
    if (values == 0)
        return;
    zone->min[0] = (uint8_t)(ones == values && (!zone->has_bounds || zone->min[0] != 0));
    zone->max[0] = (uint8_t)(ones != 0 || (zone->has_bounds && zone->max[0] != 0));
    zone->has_bounds = true;
}

/*
 * The first eight bytes as a number that sorts as they do; shorter strings go on with zeros. Eight
 * bytes can be read there: strings are in vectors, which have slack, or in a zone.
 */
LMN__KERNEL uint64_t text_key(const uint8_t *data, uint64_t len)
{
    if (len == 0)
        return 0;
    if (len >= sizeof(uint64_t))
        return __builtin_bswap64(lmn__load_u64(data));
    return __builtin_bswap64(lmn__load_u64(data)) & ~(uint64_t)0 << (64 - 8 * len);
}

/* Sorted columns come here for most of their rows. */
static int compare_starts(const uint8_t *a, uint32_t a_len, const uint8_t *b, uint32_t b_len)
{
    uint32_t len = a_len < b_len ? a_len : b_len;

    for (uint32_t at = 0; at < len; at += sizeof(uint64_t)) {
        uint64_t x = text_key(a + at, len - at), y = text_key(b + at, len - at);

        if (x != y)
            return x < y ? -1 : 1;
    }
    return (a_len > b_len) - (a_len < b_len);
}

/* A string that is a bound while rows are looked at; it is copied when they are done. */
struct text {
    const uint8_t *data;
    uint32_t len; /* as far as it is kept */
    uint64_t key;
};

/* The bounds of the open zone, as strings. */
struct texts {
    struct text min, max;
    bool max_cut;
    bool any;
};

/* A string that is not between the bounds, or not clearly so. */
static void texts_widen(struct texts *texts, const uint8_t *data, uint64_t len, uint64_t key)
{
    struct text text = { data, (uint32_t)lmn__min_u64(len, LMN__STATS_BYTES_MAX), key };
    int order = text.key < texts->min.key ? -1 : 1;

    if (texts->any && text.key == texts->min.key)
        order = compare_starts(data, text.len, texts->min.data, texts->min.len);
    if (!texts->any || order < 0)
        texts->min = text;
    order = text.key > texts->max.key ? 1 : -1;
    if (texts->any && text.key == texts->max.key)
        order = compare_starts(data, text.len, texts->max.data, texts->max.len);
    if (!texts->any || order > 0) {
        texts->max = text;
        texts->max_cut = len > text.len;
    } else if (order == 0) {
        texts->max_cut |= len > text.len;
    }
    texts->any = true;
}

static struct texts texts_of(const struct lmn__gather_zone *zone)
{
    return (struct texts){ .min = { zone->min, zone->min_len, text_key(zone->min, zone->min_len) },
                           .max = { zone->max, zone->max_len, text_key(zone->max, zone->max_len) },
                           .max_cut = zone->max_cut,
                           .any = zone->has_bounds };
}

static void texts_keep(const struct texts *texts, struct lmn__gather_zone *zone)
{
    zone->min_len = texts->min.len;
    zone->max_len = texts->max.len;
    zone->max_cut = texts->max_cut;
    zone->has_bounds = texts->any;
    if (texts->min.len != 0)
        memmove(zone->min, texts->min.data, texts->min.len);
    if (texts->max.len != 0)
        memmove(zone->max, texts->max.data, texts->max.len);
}

/* The least upper bound of its length, if there is one. */
static bool raise_cut(struct lmn__gather_zone *zone)
{
    while (zone->max_len != 0 && zone->max[zone->max_len - 1] == 0xff)
        zone->max_len--;
    if (zone->max_len == 0)
        return false;
    zone->max[zone->max_len - 1]++;
    return true;
}

/* From the keys of floats to their bounds; NaN is the greatest. */
static void finish_floats(struct lmn__gather_zone *zone, uint32_t width)
{
    /* The quiet NaN of each width is the infinity with the bit behind it. */
    uint64_t infinite = (uint64_t)infinite_key(width);
    uint64_t nan = infinite | (infinite >> 1 & ~infinite);

    if (zone->has_bounds) {
        lmn__store_uint(zone->min, width, (uint64_t)turn_float(zone->min, width));
        lmn__store_uint(zone->max, width, (uint64_t)turn_float(zone->max, width));
    } else if (zone->has_nan) {
        lmn__store_uint(zone->min, width, nan);
    }
    if (zone->has_nan)
        lmn__store_uint(zone->max, width, nan);
    zone->has_bounds |= zone->has_nan;
}

static void close_zone(struct lmn__stats_gather *gather)
{
    struct lmn__gather_zone *zone = &gather->zone;
    bool is_bytes = gather->type.kind == LMN__STATS_BYTES;
    uint32_t width = gather->type.width;
    bool has_max;

    if (gather->type.kind == LMN__STATS_FLOAT)
        finish_floats(zone, width);
    has_max = zone->has_bounds && (!zone->max_cut || raise_cut(zone));
    lmn__buf_put_u32(&gather->zones, zone->row_count);
    lmn__buf_put_u32(&gather->zones, zone->null_count);
    lmn__buf_put_u8(&gather->zones, (uint8_t)((zone->has_bounds ? LMN__STATS_HAS_MIN : 0) |
                                              (has_max ? LMN__STATS_HAS_MAX : 0)));
    if (zone->has_bounds && is_bytes)
        lmn__buf_put_u8(&gather->zones, (uint8_t)zone->min_len);
    if (zone->has_bounds)
        lmn__buf_put(&gather->zones, zone->min, is_bytes ? zone->min_len : width);
    if (has_max && is_bytes)
        lmn__buf_put_u8(&gather->zones, (uint8_t)zone->max_len);
    if (has_max)
        lmn__buf_put(&gather->zones, zone->max, is_bytes ? zone->max_len : width);
    gather->zone_count++;
    *zone = (struct lmn__gather_zone){ 0 };
}

typedef void (*number_add_fn)(struct lmn__gather_zone *zone, const uint8_t *x, const uint16_t *def,
                              uint64_t count);

static void numbers_add(struct lmn__gather_zone *zone, struct lmn__stats_type type,
                        const uint8_t *values, const uint16_t *def, uint64_t count)
{
    static const number_add_fn integers[2][5] = { { i8_add, i16_add, i32_add, i64_add, wide_add },
                                                  { u8_add, u16_add, u32_add, u64_add, NULL } };

    if (type.kind == LMN__STATS_FLOAT)
        floats_add(zone, type.width, values, def, count);
    else
        integers[type.kind == LMN__STATS_UNSIGNED][lmn__bit_width(type.width) - 1](zone, values,
                                                                                   def, count);
}

/* Where string number i begins. */
LMN__KERNEL uint64_t text_start(const struct lmn__builder *values, uint32_t width, uint64_t i)
{
    return values->layout->kind == LMN__LAYOUT_FIXED
               ? i * (values->layout->bits / 8)
               : lmn__load_uint(values->offsets.data + i * width, width);
}

/* Strings [first, end); their number of nulls. */
LMN__KERNEL uint32_t texts_loop(struct texts *texts, const struct lmn__builder *values,
                                uint32_t width, const uint16_t *def, uint64_t first, uint64_t end)
{
    uint64_t from = text_start(values, width, first), to;
    uint32_t nulls = 0;

    for (uint64_t i = first; i < end; i++, from = to) {
        const uint8_t *data;
        uint64_t key;

        to = text_start(values, width, i + 1);
        if (def != NULL && def[i] != 0) {
            nulls++;
            continue;
        }
        data = to != from ? values->values.data + from : NULL;
        key = text_key(data, to - from);
        if (!texts->any || key <= texts->min.key || key >= texts->max.key)
            texts_widen(texts, data, to - from, key);
    }
    return nulls;
}

/* Strings in small groups, or one by one, so that long ones make small zones. */
static void add_texts(struct lmn__stats_gather *gather, const struct lmn__builder *values,
                      const uint16_t *def, uint64_t first, uint64_t end)
{
    struct lmn__gather_zone *zone = &gather->zone;
    struct texts texts = texts_of(zone);
    uint32_t width = values->layout->kind == LMN__LAYOUT_VARIABLE ? values->layout->bits / 8 : 0;

    while (first < end) {
        uint64_t count = lmn__min_u64(end - first, TEXT_GROUP);
        uint64_t start = text_start(values, width, first), bytes;

        count = lmn__min_u64(count, ZONE_ROWS - zone->row_count);
        while ((bytes = text_start(values, width, first + count) - start) > ZONE_BYTES && count > 1)
            count /= 2;
        zone->null_count += width == 4
                                ? texts_loop(&texts, values, 4, def, first, first + count)
                                : texts_loop(&texts, values, width, def, first, first + count);
        zone->row_count += (uint32_t)count;
        zone->bytes += bytes;
        first += count;
        if (zone->row_count == ZONE_ROWS || zone->bytes >= ZONE_BYTES) {
            texts_keep(&texts, zone);
            close_zone(gather);
            texts = texts_of(zone);
        }
    }
    texts_keep(&texts, zone);
}

static uint64_t count_nulls(const uint16_t *def, uint64_t count)
{
    uint64_t nulls = 0;

    for (uint64_t i = 0; i < count; i++)
        nulls += def[i] != 0;
    return nulls;
}

void lmn__stats_gather_init(struct lmn__stats_gather *gather, struct lmn_env *env,
                            struct lmn__stats_type type)
{
    *gather = (struct lmn__stats_gather){ .type = type };
    lmn__buf_init(&gather->zones, env, 0);
}

void lmn__stats_gather_deinit(struct lmn__stats_gather *gather)
{
    lmn__buf_deinit(&gather->zones);
}

void lmn__stats_gather_add(struct lmn__stats_gather *gather, const struct lmn__shred *shred,
                           uint64_t first)
{
    struct lmn__gather_zone *zone = &gather->zone;
    const uint16_t *def = lmn__shred_def(shred);
    const uint8_t *values = shred->values.values.data;
    uint64_t end = shred->entry_count;

    if (gather->type.kind == LMN__STATS_BYTES)
        add_texts(gather, &shred->values, def, first, end);
    while (gather->type.kind != LMN__STATS_NONE && gather->type.kind != LMN__STATS_BYTES &&
           first < end) {
        uint64_t count = lmn__min_u64(end - first, ZONE_ROWS - zone->row_count);
        uint64_t nulls = def != NULL ? count_nulls(def + first, count) : 0;
        const uint16_t *here = nulls != 0 ? def + first : NULL;

        if (gather->type.kind == LMN__STATS_BOOL)
            bool_add(zone, values, first, here, count);
        else
            numbers_add(zone, gather->type, values + first * gather->type.width, here, count);
        zone->row_count += (uint32_t)count;
        zone->null_count += (uint32_t)nulls;
        first += count;
        if (zone->row_count == ZONE_ROWS)
            close_zone(gather);
    }
}

enum lmn_status lmn__stats_encode(struct lmn__stats_gather *const *gather, const uint32_t *column,
                                  uint32_t count, struct lmn__buf *out, struct lmn_error *err)
{
    size_t start = out->len;

    lmn__buf_put(out, LMN__STATS_MAGIC, 8);
    lmn__buf_put_u32(out, LMN__STATS_VERSION);
    lmn__buf_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        struct lmn__buf *zones = &gather[i]->zones;

        if (gather[i]->zone.row_count != 0)
            close_zone(gather[i]);
        lmn__buf_put_u32(out, column[i]);
        lmn__buf_put_u8(out, (uint8_t)gather[i]->type.kind);
        lmn__buf_put_u8(out, (uint8_t)gather[i]->type.width);
        lmn__buf_put_u16(out, 0);
        lmn__buf_put_u64(out, gather[i]->zone_count);
        lmn__buf_put_u64(out, zones->len);
        lmn__buf_put_u64(out, lmn__hash64(zones->data, zones->len));
        out->failed |= zones->failed;
    }
    if (!out->failed)
        lmn__buf_put_u64(out, lmn__hash64(out->data + start, out->len - start));
    for (uint32_t i = 0; i < count; i++)
        lmn__buf_put(out, gather[i]->zones.data, gather[i]->zones.len);
    return lmn__buf_status(out, "statistics", err);
}
