/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing, at most half full. A slot has 32 bits of the hash, so that
 * most slots of other keys are passed without looking at the rows.
 *
 * In front of the slots stands a filter: one bit per key, in eight bits per slot. A merge asks for
 * every key of a table, most of which are not here; the filter tells so for fifteen of sixteen, is
 * an eighth of the slots' size and so stays in the processor's cache.
 */
#include "table/key_index.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "arrow/schema.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"
#include "table/key_part.h"

enum { SLOTS_MIN = 1024, FILTER_SHIFT = 8, BLOCK = 32, EMPTY = 0xffffffff };

/* A batch that was added; its first row's number. */
struct run {
    struct ArrowArray *const *key; /* one per column */
    uint64_t first;
    uint64_t count;
};

struct slot {
    uint32_t hash;
    uint32_t row;
};

struct lmn__key_index {
    struct lmn_env *env; /* counted */
    struct lmn__arena arena;
    uint32_t part_count;
    struct lmn__key_part *part;
    struct ArrowArray *asked, **asked_key; /* the columns of a batch that is looked up */
    struct run *run;
    uint64_t run_count, run_room;
    uint64_t row_count;
    struct slot *slot;
    uint64_t slot_count; /* a power of two */
    uint8_t *filter;     /* slot_count bytes */
    uint64_t used;
    uint64_t *hash; /* of one batch */
    uint64_t hash_room;
};

enum lmn_status lmn__key_columns(const struct ArrowSchema *schema, const char *const *on,
                                 uint32_t count, int64_t *key_out, struct lmn_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        if (lmn__arrow_child(schema, on[i], &key_out[i]) == NULL)
            return lmn_fail(err, LMN_E_NOT_FOUND, "key column \"%.100s\" is not in the rows%s",
                            on[i],
                            strchr(on[i], '.') != NULL ? "; fields of structs are no keys" : "");
    }
    return LMN_OK;
}

static enum lmn_status init_parts(struct lmn__key_index *index, const struct ArrowSchema *schema,
                                  const int64_t *column, uint32_t count, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    index->part = lmn__arena_array(&index->arena, count, sizeof *index->part);
    index->asked = lmn__arena_array(&index->arena, count, sizeof *index->asked);
    index->asked_key = lmn__arena_array(&index->arena, count, sizeof *index->asked_key);
    if (index->part == NULL || index->asked == NULL || index->asked_key == NULL)
        return lmn__arena_fail(&index->arena, "an index of keys", err);
    index->part_count = count;
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        index->asked_key[i] = &index->asked[i];
        st = lmn__key_part_init(&index->part[i], schema->children[column[i]], &index->arena, err);
    }
    return st;
}

enum lmn_status lmn__key_index_new(struct lmn_env *env, const struct ArrowSchema *schema,
                                   const int64_t *column, uint32_t count,
                                   struct lmn__key_index **index_out, struct lmn_error *err)
{
    struct lmn__key_index *index;
    enum lmn_status st;

    *index_out = NULL;
    if (count == 0)
        return lmn_fail(err, LMN_E_INVALID, "a key of no columns");
    index = lmn__calloc(env, 1, sizeof *index);
    if (index == NULL)
        return lmn__no_memory(err, "an index of keys", sizeof *index);
    index->env = lmn_env_acquire(env);
    lmn__arena_init(&index->arena, env, 0);
    st = init_parts(index, schema, column, count, err);
    if (st != LMN_OK) {
        lmn__key_index_free(index);
        return st;
    }
    *index_out = index;
    return LMN_OK;
}

void lmn__key_index_free(struct lmn__key_index *index)
{
    struct lmn_env *env;

    if (index == NULL)
        return;
    env = index->env;
    lmn__free(env, index->run);
    lmn__free(env, index->slot);
    lmn__free(env, index->filter);
    lmn__free(env, index->hash);
    lmn__arena_deinit(&index->arena);
    lmn__free(env, index);
    lmn_env_release(env);
}

static inline uint64_t mix(uint64_t value)
{
    value ^= value >> 32;
    value *= 0xd6e8feb86659fd93u;
    value ^= value >> 32;
    value *= 0xd6e8feb86659fd93u;
    return value ^ value >> 32;
}

