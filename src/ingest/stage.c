/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that are written and in no version yet. A stage is a Transaction of Lance that appends their
 * fragments, as hexadecimal digits: what a commit would write, had it happened. Several of them are
 * committed as one, from the oldest version that any of them was written for. The commit notes a
 * token of each, so that a process that does not know whether its commit has happened may make it
 * again.
 */
#include "ingest/stage.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "table/change.h"
#include "table/load_note.h"
#include "table/table.h"

enum { STAGES_MAX = 65536, PATH_CHARS = 512 };

static const char digits[] = "0123456789abcdef";

enum lmn_status lmn__stage_put(uint64_t version, struct lmn__pb_fragment *fragment, uint64_t count,
                               struct lmn__buf *text, struct lmn_error *err)
{
    struct lmn__pb_append append = { .fragments = { fragment, count } };
    const struct lmn__pb_transaction stage = { .read_version = version, .append = &append };
    struct lmn__buf bytes;
    enum lmn_status st;

    lmn__buf_init(&bytes, text->env, 0);
    lmn__pb_encode(&lmn__pb_transaction_message, &stage, &bytes);
    st = lmn__buf_status(&bytes, "a stage", err);
    for (size_t i = 0; st == LMN_OK && i < bytes.len; i++) {
        lmn__buf_put_u8(text, (uint8_t)digits[bytes.data[i] >> 4]);
        lmn__buf_put_u8(text, (uint8_t)digits[bytes.data[i] & 15]);
    }
    lmn__buf_deinit(&bytes);
    return st == LMN_OK ? lmn__buf_status(text, "a stage", err) : st;
}

/* The bytes behind digits; NULL data when they are none. */
static struct lmn__span unhex(const char *text, struct lmn__arena *arena)
{
    size_t len = strlen(text) / 2;
    uint8_t *bytes = lmn__arena_alloc(arena, len + 1);

    for (size_t i = 0; bytes != NULL && i < 2 * len; i++) {
        const char *digit = memchr(digits, text[i], sizeof digits - 1);

        if (digit == NULL)
            return (struct lmn__span){ 0 };
        bytes[i / 2] = (uint8_t)(i % 2 == 0 ? (digit - digits) << 4
                                            : bytes[i / 2] | (digit - digits));
    }
    return (struct lmn__span){ bytes, strlen(text) % 2 == 0 ? len : 0 };
}

/* Is a fragment as a load writes it: rows of its own, in one file of this table's folder? */
static bool is_fresh(const struct lmn__pb_fragment *fragment)
{
    const struct lmn__pb_data_file *file = fragment->files.item;

    if (fragment->files.count != 1 || fragment->row_count == 0 || fragment->deletion != NULL ||
        fragment->row_ids.len != 0 || fragment->overlays.count != 0 || file->has_base)
        return false;
    return file->path.len > 0 && file->path.len < PATH_CHARS - 8 && file->path.data[0] != '.' &&
           memchr(file->path.data, '/', file->path.len) == NULL &&
           memchr(file->path.data, '\0', file->path.len) == NULL;
}

enum lmn_status lmn__stage_decode(const char *text, struct lmn__arena *arena,
                                  struct lmn__pb_transaction *stage_out, struct lmn_error *err)
{
    struct lmn__span bytes = unhex(text, arena);
    bool right;

    *stage_out = (struct lmn__pb_transaction){ 0 };
    right = bytes.len > 0 &&
            lmn__pb_decode(&lmn__pb_transaction_message, bytes, arena, stage_out, err) == LMN_OK &&
            stage_out->append != NULL && stage_out->read_version > 0;
    for (size_t i = 0; right && i < stage_out->append->fragments.count; i++)
        right = is_fresh((struct lmn__pb_fragment *)stage_out->append->fragments.item + i);
    return right ? LMN_OK : lmn_fail(err, LMN_E_INVALID, "\"%.40s\" is no stage of a load", text);
}

/* Is what a stage names still there? */
static enum lmn_status check_files(struct lmn_store *store, const struct lmn__pb_append *append,
                                   struct lmn_error *err)
{
    for (size_t i = 0; i < append->fragments.count; i++) {
        const struct lmn__pb_fragment *fragment = append->fragments.item;
        const struct lmn__pb_data_file *file = fragment[i].files.item;
        char path[PATH_CHARS];
        struct lmn__store_stat stat;

        snprintf(path, sizeof path, "data/%.*s", (int)file->path.len,
                 (const char *)file->path.data);
        if (store->ops->stat(store, path, &stat, NULL) != LMN_OK)
            return lmn_fail(err, LMN_E_INVALID, "%.200s has no %s, which a load has staged",
                            store->name, path);
    }
    return LMN_OK;
}

