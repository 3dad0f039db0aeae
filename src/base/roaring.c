/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The portable form of a Roaring bitmap. Numbers are little-endian; a set is split by the upper 16
 * bits of its members, and each part, a container, holds the lower 16 bits:
 *
 *   u32 12346, u32 containers                  no container is a run container, or
 *   u16 12347, u16 containers - 1, u8[...]     one bit per container: is it of runs?
 *   { u16 upper bits, u16 members - 1 }        per container, rising
 *   u32 offset                                 per container, from the start of the set; left out
 *                                              after 12347 when there are fewer than 4 containers
 *   containers, without gaps:
 *     runs    u16 runs, { u16 first, u16 members - 1 } each
 *     array   u16 per member, rising           up to 4096 members
 *     bitmap  65536 bits                       more
 *
 * A container is checked whole before any of its members is used: the counts of the header against
 * its content, and the order of the content.
 */
#include "base/roaring.h"

#include <assert.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/math.h"

enum {
    COOKIE_PLAIN = 12346,
    COOKIE_RUNS = 12347,
    OFFSETS_FROM = 4,     /* containers from which a set with runs has offsets */
    ARRAY_MAX = 4096,     /* members of an array container */
    CONTAINER_MAX = 65536 /* members of a container, and containers of a set */
};

enum container_kind { CONTAINER_ARRAY, CONTAINER_BITMAP, CONTAINER_RUNS };

enum { BITMAP_BYTES = CONTAINER_MAX / 8, WORD_COUNT = CONTAINER_MAX / 64 };

/* A set whose header was checked, and how far it was read. */
struct reader {
    struct lmn__span bytes;
    uint32_t count;         /* containers */
    const uint8_t *run_bit; /* NULL: none is of runs */
    const uint8_t *header;
    const uint8_t *offset; /* NULL: left out */
    size_t at;             /* of the next container */
    uint32_t next;
};

struct container {
    enum container_kind kind;
    uint32_t base; /* of its members */
    uint32_t member_count;
    uint32_t run_count;
    const uint8_t *data;
};

static enum lmn_status read_header(struct reader *reader, struct lmn__span bytes,
                                   struct lmn_error *err)
{
    uint32_t cookie = bytes.len >= 4 ? lmn__load_u32(bytes.data) : 0;
    size_t need;

    *reader = (struct reader){ .bytes = bytes, .at = 4 };
    if ((cookie & 0xffff) == COOKIE_RUNS) {
        reader->count = (cookie >> 16) + 1;
        reader->run_bit = bytes.data + reader->at;
        reader->at += lmn__bits_bytes(reader->count);
    } else if (cookie == COOKIE_PLAIN && bytes.len >= 8) {
        reader->count = lmn__load_u32(bytes.data + reader->at);
        reader->at += 4;
    } else {
        return lmn_fail(err, LMN_E_CORRUPT,
                        "roaring bitmap: no header in %zu bytes that begin with %u", bytes.len,
                        cookie);
    }
    if (reader->count > CONTAINER_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "roaring bitmap: %u containers, more than %d",
                        reader->count, CONTAINER_MAX);
    need = reader->at + (size_t)reader->count * 4;
    if (reader->run_bit == NULL || reader->count >= OFFSETS_FROM)
        need += (size_t)reader->count * 4;
    if (need > bytes.len)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "roaring bitmap: %zu bytes, its header of %u containers has %zu", bytes.len,
                        reader->count, need);
    reader->header = bytes.data + reader->at;
    reader->at += (size_t)reader->count * 4;
    if (reader->at != need)
        reader->offset = bytes.data + reader->at;
    reader->at = need;
    return LMN_OK;
}

static bool check_array(const struct container *container)
{
    for (uint32_t i = 1; i < container->member_count; i++)
        if (lmn__load_u16(container->data + i * 2) <= lmn__load_u16(container->data + i * 2 - 2))
            return false;
    return true;
}

static bool check_runs(const struct container *container)
{
    uint32_t members = 0, end = 0;

    for (uint32_t i = 0; i < container->run_count; i++) {
        uint32_t first = lmn__load_u16(container->data + i * 4);
        uint32_t count = lmn__load_u16(container->data + i * 4 + 2) + 1u;

        if (first < end || first + count > CONTAINER_MAX)
            return false;
        end = first + count;
        members += count;
    }
    return members == container->member_count;
}

static bool check_content(const struct container *container)
{
    switch (container->kind) {
    case CONTAINER_ARRAY:
        return check_array(container);
    case CONTAINER_RUNS:
        return check_runs(container);
    default:
        return lmn__bits_count(container->data, 0, CONTAINER_MAX) == container->member_count;
    }
}

