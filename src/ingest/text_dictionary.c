/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/text_dictionary.h"

#include "arrow/layout.h"
#include "base/error.h"
#include "base/hash.h"

enum { EMPTY = 0xff, BUCKETS_FIRST = 64 };
static const uint32_t no_index = 0xffffffff;

static struct lmn__span text_at(const struct lmn__text_dictionary *dictionary, uint64_t i)
{
    const struct lmn__builder *texts = &dictionary->builder->child[0];
    uint32_t width = texts->layout->bits / 8;
    uint64_t from = lmn__load_uint(texts->offsets.data + i * width, width);
    uint64_t to = lmn__load_uint(texts->offsets.data + (i + 1) * width, width);

    return (struct lmn__span){ texts->values.data + from, to - from };
}

static uint64_t hash_of(struct lmn__span text)
{
    return lmn__hash64(text.len != 0 ? (const void *)text.data : "", text.len);
}

/* The bucket that holds the text, or the empty one where it belongs. */
static uint32_t *find(const struct lmn__text_dictionary *dictionary, struct lmn__span text)
{
    uint64_t at = hash_of(text);

    for (;; at++) {
        uint32_t *bucket = &dictionary->bucket[at & (dictionary->bucket_count - 1)];
        struct lmn__span other;

        if (*bucket == no_index)
            return bucket;
        other = text_at(dictionary, *bucket);
        if (other.len == text.len &&
            (text.len == 0 || memcmp(other.data, text.data, text.len) == 0))
            return bucket;
    }
}

/* At least half of the buckets stay empty. */
static enum lmn_status make_room(struct lmn__text_dictionary *dictionary, struct lmn_error *err)
{
    uint64_t texts = dictionary->builder->child[0].length, count = dictionary->bucket_count;

    if (count != 0 && (texts + 1) * 2 <= count) {
        if (texts == 0)
            memset(dictionary->bucket, EMPTY, count * sizeof *dictionary->bucket);
        return LMN_OK;
    }
    count = count != 0 ? count * 2 : BUCKETS_FIRST;
    dictionary->bucket = lmn__arena_array(dictionary->arena, count, sizeof *dictionary->bucket);
    if (dictionary->bucket == NULL) {
        dictionary->bucket_count = 0;
        return lmn__arena_fail(dictionary->arena, "a dictionary", err);
    }
    dictionary->bucket_count = count;
    memset(dictionary->bucket, EMPTY, count * sizeof *dictionary->bucket);
    for (uint64_t i = 0; i < texts; i++)
        *find(dictionary, text_at(dictionary, i)) = (uint32_t)i;
    return LMN_OK;
}

static enum lmn_status add_text(struct lmn__text_dictionary *dictionary, struct lmn__span text,
                                uint32_t *bucket, struct lmn_error *err)
{
    struct lmn__builder *texts = &dictionary->builder->child[0];
    uint32_t width = texts->layout->bits / 8, index = (uint32_t)texts->length;
    uint8_t *offset, *data;
    uint64_t base;
    enum lmn_status st;

    if (texts->length == dictionary->builder->layout->dimension)
        return lmn_fail(err, LMN_E_INVALID, "more than %u values in the dictionary of a batch",
                        dictionary->builder->layout->dimension);
    st = lmn__builder_add_valid(texts, 1, err);
    if (st == LMN_OK)
        st = lmn__builder_extend_variable(texts, 1, text.len, &offset, &data, &base, err);
    if (st != LMN_OK)
        return st;
    lmn__store_uint(offset, width, base + text.len);
    if (text.len != 0)
        memcpy(data, text.data, text.len);
    *bucket = index;
    return LMN_OK;
}

enum lmn_status lmn__text_dictionary_put(struct lmn__text_dictionary *dictionary,
                                         struct lmn__span text, struct lmn_error *err)
{
    uint32_t width = dictionary->builder->layout->bits / 8, *bucket;
    uint8_t *at;
    enum lmn_status st = make_room(dictionary, err);

    if (st != LMN_OK)
        return st;
    bucket = find(dictionary, text);
    if (*bucket == no_index)
        st = add_text(dictionary, text, bucket, err);
    if (st == LMN_OK)
        st = lmn__builder_add_valid(dictionary->builder, 1, err);
    if (st == LMN_OK)
        st = lmn__builder_extend(dictionary->builder, 1, &at, err);
    if (st == LMN_OK)
        lmn__store_uint(at, width, *bucket);
    return st;
}
