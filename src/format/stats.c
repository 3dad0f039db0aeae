/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory is checked when it is parsed: each entry belongs to a column whose type has such
 * statistics, and the zones lie one behind the other up to the end. The zones of a column are
 * checked when it is first asked for: they are what was hashed, and add up to the rows of the file.
 */
#include "format/stats.h"

#include "base/hash.h"
#include "base/math.h"
#include "format/stats_layout.h"

struct entry {
    struct lmn__stats_type type; /* NONE: the column has no statistics */
    uint64_t zone_count;
    uint64_t hash;
    struct lmn__span bytes;
    struct lmn__stats_column *column; /* NULL: not parsed yet */
};

struct lmn__stats {
    struct lmn__arena *arena; /* which this lies in */
    uint64_t row_count;
    uint32_t column_count; /* of the file */
    struct entry *entry;   /* of each column */
};

/* Types by name; a name that ends in a colon stands for all that begin so. */
static const struct {
    const char *name;
    struct lmn__stats_type type;
} types[] = {
    { "bool", { LMN__STATS_BOOL, 1 } },
    { "int8", { LMN__STATS_SIGNED, 1 } },
    { "int16", { LMN__STATS_SIGNED, 2 } },
    { "int32", { LMN__STATS_SIGNED, 4 } },
    { "int64", { LMN__STATS_SIGNED, 8 } },
    { "uint8", { LMN__STATS_UNSIGNED, 1 } },
    { "uint16", { LMN__STATS_UNSIGNED, 2 } },
    { "uint32", { LMN__STATS_UNSIGNED, 4 } },
    { "uint64", { LMN__STATS_UNSIGNED, 8 } },
    { "halffloat", { LMN__STATS_FLOAT, 2 } },
    { "float", { LMN__STATS_FLOAT, 4 } },
    { "double", { LMN__STATS_FLOAT, 8 } },
    { "date32:", { LMN__STATS_SIGNED, 4 } },
    { "date64:", { LMN__STATS_SIGNED, 8 } },
    { "time32:", { LMN__STATS_SIGNED, 4 } },
    { "time64:", { LMN__STATS_SIGNED, 8 } },
    { "timestamp:", { LMN__STATS_SIGNED, 8 } },
    { "duration:", { LMN__STATS_SIGNED, 8 } },
    { "decimal:128:", { LMN__STATS_SIGNED, 16 } },
    { "string", { LMN__STATS_BYTES, 0 } },
    { "large_string", { LMN__STATS_BYTES, 0 } },
    { "binary", { LMN__STATS_BYTES, 0 } },
    { "large_binary", { LMN__STATS_BYTES, 0 } },
    { "fixed_size_binary:", { LMN__STATS_BYTES, 0 } },
};

struct lmn__stats_type lmn__stats_type_of(const struct lmn__node *node)
{
    static const struct lmn__stats_type none = { LMN__STATS_NONE, 0 };
    struct lmn__span name = node->field->logical_type;

    if (node->kind != LMN__NODE_LEAF || node->packed || node->blob != LMN__BLOB_NONE)
        return none;
    for (const struct lmn__node *up = node->parent; up != NULL; up = up->parent) {
        if (up->kind != LMN__NODE_STRUCT)
            return none;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t len = strlen(types[i].name);
        bool prefix = types[i].name[len - 1] == ':';

        if (name.len >= len && memcmp(name.data, types[i].name, len) == 0 &&
            (prefix || name.len == len))
            return types[i].type;
    }
    return none;
}

static enum lmn_status damaged(struct lmn_error *err, const char *what, uint64_t number)
{
    return lmn_fail(err, LMN_E_CORRUPT, "its statistics are damaged: %s %llu", what,
                    (unsigned long long)number);
}

/* Bytes of a directory of so many columns, with its hash. */
static uint64_t directory_bytes(uint32_t count)
{
    return LMN__STATS_HEAD_BYTES + (uint64_t)count * LMN__STATS_ENTRY_BYTES + LMN__STATS_HASH_BYTES;
}