/* The bytes of the container's content; SIZE_MAX when there are too few for its own count. */
static size_t content_bytes(const struct reader *reader, struct container *container)
{
    size_t left = reader->bytes.len - reader->at;

    if (container->kind == CONTAINER_ARRAY)
        return (size_t)container->member_count * 2;
    if (container->kind == CONTAINER_BITMAP)
        return BITMAP_BYTES;
    if (left < 2)
        return SIZE_MAX;
    container->run_count = lmn__load_u16(container->data);
    container->data += 2;
    return 2 + (size_t)container->run_count * 4;
}

/* The next container, checked; there is one. */
static enum lmn_status next_container(struct reader *reader, struct container *container_out,
                                      struct lmn_error *err)
{
    uint32_t index = reader->next++;
    const uint8_t *header = reader->header + (size_t)index * 4;
    struct container container = { .base = (uint32_t)lmn__load_u16(header) << 16,
                                   .member_count = lmn__load_u16(header + 2) + 1u,
                                   .data = reader->bytes.data + reader->at };
    size_t bytes;

    if (index > 0 && lmn__load_u16(header) <= lmn__load_u16(header - 4))
        return lmn_fail(err, LMN_E_CORRUPT,
                        "roaring bitmap: container %u of %u is for %u, the one before for %u",
                        index, reader->count, lmn__load_u16(header), lmn__load_u16(header - 4));
    if (reader->offset != NULL && lmn__load_u32(reader->offset + (size_t)index * 4) != reader->at)
        return lmn_fail(
            err, LMN_E_CORRUPT, "roaring bitmap: container %u of %u is at %u, expected at %zu",
            index, reader->count, lmn__load_u32(reader->offset + (size_t)index * 4), reader->at);
    if (reader->run_bit != NULL && lmn__bit_get(reader->run_bit, index))
        container.kind = CONTAINER_RUNS;
    else
        container.kind = container.member_count <= ARRAY_MAX ? CONTAINER_ARRAY : CONTAINER_BITMAP;
    bytes = content_bytes(reader, &container);
    if (bytes > reader->bytes.len - reader->at)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "roaring bitmap: container %u of %u with %u members is cut at %zu bytes",
                        index, reader->count, container.member_count, reader->bytes.len);
    if (!check_content(&container))
        return lmn_fail(err, LMN_E_CORRUPT,
                        "roaring bitmap: container %u of %u does not hold %u members in order",
                        index, reader->count, container.member_count);
    reader->at += bytes;
    *container_out = container;
    return LMN_OK;
}

static enum lmn_status check_end(const struct reader *reader, struct lmn_error *err)
{
    if (reader->at != reader->bytes.len)
        return lmn_fail(err, LMN_E_CORRUPT, "roaring bitmap: %zu bytes, its %u containers have %zu",
                        reader->bytes.len, reader->count, reader->at);
    return LMN_OK;
}

static uint32_t last_member(const struct container *container)
{
    const uint8_t *data = container->data;
    uint32_t last = CONTAINER_MAX - 1;

    if (container->kind == CONTAINER_ARRAY) {
        last = lmn__load_u16(data + container->member_count * 2 - 2);
    } else if (container->kind == CONTAINER_RUNS) {
        data += container->run_count * 4 - 4;
        last = (uint32_t)lmn__load_u16(data) + lmn__load_u16(data + 2);
    } else {
        while (!lmn__bit_get(data, last))
            last--;
    }
    return container->base + last;
}

static void container_to_bits(const struct container *container, uint8_t *bits)
{
    const uint8_t *data = container->data;
    uint64_t base = container->base;

    if (container->kind == CONTAINER_ARRAY)
        for (uint32_t i = 0; i < container->member_count; i++)
            lmn__bit_set(bits, base + lmn__load_u16(data + i * 2));
    if (container->kind == CONTAINER_RUNS)
        for (uint32_t i = 0; i < container->run_count; i++)
            lmn__bits_fill(bits, base + lmn__load_u16(data + i * 4),
                           lmn__load_u16(data + i * 4 + 2) + 1u, true);
    if (container->kind == CONTAINER_BITMAP) {
        uint32_t end = last_member(container) - container->base + 1;

        for (uint32_t i = 0; i < lmn__bits_bytes(end); i++)
            bits[base / 8 + i] |= data[i];
    }
}

