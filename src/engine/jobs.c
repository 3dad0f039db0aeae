/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs as others see them: by their records, from any process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/text.h"
#include "engine/job.h"
#include "engine/record.h"
#include "os/file.h"
#include "store/draft.h"

static bool is_id(const char *id)
{
    size_t len = strlen(id);

    return len > 0 && len < LMN__JOB_ID_CHARS && id[0] != '.' &&
           strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == len;
}

enum lmn_status lmn__job_check_id(const char *id, struct lmn_error *err)
{
    return is_id(id) ? LMN_OK
                     : lmn_fail(err, LMN_E_INVALID,
                                "\"%.64s\" is no id of a job: letters, digits, '_', '.', '-'; at "
                                "most %d",
                                id, LMN__JOB_ID_CHARS - 1);
}

/* A text that lmn_text_free() frees. */
static enum lmn_status take_text(struct lmn__buf *buf, char **text_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__buf_status(buf, "the text", err);

    if (st == LMN_OK) {
        *text_out = lmn__text_new(buf->env, buf->data, buf->len);
        if (*text_out == NULL)
            st = lmn__no_memory(err, "a text", buf->len);
    }
    lmn__buf_deinit(buf);
    return st;
}

/* A job, and when its entry was written last. */
struct listed {
    char id[LMN__JOB_ID_CHARS];
    int64_t modified_ns;
};

struct listing {
    struct lmn_env *env;
    struct lmn_store *store; /* of a table's */
    const char *dir;         /* of a user's */
    struct listed *job;
    uint64_t count, room;
};

static enum lmn_status add_job(struct listing *listing, const char *id, int64_t modified_ns,
                               struct lmn_error *err)
{
    if (listing->count == listing->room) {
        uint64_t room = listing->room == 0 ? 64 : listing->room * 2;
        void *grown = lmn__realloc(listing->env, listing->job, room * sizeof *listing->job);

        if (grown == NULL)
            return lmn__no_memory(err, "a list of jobs", room * sizeof *listing->job);
        listing->job = grown;
        listing->room = room;
    }
    snprintf(listing->job[listing->count].id, LMN__JOB_ID_CHARS, "%s", id);
    listing->job[listing->count++].modified_ns = modified_ns;
    return LMN_OK;
}

static int by_age(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;

    if (x->modified_ns != y->modified_ns)
        return x->modified_ns > y->modified_ns ? -1 : 1;
    return strcmp(x->id, y->id);
}

/* The newest first. */
static void sort_jobs(struct listing *listing)
{
    if (listing->count != 0)
        qsort(listing->job, listing->count, sizeof *listing->job, by_age);
}

/* A lmn__store_entry_fn. */
static enum lmn_status add_id(void *context, const char *name, bool is_directory,
                              struct lmn_error *err)
{
    struct listing *listing = context;
    char path[LMN__RECORD_PATH_CHARS];
    struct lmn__store_stat stat;

    if (!is_directory || !is_id(name))
        return LMN_OK;
    lmn__record_path(name, "record.json", path);
    if (listing->store->ops->stat(listing->store, path, &stat, NULL) != LMN_OK)
        return LMN_OK;
    return add_job(listing, name, stat.modified_ns, err);
}

/* One record, with the state that it would have if its process could still write it. */
static enum lmn_status put_record(struct lmn_store *store, const char *id, struct lmn__buf *out,
                                  struct lmn_error *err)
{
    struct lmn__span record, state;
    struct lmn__buf buf;
    enum lmn_status st;

    lmn__buf_init(&buf, store->env, 0);
    st = lmn__record_read(store, id, &buf, err);
    record = (struct lmn__span){ buf.data, buf.len };
    if (st == LMN_OK)
        st = lmn__json_member(record, "state", &state, err);
    while (record.len > 0 && record.data[record.len - 1] == '\n')
        record.len--;
    if (st == LMN_OK && lmn__record_unfinished(record) && !lmn__record_runs(record)) {
        static const char head[] = "{\"state\": \"interrupted\"";
        const uint8_t *comma = memchr(record.data, ',', record.len);

        lmn__buf_put(out, head, sizeof head - 1);
        if (comma != NULL)
            lmn__buf_put(out, comma, (size_t)(record.data + record.len - comma));
    } else if (st == LMN_OK) {
        lmn__buf_put(out, record.data, record.len);
    }
    lmn__buf_deinit(&buf);
    return st;
}

static enum lmn_status put_all(struct listing *listing, struct lmn__buf *out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;
    bool first = true;

    sort_jobs(listing);
    lmn__buf_put_u8(out, '[');
    for (uint64_t i = 0; st == LMN_OK && i < listing->count; i++) {
        size_t before = out->len;

        if (!first)
            lmn__buf_put(out, ", ", 2);
        st = put_record(listing->store, listing->job[i].id, out, err);
        if (st == LMN_E_CORRUPT || st == LMN_E_NOT_FOUND) { /* cut by a power loss, or just gone */
            out->len = before;
            st = LMN_OK;
        } else {
            first = false;
        }
    }
    lmn__buf_put_u8(out, ']');
    return st;
}