/* Mix the values of one column into the hashes of all rows; 0 stands for a null. */
static void hash_column(const struct lmn__key_part *part, const struct ArrowArray *array,
                        bool first, uint64_t *hash)
{
    uint64_t count = (uint64_t)array->length;
    const uint8_t *validity = lmn__view_validity(array);
    bool indexed = part->index_bytes != 0;

    if (part->layout->kind == LMN__LAYOUT_FIXED && part->layout->bits == 64 && first && !indexed) {
        const uint8_t *value = (const uint8_t *)array->buffers[1] + array->offset * 8;

        for (uint64_t i = 0; i < count; i++)
            hash[i] = mix(lmn__load_u64(value + i * 8)) | 1;
    } else {
        for (uint64_t i = 0; i < count; i++) {
            uint8_t bit;
            struct lmn__span value;

            /* The index of a null is any number. */
            if (indexed && lmn__key_part_is_null(part, array, i)) {
                hash[i] = 0;
                continue;
            }
            value = lmn__key_part_value(part, array, i, &bit);
            if (first || hash[i] != 0)
                hash[i] = mix(lmn__hash64(value.data, value.len) + (first ? 0u : hash[i])) | 1;
        }
    }
    for (uint64_t i = 0; validity != NULL && i < count; i++) {
        if (!lmn__bit_get(validity, (uint64_t)array->offset + i))
            hash[i] = 0;
    }
}

/* The key columns of a batch as the batch's offset and length want them. */
static enum lmn_status key_columns(struct lmn__key_index *index, const struct ArrowArray *batch,
                                   const int64_t *column, struct ArrowArray **key_out,
                                   struct lmn_error *err)
{
    for (uint32_t i = 0; i < index->part_count; i++) {
        struct ArrowArray *key = lmn__arena_alloc(&index->arena, sizeof *key);

        if (key == NULL)
            return lmn__arena_fail(&index->arena, "an index of keys", err);
        *key = *batch->children[column[i]];
        key->offset += batch->offset;
        key->length = batch->length;
        key_out[i] = key;
    }
    return LMN_OK;
}

static enum lmn_status hash_rows(struct lmn__key_index *index, struct ArrowArray *const *key,
                                 struct lmn_error *err)
{
    uint64_t count = (uint64_t)key[0]->length;

    if (count > index->hash_room) {
        uint64_t *hash = lmn__realloc(index->env, index->hash, count * sizeof *hash);

        if (hash == NULL)
            return lmn__no_memory(err, "hashes of keys", count * sizeof *hash);
        index->hash = hash;
        index->hash_room = count;
    }
    for (uint32_t i = 0; i < index->part_count; i++)
        hash_column(&index->part[i], key[i], i == 0, index->hash);
    return LMN_OK;
}

static const struct run *run_of(const struct lmn__key_index *index, uint64_t row)
{
    uint64_t low = 0, high = index->run_count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (index->run[middle].first <= row)
            low = middle;
        else
            high = middle;
    }
    return &index->run[low];
}

static bool same_key(const struct lmn__key_index *index, uint64_t row,
                     struct ArrowArray *const *key, uint64_t i)
{
    const struct run *run = run_of(index, row);

    for (uint32_t k = 0; k < index->part_count; k++) {
        uint8_t bit_a, bit_b;
        struct lmn__span a = lmn__key_part_value(&index->part[k], run->key[k], row - run->first,
                                                 &bit_a);
        struct lmn__span b = lmn__key_part_value(&index->part[k], key[k], i, &bit_b);

        if (a.len != b.len || (a.len != 0 && memcmp(a.data, b.data, a.len) != 0))
            return false;
    }
    return true;
}

/* Have the values of a row that is looked at soon on their way from memory. */
static void fetch_key(const struct lmn__key_index *index, uint64_t row)
{
    const struct run *run = run_of(index, row);

    for (uint32_t k = 0; k < index->part_count; k++) {
        const struct lmn__key_part *part = &index->part[k];
        const struct ArrowArray *array = run->key[k];
        uint64_t bits = part->index_bytes != 0 ? part->index_bytes * 8 : part->layout->bits;

        __builtin_prefetch((const uint8_t *)array->buffers[1] +
                           ((uint64_t)array->offset + row - run->first) * bits / 8);
    }
}