enum lmn_status lmn__roaring_to_bits(struct lmn__span bytes, uint8_t *bits, uint64_t bit_count,
                                     uint64_t *count_out, struct lmn_error *err)
{
    struct container container;
    struct reader reader;
    uint64_t count = 0;
    enum lmn_status st = read_header(&reader, bytes, err);

    *count_out = 0;
    while (st == LMN_OK && reader.next < reader.count) {
        st = next_container(&reader, &container, err);
        if (st != LMN_OK)
            break;
        if (last_member(&container) >= bit_count)
            return lmn_fail(err, LMN_E_CORRUPT, "roaring bitmap: member %u, expected below %llu",
                            last_member(&container), (unsigned long long)bit_count);
        container_to_bits(&container, bits);
        count += container.member_count;
    }
    if (st == LMN_OK)
        st = check_end(&reader, err);
    if (st == LMN_OK)
        *count_out = count;
    return st;
}

/* The lowest set bit of `word`, which is taken out of it. */
static uint32_t pop_bit(uint64_t *word)
{
    uint32_t bit = (uint32_t)__builtin_ctzll(*word);

    *word &= *word - 1;
    return bit;
}

static uint32_t *container_to_list(const struct container *container, uint32_t *member)
{
    const uint8_t *data = container->data;

    if (container->kind == CONTAINER_ARRAY)
        for (uint32_t i = 0; i < container->member_count; i++)
            *member++ = container->base + lmn__load_u16(data + i * 2);
    if (container->kind == CONTAINER_RUNS)
        for (uint32_t i = 0; i < container->run_count; i++)
            for (uint32_t k = 0; k <= lmn__load_u16(data + i * 4 + 2); k++)
                *member++ = container->base + lmn__load_u16(data + i * 4) + k;
    if (container->kind == CONTAINER_BITMAP)
        for (uint32_t i = 0; i < WORD_COUNT; i++)
            for (uint64_t word = lmn__load_u64(data + i * 8); word != 0;)
                *member++ = container->base + i * 64 + pop_bit(&word);
    return member;
}

enum lmn_status lmn__roaring_to_list(struct lmn__span bytes, struct lmn__arena *arena,
                                     uint32_t **member_out, uint64_t *count_out,
                                     struct lmn_error *err)
{
    struct container container = { 0 };
    struct reader start, reader;
    uint32_t *member, *end;
    uint64_t count = 0;
    enum lmn_status st = read_header(&start, bytes, err);

    *member_out = NULL;
    *count_out = 0;
    for (reader = start; st == LMN_OK && reader.next < reader.count;) {
        st = next_container(&reader, &container, err);
        count += container.member_count;
    }
    if (st == LMN_OK)
        st = check_end(&reader, err);
    if (st != LMN_OK)
        return st;
    member = end = lmn__arena_array(arena, count, sizeof *member);
    if (member == NULL)
        return lmn__arena_fail(arena, "the members of a roaring bitmap", err);
    for (reader = start; reader.next < reader.count;) {
        st = next_container(&reader, &container, err);
        assert(st == LMN_OK);
        end = container_to_list(&container, end);
    }
    *member_out = member;
    *count_out = count;
    return LMN_OK;
}

/* What is to be written: bits, or a list when `bits` is NULL. */
struct source {
    const uint8_t *bits;
    const uint32_t *member;
    uint64_t count; /* bits, or members */
    uint64_t at;
};

/* The members with the same upper bits. */
struct chunk {
    uint32_t key;
    uint32_t member_count;
    uint32_t run_count;
    enum container_kind kind; /* the smallest */
    size_t bytes;
    uint64_t word[WORD_COUNT];
};

/* Choose the smallest kind of container; arrays and bitmaps follow from the number of members. */
static void measure_chunk(struct chunk *chunk)
{
    uint64_t carry = 0;

    chunk->member_count = 0;
    chunk->run_count = 0;
    for (uint32_t i = 0; i < WORD_COUNT; i++) {
        uint64_t word = chunk->word[i], firsts = word & ~((word << 1) | carry);

        chunk->member_count += (uint32_t)__builtin_popcountll(word);
        chunk->run_count += (uint32_t)__builtin_popcountll(firsts);
        carry = word >> 63;
    }
    chunk->kind = chunk->member_count <= ARRAY_MAX ? CONTAINER_ARRAY : CONTAINER_BITMAP;
    chunk->bytes = chunk->kind == CONTAINER_ARRAY ? chunk->member_count * (size_t)2 : BITMAP_BYTES;
    if (2 + chunk->run_count * (size_t)4 < chunk->bytes) {
        chunk->kind = CONTAINER_RUNS;
        chunk->bytes = 2 + chunk->run_count * (size_t)4;
    }
}

static void fill_from_bits(struct source *source, struct chunk *chunk)
{
    uint64_t count = lmn__min_u64(source->count - source->at, CONTAINER_MAX);

    memset(chunk->word, 0, sizeof chunk->word);
    chunk->key = (uint32_t)(source->at / CONTAINER_MAX);
    memcpy(chunk->word, source->bits + source->at / 8, lmn__bits_bytes(count));
    if (count % 64 != 0)
        chunk->word[count / 64] &= (UINT64_C(1) << (count % 64)) - 1;
    source->at += count;
}

