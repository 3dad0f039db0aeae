/* SPDX-License-Identifier: Apache-2.0 */
#include "table/indices.h"

#include <stdlib.h>

#include "base/roaring.h"

/* Fragment ids that an index covers, with room for more. */
struct cover {
    uint32_t *id;
    uint64_t count;
};

static enum lmn_status read_section(struct lmn__next *next, struct lmn__pb_index_section *section,
                                    struct lmn_error *err)
{
    *section = (struct lmn__pb_index_section){ 0 };
    return lmn__pb_decode(&lmn__pb_index_section_message, next->index_section, next->arena, section,
                          err);
}

static enum lmn_status write_section(struct lmn__next *next,
                                     const struct lmn__pb_index_section *section,
                                     struct lmn_error *err)
{
    struct lmn__buf buf;

    lmn__buf_init(&buf, next->env, 0);
    lmn__pb_encode(&lmn__pb_index_section_message, section, &buf);
    return lmn__arena_keep(next->arena, &buf, "an index section", &next->index_section, err);
}

static bool schema_has(const struct lmn__next *next, uint64_t id)
{
    const struct lmn__pb_schema_field *field = next->pb.fields.item;

    for (size_t i = 0; i < next->pb.fields.count; i++) {
        if (field[i].id == (int32_t)id)
            return true;
    }
    return false;
}

enum lmn_status lmn__indices_drop_fields(struct lmn__next *next, struct lmn_error *err)
{
    struct lmn__pb_index_section section;
    struct lmn__pb_index *index;
    size_t kept = 0;
    enum lmn_status st;

    if (next->index_section.data == NULL)
        return LMN_OK;
    st = read_section(next, &section, err);
    if (st != LMN_OK)
        return st;
    index = section.indices.item;
    for (size_t i = 0; i < section.indices.count; i++) {
        bool live = true;

        for (size_t k = 0; k < index[i].fields.count; k++)
            live = live && schema_has(next, index[i].fields.item[k]);
        if (live)
            index[kept++] = index[i];
    }
    if (kept == section.indices.count)
        return LMN_OK;
    section.indices.count = kept;
    return write_section(next, &section, err);
}

static enum lmn_status read_cover(struct lmn__next *next, const struct lmn__pb_index *index,
                                  struct cover *cover, struct lmn_error *err)
{
    return lmn__roaring_to_list(index->fragment_bitmap, next->arena, &cover->id, &cover->count,
                                err);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static enum lmn_status write_cover(struct lmn__next *next, struct cover *cover,
                                   struct lmn__pb_index *index, struct lmn_error *err)
{
    struct lmn__buf buf;

