/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragments of the newest manifest are copied as bytes unless the change is about them. The list
 * of the next version is gathered in `struct draft` and sorted by id at the end.
 */
#include "table/apply.h"

#include <stdio.h>
#include <stdlib.h>

#include <leman/version.h>

#include "base/error.h"
#include "base/math.h"
#include "os/clock.h"
#include "table/indices.h"
#include "table/load_note.h"
#include "table/row_ids.h"
#include "table/transaction.h"

enum { NS_PER_S = 1000000000 };

/* A fragment of the next version, encoded. */
struct entry {
    uint64_t id;
    struct lmn__span bytes;
};

struct draft {
    struct entry *entry;
    uint64_t count;
    struct entry *base; /* the newest version's, by rising id */
    uint64_t base_count;
    struct entry *read; /* the same of the version that the change was made against */
    uint64_t read_count;
    uint64_t *removed; /* ids, for the transaction */
    uint64_t removed_count;
    struct lmn__pb_fragment *updated; /* for the transaction */
    uint64_t updated_count;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* The fragments of a manifest with their ids, by rising id. */
static enum lmn_status list_fragments(const struct lmn__manifest *manifest,
                                      struct lmn__arena *arena, struct entry **entry_out,
                                      uint64_t *count_out, struct lmn_error *err)
{
    uint64_t count = manifest != NULL ? lmn__manifest_fragment_count(manifest) : 0;
    struct entry *entry = lmn__arena_array(arena, count, sizeof *entry);
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

static struct entry *find_fragment(struct entry *entry, uint64_t count, uint64_t id)
{
    struct entry key = { id, { NULL, 0 } };

    return count != 0 ? bsearch(&key, entry, count, sizeof *entry, compare_entries) : NULL;
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

static enum lmn_status put_fragment(struct lmn__next *next, struct draft *draft,
                                    const struct lmn__pb_fragment *fragment, struct lmn_error *err)
{
    struct entry *entry = &draft->entry[draft->count];

    note_versions(next, fragment);
    entry->id = fragment->id;
    draft->count++;
    return encode(next, &lmn__pb_fragment_message, fragment, &entry->bytes, err);
}

static void keep_fragment(struct draft *draft, const struct entry *entry)
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
static enum lmn_status number_rows(struct lmn__next *next, struct lmn__pb_fragment *fragment,
                                   bool changed, struct lmn_error *err)
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
static enum lmn_status add_fragment(struct lmn__next *next, struct draft *draft,
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
    st = number_rows(next, &fragment, changed, err);
    return st == LMN_OK ? put_fragment(next, draft, &fragment, err) : st;
}

static bool same_files(const struct lmn__pb_fragment *a, const struct lmn__pb_fragment *b)
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

static enum lmn_status overtaken(struct lmn__next *next, uint64_t id, const char *how,
                                 struct lmn_error *err)
{
    next->again = true;
    return lmn_fail(err, LMN_E_CONFLICT, "fragment %llu was %s since version %llu",
                    (unsigned long long)id, how, (unsigned long long)next->change->read_version);
}

/* The fragment as it is now, if its files are those that the change has read. */
static enum lmn_status current_fragment(struct lmn__next *next, const struct draft *draft,
                                        uint64_t id, struct lmn__pb_fragment *fragment_out,
                                        struct lmn_error *err)
{
    const struct entry *now = find_fragment(draft->base, draft->base_count, id), *then;
    struct lmn__pb_fragment read = { 0 };
    enum lmn_status st;

    *fragment_out = (struct lmn__pb_fragment){ 0 };
    if (now == NULL)
        return overtaken(next, id, "removed", err);
    st = lmn__pb_decode(&lmn__pb_fragment_message, now->bytes, next->arena, fragment_out, err);
    if (st != LMN_OK || next->read == next->base)
        return st;
    then = find_fragment(draft->read, draft->read_count, id);
    if (then != NULL)
        st = lmn__pb_decode(&lmn__pb_fragment_message, then->bytes, next->arena, &read, err);
    if (st == LMN_OK && (then == NULL || !same_files(&read, fragment_out)))
        st = overtaken(next, id, "rewritten", err);
    return st;
}

static enum lmn_status read_deletion(struct lmn__next *next,
                                     const struct lmn__pb_fragment *fragment,
                                     struct lmn__deletion *deletion_out, struct lmn_error *err)
{
    struct lmn_store *store;
    bool has_base = fragment->deletion != NULL && fragment->deletion->has_base;
    bool is_root;
    enum lmn_status st = lmn__file_set_store(next->files, next->base, has_base,
                                             has_base ? fragment->deletion->base : 0, &store,
                                             &is_root, err);

    *deletion_out = (struct lmn__deletion){ 0 };
    if (st != LMN_OK)
        return st;
    st = lmn__deletion_read(store, fragment, deletion_out, err);
    lmn_store_release(store);
    return st;
}

/* The rows that are deleted already and those of the change, together. */
static enum lmn_status unite_rows(struct lmn__next *next, const struct lmn__touched *touched,
                                  const struct lmn__pb_fragment *fragment,
                                  struct lmn__deletion *deletion_out, struct lmn_error *err)
{
    enum lmn_status st = read_deletion(next, fragment, deletion_out, err);

    if (st == LMN_OK)
        st = lmn__deletion_reserve(deletion_out, next->env, fragment->row_count, err);
    if (st == LMN_OK && lmn__deletion_unite(deletion_out, &touched->rows) &&
        next->change->kind == LMN__CHANGE_MOVE)
        st = overtaken(next, fragment->id, "changed in the same rows", err);
    return st;
}

static enum lmn_status write_deletion(struct lmn__next *next, struct lmn__pb_fragment *fragment,
                                      const struct lmn__deletion *deletion, struct lmn_error *err)
{
    struct lmn__pb_deletion_file *file = lmn__arena_alloc(next->arena, sizeof *file);
    enum lmn_status st;

    if (file == NULL)
        return lmn__arena_fail(next->arena, "a deletion file", err);
    st = lmn__deletion_write(next->store, fragment->id, next->change->read_version, deletion, file,
                             err);
    if (st != LMN_OK)
        return st;
    lmn__deletion_path(fragment->id, file, next->written[next->written_count],
                       sizeof next->written[0]);
    next->written_count++;
    fragment->deletion = file;
    next->pb.reader_flags |= LMN__FLAG_DELETIONS;
    next->pb.writer_flags |= LMN__FLAG_DELETIONS;
    return LMN_OK;
}

/* Delete rows of one fragment; a fragment without live rows goes. */
static enum lmn_status touch_fragment(struct lmn__next *next, struct draft *draft,
                                      const struct lmn__touched *touched, struct lmn_error *err)
{
    struct lmn__pb_fragment *fragment = &draft->updated[draft->updated_count];
    struct lmn__deletion deletion = { 0 };
    enum lmn_status st = current_fragment(next, draft, touched->fragment_id, fragment, err);

    if (st == LMN_OK)
        st = unite_rows(next, touched, fragment, &deletion, err);
    if (st == LMN_OK && deletion.deleted == fragment->row_count) {
        draft->removed[draft->removed_count++] = fragment->id;
    } else if (st == LMN_OK) {
        st = write_deletion(next, fragment, &deletion, err);
        draft->updated_count++;
        if (st == LMN_OK)
            st = put_fragment(next, draft, fragment, err);
    }
    lmn__deletion_deinit(&deletion, next->env);
    return st;
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Keep the newest version's fragments, but not those in `id`, which is sorted here. */
static void keep_others(struct draft *draft, uint64_t *id, uint64_t count)
{
    if (count != 0)
        qsort(id, count, sizeof *id, compare_ids);
    for (uint64_t i = 0; i < draft->base_count; i++) {
        const struct entry *entry = &draft->base[i];

        if (count == 0 || bsearch(&entry->id, id, count, sizeof *id, compare_ids) == NULL)
            keep_fragment(draft, entry);
    }
}

static enum lmn_status touch_fragments(struct lmn__next *next, struct draft *draft,
                                       struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    uint64_t *id = lmn__arena_array(next->arena, change->touched_count, sizeof *id);
    enum lmn_status st = LMN_OK;

    draft->removed = lmn__arena_array(next->arena, change->touched_count, sizeof *draft->removed);
    draft->updated = lmn__arena_array(next->arena, change->touched_count, sizeof *draft->updated);
    next->written = lmn__arena_array(next->arena, change->touched_count, sizeof *next->written);
    if (id == NULL || draft->removed == NULL || draft->updated == NULL || next->written == NULL)
        return lmn__arena_fail(next->arena, "a list of fragments", err);
    for (uint64_t i = 0; st == LMN_OK && i < change->touched_count; i++) {
        id[i] = change->touched[i].fragment_id;
        st = touch_fragment(next, draft, &change->touched[i], err);
    }
    if (st == LMN_OK)
        keep_others(draft, id, change->touched_count);
    return st;
}

static enum lmn_status add_fragments(struct lmn__next *next, struct draft *draft, bool changed,
                                     struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < next->change->added_count; i++)
        st = add_fragment(next, draft, &next->change->added[i], changed, err);
    return st;
}

static bool file_has_field(const struct lmn__pb_fragment *fragment, int32_t id)
{
    const struct lmn__pb_data_file *file = fragment->files.item;

    for (size_t i = 0; i < fragment->files.count; i++) {
        for (size_t k = 0; k < file[i].fields.count; k++) {
            if ((int32_t)file[i].fields.item[k] == id)
                return true;
        }
    }
    return false;
}

/* Columns that others have added since may be missing in rows that are appended, if nullable. */
static enum lmn_status check_appended(struct lmn__next *next, struct lmn_error *err)
{
    const struct lmn__schema *schema = &next->base->schema;

    if (next->read == next->base)
        return LMN_OK;
    for (uint64_t i = 0; i < next->change->added_count; i++) {
        for (uint32_t k = 0; k < schema->node_count; k++) {
            const struct lmn__node *node = &schema->node[k];

            if (node->kind == LMN__NODE_LEAF && node->parent == NULL && !node->field->nullable &&
                !file_has_field(&next->change->added[i], node->field->id))
                return lmn_fail(err, LMN_E_CONFLICT,
                                "column \"%.100s\", which has no nulls, was added since version "
                                "%llu",
                                node->name, (unsigned long long)next->change->read_version);
        }
    }
    return LMN_OK;
}

/* The largest field id that a list of fields has. */
static int32_t field_id_max(const struct lmn__pb_list *fields)
{
    const struct lmn__pb_schema_field *field = fields->item;
    int32_t max = -1;

    for (size_t i = 0; i < fields->count; i++)
        max = field[i].id > max ? field[i].id : max;
    return max;
}

static void set_fields(struct lmn__next *next)
{
    int32_t max = field_id_max(next->change->fields);

    next->pb.fields = *next->change->fields;
    if (next->pb.has_field_id_max && max > next->pb.field_id_max)
        next->pb.field_id_max = max;
}

static bool has_field(const struct lmn__pb_list *fields, int32_t id)
{
    const struct lmn__pb_schema_field *field = fields->item;

    for (size_t i = 0; i < fields->count; i++) {
        if (field[i].id == id)
            return true;
    }
    return false;
}

/* Leave out the files of a fragment that hold no field of the schema. False: all stay. */
static bool drop_dead_files(const struct lmn__pb_list *fields, struct lmn__pb_fragment *fragment)
{
    struct lmn__pb_data_file *file = fragment->files.item;
    size_t kept = 0;

    for (size_t i = 0; i < fragment->files.count; i++) {
        bool live = false;

        for (size_t k = 0; k < file[i].fields.count && !live; k++)
            live = has_field(fields, (int32_t)file[i].fields.item[k]);
        if (live)
            file[kept++] = file[i];
    }
    if (kept == fragment->files.count)
        return false;
    fragment->files.count = kept;
    return true;
}

static enum lmn_status project(struct lmn__next *next, struct draft *draft, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    set_fields(next);
    for (uint64_t i = 0; st == LMN_OK && i < draft->base_count; i++) {
        struct lmn__pb_fragment fragment = { 0 };

        st = lmn__pb_decode(&lmn__pb_fragment_message, draft->base[i].bytes, next->arena, &fragment,
                            err);
        if (st != LMN_OK || !drop_dead_files(next->change->fields, &fragment))
            keep_fragment(draft, &draft->base[i]);
        else
            st = put_fragment(next, draft, &fragment, err);
    }
    return st == LMN_OK ? lmn__indices_drop_fields(next, err) : st;
}

static enum lmn_status merge(struct lmn__next *next, struct draft *draft, struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    enum lmn_status st = LMN_OK;

    set_fields(next);
    for (uint64_t i = 0; st == LMN_OK && i < change->replaced_count; i++) {
        struct lmn__pb_fragment now, fragment = change->replaced[i];

        st = current_fragment(next, draft, fragment.id, &now, err);
        if (st == LMN_OK && !same_files(&now, &fragment))
            st = number_rows(next, &fragment, true, err);
        if (st == LMN_OK)
            st = put_fragment(next, draft, &fragment, err);
    }
    return st == LMN_OK ? lmn__indices_drop_fields(next, err) : st;
}

/* Files of some fragments are other ones; deletions of others since are kept. */
static enum lmn_status replace(struct lmn__next *next, struct draft *draft, struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    uint64_t *id = lmn__arena_array(next->arena, change->replaced_count, sizeof *id);
    enum lmn_status st = id != NULL ? LMN_OK : lmn__arena_fail(next->arena, "fragments", err);

    for (uint64_t i = 0; st == LMN_OK && i < change->replaced_count; i++) {
        struct lmn__pb_fragment fragment;

        id[i] = change->replaced[i].id;
        st = current_fragment(next, draft, id[i], &fragment, err);
        fragment.files = change->replaced[i].files;
        if (st == LMN_OK)
            st = number_rows(next, &fragment, true, err);
        if (st == LMN_OK)
            st = put_fragment(next, draft, &fragment, err);
    }
    if (st != LMN_OK)
        return st;
    keep_others(draft, id, change->replaced_count);
    return lmn__indices_uncover(next, &change->fields_modified, id, change->replaced_count, err);
}

/* Is the fragment as it was when the change read it, to the byte? */
static enum lmn_status check_unchanged(struct lmn__next *next, const struct draft *draft,
                                       uint64_t id, struct lmn_error *err)
{
    const struct entry *now = find_fragment(draft->base, draft->base_count, id);
    const struct entry *then = find_fragment(draft->read, draft->read_count, id);

    if (now == NULL || then == NULL)
        return overtaken(next, id, "removed", err);
    if (now->bytes.len != then->bytes.len ||
        memcmp(now->bytes.data, then->bytes.data, now->bytes.len) != 0)
        return overtaken(next, id, "changed", err);
    return LMN_OK;
}

static enum lmn_status rewrite(struct lmn__next *next, struct draft *draft, struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    uint64_t total = 0, count = 0;
    uint64_t *id;
    enum lmn_status st = LMN_OK;

    for (uint64_t g = 0; g < change->group_count; g++)
        total += change->group[g].before_count;
    id = lmn__arena_array(next->arena, total, sizeof *id);
    if (id == NULL)
        st = lmn__arena_fail(next->arena, "fragments", err);
    for (uint64_t g = 0; st == LMN_OK && g < change->group_count; g++) {
        for (uint64_t i = 0; st == LMN_OK && i < change->group[g].before_count; i++) {
            id[count++] = change->group[g].before[i].id;
            st = check_unchanged(next, draft, id[count - 1], err);
        }
        for (uint64_t i = 0; st == LMN_OK && i < change->group[g].after_count; i++) {
            st = add_fragment(next, draft, &change->group[g].after[i], false, err);
            change->group[g].after[i].id = next->pb.fragment_id_max;
        }
    }
    if (st != LMN_OK)
        return st;
    keep_others(draft, id, count);
    return lmn__indices_rewrite(next, err);
}

static enum lmn_status make_fragments(struct lmn__next *next, struct draft *draft,
                                      struct lmn_error *err)
{
    enum lmn_status st;

    switch (next->change->kind) {
    case LMN__CHANGE_APPEND:
        keep_others(draft, NULL, 0);
        st = next->base != NULL ? check_appended(next, err) : LMN_OK;
        return st == LMN_OK ? add_fragments(next, draft, false, err) : st;
    case LMN__CHANGE_OVERWRITE:
        set_fields(next);
        next->index_section = (struct lmn__span){ NULL, 0 };
        return add_fragments(next, draft, false, err);
    case LMN__CHANGE_DELETE:
        return touch_fragments(next, draft, err);
    case LMN__CHANGE_MOVE:
        st = touch_fragments(next, draft, err);
        return st == LMN_OK ? add_fragments(next, draft, true, err) : st;
    case LMN__CHANGE_MERGE:
        return merge(next, draft, err);
    case LMN__CHANGE_PROJECT:
        return project(next, draft, err);
    case LMN__CHANGE_REWRITE:
        return rewrite(next, draft, err);
    case LMN__CHANGE_REPLACE:
        return replace(next, draft, err);
    case LMN__CHANGE_RESTORE:
        break;
    }
    return LMN_OK;
}

/* Room for every fragment that the next version could have. */
static enum lmn_status draft_init(struct lmn__next *next, struct draft *draft,
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

static enum lmn_status set_spans(struct lmn__next *next, struct draft *draft, struct lmn_error *err)
{
    struct lmn__span *item = lmn__arena_array(next->arena, draft->count, sizeof *item);

    if (item == NULL)
        return lmn__arena_fail(next->arena, "fragments", err);
    if (draft->count != 0)
        qsort(draft->entry, draft->count, sizeof *draft->entry, compare_entries);
    for (uint64_t i = 0; i < draft->count; i++)
        item[i] = draft->entry[i].bytes;
    next->pb.fragments = (struct lmn__pb_spans){ item, draft->count };
    return LMN_OK;
}

static enum lmn_status set_header(struct lmn__next *next, struct lmn_error *err)
{
    static const char library[] = "leman";
    struct lmn__pb_manifest *pb = &next->pb;
    int64_t now = lmn__clock_now_ns();
    const char *version = lmn_version();

    pb->timestamp = lmn__arena_alloc(next->arena, sizeof *pb->timestamp);
    pb->writer_version = lmn__arena_alloc(next->arena, sizeof *pb->writer_version);
    if (pb->timestamp == NULL || pb->writer_version == NULL)
        return lmn__arena_fail(next->arena, "a manifest", err);
    pb->timestamp->seconds = now / NS_PER_S;
    pb->timestamp->nanos = (int32_t)(now % NS_PER_S);
    pb->writer_version->library = (struct lmn__span){ (const uint8_t *)library,
                                                      sizeof library - 1 };
    pb->writer_version->version = (struct lmn__span){ (const uint8_t *)version, strlen(version) };
    pb->transaction_file = (struct lmn__span){ NULL, 0 };
    pb->has_index_section = pb->has_transaction_section = pb->has_early_transaction = false;
    pb->aux_position = 0;
    pb->tag = (struct lmn__span){ NULL, 0 };
    return LMN_OK;
}

/* A table that is made, or made anew. */
static enum lmn_status set_format(struct lmn__next *next, struct lmn_error *err)
{
    static const char lance[] = "lance";
    const struct lmn__change *change = next->change;
    struct lmn__pb_data_format *format = lmn__arena_alloc(next->arena, sizeof *format);

    if (format == NULL)
        return lmn__arena_fail(next->arena, "a manifest", err);
    format->file_format = (struct lmn__span){ (const uint8_t *)lance, sizeof lance - 1 };
    format->version = (struct lmn__span){ (const uint8_t *)change->file_version,
                                          strlen(change->file_version) };
    next->pb.data_format = format;
    if (change->schema_metadata != NULL)
        next->pb.schema_metadata = *change->schema_metadata;
    if (next->base == NULL && change->stable_row_ids)
        next->pb.reader_flags = next->pb.writer_flags = LMN__FLAG_STABLE_ROW_IDS;
    return LMN_OK;
}

static void restore(struct lmn__next *next)
{
    struct lmn__pb_manifest *pb = &next->pb;

    *pb = next->restored->pb;
    pb->version = next->base->pb.version + 1;
    pb->has_fragment_id_max = next->base->pb.has_fragment_id_max;
    pb->fragment_id_max = next->base->pb.fragment_id_max;
    pb->next_row_id = next->base->pb.next_row_id;
    pb->has_field_id_max = next->base->pb.has_field_id_max;
    pb->field_id_max = next->base->pb.field_id_max;
    next->index_section = next->restored->index_section;
}

enum lmn_status lmn__next_build(struct lmn__next *next, struct lmn_error *err)
{
    struct draft draft = { 0 };
    enum lmn_status st;

    if (next->base != NULL) {
        next->pb = next->base->pb;
        next->index_section = next->base->index_section;
    }
    next->pb.version++;
    if (next->change->kind == LMN__CHANGE_RESTORE)
        restore(next);
    st = set_header(next, err);
    if (st == LMN_OK && next->change->kind == LMN__CHANGE_OVERWRITE)
        st = set_format(next, err);
    if (st == LMN_OK)
        st = lmn__load_note_apply(next, err);
    if (st == LMN_OK && next->change->kind != LMN__CHANGE_RESTORE) {
        st = draft_init(next, &draft, err);
        if (st == LMN_OK)
            st = make_fragments(next, &draft, err);
        if (st == LMN_OK)
            st = set_spans(next, &draft, err);
    }
    if (st != LMN_OK)
        return st;
    return lmn__transaction_build(next, draft.updated, draft.updated_count, draft.removed,
                                  draft.removed_count, err);
}

void lmn__next_undo(struct lmn__next *next)
{
    for (uint64_t i = 0; i < next->written_count; i++)
        (void)next->store->ops->remove(next->store, next->written[i], NULL);
}
