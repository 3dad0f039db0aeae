/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of RFC 8536, numbers big-endian:
 *
 *   header    "TZif", version, 15 unused bytes, six 32-bit counts
 *   block     changes (4 bytes each), their types (1 each), types (6 each: 32-bit seconds ahead of
 *             UTC, summer?, name), names, leap seconds, two kinds of marks (1 each)
 *   header    again, when the version is "2" or above
 *   block     again, with changes of 8 bytes
 *   footer    "\n" rule "\n"
 *
 * The first block is for readers of version 1 and skipped where a second one follows.
 */
#include "base/error.h"
#include "expr/zone.h"

enum { HEADER_BYTES = 44, TYPE_BYTES = 6, OFFSET_MIN = -89999, OFFSET_MAX = 93599 };

struct block {
    uint32_t utc_marks, standard_marks, leaps, changes, types, name_bytes;
    uint32_t time_bytes; /* of a change */
    const uint8_t *data; /* behind the header */
    uint64_t bytes;      /* of it */
};

static uint32_t big32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t big_time(const uint8_t *p, uint32_t bytes)
{
    if (bytes == 4)
        return (int32_t)big32(p);
    return (int64_t)((uint64_t)big32(p) << 32 | big32(p + 4));
}

/* The header at `at` and the size of its block, which has to lie within the file. */
static bool read_header(struct lmn__span file, uint64_t at, uint32_t time_bytes,
                        struct block *block, uint8_t *version_out)
{
    const uint8_t *header;

    if (file.len < at || file.len - at < HEADER_BYTES)
        return false;
    header = file.data + at;
    if (memcmp(header, "TZif", 4) != 0)
        return false;
    *version_out = header[4];
    *block = (struct block){ .utc_marks = big32(header + 20),
                             .standard_marks = big32(header + 24),
                             .leaps = big32(header + 28),
                             .changes = big32(header + 32),
                             .types = big32(header + 36),
                             .name_bytes = big32(header + 40),
                             .time_bytes = time_bytes,
                             .data = header + HEADER_BYTES };
    block->bytes = (uint64_t)block->changes * (time_bytes + 1) +
                   (uint64_t)block->types * TYPE_BYTES + block->name_bytes +
                   (uint64_t)block->leaps * (time_bytes + 4) + block->standard_marks +
                   block->utc_marks;
    return block->types != 0 && block->bytes <= file.len - at - HEADER_BYTES;
}

static enum lmn_status corrupt(const char *name, const char *what, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CORRUPT, "the file of time zone %.60s %s", name, what);
}

/* Seconds ahead of UTC of type `i`. */
static bool type_offset(const struct block *block, uint32_t i, int32_t *offset_out)
{
    const uint8_t *types = block->data + (size_t)block->changes * (block->time_bytes + 1);

    *offset_out = i < block->types ? (int32_t)big32(types + (size_t)i * TYPE_BYTES) : 0;
    return i < block->types && *offset_out >= OFFSET_MIN && *offset_out <= OFFSET_MAX;
}

static enum lmn_status read_changes(const struct block *block, const char *name,
                                    struct lmn__arena *arena, struct lmn__zone *zone,
                                    struct lmn_error *err)
{
    const uint8_t *type = block->data + (size_t)block->changes * block->time_bytes;
    int64_t *change = lmn__arena_array(arena, block->changes, sizeof *change);
    int32_t *offset = lmn__arena_array(arena, block->changes, sizeof *offset);

    if (change == NULL || offset == NULL)
        return lmn__arena_fail(arena, "a time zone", err);
    for (uint32_t i = 0; i < block->changes; i++) {
        change[i] = big_time(block->data + (size_t)i * block->time_bytes, block->time_bytes);
        if (i != 0 && change[i] <= change[i - 1])
            return corrupt(name, "has changes out of order", err);
        if (!type_offset(block, type[i], &offset[i]))
            return corrupt(name, "has a distance from UTC that no zone has", err);
    }
    if (!type_offset(block, 0, &zone->first))
        return corrupt(name, "has a distance from UTC that no zone has", err);
    zone->change_count = block->changes;
    zone->change = change;
    zone->offset = offset;
    return LMN_OK;
}

/* Behind the last block: a line break, the rule or nothing, a line break. */
static enum lmn_status read_rule(struct lmn__span footer, const char *name, struct lmn__zone *zone,
                                 struct lmn_error *err)
{
    const uint8_t *end;
    struct lmn__span text;

    if (footer.len < 2 || footer.data[0] != '\n')
        return corrupt(name, "ends too soon", err);
    end = memchr(footer.data + 1, '\n', footer.len - 1);
    if (end == NULL)
        return corrupt(name, "ends too soon", err);
    text = (struct lmn__span){ footer.data + 1, (size_t)(end - footer.data - 1) };
    zone->has_rule = text.len != 0;
    if (zone->has_rule && !lmn__zone_rule_parse(text, &zone->rule))
        return corrupt(name, "has a rule that cannot be read", err);
    return LMN_OK;
}

enum lmn_status lmn__zone_decode(struct lmn__span bytes, const char *name, struct lmn__arena *arena,
                                 struct lmn__zone *zone_out, struct lmn_error *err)
{
    struct block block;
    uint64_t end;
    uint8_t version;
    enum lmn_status st;

    *zone_out = (struct lmn__zone){ 0 };
    if (!read_header(bytes, 0, 4, &block, &version))
        return corrupt(name, "is no file of a time zone", err);
    end = HEADER_BYTES + block.bytes;
    if (version >= '2') {
        if (!read_header(bytes, end, 8, &block, &version))
            return corrupt(name, "ends too soon", err);
        end += HEADER_BYTES + block.bytes;
    }
    if (block.leaps != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "time zone %.60s counts leap seconds, which timestamps do not", name);
    st = read_changes(&block, name, arena, zone_out, err);
    if (st != LMN_OK || block.time_bytes == 4)
        return st;
    return read_rule((struct lmn__span){ bytes.data + end, bytes.len - end }, name, zone_out, err);
}
