/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/table_versions.h>

#include <string.h>

#include "table/change.h"
#include "table/conflict.h"
#include "table/stand_in.h"
#include "table/versions.h"

static const char message_key[] = "__lance_commit_message";

/* Live rows of a version. */
static enum lmn_status count_rows(const struct lmn__manifest *manifest, uint64_t *rows_out,
                                  struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *rows_out = 0;
    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(manifest); i++) {
        struct lmn__arena arena;
        struct lmn__pb_fragment fragment;

        lmn__arena_init(&arena, manifest->env, 0);
        st = lmn__manifest_fragment(manifest, i, &arena, &fragment, err);
        if (st == LMN_OK)
            *rows_out += fragment.row_count -
                         (fragment.deletion != NULL ? fragment.deletion->row_count : 0);
        lmn__arena_deinit(&arena);
    }
    return st;
}

static const char *find_message(const struct lmn__pb_transaction *transaction,
                                struct lmn__arena *arena)
{
    const struct lmn__pb_entry *entry = transaction->properties.item;

    for (size_t i = 0; i < transaction->properties.count; i++) {
        if (lmn__span_equal(entry[i].key, message_key))
            return lmn__arena_strndup(arena, entry[i].value.data, entry[i].value.len);
    }
    return "";
}

static enum lmn_status describe(struct lmn_table *table, uint64_t version, bool plain,
                                struct lmn__arena *arena, struct lmn_version_entry *entry,
                                struct lmn_error *err)
{
    struct lmn__manifest *manifest;
    struct lmn__pb_transaction transaction;
    enum lmn_status st = lmn__table_read_version(table, version, plain, &manifest, err);

    if (st != LMN_OK)
        return st;
    *entry = (struct lmn_version_entry){ .version = version,
                                         .timestamp_us = lmn__manifest_time_us(manifest),
                                         .operation = "unknown operation",
                                         .message = "",
                                         .fragment_count = lmn__manifest_fragment_count(manifest) };
    st = count_rows(manifest, &entry->row_count, err);
    /* Some writers tell nothing of what they did; the version is listed all the same. */
    if (st == LMN_OK &&
        lmn__transaction_read(table->store, manifest, arena, &transaction, NULL) == LMN_OK) {
        entry->operation = lmn__transaction_name(&transaction);
        entry->message = find_message(&transaction, arena);
        if (entry->message == NULL)
            st = lmn__arena_fail(arena, "a list of versions", err);
    }
    lmn__manifest_release(manifest);
    return st;
}

/* One whose manifest cannot be read, for the reason that it is given; its time is the file's. */
static enum lmn_status describe_unreadable(struct lmn_table *table, uint64_t version, bool plain,
                                           const char *reason, struct lmn__arena *arena,
                                           struct lmn_version_entry *entry, struct lmn_error *err)
{
    char path[LMN__VERSION_PATH_BYTES];
    struct lmn__store_stat stat;
    enum lmn_status st;

    lmn__version_path(version, plain, path);
    st = table->store->ops->stat(table->store, path, &stat, err);
    if (st != LMN_OK)
        return st;
    *entry =
        (struct lmn_version_entry){ .version = version,
                                    .timestamp_us = stat.modified_ns / 1000,
                                    .operation = "unreadable",
                                    .message = lmn__arena_strndup(arena, reason, strlen(reason)) };
    return entry->message != NULL ? LMN_OK : lmn__arena_fail(arena, "a list of versions", err);
}

enum lmn_status lmn_table_versions(struct lmn_table *table, struct lmn_version_list *list_out,
                                   struct lmn_error *err)
{
    struct lmn__arena *arena = lmn__arena_new(table->env);
    uint64_t *version, count, kept = 0;
    bool plain;
    enum lmn_status st;

    *list_out = (struct lmn_version_list){ 0 };
    if (arena == NULL)
        return lmn__no_memory(err, "a list of versions", sizeof *arena);
    list_out->memory = arena;
    st = lmn__versions_list(table->store, arena, &version, &count, &plain, err);
    if (st == LMN_OK) {
        list_out->entry = lmn__arena_array(arena, count, sizeof *list_out->entry);
        if (list_out->entry == NULL)
            st = lmn__arena_fail(arena, "a list of versions", err);
    }
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        struct lmn_error reason = { 0 };

        st = describe(table, version[i], plain, arena, &list_out->entry[kept], &reason);
        if (st == LMN_E_CORRUPT || st == LMN_E_UNSUPPORTED)
            st = describe_unreadable(table, version[i], plain, reason.message, arena,
                                     &list_out->entry[kept], err);
        else if (st != LMN_OK && err != NULL)
            *err = reason;
        kept += st == LMN_OK;
        if (st == LMN_E_NOT_FOUND) /* cleaned away since it was listed */
            st = LMN_OK;
    }
    list_out->count = kept;
    if (st != LMN_OK)
        lmn_version_list_free(list_out);
    return st;
}

void lmn_version_list_free(struct lmn_version_list *list)
{
    lmn__arena_free(list->memory);
    *list = (struct lmn_version_list){ 0 };
}

enum lmn_status lmn_table_restore(struct lmn_table *table, uint64_t version, struct lmn_error *err)
{
    struct lmn__change change = { .kind = LMN__CHANGE_RESTORE, .restored_version = version };
    struct lmn__manifest *newest, *restored;
    bool again;
    enum lmn_status st = lmn__table_stand_in(table, &newest, err);

    if (st != LMN_OK)
        return st;
    change.read_version = newest->pb.version;
    change.known = newest;
    st = lmn__table_read_version(table, version, newest->plain_name, &restored, err);
    if (st == LMN_OK) {
        lmn__manifest_release(restored);
        st = lmn__change_commit(table, &change, &again, err);
    }
    lmn__manifest_release(newest);
    return st;
}
