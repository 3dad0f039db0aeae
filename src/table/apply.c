/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of change does to fields, fragments and indices, and the head of the manifest. */
#include "table/apply.h"

#include <leman/version.h>

#include "base/error.h"
#include "os/clock.h"
#include "table/fragment_draft.h"
#include "table/indices.h"
#include "table/load_note.h"
#include "table/transaction.h"

enum { NS_PER_S = 1000000000 };

static enum lmn_status add_fragments(struct lmn__next *next, struct lmn__fragment_draft *draft,
                                     bool changed, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < next->change->added_count; i++)
        st = lmn__fragment_draft_add(next, draft, &next->change->added[i], changed, err);
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

static const struct lmn__node *node_of(const struct lmn__schema *schema, int32_t id)
{
    for (uint32_t i = 0; i < schema->node_count; i++) {
        if (schema->node[i].field->id == id)
            return &schema->node[i];
    }
    return NULL;
}

static bool same_path(const struct lmn__node *a, const struct lmn__node *b)
{
    while (a != NULL && b != NULL && strcmp(a->name, b->name) == 0) {
        a = a->parent;
        b = b->parent;
    }
    return a == NULL && b == NULL;
}

static bool has_path(const struct lmn__schema *schema, const struct lmn__node *node)
{
    for (uint32_t i = 0; i < schema->node_count; i++) {
        if (same_path(&schema->node[i], node))
            return true;
    }
    return false;
}

/*
 * Do values that were written for a field still have their place? One that is dropped needs none.
 * A column of another type has its name and another id. The id of one that was dropped may be that
 * of a column which was added behind it.
 */
static bool takes_values(const struct lmn__next *next, const struct lmn__node *then)
{
    const struct lmn__schema *schema = &next->base->schema;
    const struct lmn__node *now = node_of(schema, then->field->id);
    struct lmn__span a, b;

    if (now == NULL)
        return !has_path(schema, then);
    a = then->field->logical_type;
    b = now->field->logical_type;
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0 &&
           (now->field->nullable || !then->field->nullable) &&
           (same_path(now, then) || !next->merged);
}

static bool file_has_node(const struct lmn__pb_fragment *fragment, const struct lmn__node *node)
{
    bool has = file_has_field(fragment, node->field->id);

    for (const struct lmn__node *child = node->child; child != NULL && !has; child = child->next)
        has = file_has_node(fragment, child);
    return has;
}

static enum lmn_status check_fragment(const struct lmn__next *next,
                                      const struct lmn__pb_fragment *added, struct lmn_error *err)
{
    const struct lmn__schema *base = &next->base->schema, *read = &next->read->schema;
    unsigned long long version = next->change->read_version;

    for (uint32_t i = 0; i < base->node_count; i++) {
        const struct lmn__node *node = &base->node[i];

        if (node->kind == LMN__NODE_LEAF && node->parent == NULL && !node->field->nullable &&
            !file_has_field(added, node->field->id))
            return lmn_fail(err, LMN_E_CONFLICT,
                            "column \"%.100s\", which has no nulls, was added since version %llu",
                            node->name, version);
        if (next->base->format_minor == 0 && node->kind == LMN__NODE_STRUCT &&
            node->parent == NULL && !file_has_node(added, node))
            return lmn_fail(err, LMN_E_CONFLICT,
                            "column \"%.100s\" was added since version %llu, and a table of file "
                            "version 2.0 has no place for null structs",
                            node->name, version);
    }
    for (uint32_t i = 0; i < read->node_count; i++) {
        const struct lmn__node *node = &read->node[i];

        if (file_has_field(added, node->field->id) && !takes_values(next, node))
            return lmn_fail(err, LMN_E_CONFLICT,
                            "column \"%.100s\" is another one since version %llu", node->name,
                            version);
    }
    return LMN_OK;
}

