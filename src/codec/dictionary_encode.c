/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings are numbered through an open-addressed table. A sample decides first whether that is
 * worth trying, so that columns without repeats cost little.
 */
#include "codec/encode.h"

#include "base/hash.h"
#include "base/math.h"

enum { COUNT_MIN = 100, SAMPLE_COUNT = 1024, DISTINCT_MAX = 100000 };

struct table {
    const struct lmn__builder *values;
    uint32_t *slot; /* number + 1 of a distinct string */
    uint64_t mask;
    uint64_t *first; /* a value that has the string, by number */
    uint64_t distinct, distinct_max;
    uint64_t bytes; /* of the distinct strings */
};

static inline struct lmn__span value_at(const struct lmn__builder *builder, uint64_t i)
{
    uint32_t width = builder->layout->bits / 8;
    uint64_t from, to;

    if (width == 4) {
        from = lmn__load_u32(builder->offsets.data + i * 4);
        to = lmn__load_u32(builder->offsets.data + i * 4 + 4);
    } else {
        from = lmn__load_u64(builder->offsets.data + i * 8);
        to = lmn__load_u64(builder->offsets.data + i * 8 + 8);
    }
    return (struct lmn__span){ builder->values.data + from, to - from };
}

static enum lmn_status table_init(struct table *table, const struct lmn__builder *values,
                                  uint64_t distinct_max, struct lmn_error *err)
{
    uint64_t room = 64;

    while (room < distinct_max * 2)
        room *= 2;
    *table = (struct table){ .values = values, .mask = room - 1, .distinct_max = distinct_max };
    table->slot = lmn__calloc(values->env, room, sizeof *table->slot);
    table->first = lmn__calloc(values->env, distinct_max, sizeof *table->first);
    if (table->slot == NULL || table->first == NULL)
        return lmn__no_memory(err, "a dictionary", room * sizeof *table->slot);
    return LMN_OK;
}

static void table_deinit(struct table *table)
{
    lmn__free(table->values->env, table->slot);
    lmn__free(table->values->env, table->first);
}

/* The number of value i's string; false when it would be one too many. */
static bool table_number(struct table *table, uint64_t i, uint32_t *number_out)
{
    struct lmn__span value = value_at(table->values, i);
    uint64_t at = lmn__hash64(value.data, value.len) & table->mask;

    for (; table->slot[at] != 0; at = (at + 1) & table->mask) {
        struct lmn__span other = value_at(table->values, table->first[table->slot[at] - 1]);

        if (other.len == value.len && memcmp(other.data, value.data, value.len) == 0) {
            *number_out = table->slot[at] - 1;
            return true;
        }
    }
    if (table->distinct == table->distinct_max)
        return false;
    *number_out = (uint32_t)table->distinct;
    table->first[table->distinct++] = i;
    table->slot[at] = (uint32_t)table->distinct;
    table->bytes += value.len;
    return true;
}

/* Does a sample, spread over the page, have repeats? */
static enum lmn_status sample_repeats(const struct lmn__builder *values, bool *repeats_out,
                                      struct lmn_error *err)
{
    uint64_t count = lmn__min_u64(values->length, SAMPLE_COUNT);
    uint64_t step = values->length / count;
    struct table table;
    uint32_t number;
    enum lmn_status st = table_init(&table, values, count, err);

    for (uint64_t i = 0; st == LMN_OK && i < count; i++)
        (void)table_number(&table, i * step, &number);
    *repeats_out = table.distinct * 10 < count * 9;
    table_deinit(&table);
    return st;
}

static enum lmn_status number_all(struct table *table, struct lmn__vec *index, bool *fits_out,
                                  struct lmn_error *err)
{
    uint64_t count = table->values->length;
    uint8_t *at;
    enum lmn_status st = lmn__vec_extend(index, table->values->env->pool, count * sizeof(uint32_t),
                                         &at, err);

    *fits_out = true;
    for (uint64_t i = 0; st == LMN_OK && *fits_out && i < count; i++) {
        uint32_t number = 0;

        *fits_out = table_number(table, i, &number);
        lmn__store_u32(at + i * sizeof number, number);
    }
    return st;
}

static enum lmn_status copy_distinct(const struct table *table, struct lmn__builder *dictionary,
                                     struct lmn_error *err)
{
    uint32_t width = dictionary->layout->bits / 8;
    uint8_t *offsets, *data;
    uint64_t base;
    enum lmn_status st = lmn__builder_add_valid(dictionary, table->distinct, err);

    if (st == LMN_OK)
        st = lmn__builder_extend_variable(dictionary, table->distinct, table->bytes, &offsets,
                                          &data, &base, err);
    for (uint64_t i = 0; st == LMN_OK && i < table->distinct; i++) {
        struct lmn__span value = value_at(table->values, table->first[i]);

        if (value.len != 0)
            memcpy(data, value.data, value.len);
        data += value.len;
        base += value.len;
        lmn__store_uint(offsets + i * width, width, base);
    }
    return st;
}

enum lmn_status lmn__dictionary_encode(const struct lmn__builder *values,
                                       struct lmn__builder *dictionary, struct lmn__vec *index,
                                       bool *worth_out, struct lmn_error *err)
{
    uint64_t plain = values->values.len + values->offsets.len, coded;
    struct table table;
    bool fits;
    enum lmn_status st;

    *worth_out = false;
    if (values->length < COUNT_MIN)
        return LMN_OK;
    st = sample_repeats(values, worth_out, err);
    if (st != LMN_OK || !*worth_out)
        return st;
    st = table_init(&table, values, lmn__min_u64(values->length / 2, DISTINCT_MAX), err);
    if (st == LMN_OK)
        st = number_all(&table, index, &fits, err);
    if (st == LMN_OK) {
        coded = table.bytes + (table.distinct + 1) * (values->layout->bits / 8) +
                values->length * (lmn__bit_width(table.distinct) + 1) / 8;
        *worth_out = fits && coded * 5 < plain * 4;
    }
    if (st == LMN_OK && *worth_out)
        st = copy_distinct(&table, dictionary, err);
    table_deinit(&table);
    return st;
}

enum lmn_status lmn__dictionary_put_block(const struct lmn__builder *dictionary,
                                          struct lmn__vec *out, struct lmn_error *err)
{
    struct lmn__pool *pool = dictionary->env->pool;
    uint32_t bits = dictionary->layout->bits, width = bits / 8;
    uint64_t offsets = (dictionary->length + 1) * width, head[2] = { 0 };
    uint8_t words[16];
    enum lmn_status st;

    if (dictionary->layout->kind != LMN__LAYOUT_VARIABLE)
        return lmn__vec_put(out, pool, dictionary->values.data, dictionary->values.len, err);
    head[0] = bits;
    head[1] = 2 * width + offsets;
    lmn__store_uint(words, width, head[0]);
    lmn__store_uint(words + width, width, head[1]);
    st = lmn__vec_put(out, pool, words, 2 * width, err);
    if (st == LMN_OK && dictionary->length == 0)
        st = lmn__vec_put(out, pool, "\0\0\0\0\0\0\0", width, err);
    else if (st == LMN_OK)
        st = lmn__vec_put(out, pool, dictionary->offsets.data, offsets, err);
    if (st == LMN_OK)
        st = lmn__vec_put(out, pool, dictionary->values.data, dictionary->values.len, err);
    return st;
}