    if (cover->count != 0)
        qsort(cover->id, cover->count, sizeof *cover->id, compare_ids);
    lmn__buf_init(&buf, next->env, 0);
    lmn__roaring_from_list(cover->id, cover->count, &buf);
    return lmn__arena_keep(next->arena, &buf, "an index", &index->fragment_bitmap, err);
}

static bool covers(const struct cover *cover, uint64_t id)
{
    uint32_t key = (uint32_t)id;

    return cover->count != 0 &&
           bsearch(&key, cover->id, cover->count, sizeof *cover->id, compare_ids) != NULL;
}

static bool index_uses(const struct lmn__pb_index *index, const struct lmn__pb_u64s *fields)
{
    for (size_t i = 0; i < index->fields.count; i++) {
        for (size_t k = 0; k < fields->count; k++) {
            if ((int32_t)index->fields.item[i] == (int32_t)fields->item[k])
                return true;
        }
    }
    return false;
}

/* Take the fragments `id` out of a rising list. Returns whether any was in it. */
static bool uncover(struct cover *cover, const uint64_t *id, uint64_t count)
{
    uint64_t kept = 0, before = cover->count;

    for (uint64_t i = 0; i < before; i++) {
        bool gone = false;

        for (uint64_t k = 0; k < count && !gone; k++)
            gone = cover->id[i] == id[k];
        if (!gone)
            cover->id[kept++] = cover->id[i];
    }
    cover->count = kept;
    return kept != before;
}

enum lmn_status lmn__indices_uncover(struct lmn__next *next, const struct lmn__pb_u64s *fields,
                                     const uint64_t *id, uint64_t count, struct lmn_error *err)
{
    struct lmn__pb_index_section section;
    struct lmn__pb_index *index;
    bool changed = false;
    enum lmn_status st;

    if (next->index_section.data == NULL)
        return LMN_OK;
    st = read_section(next, &section, err);
    index = section.indices.item;
    for (size_t i = 0; st == LMN_OK && i < section.indices.count; i++) {
        struct cover cover;

        if (!index_uses(&index[i], fields) || index[i].fragment_bitmap.len == 0)
            continue;
        st = read_cover(next, &index[i], &cover, err);
        if (st == LMN_OK && uncover(&cover, id, count)) {
            changed = true;
            st = write_cover(next, &cover, &index[i], err);
        }
    }
    return st == LMN_OK && changed ? write_section(next, &section, err) : st;
}

/*
 * Does the index know rows by their ids? The kinds that are not listed have addresses, also in
 * tables whose row ids are stable.
 */
static enum lmn_status has_row_ids(struct lmn__next *next, const struct lmn__pb_index *index,
                                   bool *yes_out, struct lmn_error *err)
{
    static const char *const kinds[] = { "BitmapIndexDetails", "LabelListIndexDetails",
                                         "InvertedIndexDetails", "NGramIndexDetails",
                                         "VectorIndexDetails" };
    struct lmn__pb_any any = { 0 };
    enum lmn_status st = lmn__pb_decode(&lmn__pb_any_message, index->details, next->arena, &any,
                                        err);

    *yes_out = false;
    if (st != LMN_OK || (next->pb.reader_flags & LMN__FLAG_STABLE_ROW_IDS) == 0)
        return st;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t len = strlen(kinds[i]);

        if (any.type_url.len > len && any.type_url.data[any.type_url.len - len - 1] == '.' &&
            memcmp(any.type_url.data + any.type_url.len - len, kinds[i], len) == 0)
            *yes_out = true;
    }
    return LMN_OK;
}

/* One index and one group. `by_id`: see has_row_ids(). */
static bool rewrite_cover(const struct lmn__rewrite_group *group, bool by_id, struct cover *cover)
{
    bool all = true, changed = false;

    for (uint64_t i = 0; i < group->before_count; i++)
        all = all && covers(cover, group->before[i].id);
    for (uint64_t i = 0; i < group->before_count; i++)
        changed |= uncover(cover, &group->before[i].id, 1);
    for (uint64_t i = 0; by_id && all && i < group->after_count; i++)
        cover->id[cover->count++] = (uint32_t)group->after[i].id;
    if (changed && cover->count != 0)
        qsort(cover->id, cover->count, sizeof *cover->id, compare_ids);
    return changed;
}

/* A copy of a list with room for `more` members. */
static enum lmn_status cover_grow(struct lmn__next *next, struct cover *cover, uint64_t more,
                                  struct lmn_error *err)
{
    uint32_t *id = lmn__arena_array(next->arena, cover->count + more, sizeof *id);

    if (id == NULL)
        return lmn__arena_fail(next->arena, "an index", err);
    if (cover->count != 0)
        memcpy(id, cover->id, cover->count * sizeof *id);
    cover->id = id;
    return LMN_OK;
}

enum lmn_status lmn__indices_rewrite(struct lmn__next *next, struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    struct lmn__pb_index_section section;
    struct lmn__pb_index *index;
    uint64_t more = 0;
    enum lmn_status st;

    if (next->index_section.data == NULL)
        return LMN_OK;
    for (uint64_t g = 0; g < change->group_count; g++)
        more += change->group[g].after_count;
    st = read_section(next, &section, err);
    index = section.indices.item;
    for (size_t i = 0; st == LMN_OK && i < section.indices.count; i++) {
        struct cover cover;
        bool changed = false, by_id = false;

        if (index[i].fragment_bitmap.len == 0)
            continue;
        st = read_cover(next, &index[i], &cover, err);
        if (st == LMN_OK)
            st = cover_grow(next, &cover, more, err);
        if (st == LMN_OK)
            st = has_row_ids(next, &index[i], &by_id, err);
        for (uint64_t g = 0; st == LMN_OK && g < change->group_count; g++)
            changed |= rewrite_cover(&change->group[g], by_id, &cover);
        if (st == LMN_OK && changed)
            st = write_cover(next, &cover, &index[i], err);
    }
    return st == LMN_OK ? write_section(next, &section, err) : st;
}