enum lmn_status lmn_job_records(struct lmn_table *table, const char *id, char **json_out,
                                struct lmn_error *err)
{
    struct listing listing = { .store = table->store, .env = table->env };
    struct lmn__buf out;
    enum lmn_status st = id != NULL ? lmn__job_check_id(id, err) : LMN_OK;

    *json_out = NULL;
    lmn__buf_init(&out, table->env, 0);
    if (st == LMN_OK && id != NULL)
        st = put_record(table->store, id, &out, err);
    else if (st == LMN_OK)
        st = table->store->ops->list(table->store, "_leman/jobs", add_id, &listing, err);
    if (st == LMN_OK && id == NULL)
        st = put_all(&listing, &out, err);
    lmn__free(table->env, listing.job);
    if (st == LMN_OK)
        return take_text(&out, json_out, err);
    lmn__buf_deinit(&out);
    return st;
}

enum lmn_status lmn_job_cancel(struct lmn_table *table, const char *id, struct lmn_error *err)
{
    char path[LMN__RECORD_PATH_CHARS];
    struct lmn__buf buf;
    enum lmn_status st = lmn__job_check_id(id, err);

    if (st != LMN_OK)
        return st;
    lmn__buf_init(&buf, table->env, 0);
    st = lmn__record_read(table->store, id, &buf, err);
    if (st == LMN_OK && !lmn__record_runs((struct lmn__span){ buf.data, buf.len }))
        st = lmn_fail(err, LMN_E_NOT_FOUND, "job %s does not run", id);
    lmn__buf_deinit(&buf);
    if (st != LMN_OK)
        return st;
    lmn__record_path(id, "cancel", path);
    st = lmn__store_put(table->store, path, LMN__PUBLISH_IF_ABSENT, "", 0, err);
    return st == LMN_E_EXISTS ? LMN_OK : st;
}

/* Drop one fill, as a record names it. */
static enum lmn_status drop_fill(struct lmn_table *table, const char *id, struct lmn__span fill,
                                 struct lmn_error *err)
{
    struct lmn__fill_key key = { 0 };
    struct lmn__journal *journal;
    struct lmn__span value, item;
    char version[80] = "";
    uint64_t field;
    enum lmn_status st = lmn__json_member(fill, "field_id", &value, err);

    if (st != LMN_OK || value.data == NULL || !lmn__json_to_u64(value, &field))
        return st;
    key.field_id = (int32_t)field;
    st = lmn__json_member(fill, "version", &value, err);
    if (st != LMN_OK || value.data == NULL || !lmn__json_to_text(value, version, sizeof version))
        return st;
    version[16] = '\0';
    key.version = strtoull(version, NULL, 16);
    st = lmn__json_member(fill, "columns", &value, err);
    while (st == LMN_OK && value.data != NULL && lmn__json_next_item(&value, &item))
        key.column_count += 2;
    if (st == LMN_OK)
        st = lmn__journal_open(table->store, &key, id, &journal, err);
    return st == LMN_OK ? lmn__journal_remove(journal, true, err) : st;
}

static enum lmn_status drop_fills(struct lmn_table *table, const char *id, struct lmn__span record,
                                  struct lmn_error *err)
{
    struct lmn__span fills, fill;
    enum lmn_status st = lmn__json_member(record, "fills", &fills, err);

    while (st == LMN_OK && fills.data != NULL && lmn__json_next_item(&fills, &fill))
        st = drop_fill(table, id, fill, err);
    return st;
}

enum lmn_status lmn_job_discard(struct lmn_table *table, const char *id, struct lmn_error *err)
{
    char path[LMN__RECORD_PATH_CHARS];
    struct lmn_store *store = table->store;
    struct lmn__span record;
    struct lmn__buf buf;
    enum lmn_status st = lmn__job_check_id(id, err);

    if (st != LMN_OK)
        return st;
    lmn__buf_init(&buf, table->env, 0);
    st = lmn__record_read(store, id, &buf, err);
    record = (struct lmn__span){ buf.data, buf.len };
    if (st == LMN_OK && lmn__record_runs(record))
        st = lmn_fail(err, LMN_E_UNAVAILABLE, "job %s runs; stop it first: leman cancel %s", id,
                      id);
    if (st == LMN_OK)
        st = drop_fills(table, id, record, err);
    lmn__buf_deinit(&buf);
    if (st != LMN_OK)
        return st;
    lmn__record_forget_cancel(store, id);
    lmn__record_forget_logs(store, id);
    lmn__record_path(id, "record.json", path);
    return store->ops->remove(store, path, err);
}

void lmn__record_index(const char *id, const char *root)
{
    char state[LMN__HOST_PATH_CHARS], dir[LMN__HOST_PATH_CHARS + 16];
    struct lmn_store *store;
    struct lmn__draft draft;
    struct lmn_error ignored;
    enum lmn_status st;

    lmn__host_state_dir(state);
    if (state[0] == '\0')
        return;
    snprintf(dir, sizeof dir, "%s/jobs", state);
    if (lmn__dir_make(dir, &ignored) != LMN_OK ||
        lmn_store_open_local(NULL, dir, &store, &ignored) != LMN_OK)
        return;
    if (lmn__draft_open(store, id, &draft, &ignored) == LMN_OK) {
        st = lmn__draft_write_at(&draft, 0, root, strlen(root), &ignored);
        if (st == LMN_OK)
            st = lmn__draft_publish(&draft, LMN__PUBLISH_REPLACE, false, &ignored);
        lmn__draft_abort(&draft);
    }
    lmn_store_release(store);
}

