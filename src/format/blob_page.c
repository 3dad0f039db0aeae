/* SPDX-License-Identifier: Apache-2.0 */
#include "format/blob_page.h"

#include "base/math.h"
#include "base/proto.h"

enum {
    NULL_POSITION = 1 << 16, /* of version 1: the definition level of a null */
    V2_ROW_BYTES = 1 + 8 + 8 + 4 + 4
};

static bool has_nulls(const struct lmn__blob_entries *entries)
{
    for (uint64_t i = 0; i < entries->count; i++) {
        if (entries->entry[i].null)
            return true;
    }
    return false;
}

/* Gather positions and sizes as a packed struct of two words. */
static enum lmn_status gather_v1(const struct lmn__blob_entries *entries, struct lmn__shred *shred,
                                 struct lmn_error *err)
{
    enum lmn_status st = lmn__builder_add_valid(&shred->values, entries->count, err);

    shred->row_count = shred->entry_count = entries->count;
    for (int k = 0; st == LMN_OK && k < 2; k++) {
        uint8_t *at = NULL;

        st = lmn__builder_add_valid(&shred->values.child[k], entries->count, err);
        if (st == LMN_OK)
            st = lmn__builder_extend(&shred->values.child[k], entries->count, &at, err);
        for (uint64_t i = 0; st == LMN_OK && i < entries->count; i++) {
            const struct lmn__blob_entry *entry = &entries->entry[i];

            lmn__store_u64(at + i * 8, k == 1        ? entry->bytes
                                       : entry->null ? NULL_POSITION
                                                     : entry->position);
        }
    }
    return st;
}

/* PageLayout { blob_layout = 4 { inner_layout = 1, layers = 2 } } */
static enum lmn_status wrap_v1(struct lmn_env *env, bool nulls, struct lmn__encoded_page *page,
                               struct lmn_error *err)
{
    uint8_t layer = nulls ? LMN__LAYER_NULLABLE_ITEM : LMN__LAYER_ITEM;
    struct lmn__buf inner, layout;

    lmn__buf_init(&inner, env, 0);
    lmn__buf_init(&layout, env, 0);
    lmn__pb_put_tag_bytes(&inner, 1,
                          (struct lmn__span){ page->description.data, page->description.len });
    lmn__pb_put_tag_bytes(&inner, 2, (struct lmn__span){ &layer, 1 });
    lmn__pb_put_tag_bytes(&layout, 4, (struct lmn__span){ inner.data, inner.len });
    layout.failed |= inner.failed;
    lmn__buf_deinit(&inner);
    lmn__buf_deinit(&page->description);
    page->description = layout;
    return lmn__buf_status(&layout, "a page's description", err);
}

/* Version 1: a page of packed {position, size}, inside a blob layout. */
static enum lmn_status encode_v1(struct lmn_env *env, const struct lmn__blob_entries *entries,
                                 const struct lmn__encode_options *options,
                                 struct lmn__scratch *scratch, struct lmn__encoded_page *page,
                                 struct lmn_error *err)
{
    static const struct lmn__layout word = { .kind = LMN__LAYOUT_FIXED, .bits = 64 };
    static const struct lmn__layout *const words[] = { &word, &word };
    static const struct lmn__layout pair = { .kind = LMN__LAYOUT_STRUCT,
                                             .child_count = 2,
                                             .child = words };
    const struct lmn__shred_node node = { &pair, 0 };
    struct lmn__shred shred;
    enum lmn_status st = lmn__shred_init(&shred, env, &node, 1, &pair, err);

    if (st != LMN_OK)
        return st;
    st = gather_v1(entries, &shred, err);
    if (st == LMN_OK)
        st = lmn__page_encode(&shred, options, scratch, page, err);
    lmn__shred_deinit(&shred);
    return st == LMN_OK ? wrap_v1(env, has_nulls(entries), page, err) : st;
}