bool lmn__stats_mark_is_damaged(struct lmn__span front, uint64_t bytes, uint32_t column_count)
{
    uint32_t count = front.len >= LMN__STATS_HEAD_BYTES ? lmn__load_u32(front.data + 12) : 0;
    uint64_t end = directory_bytes(count), hashed = end - LMN__STATS_HASH_BYTES;

    if (count == 0 || count > column_count || end > front.len)
        return false;
    for (uint32_t i = 0; i < count && end <= bytes; i++) {
        uint64_t zones = lmn__load_u64(front.data + LMN__STATS_HEAD_BYTES +
                                       (size_t)i * LMN__STATS_ENTRY_BYTES + 16);

        end = zones <= bytes ? end + zones : UINT64_MAX;
    }
    return end == bytes && lmn__load_u64(front.data + hashed) != lmn__hash64(front.data, hashed);
}

/* One entry of the directory; *zones is what is left of the zones. */
static enum lmn_status parse_entry(struct lmn__stats *stats, const uint8_t *at,
                                   const struct lmn__stats_type *type, struct lmn__span *zones,
                                   struct lmn_error *err)
{
    uint32_t column = lmn__load_u32(at);
    uint64_t bytes = lmn__load_u64(at + 16);
    struct entry *entry;

    if (column >= stats->column_count || type[column].kind == LMN__STATS_NONE)
        return damaged(err, "there are some of column", column);
    entry = &stats->entry[column];
    if (entry->type.kind != LMN__STATS_NONE)
        return damaged(err, "there are some twice of column", column);
    if (at[4] != type[column].kind || at[5] != type[column].width)
        return damaged(err, "they are of another type than column", column);
    entry->type = type[column];
    entry->zone_count = lmn__load_u64(at + 8);
    entry->hash = lmn__load_u64(at + 24);
    if (bytes > zones->len || entry->zone_count > bytes / LMN__STATS_ZONE_BYTES)
        return damaged(err, "they end before those of column", column);
    entry->bytes = (struct lmn__span){ zones->data, bytes };
    *zones = (struct lmn__span){ zones->data + bytes, zones->len - bytes };
    return LMN_OK;
}

static enum lmn_status parse_directory(struct lmn__stats *stats, struct lmn__span bytes,
                                       const struct lmn__stats_type *type, struct lmn_error *err)
{
    uint32_t count = lmn__load_u32(bytes.data + 12);
    uint64_t end = directory_bytes(count) - LMN__STATS_HASH_BYTES;
    struct lmn__span zones;
    enum lmn_status st = LMN_OK;

    if (count > stats->column_count || !lmn__range_fits(end, LMN__STATS_HASH_BYTES, bytes.len))
        return damaged(err, "a directory of columns:", count);
    if (lmn__load_u64(bytes.data + end) != lmn__hash64(bytes.data, end))
        return damaged(err, "the hash of their directory is not", lmn__load_u64(bytes.data + end));
    zones = (struct lmn__span){ bytes.data + end + LMN__STATS_HASH_BYTES,
                                bytes.len - end - LMN__STATS_HASH_BYTES };
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = parse_entry(stats,
                         bytes.data + LMN__STATS_HEAD_BYTES + (size_t)i * LMN__STATS_ENTRY_BYTES,
                         type, &zones, err);
    if (st == LMN_OK && zones.len != 0)
        st = damaged(err, "bytes behind the last zone:", zones.len);
    return st;
}

enum lmn_status lmn__stats_parse(struct lmn_env *env, struct lmn__span bytes,
                                 const struct lmn__stats_type *type, uint32_t column_count,
                                 uint64_t row_count, struct lmn__stats **stats_out,
                                 struct lmn_error *err)
{
    struct lmn__arena *arena;
    struct lmn__stats *stats;
    enum lmn_status st;

    *stats_out = NULL;
    if (bytes.len < LMN__STATS_HEAD_BYTES || memcmp(bytes.data, LMN__STATS_MAGIC, 8) != 0 ||
        lmn__load_u32(bytes.data + 8) != LMN__STATS_VERSION)
        return lmn__stats_mark_is_damaged(bytes, bytes.len, column_count)
                   ? lmn_fail(err, LMN_E_CORRUPT,
                              "its statistics are damaged: in their mark or version")
                   : LMN_OK;
    arena = lmn__arena_new(env);
    if (arena == NULL)
        return lmn__no_memory(err, "statistics", sizeof *stats);
    stats = lmn__arena_alloc(arena, sizeof *stats);
    if (stats != NULL)
        stats->entry = lmn__arena_array(arena, column_count, sizeof *stats->entry);
    if (stats == NULL || stats->entry == NULL) {
        st = lmn__arena_fail(arena, "statistics", err);
        lmn__arena_free(arena);
        return st;
    }
    stats->arena = arena;
    stats->row_count = row_count;
    stats->column_count = column_count;
    st = parse_directory(stats, bytes, type, err);
    if (st == LMN_OK)
        *stats_out = stats;
    else
        lmn__arena_free(arena);
    return st;
}