enum lmn_status lmn_job_find(const char *id, char **table_out, struct lmn_error *err)
{
    char state[LMN__HOST_PATH_CHARS], path[LMN__HOST_PATH_CHARS + LMN__JOB_ID_CHARS + 16];
    char root[LMN__HOST_PATH_CHARS];
    struct lmn__file file;
    struct lmn_env *env;
    uint64_t bytes;
    enum lmn_status st = lmn__job_check_id(id, err);

    *table_out = NULL;
    if (st != LMN_OK)
        return st;
    lmn__host_state_dir(state);
    snprintf(path, sizeof path, "%s/jobs/%s", state, id);
    if (lmn__file_open(path, LMN__FILE_READ, &file, err) != LMN_OK)
        return lmn_fail(err, LMN_E_NOT_FOUND,
                        "no job \"%s\" is known here: name its table with --table", id);
    st = lmn__file_size(&file, path, &bytes, err);
    if (st == LMN_OK && bytes >= sizeof root)
        st = lmn_fail(err, LMN_E_CORRUPT, "%s has %llu bytes, too many for a path", path,
                      (unsigned long long)bytes);
    if (st == LMN_OK)
        st = lmn__file_read_at(&file, path, 0, root, bytes, err);
    lmn__file_close(&file);
    if (st != LMN_OK)
        return st;
    st = lmn__env_resolve(NULL, &env, err);
    if (st != LMN_OK)
        return st;
    *table_out = lmn__text_new(env, root, bytes);
    lmn_env_release(env);
    return *table_out != NULL ? LMN_OK : lmn__no_memory(err, "a path", bytes);
}

/* Is nothing there any more? Then the entry goes, too. */
static bool forget_gone(const char *id, const char *root)
{
    char state[LMN__HOST_PATH_CHARS], path[LMN__HOST_PATH_CHARS + LMN__JOB_ID_CHARS + 16];
    struct lmn__file_info info;

    if (lmn__file_stat(root, &info, NULL) != LMN_E_NOT_FOUND)
        return false;
    lmn__host_state_dir(state);
    snprintf(path, sizeof path, "%s/jobs/%s", state, id);
    return lmn__file_remove(path, NULL) == LMN_OK;
}

/* A lmn__dir_entry_fn. */
static enum lmn_status add_indexed(void *context, const char *name, bool is_directory,
                                   struct lmn_error *err)
{
    struct listing *listing = context;
    char path[LMN__HOST_PATH_CHARS + LMN__JOB_ID_CHARS + 16];
    struct lmn__file_info info;

    if (is_directory || !is_id(name))
        return LMN_OK;
    snprintf(path, sizeof path, "%s/%s", listing->dir, name);
    if (lmn__file_stat(path, &info, NULL) != LMN_OK)
        return LMN_OK;
    return add_job(listing, name, info.modified_ns, err);
}

/* Ids and tables, without those whose table is gone. */
static void put_index(struct listing *listing, struct lmn__json_writer *writer)
{
    struct lmn_error ignored;
    char *root;

    sort_jobs(listing);
    lmn__json_open(writer, NULL, '[');
    for (uint64_t i = 0; i < listing->count; i++) {
        const char *id = listing->job[i].id;

        if (lmn_job_find(id, &root, &ignored) != LMN_OK)
            continue;
        if (!forget_gone(id, root)) {
            lmn__json_open(writer, NULL, '{');
            lmn__json_text(writer, "id", id);
            lmn__json_text(writer, "table", root);
            lmn__json_close(writer, '}');
        }
        lmn_text_free(root);
    }
    lmn__json_close(writer, ']');
}

enum lmn_status lmn_job_index(char **json_out, struct lmn_error *err)
{
    char state[LMN__HOST_PATH_CHARS], dir[LMN__HOST_PATH_CHARS + 16];
    struct listing listing = { .dir = dir };
    struct lmn__json_writer writer;
    struct lmn__buf out;
    enum lmn_status st = lmn__env_resolve(NULL, &listing.env, err);

    *json_out = NULL;
    if (st != LMN_OK)
        return st;
    lmn__buf_init(&out, listing.env, 0);
    writer = (struct lmn__json_writer){ &out, false };
    lmn__host_state_dir(state);
    snprintf(dir, sizeof dir, "%s/jobs", state);
    st = lmn__dir_list(dir, add_indexed, &listing, err);
    if (st == LMN_OK || st == LMN_E_NOT_FOUND) {
        put_index(&listing, &writer);
        st = take_text(&out, json_out, err);
    } else {
        lmn__buf_deinit(&out);
    }
    lmn__free(listing.env, listing.job);
    lmn_env_release(listing.env);
    return st;
}
