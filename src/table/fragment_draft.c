/* SPDX-License-Identifier: Apache-2.0 */
#include "table/fragment_draft.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "table/row_ids.h"
#include "table/table_fields.h"

static int compare_entries(const void *a, const void *b)
{
    const struct lmn__fragment_entry *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* The fragments of a manifest with their ids, by rising id. */
static enum lmn_status list_fragments(const struct lmn__manifest *manifest,
                                      struct lmn__arena *arena,
                                      struct lmn__fragment_entry **entry_out, uint64_t *count_out,
                                      struct lmn_error *err)
{
    uint64_t count = manifest != NULL ? lmn__manifest_fragment_count(manifest) : 0;
    struct lmn__fragment_entry *entry = lmn__arena_array(arena, count, sizeof *entry);
    bool rising = true;
    enum lmn_status st = LMN_OK;

    *entry_out = entry;
    *count_out = count;
    if (entry == NULL)
        return lmn__arena_fail(arena, "a list of fragments", err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        entry[i].bytes = manifest->pb.fragments.item[i];
        st = lmn__manifest_fragment_id(manifest, i, arena, &entry[i].id, err);
        rising = rising && (i == 0 || entry[i - 1].id < entry[i].id);
    }
    if (!rising)
        qsort(entry, count, sizeof *entry, compare_entries);
    return st;
}

static struct lmn__fragment_entry *find_fragment(struct lmn__fragment_entry *entry, uint64_t count,
                                                 uint64_t id)
{
    struct lmn__fragment_entry key = { id, { NULL, 0 } };

    return count != 0 ? bsearch(&key, entry, count, sizeof *entry, compare_entries) : NULL;
}

/* Room for every fragment that the next version could have. */
enum lmn_status lmn__fragment_draft_init(struct lmn__next *next, struct lmn__fragment_draft *draft,
                                         struct lmn_error *err)
{
    uint64_t room = next->change->added_count + next->change->replaced_count +
                    next->change->touched_count;
    enum lmn_status st = list_fragments(next->base, next->arena, &draft->base, &draft->base_count,
                                        err);

    for (uint64_t g = 0; g < next->change->group_count; g++)
        room += next->change->group[g].after_count;
    draft->read = draft->base;
    draft->read_count = draft->base_count;
    if (st == LMN_OK && next->read != next->base)
        st = list_fragments(next->read, next->arena, &draft->read, &draft->read_count, err);
    if (st != LMN_OK)
        return st;
    draft->entry = lmn__arena_array(next->arena, room + draft->base_count, sizeof *draft->entry);
    return draft->entry != NULL ? LMN_OK : lmn__arena_fail(next->arena, "fragments", err);
}

/* Encode a message into the arena. */
static enum lmn_status encode(struct lmn__next *next, const struct lmn__pb_message *message,
                              const void *in, struct lmn__span *bytes_out, struct lmn_error *err)
{
    struct lmn__buf buf;

    lmn__buf_init(&buf, next->env, 0);
    lmn__pb_encode(message, in, &buf);
    return lmn__arena_keep(next->arena, &buf, message->name, bytes_out, err);
}

/* Files of another version than the table's are told by a flag. */
static void note_versions(struct lmn__next *next, const struct lmn__pb_fragment *fragment)
{
    const struct lmn__pb_data_file *file = fragment->files.item;
    const struct lmn__pb_data_format *format = next->pb.data_format;

    for (size_t i = 0; i < fragment->files.count; i++) {
        char version[16];

        snprintf(version, sizeof version, "%u.%u", file[i].major, file[i].minor);
        if (lmn__span_equal(format->version, version))
            continue;
        next->pb.reader_flags |= LMN__FLAG_MIXED_VERSIONS;
        next->pb.writer_flags |= LMN__FLAG_MIXED_VERSIONS;
    }
}

enum lmn_status lmn__fragment_draft_put(struct lmn__next *next, struct lmn__fragment_draft *draft,
                                        const struct lmn__pb_fragment *fragment,
                                        struct lmn_error *err)
{
    struct lmn__fragment_entry *entry = &draft->entry[draft->count];

    note_versions(next, fragment);
    entry->id = fragment->id;
    draft->count++;
    return encode(next, &lmn__pb_fragment_message, fragment, &entry->bytes, err);
}

void lmn__fragment_draft_keep(struct lmn__fragment_draft *draft,
                              const struct lmn__fragment_entry *entry)
{
    draft->entry[draft->count++] = *entry;
}

static enum lmn_status same_version(struct lmn__next *next, uint64_t rows,
                                    struct lmn__span *bytes_out, struct lmn_error *err)
{
    struct lmn__buf buf;

    lmn__buf_init(&buf, next->env, 0);
    lmn__row_versions_write_same(next->pb.version, rows, &buf);
    return lmn__arena_keep(next->arena, &buf, "versions of rows", bytes_out, err);
}

/* Rows that have no id yet get the next ones; all rows say which version made or changed them. */
enum lmn_status lmn__fragment_draft_number(struct lmn__next *next,
                                           struct lmn__pb_fragment *fragment, bool changed,
                                           struct lmn_error *err)
{
    struct lmn__buf buf;
    enum lmn_status st = LMN_OK;

    if ((next->pb.reader_flags & LMN__FLAG_STABLE_ROW_IDS) == 0)
        return LMN_OK;
    if (fragment->row_ids.data == NULL) {
        lmn__buf_init(&buf, next->env, 0);
        lmn__row_ids_write_range(next->pb.next_row_id, fragment->row_count, &buf);
        next->pb.next_row_id += fragment->row_count;
        st = lmn__arena_keep(next->arena, &buf, "row ids", &fragment->row_ids, err);
    }
    if (st == LMN_OK && fragment->created_at.data == NULL)
        st = same_version(next, fragment->row_count, &fragment->created_at, err);
    if (st == LMN_OK && (changed || fragment->updated_at.data == NULL))
        st = same_version(next, fragment->row_count, &fragment->updated_at, err);
    return st;
}

/* Give a fragment that is added its id, and its rows theirs. */
enum lmn_status lmn__fragment_draft_add(struct lmn__next *next, struct lmn__fragment_draft *draft,
                                        const struct lmn__pb_fragment *added, bool changed,
                                        struct lmn_error *err)
{
    struct lmn__pb_fragment fragment = *added;
    enum lmn_status st;

    fragment.id = next->pb.has_fragment_id_max ? (uint64_t)next->pb.fragment_id_max + 1 : 0;
    if (fragment.id > UINT32_MAX)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "the table has used up its fragment ids");
    next->pb.has_fragment_id_max = true;
    next->pb.fragment_id_max = (uint32_t)fragment.id;
    st = lmn__fragment_draft_number(next, &fragment, changed, err);
    return st == LMN_OK ? lmn__fragment_draft_put(next, draft, &fragment, err) : st;
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Keep the newest version's fragments, but not those in `id`, which is sorted here. */
void lmn__fragment_draft_keep_others(struct lmn__fragment_draft *draft, uint64_t *id,
                                     uint64_t count)
{
    if (count != 0)
        qsort(id, count, sizeof *id, compare_ids);
    for (uint64_t i = 0; i < draft->base_count; i++) {
        const struct lmn__fragment_entry *entry = &draft->base[i];

        if (count == 0 || bsearch(&entry->id, id, count, sizeof *id, compare_ids) == NULL)
            lmn__fragment_draft_keep(draft, entry);
    }
}

bool lmn__fragment_same_files(const struct lmn__pb_fragment *a, const struct lmn__pb_fragment *b)
{
    const struct lmn__pb_data_file *x = a->files.item, *y = b->files.item;

    if (a->files.count != b->files.count || a->row_count != b->row_count)
        return false;
    for (size_t i = 0; i < a->files.count; i++) {
        if (x[i].path.len != y[i].path.len ||
            memcmp(x[i].path.data, y[i].path.data, x[i].path.len) != 0 ||
            x[i].fields.count != y[i].fields.count ||
            memcmp(x[i].fields.item, y[i].fields.item,
                   x[i].fields.count * sizeof *x[i].fields.item) != 0)
            return false;
    }
    return true;
}

enum lmn_status lmn__fragment_overtaken(struct lmn__next *next, uint64_t id, const char *how,
                                        struct lmn_error *err)
{
    next->again = true;
    return lmn_fail(err, LMN_E_CONFLICT, "fragment %llu was %s since version %llu",
                    (unsigned long long)id, how, (unsigned long long)next->change->read_version);
}

/* The fragment as it is now, if its files are those that the change has read. */
enum lmn_status lmn__fragment_draft_current(struct lmn__next *next,
                                            const struct lmn__fragment_draft *draft, uint64_t id,
                                            struct lmn__pb_fragment *fragment_out,
                                            struct lmn_error *err)
{
    const struct lmn__fragment_entry *now = find_fragment(draft->base, draft->base_count, id),
                                     *then;
    struct lmn__pb_fragment read = { 0 };
    enum lmn_status st;

    *fragment_out = (struct lmn__pb_fragment){ 0 };
    if (now == NULL)
        return lmn__fragment_overtaken(next, id, "removed", err);
    st = lmn__pb_decode(&lmn__pb_fragment_message, now->bytes, next->arena, fragment_out, err);
    if (st != LMN_OK || next->read == next->base)
        return st;
    then = find_fragment(draft->read, draft->read_count, id);
    if (then != NULL)
        st = lmn__pb_decode(&lmn__pb_fragment_message, then->bytes, next->arena, &read, err);
    if (st == LMN_OK && (then == NULL || !lmn__fragment_same_files(&read, fragment_out)))
        st = lmn__fragment_overtaken(next, id, "rewritten", err);
    return st;
}

/* Is the fragment as it was when the change read it, to the byte? */
enum lmn_status lmn__fragment_draft_check(struct lmn__next *next,
                                          const struct lmn__fragment_draft *draft, uint64_t id,
                                          struct lmn_error *err)
{
    const struct lmn__fragment_entry *now = find_fragment(draft->base, draft->base_count, id);
    const struct lmn__fragment_entry *then = find_fragment(draft->read, draft->read_count, id);

    if (now == NULL || then == NULL)
        return lmn__fragment_overtaken(next, id, "removed", err);
    if (now->bytes.len != then->bytes.len ||
        memcmp(now->bytes.data, then->bytes.data, now->bytes.len) != 0)
        return lmn__fragment_overtaken(next, id, "changed", err);
    return LMN_OK;
}

enum lmn_status lmn__fragment_draft_finish(struct lmn__next *next,
                                           struct lmn__fragment_draft *draft, struct lmn_error *err)
{
    struct lmn__span *item = lmn__arena_array(next->arena, draft->count, sizeof *item);
    bool rising = true;

    if (item == NULL)
        return lmn__arena_fail(next->arena, "fragments", err);
    for (uint64_t i = 1; i < draft->count && rising; i++)
        rising = draft->entry[i - 1].id < draft->entry[i].id;
    if (!rising)
        qsort(draft->entry, draft->count, sizeof *draft->entry, compare_entries);
    for (uint64_t i = 0; i < draft->count; i++)
        item[i] = draft->entry[i].bytes;
    next->pb.fragments = (struct lmn__pb_spans){ item, draft->count };
    return LMN_OK;
}

bool lmn__fragment_drop_dead_files(const struct lmn__pb_list *fields,
                                   struct lmn__pb_fragment *fragment)
{
    struct lmn__pb_data_file *file = fragment->files.item;
    size_t kept = 0;

    for (size_t i = 0; i < fragment->files.count; i++) {
        bool live = false;

        for (size_t k = 0; k < file[i].fields.count && !live; k++)
            live = lmn__fields_have(fields, (int32_t)file[i].fields.item[k]);
        if (live)
            file[kept++] = file[i];
    }
    if (kept == fragment->files.count)
        return false;
    fragment->files.count = kept;
    return true;
}