static void fill_from_list(struct source *source, struct chunk *chunk)
{
    memset(chunk->word, 0, sizeof chunk->word);
    chunk->key = source->member[source->at] >> 16;
    do {
        uint32_t low = source->member[source->at++] & 0xffff;

        chunk->word[low / 64] |= UINT64_C(1) << (low % 64);
    } while (source->at < source->count && source->member[source->at] >> 16 == chunk->key);
}

/* The next chunk that has members; false at the end. */
static bool next_chunk(struct source *source, struct chunk *chunk)
{
    while (source->at < source->count) {
        if (source->bits != NULL)
            fill_from_bits(source, chunk);
        else
            fill_from_list(source, chunk);
        measure_chunk(chunk);
        if (chunk->member_count != 0)
            return true;
    }
    return false;
}

static void put_array(const struct chunk *chunk, struct lmn__buf *buf)
{
    for (uint32_t i = 0; i < WORD_COUNT; i++)
        for (uint64_t word = chunk->word[i]; word != 0;)
            lmn__buf_put_u16(buf, (uint16_t)(i * 64 + pop_bit(&word)));
}

static void put_runs(const struct chunk *chunk, struct lmn__buf *buf)
{
    uint32_t first = 0, end = 0; /* of the run that is collected */

    lmn__buf_put_u16(buf, (uint16_t)chunk->run_count);
    for (uint32_t i = 0; i < WORD_COUNT; i++) {
        for (uint64_t word = chunk->word[i]; word != 0;) {
            uint32_t member = i * 64 + pop_bit(&word);

            if (end > first && member != end) {
                lmn__buf_put_u16(buf, (uint16_t)first);
                lmn__buf_put_u16(buf, (uint16_t)(end - first - 1));
            }
            first = end > first && member == end ? first : member;
            end = member + 1;
        }
    }
    lmn__buf_put_u16(buf, (uint16_t)first);
    lmn__buf_put_u16(buf, (uint16_t)(end - first - 1));
}

static void put_container(const struct chunk *chunk, struct lmn__buf *buf)
{
    if (chunk->kind == CONTAINER_ARRAY)
        put_array(chunk, buf);
    else if (chunk->kind == CONTAINER_RUNS)
        put_runs(chunk, buf);
    else
        lmn__buf_put(buf, chunk->word, sizeof chunk->word);
}

/* The header is reserved first and filled as the containers come. */
static void put_set(struct source source, struct lmn__buf *buf)
{
    struct source again = source;
    struct chunk chunk;
    uint32_t count = 0, run_containers = 0;
    size_t start = buf->len, run_bit, header, offset;

    while (next_chunk(&again, &chunk)) {
        count++;
        run_containers += chunk.kind == CONTAINER_RUNS;
    }
    if (run_containers != 0) {
        lmn__buf_put_u32(buf, COOKIE_RUNS | (count - 1) << 16);
        run_bit = buf->len;
        lmn__buf_put_zeros(buf, lmn__bits_bytes(count));
    } else {
        lmn__buf_put_u32(buf, COOKIE_PLAIN);
        lmn__buf_put_u32(buf, count);
        run_bit = 0;
    }
    header = buf->len;
    lmn__buf_put_zeros(buf, (size_t)count * 4);
    offset = buf->len;
    if (run_containers == 0 || count >= OFFSETS_FROM)
        lmn__buf_put_zeros(buf, (size_t)count * 4);
    for (uint32_t i = 0; next_chunk(&source, &chunk) && !buf->failed; i++) {
        lmn__store_u16(buf->data + header + (size_t)i * 4, (uint16_t)chunk.key);
        lmn__store_u16(buf->data + header + (size_t)i * 4 + 2, (uint16_t)(chunk.member_count - 1));
        if (run_containers == 0 || count >= OFFSETS_FROM)
            lmn__store_u32(buf->data + offset + (size_t)i * 4, (uint32_t)(buf->len - start));
        if (chunk.kind == CONTAINER_RUNS)
            lmn__bit_set(buf->data + run_bit, i);
        put_container(&chunk, buf);
    }
}

void lmn__roaring_from_bits(const uint8_t *bits, uint64_t bit_count, struct lmn__buf *buf)
{
    assert(bit_count <= UINT64_C(1) << 32);
    put_set((struct source){ .bits = bits, .count = bit_count }, buf);
}

void lmn__roaring_from_list(const uint32_t *member, uint64_t count, struct lmn__buf *buf)
{
    put_set((struct source){ .member = member, .count = count }, buf);
}