void lmn__stats_free(struct lmn__stats *stats)
{
    if (stats != NULL)
        lmn__arena_free(stats->arena);
}

/* A bound, taken from the front of `bytes`. */
static bool take_bound(const struct lmn__stats_type *type, struct lmn__span *bytes,
                       struct lmn__span *bound_out)
{
    size_t len = type->width;

    if (type->kind == LMN__STATS_BYTES) {
        if (bytes->len == 0 || bytes->data[0] > LMN__STATS_BYTES_MAX)
            return false;
        len = bytes->data[0];
        *bytes = (struct lmn__span){ bytes->data + 1, bytes->len - 1 };
    }
    if (bytes->len < len)
        return false;
    *bound_out = (struct lmn__span){ bytes->data, len };
    *bytes = (struct lmn__span){ bytes->data + len, bytes->len - len };
    return true;
}

/* A zone, taken from the front of `bytes`. */
static bool take_zone(const struct lmn__stats_type *type, struct lmn__span *bytes,
                      struct lmn__stats_zone *zone)
{
    uint8_t which;

    if (bytes->len < LMN__STATS_ZONE_BYTES)
        return false;
    zone->row_count = lmn__load_u32(bytes->data);
    zone->null_count = lmn__load_u32(bytes->data + 4);
    which = bytes->data[8];
    *bytes = (struct lmn__span){ bytes->data + LMN__STATS_ZONE_BYTES,
                                 bytes->len - LMN__STATS_ZONE_BYTES };
    if (zone->row_count == 0 || zone->null_count > zone->row_count ||
        (which & ~(LMN__STATS_HAS_MIN | LMN__STATS_HAS_MAX)) != 0)
        return false;
    return ((which & LMN__STATS_HAS_MIN) == 0 || take_bound(type, bytes, &zone->min)) &&
           ((which & LMN__STATS_HAS_MAX) == 0 || take_bound(type, bytes, &zone->max));
}

static enum lmn_status parse_zones(struct lmn__stats *stats, struct entry *entry,
                                   struct lmn__stats_column *column, struct lmn_error *err)
{
    struct lmn__span bytes = entry->bytes;
    uint64_t row = 0;

    if (lmn__hash64(bytes.data, bytes.len) != entry->hash)
        return damaged(err, "the hash of the zones is not", entry->hash);
    column->zone = lmn__arena_array(stats->arena, entry->zone_count, sizeof *column->zone);
    if (column->zone == NULL)
        return lmn__arena_fail(stats->arena, "statistics", err);
    for (uint64_t i = 0; i < entry->zone_count; i++) {
        if (!take_zone(&entry->type, &bytes, &column->zone[i]))
            return damaged(err, "zone", i);
        row += column->zone[i].row_count;
        column->zone[i].row_end = row;
    }
    if (row != stats->row_count || bytes.len != 0)
        return damaged(err, "rows of all zones:", row);
    column->zone_count = entry->zone_count;
    return LMN_OK;
}

enum lmn_status lmn__stats_column(struct lmn__stats *stats, uint32_t column,
                                  const struct lmn__stats_column **column_out,
                                  struct lmn_error *err)
{
    struct entry *entry = &stats->entry[column];
    struct lmn__stats_column *parsed;
    enum lmn_status st;

    *column_out = entry->column;
    if (entry->type.kind == LMN__STATS_NONE || entry->column != NULL)
        return LMN_OK;
    parsed = lmn__arena_alloc(stats->arena, sizeof *parsed);
    if (parsed == NULL)
        return lmn__arena_fail(stats->arena, "statistics", err);
    st = parse_zones(stats, entry, parsed, err);
    if (st == LMN_OK)
        *column_out = entry->column = parsed;
    return st;
}

uint64_t lmn__stats_zone_count(const struct lmn__stats *stats, uint32_t column)
{
    return stats->entry[column].zone_count;
}

uint64_t lmn__stats_find_zone(const struct lmn__stats_column *column, uint64_t row)
{
    uint64_t low = 0, high = column->zone_count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (column->zone[middle].row_end <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