static const struct lmn__encoding flat8 = { .kind = LMN__ENC_FLAT, .bits = 8 };
static const struct lmn__encoding flat32 = { .kind = LMN__ENC_FLAT, .bits = 32 };
static const struct lmn__encoding flat64 = { .kind = LMN__ENC_FLAT, .bits = 64 };
static const struct lmn__encoding text32 = { .kind = LMN__ENC_VARIABLE, .bits = 32 };
static const struct lmn__packed_field v2_fields[] = {
    { 8, false, &flat8 },   { 64, false, &flat64 }, { 64, false, &flat64 },
    { 32, false, &flat32 }, { 32, true, &text32 },
};
static const struct lmn__encoding v2_encoding = { .kind = LMN__ENC_VARIABLE_PACKED,
                                                  .field_count = 5,
                                                  .field = v2_fields };

static enum lmn_status put_v2_rows(struct lmn__pool *pool, const struct lmn__blob_entries *entries,
                                   bool nulls, struct lmn__encoded_page *page,
                                   struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i <= entries->count; i++) {
        const struct lmn__blob_entry *entry = &entries->entry[i];
        uint32_t start = (uint32_t)page->buffer[0].len;
        uint8_t row[1 + 4 + V2_ROW_BYTES] = { 0 }, *at = row + nulls;

        st = lmn__vec_put(&page->buffer[1], pool, &start, sizeof start, err);
        if (st != LMN_OK || i == entries->count)
            break;
        row[0] = nulls && entry->null;
        lmn__store_u32(at, V2_ROW_BYTES + entry->uri_bytes);
        at[4] = entry->kind;
        lmn__store_u64(at + 5, entry->position);
        lmn__store_u64(at + 13, entry->bytes);
        lmn__store_u32(at + 21, entry->id);
        lmn__store_u32(at + 25, entry->uri_bytes);
        st = lmn__vec_put(&page->buffer[0], pool, row,
                          entry->null ? nulls : (size_t)nulls + 4 + V2_ROW_BYTES, err);
        if (st == LMN_OK && entry->uri_bytes != 0)
            st = lmn__vec_put(&page->buffer[0], pool, entries->uris + entry->uri, entry->uri_bytes,
                              err);
    }
    return st;
}

/* Version 2: a full-zip page of packed structs, of which one field, the uri, is variable. */
static enum lmn_status encode_v2(struct lmn_env *env, const struct lmn__blob_entries *entries,
                                 struct lmn__encoded_page *page, struct lmn_error *err)
{
    bool nulls = has_nulls(entries);
    struct lmn__page_layout layout = { .kind = LMN__PAGE_FULL_ZIP,
                                       .layer = { nulls ? LMN__LAYER_NULLABLE_ITEM
                                                        : LMN__LAYER_ITEM },
                                       .layer_count = 1,
                                       .def_bits = nulls,
                                       .length_bits = 32,
                                       .values = &v2_encoding,
                                       .item_count = entries->count,
                                       .visible_count = entries->count };
    struct lmn__arena arena;
    enum lmn_status st;

    *page = (struct lmn__encoded_page){ .row_count = entries->count, .buffer_count = 2 };
    lmn__buf_init(&page->description, env, 0);
    lmn__arena_init(&arena, env, 0);
    st = put_v2_rows(env->pool, entries, nulls, page, err);
    if (st == LMN_OK)
        st = lmn__page_layout_write(&layout, &arena, &page->description, err);
    lmn__arena_deinit(&arena);
    return st;
}

enum lmn_status lmn__blob_page_encode(struct lmn_env *env, bool v2,
                                      const struct lmn__blob_entries *entries,
                                      const struct lmn__encode_options *options,
                                      struct lmn__scratch *scratch,
                                      struct lmn__encoded_page *page_out, struct lmn_error *err)
{
    *page_out = (struct lmn__encoded_page){ 0 };
    return v2 ? encode_v2(env, entries, page_out, err)
              : encode_v1(env, entries, options, scratch, page_out, err);
}
