/* SPDX-License-Identifier: Apache-2.0 */
#include "table/transaction.h"

#include <stdio.h>

#include "os/random.h"
#include "table/suspects.h"

enum { UUID_BYTES = 16, UUID_CHARS = 36, VERSION_CHARS = 24 };

static const char message_key[] = "__lance_commit_message";

static struct lmn__span span_of(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

/* A random UUID of version 4 as text. */
static enum lmn_status make_uuid(struct lmn__arena *arena, struct lmn__span *uuid_out,
                                 struct lmn_error *err)
{
    uint8_t bytes[UUID_BYTES];
    char text[UUID_CHARS + 1];
    char *at = text, *copy;
    enum lmn_status st = lmn__random_bytes(bytes, sizeof bytes, err);

    if (st != LMN_OK)
        return st;
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
    for (int i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        snprintf(at, 3, "%02x", bytes[i]);
        at += 2;
    }
    copy = lmn__arena_strndup(arena, text, UUID_CHARS);
    if (copy == NULL)
        return lmn__arena_fail(arena, "a transaction", err);
    *uuid_out = (struct lmn__span){ (const uint8_t *)copy, UUID_CHARS };
    return LMN_OK;
}

static enum lmn_status set_properties(struct lmn__next *next, struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    struct lmn__pb_entry *entry = lmn__arena_array(next->arena, 2, sizeof *entry);
    char *version = lmn__arena_alloc(next->arena, VERSION_CHARS);
    size_t count = 0;

    if (entry == NULL || version == NULL)
        return lmn__arena_fail(next->arena, "a transaction", err);
    if (change->message != NULL)
        entry[count++] = (struct lmn__pb_entry){ span_of(message_key), span_of(change->message) };
    if (change->inputs_version != 0) {
        snprintf(version, VERSION_CHARS, "%llu", (unsigned long long)change->inputs_version);
        entry[count++] = (struct lmn__pb_entry){ span_of(LMN__READ_VERSION_KEY), span_of(version) };
    }
    next->transaction.properties = (struct lmn__pb_list){ entry, count };
    return LMN_OK;
}

static enum lmn_status set_groups(struct lmn__next *next, struct lmn__pb_rewrite *rewrite,
                                  struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    struct lmn__pb_rewrite_group *group = lmn__arena_array(next->arena, change->group_count,
                                                           sizeof *group);

    if (group == NULL)
        return lmn__arena_fail(next->arena, "a transaction", err);
    for (uint64_t i = 0; i < change->group_count; i++) {
        group[i].before = (struct lmn__pb_list){ change->group[i].before,
                                                 change->group[i].before_count };
        group[i].after = (struct lmn__pb_list){ change->group[i].after,
                                                change->group[i].after_count };
    }
    rewrite->groups = (struct lmn__pb_list){ group, change->group_count };
    return LMN_OK;
}

/* Which file each fragment has got. */
static enum lmn_status set_replacements(struct lmn__next *next, struct lmn__pb_data_replacement *pb,
                                        struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    struct lmn__pb_replacement *item = lmn__arena_array(next->arena, change->replaced_count,
                                                        sizeof *item);

    if (item == NULL)
        return lmn__arena_fail(next->arena, "a transaction", err);
    for (uint64_t i = 0; i < change->replaced_count; i++) {
        struct lmn__pb_data_file *file = change->replaced[i].files.item;

        item[i].fragment_id = change->replaced[i].id;
        item[i].file = &file[change->replaced[i].files.count - 1];
    }
    pb->replacements = (struct lmn__pb_list){ item, change->replaced_count };
    return LMN_OK;
}

/* Memory for the operation's message. */
static void *operation_new(struct lmn__next *next, size_t bytes, struct lmn_error *err)
{
    void *operation = lmn__arena_alloc(next->arena, bytes);

    if (operation == NULL)
        lmn__arena_fail(next->arena, "a transaction", err);
    return operation;
}

static enum lmn_status set_rows(struct lmn__next *next, struct lmn__pb_list updated,
                                struct lmn__pb_u64s removed, struct lmn_error *err)
{
    struct lmn__pb_transaction *transaction = &next->transaction;
    const struct lmn__change *change = next->change;
    struct lmn__pb_list added = { change->added, change->added_count };

    if (change->kind == LMN__CHANGE_APPEND) {
        transaction->append = operation_new(next, sizeof *transaction->append, err);
        if (transaction->append == NULL)
            return LMN_E_NO_MEMORY;
        transaction->append->fragments = added;
    } else if (change->kind == LMN__CHANGE_DELETE) {
        transaction->delete = operation_new(next, sizeof *transaction->delete, err);
        if (transaction->delete == NULL)
            return LMN_E_NO_MEMORY;
        transaction->delete->updated = updated;
        transaction->delete->removed = removed;
        if (change->predicate != NULL)
            transaction->delete->predicate = span_of(change->predicate);
    } else {
        transaction->update = operation_new(next, sizeof *transaction->update, err);
        if (transaction->update == NULL)
            return LMN_E_NO_MEMORY;
        transaction->update->updated = updated;
        transaction->update->removed = removed;
        transaction->update->added = added;
        transaction->update->fields_modified = change->fields_modified;
        transaction->update->mode = change->kind == LMN__CHANGE_SET;
    }
    return LMN_OK;
}

static enum lmn_status set_schema(struct lmn__next *next, struct lmn_error *err)
{
    struct lmn__pb_transaction *transaction = &next->transaction;
    const struct lmn__change *change = next->change;

    if (change->kind == LMN__CHANGE_OVERWRITE) {
        transaction->overwrite = operation_new(next, sizeof *transaction->overwrite, err);
        if (transaction->overwrite == NULL)
            return LMN_E_NO_MEMORY;
        transaction->overwrite->fragments = (struct lmn__pb_list){ change->added,
                                                                   change->added_count };
        transaction->overwrite->fields = *change->fields;
        transaction->overwrite->schema_metadata = next->pb.schema_metadata;
    } else if (change->kind == LMN__CHANGE_MERGE) {
        transaction->merge = operation_new(next, sizeof *transaction->merge, err);
        if (transaction->merge == NULL)
            return LMN_E_NO_MEMORY;
        transaction->merge->fragments = (struct lmn__pb_list){ change->replaced,
                                                               change->replaced_count };
        transaction->merge->fields = *change->fields;
        transaction->merge->schema_metadata = next->pb.schema_metadata;
        transaction->merge->keeps_nullability = change->keeps_nullability;
    } else {
        transaction->project = operation_new(next, sizeof *transaction->project, err);
        if (transaction->project == NULL)
            return LMN_E_NO_MEMORY;
        transaction->project->fields = *change->fields;
        transaction->project->keeps_nullability = change->keeps_nullability;
    }
    return LMN_OK;
}

static enum lmn_status set_files(struct lmn__next *next, struct lmn_error *err)
{
    struct lmn__pb_transaction *transaction = &next->transaction;

    if (next->change->kind == LMN__CHANGE_REWRITE) {
        transaction->rewrite = operation_new(next, sizeof *transaction->rewrite, err);
        return transaction->rewrite != NULL ? set_groups(next, transaction->rewrite, err)
                                            : LMN_E_NO_MEMORY;
    }
    if (next->change->kind == LMN__CHANGE_REPLACE) {
        transaction->data_replacement = operation_new(next, sizeof *transaction->data_replacement,
                                                      err);
        return transaction->data_replacement != NULL
                   ? set_replacements(next, transaction->data_replacement, err)
                   : LMN_E_NO_MEMORY;
    }
    transaction->restore = operation_new(next, sizeof *transaction->restore, err);
    if (transaction->restore == NULL)
        return LMN_E_NO_MEMORY;
    transaction->restore->version = next->change->restored_version;
    return LMN_OK;
}

enum lmn_status lmn__transaction_build(struct lmn__next *next, struct lmn__pb_fragment *updated,
                                       uint64_t updated_count, uint64_t *removed,
                                       uint64_t removed_count, struct lmn_error *err)
{
    enum lmn_status st = make_uuid(next->arena, &next->transaction.uuid, err);

    next->transaction.read_version = next->change->read_version;
    if (st == LMN_OK)
        st = set_properties(next, err);
    if (st != LMN_OK)
        return st;
    switch (next->change->kind) {
    case LMN__CHANGE_APPEND:
    case LMN__CHANGE_DELETE:
    case LMN__CHANGE_MOVE:
    case LMN__CHANGE_SET:
        return set_rows(next, (struct lmn__pb_list){ updated, updated_count },
                        (struct lmn__pb_u64s){ removed, removed_count }, err);
    case LMN__CHANGE_OVERWRITE:
    case LMN__CHANGE_MERGE:
    case LMN__CHANGE_PROJECT:
        return set_schema(next, err);
    default:
        return set_files(next, err);
    }
}