/* The slot at which the search for a hash begins. */
static inline struct slot *first_slot(const struct lmn__key_index *index, uint64_t hash)
{
    return &index->slot[hash >> 32 & (index->slot_count - 1)];
}

/* The slot of a key, or the empty one where it would go. */
static struct slot *find_slot(const struct lmn__key_index *index, uint64_t hash,
                              struct ArrowArray *const *key, uint64_t i)
{
    uint64_t mask = index->slot_count - 1;

    for (uint64_t at = hash >> 32;; at++) {
        struct slot *slot = &index->slot[at & mask];

        if (slot->row == EMPTY ||
            (slot->hash == (uint32_t)hash && same_key(index, slot->row, key, i)))
            return slot;
    }
}

static uint64_t filter_bit(const struct lmn__key_index *index, uint64_t hash)
{
    return hash >> FILTER_SHIFT & (index->slot_count * 8 - 1);
}

static void fill_slot(struct lmn__key_index *index, struct slot *slot, uint64_t hash, uint64_t row)
{
    *slot = (struct slot){ (uint32_t)hash, (uint32_t)row };
    lmn__bit_set(index->filter, filter_bit(index, hash));
}

/* Make room for `more` keys. Slots keep the low half of their hashes, so all is hashed again. */
static enum lmn_status grow(struct lmn__key_index *index, uint64_t more, struct lmn_error *err)
{
    uint64_t need = (index->row_count + more) * 2, count = SLOTS_MIN;
    struct slot *slot;
    uint8_t *filter;
    enum lmn_status st = LMN_OK;

    if (need <= index->slot_count)
        return LMN_OK;
    while (count < need)
        count *= 2;
    slot = lmn__alloc(index->env, count * sizeof *slot);
    filter = lmn__calloc(index->env, count, 1);
    if (slot == NULL || filter == NULL) {
        lmn__free(index->env, slot);
        lmn__free(index->env, filter);
        return lmn__no_memory(err, "an index of keys", count * (sizeof *slot + 1));
    }
    memset(slot, 0xff, count * sizeof *slot);
    lmn__free(index->env, index->slot);
    lmn__free(index->env, index->filter);
    index->slot = slot;
    index->filter = filter;
    index->slot_count = count;
    for (uint64_t r = 0; st == LMN_OK && r < index->run_count; r++) {
        const struct run *run = &index->run[r];

        st = hash_rows(index, run->key, err);
        for (uint64_t i = 0; st == LMN_OK && i < run->count; i++) {
            uint64_t hash = index->hash[i];

            if (hash != 0)
                fill_slot(index, find_slot(index, hash, run->key, i), hash, run->first + i);
        }
    }
    return st;
}

static enum lmn_status add_run(struct lmn__key_index *index, struct ArrowArray *const *key,
                               struct lmn_error *err)
{
    if (index->run_count == index->run_room) {
        uint64_t room = index->run_room != 0 ? index->run_room * 2 : 16;
        struct run *run = lmn__realloc(index->env, index->run, room * sizeof *run);

        if (run == NULL)
            return lmn__no_memory(err, "an index of keys", room * sizeof *run);
        index->run = run;
        index->run_room = room;
    }
    index->run[index->run_count++] = (struct run){ key, index->row_count,
                                                   (uint64_t)key[0]->length };
    index->row_count += (uint64_t)key[0]->length;
    return LMN_OK;
}

static enum lmn_status check_count(const struct lmn__key_index *index, uint64_t more,
                                   struct lmn_error *err)
{
    return more > EMPTY - 1 - index->row_count
               ? lmn_fail(err, LMN_E_UNSUPPORTED, "more than %u keys at once", EMPTY - 1)
               : LMN_OK;
}

enum lmn_status lmn__key_index_reserve(struct lmn__key_index *index, uint64_t rows,
                                       struct lmn_error *err)
{
    enum lmn_status st = check_count(index, rows, err);

    return st == LMN_OK ? grow(index, rows, err) : st;
}