/* Columns that others have added since may be missing in rows that are appended, if nullable. */
static enum lmn_status check_appended(const struct lmn__next *next, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (next->read == next->base)
        return LMN_OK;
    for (uint64_t i = 0; st == LMN_OK && i < next->change->added_count; i++)
        st = check_fragment(next, &next->change->added[i], err);
    return st;
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

static enum lmn_status project(struct lmn__next *next, struct lmn__fragment_draft *draft,
                               struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    set_fields(next);
    for (uint64_t i = 0; st == LMN_OK && i < draft->base_count; i++) {
        struct lmn__pb_fragment fragment = { 0 };

        st = lmn__pb_decode(&lmn__pb_fragment_message, draft->base[i].bytes, next->arena, &fragment,
                            err);
        if (st != LMN_OK || !lmn__fragment_drop_dead_files(next->change->fields, &fragment))
            lmn__fragment_draft_keep(draft, &draft->base[i]);
        else
            st = lmn__fragment_draft_put(next, draft, &fragment, err);
    }
    return st == LMN_OK ? lmn__indices_drop_fields(next, err) : st;
}

static enum lmn_status merge(struct lmn__next *next, struct lmn__fragment_draft *draft,
                             struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    enum lmn_status st = LMN_OK;

    set_fields(next);
    for (uint64_t i = 0; st == LMN_OK && i < change->replaced_count; i++) {
        struct lmn__pb_fragment now, fragment = change->replaced[i];

        st = lmn__fragment_draft_current(next, draft, fragment.id, &now, err);
        if (st == LMN_OK && !lmn__fragment_same_files(&now, &fragment))
            st = lmn__fragment_draft_number(next, &fragment, true, err);
        if (st == LMN_OK)
            st = lmn__fragment_draft_put(next, draft, &fragment, err);
    }
    return st == LMN_OK ? lmn__indices_drop_fields(next, err) : st;
}

/*
 * Files of some fragments are other ones; deletions of others since are kept. Where rows are set,
 * these alone are others than before.
 */
static enum lmn_status replace(struct lmn__next *next, struct lmn__fragment_draft *draft,
                               struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    uint64_t *id = lmn__arena_array(next->arena, change->replaced_count, sizeof *id);
    enum lmn_status st = LMN_OK;

    draft->updated = lmn__arena_array(next->arena, change->replaced_count, sizeof *draft->updated);
    if (id == NULL || draft->updated == NULL)
        st = lmn__arena_fail(next->arena, "fragments", err);
    for (uint64_t i = 0; st == LMN_OK && i < change->replaced_count; i++) {
        struct lmn__pb_fragment *fragment = &draft->updated[i];

        id[i] = change->replaced[i].id;
        st = lmn__fragment_draft_current(next, draft, id[i], fragment, err);
        fragment->files = change->replaced[i].files;
        if (st == LMN_OK && change->kind == LMN__CHANGE_SET)
            st = lmn__fragment_draft_stamp(next, &change->touched[i], fragment, err);
        else if (st == LMN_OK)
            st = lmn__fragment_draft_number(next, fragment, true, err);
        if (st == LMN_OK)
            st = lmn__fragment_draft_put(next, draft, fragment, err);
        draft->updated_count++;
    }
    if (st != LMN_OK)
        return st;
    lmn__fragment_draft_keep_others(draft, id, change->replaced_count);
    st = lmn__indices_uncover(next, &change->fields_modified, id, change->replaced_count, err);
    return st == LMN_OK ? add_fragments(next, draft, true, err) : st;
}

static enum lmn_status rewrite(struct lmn__next *next, struct lmn__fragment_draft *draft,
                               struct lmn_error *err)
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
            st = lmn__fragment_draft_check(next, draft, id[count - 1], err);
        }
        for (uint64_t i = 0; st == LMN_OK && i < change->group[g].after_count; i++) {
            st = lmn__fragment_draft_add(next, draft, &change->group[g].after[i], false, err);
            change->group[g].after[i].id = next->pb.fragment_id_max;
        }
    }
    if (st != LMN_OK)
        return st;
    lmn__fragment_draft_keep_others(draft, id, count);
    return lmn__indices_rewrite(next, err);
}

static enum lmn_status make_fragments(struct lmn__next *next, struct lmn__fragment_draft *draft,
                                      struct lmn_error *err)
{
    enum lmn_status st;

    switch (next->change->kind) {
    case LMN__CHANGE_APPEND:
        lmn__fragment_draft_keep_others(draft, NULL, 0);
        st = next->base != NULL ? check_appended(next, err) : LMN_OK;
        return st == LMN_OK ? add_fragments(next, draft, false, err) : st;
    case LMN__CHANGE_OVERWRITE:
        set_fields(next);
        next->index_section = (struct lmn__span){ NULL, 0 };
        return add_fragments(next, draft, false, err);
    case LMN__CHANGE_DELETE:
        return lmn__fragment_draft_touch(next, draft, err);
    case LMN__CHANGE_MOVE:
        st = lmn__fragment_draft_touch(next, draft, err);
        return st == LMN_OK ? add_fragments(next, draft, true, err) : st;
    case LMN__CHANGE_MERGE:
        return merge(next, draft, err);
    case LMN__CHANGE_PROJECT:
        return project(next, draft, err);
    case LMN__CHANGE_REWRITE:
        return rewrite(next, draft, err);
    case LMN__CHANGE_REPLACE:
    case LMN__CHANGE_SET:
        return replace(next, draft, err);
    case LMN__CHANGE_RESTORE:
        break;
    }
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
    next->pb.reader_flags &= ~(uint64_t)LMN__FLAG_MIXED_VERSIONS;
    next->pb.writer_flags &= ~(uint64_t)LMN__FLAG_MIXED_VERSIONS;
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
    struct lmn__fragment_draft draft = { 0 };
    enum lmn_status st;

    if (next->base != NULL) {
        next->pb = next->base->pb;
        next->index_section = next->base->index_section;
    }
    next->pb.version++;
    if (next->change->kind == LMN__CHANGE_RESTORE)
        restore(next);
    st = lmn__change_check_message(next->change->message, err);
    if (st == LMN_OK)
        st = set_header(next, err);
    if (st == LMN_OK && next->change->kind == LMN__CHANGE_OVERWRITE)
        st = set_format(next, err);
    if (st == LMN_OK)
        st = lmn__load_note_apply(next, err);
    if (st == LMN_OK && next->change->kind != LMN__CHANGE_RESTORE) {
        st = lmn__fragment_draft_init(next, &draft, err);
        if (st == LMN_OK)
            st = make_fragments(next, &draft, err);
        if (st == LMN_OK)
            st = lmn__fragment_draft_finish(next, &draft, err);
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
    if (next->transaction_path != NULL)
        (void)next->store->ops->remove(next->store, next->transaction_path, NULL);
}