/* The stages of a commit. */
struct gathered {
    struct lmn__change change;
    struct lmn__load_note note; /* a token for each stage that has rows */
    uint32_t noted;             /* how many of them the table has */
};

/* Decode the stages, and count what they have; *stage_out has `count` of them. */
static enum lmn_status decode_all(struct lmn_table *table, const char *const *staged,
                                  uint32_t count, struct lmn__arena *arena,
                                  struct gathered *gathered, struct lmn__pb_transaction **stage_out,
                                  struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn__pb_transaction *stage = lmn__arena_array(arena, count, sizeof *stage);
    uint64_t *token = lmn__arena_array(arena, count, sizeof *token);
    enum lmn_status st = LMN_OK;

    if (stage == NULL || token == NULL)
        st = lmn__arena_fail(arena, "stages", err);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        st = lmn__stage_decode(staged[i], arena, &stage[i], err);
        if (st == LMN_OK && stage[i].read_version > lmn_table_version(table))
            st = lmn_fail(err, LMN_E_INVALID, "%.200s has no version %llu yet, of a staged load",
                          table->store->name, (unsigned long long)stage[i].read_version);
        if (st != LMN_OK || stage[i].append->fragments.count == 0)
            continue;
        token[gathered->note.token_count] = lmn__hash64(staged[i], strlen(staged[i]));
        gathered->noted += lmn__load_note_has(manifest, token[gathered->note.token_count++]);
        gathered->change.added_count += stage[i].append->fragments.count;
    }
    gathered->note.token = token;
    *stage_out = stage;
    lmn__manifest_release(manifest);
    return st;
}

static enum lmn_status gather(struct lmn_table *table, const char *const *staged, uint32_t count,
                              struct lmn__arena *arena, struct gathered *gathered,
                              struct lmn_error *err)
{
    struct lmn__change *change = &gathered->change;
    struct lmn__pb_transaction *stage;
    enum lmn_status st = decode_all(table, staged, count, arena, gathered, &stage, err);

    if (st != LMN_OK || gathered->noted == gathered->note.token_count)
        return st;
    change->added = lmn__arena_array(arena, change->added_count + 1, sizeof *change->added);
    if (change->added == NULL)
        return lmn__arena_fail(arena, "fragments", err);
    change->added_count = 0;
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        const struct lmn__pb_list *fragments = &stage[i].append->fragments;

        st = check_files(table->store, stage[i].append, err);
        if (stage[i].read_version < change->read_version)
            change->read_version = stage[i].read_version;
        if (fragments->count > 0)
            memcpy(change->added + change->added_count, fragments->item,
                   fragments->count * sizeof *change->added);
        change->added_count += fragments->count;
    }
    return st;
}

enum lmn_status lmn_table_load_commit(struct lmn_table *table, const char *const *staged,
                                      uint32_t staged_count,
                                      const struct lmn_write_options *options,
                                      struct lmn_error *err)
{
    struct gathered gathered = { .change.kind = LMN__CHANGE_APPEND };
    struct lmn__arena arena;
    bool again;
    enum lmn_status st = lmn_table_refresh(table, err);

    if (st == LMN_OK && staged_count > STAGES_MAX)
        st = lmn_fail(err, LMN_E_INVALID, "%u stages are more than %d", staged_count, STAGES_MAX);
    if (st != LMN_OK || staged_count == 0)
        return st;
    gathered.change.note = &gathered.note;
    gathered.change.read_version = lmn_table_version(table);
    if (options != NULL) {
        gathered.change.message = options->message;
        gathered.change.unsynced = options->unsynced;
    }
    lmn__arena_init(&arena, table->env, 0);
    st = gather(table, staged, staged_count, &arena, &gathered, err);
    if (st == LMN_OK && gathered.noted < gathered.note.token_count)
        st = lmn__change_commit(table, &gathered.change, &again, err);
    lmn__arena_deinit(&arena);
    return st;
}

enum lmn_status lmn_table_load_stage(struct lmn_table *table, const struct lmn_load_source *source,
                                     const struct lmn_load_options *options, char **staged_out,
                                     struct lmn_load_progress *result_out, struct lmn_error *err)
{
    struct lmn_load_options own = options != NULL ? *options : (struct lmn_load_options){ 0 };
    struct lmn__buf text;
    enum lmn_status st;

    *staged_out = NULL;
    own.one_commit = true;
    lmn__buf_init(&text, table->env, 0);
    st = lmn__load_run(table, source, &own, NULL, &text, result_out, err);
    if (st == LMN_OK) {
        *staged_out = lmn__text_new(table->env, text.data, text.len);
        if (*staged_out == NULL)
            st = lmn__no_memory(err, "a stage", text.len);
    }
    lmn__buf_deinit(&text);
    return st;
}