enum lmn_status lmn__key_index_add(struct lmn__key_index *index, const struct ArrowArray *batch,
                                   const int64_t *column, struct lmn_error *err)
{
    struct ArrowArray **key = lmn__arena_array(&index->arena, index->part_count, sizeof *key);
    uint64_t first = index->row_count, count = (uint64_t)batch->length;
    enum lmn_status st;

    if (key == NULL)
        return lmn__arena_fail(&index->arena, "an index of keys", err);
    st = check_count(index, count, err);
    if (st == LMN_OK)
        st = key_columns(index, batch, column, key, err);
    if (st == LMN_OK)
        st = grow(index, count, err);
    if (st == LMN_OK)
        st = hash_rows(index, key, err);
    if (st == LMN_OK)
        st = add_run(index, key, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint64_t hash = index->hash[i];
        struct slot *slot;

        if (i + BLOCK < count)
            __builtin_prefetch(first_slot(index, index->hash[i + BLOCK]));
        if (hash == 0)
            continue;
        slot = find_slot(index, hash, key, i);
        if (slot->row != EMPTY) {
            char text[128];

            lmn__key_index_text(index, batch, column, i, text, sizeof text);
            return lmn_fail(err, LMN_E_INVALID, "the key %s is there twice, in rows %u and %llu",
                            text, slot->row, (unsigned long long)(first + i));
        }
        fill_slot(index, slot, hash, first + i);
    }
    return st;
}

/*
 * Look up keys [first, first + count) of a batch, whose hashes are known. Slots and keys are
 * anywhere in memory: all slots are asked for before the first is looked at, and so are keys.
 */
static void find_block(const struct lmn__key_index *index, struct ArrowArray *const *key,
                       uint64_t first, uint64_t count, uint64_t *row_out)
{
    uint64_t at[BLOCK], likely = 0;

    for (uint64_t i = first; i < first + count; i++) {
        uint64_t hash = index->hash[i];

        row_out[i] = LMN__NO_ROW;
        if (hash != 0 && lmn__bit_get(index->filter, filter_bit(index, hash))) {
            __builtin_prefetch(first_slot(index, hash));
            at[likely++] = i;
        }
    }
    for (uint64_t i = 0; i < likely; i++) {
        const struct slot *slot = first_slot(index, index->hash[at[i]]);

        if (slot->row != EMPTY && slot->hash == (uint32_t)index->hash[at[i]])
            fetch_key(index, slot->row);
    }
    for (uint64_t i = 0; i < likely; i++) {
        const struct slot *slot = find_slot(index, index->hash[at[i]], key, at[i]);

        if (slot->row != EMPTY)
            row_out[at[i]] = slot->row;
    }
}

enum lmn_status lmn__key_index_find(struct lmn__key_index *index, const struct ArrowArray *batch,
                                    const int64_t *column, uint64_t *row_out, struct lmn_error *err)
{
    struct ArrowArray **key = index->asked_key;
    uint64_t count = (uint64_t)batch->length;
    enum lmn_status st;

    for (uint32_t i = 0; i < index->part_count; i++) {
        *key[i] = *batch->children[column[i]];
        key[i]->offset += batch->offset;
        key[i]->length = batch->length;
    }
    if (index->slot_count == 0) {
        for (uint64_t i = 0; i < count; i++)
            row_out[i] = LMN__NO_ROW;
        return LMN_OK;
    }
    st = hash_rows(index, key, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i += BLOCK)
        find_block(index, key, i, lmn__min_u64(BLOCK, count - i), row_out);
    return st;
}

void lmn__key_index_text(const struct lmn__key_index *index, const struct ArrowArray *batch,
                         const int64_t *column, uint64_t row, char *text, size_t text_bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < index->part_count && used + 1 < text_bytes; i++) {
        struct ArrowArray key = *batch->children[column[i]];
        char value[80];
        int len;

        key.offset += batch->offset;
        lmn__key_part_text(&index->part[i], &key, row, value, sizeof value);
        len = snprintf(text + used, text_bytes - used, "%s%s = %s", i != 0 ? ", " : "",
                       index->part[i].name, value);
        used += len > 0 ? (size_t)len : 0;
    }
}
