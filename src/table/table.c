/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table.h"

#include <stdio.h>

#include "base/error.h"
#include "format/projection.h"
#include "table/file_set.h"
#include "table/scan.h"
#include "table/snapshot.h"
#include "table/stand_in.h"
#include "table/tags.h"
#include "table/versions.h"

enum { OPEN_FILES_MAX = 512, MICRO = 1000, SECOND_US = 1000000 };

static const char main_branch[] = "main";

int64_t lmn__manifest_time_us(const struct lmn__manifest *manifest)
{
    const struct lmn__pb_timestamp *time = manifest->pb.timestamp;
    const int64_t seconds_max = INT64_MAX / SECOND_US - INT32_MAX;

    if (time == NULL)
        return 0;
    /* A manifest may say anything; what no clock shows is before or after all else. */
    if (time->seconds > seconds_max)
        return INT64_MAX;
    if (time->seconds < -seconds_max)
        return INT64_MIN;
    return time->seconds * SECOND_US + time->nanos / MICRO;
}

/* The newest version that was there at a time; versions are in order of time. */
static enum lmn_status read_at_time(struct lmn_store *store, int64_t time_us,
                                    struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    struct lmn__arena arena;
    uint64_t *version, count;
    bool plain;
    enum lmn_status st;

    lmn__arena_init(&arena, store->env, 0);
    st = lmn__versions_list(store, &arena, &version, &count, &plain, err);
    for (uint64_t i = count; st == LMN_OK && i > 0; i--) {
        st = lmn__version_read(store, version[i - 1], plain, manifest_out, err);
        if (st == LMN_OK && lmn__manifest_time_us(*manifest_out) <= time_us)
            break;
        if (st == LMN_OK)
            lmn__manifest_release(*manifest_out);
        *manifest_out = NULL;
    }
    lmn__arena_deinit(&arena);
    if (st == LMN_OK && *manifest_out == NULL)
        st = lmn_fail(err, LMN_E_NOT_FOUND, "%.300s has no version that is old enough",
                      store->name);
    return st;
}

static enum lmn_status find_manifest(struct lmn_store *store,
                                     const struct lmn_table_options *options,
                                     struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    uint64_t newest;
    bool plain;
    enum lmn_status st;

    *manifest_out = NULL;
    if (options->timestamp_us != 0)
        return read_at_time(store, options->timestamp_us, manifest_out, err);
    st = lmn__versions_newest(store, &newest, &plain, err);
    if (st != LMN_OK)
        return st;
    st = lmn__version_read(store, options->version != 0 ? options->version : newest, plain,
                           manifest_out, err);
    if (st != LMN_E_CORRUPT || options->version != 0)
        return st;
    return options->readable ? lmn__readable_below(store, newest, manifest_out, err)
                             : lmn__newest_damaged(store, newest, err);
}

/* The directory of a branch; a store of its own, whose manifests name the main one as a base. */
static enum lmn_status open_branch(struct lmn_store *store, const char *branch,
                                   struct lmn_store **branch_out, struct lmn_error *err)
{
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/tree/%s", store->name, branch);
    uint64_t newest;
    bool plain;
    enum lmn_status st;

    *branch_out = NULL;
    if (lmn__store_check_path(store, branch, NULL) != LMN_OK)
        return lmn_fail(err, LMN_E_INVALID, "\"%.100s\" is no name for a branch", branch);
    if (strcmp(store->ops->kind, "local") != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "branches of tables in %s stores",
                        store->ops->kind);
    if (len < 0 || (size_t)len >= sizeof path)
        return lmn_fail(err, LMN_E_INVALID, "the name of branch \"%.100s\" is too long", branch);
    st = lmn_store_open_local(store->env, path, branch_out, err);
    if (st == LMN_OK)
        st = lmn__versions_newest(*branch_out, &newest, &plain, err);
    if (st == LMN_E_NOT_FOUND)
        return lmn_fail(err, st, "%.300s has no branch \"%.100s\"", store->name, branch);
    return st;
}

/* A tag names a version of one branch: it is not one of another. */
static enum lmn_status check_branch(const struct lmn_store *store, const struct lmn__tag *tag,
                                    const char *branch, struct lmn_error *err)
{
    const char *own = tag->branch[0] != '\0' ? tag->branch : main_branch;

    if (branch == NULL || strcmp(branch, own) == 0)
        return LMN_OK;
    return lmn_fail(err, LMN_E_INVALID,
                    "%.200s: tag \"%.64s\" is of branch \"%.64s\", not of \"%.64s\"", store->name,
                    tag->name, own, branch);
}

/* Which store and which version are meant. The caller releases both. */
static enum lmn_status resolve(struct lmn_store *store, const struct lmn_table_options *options,
                               struct lmn_store **store_out, struct lmn__manifest **manifest_out,
                               struct lmn_error *err)
{
    static const struct lmn_table_options defaults = { 0 };
    struct lmn_table_options wanted = options != NULL ? *options : defaults;
    struct lmn__tag tag;
    int asked = (wanted.version != 0) + (wanted.tag != NULL) + (wanted.timestamp_us != 0);
    enum lmn_status st = LMN_OK;

    *store_out = NULL;
    *manifest_out = NULL;
    if (asked > 1)
        return lmn_fail(err, LMN_E_INVALID,
                        "%.300s: a version is asked for by number, tag or time, not by several",
                        store->name);
    if (wanted.tag != NULL) {
        st = lmn__tag_read(store, wanted.tag, &tag, err);
        if (st == LMN_OK)
            st = check_branch(store, &tag, wanted.branch, err);
        if (st != LMN_OK)
            return st;
        wanted.version = tag.version;
        if (tag.branch[0] != '\0')
            wanted.branch = tag.branch;
    }
    if (wanted.branch != NULL && strcmp(wanted.branch, main_branch) != 0)
        st = open_branch(store, wanted.branch, store_out, err);
    else
        *store_out = lmn_store_acquire(store);
    if (st == LMN_OK)
        st = find_manifest(*store_out, &wanted, manifest_out, err);
    if (st != LMN_OK) {
        lmn_store_release(*store_out);
        *store_out = NULL;
    }
    return st;
}

static void table_free(struct lmn_table *table)
{
    struct lmn_env *env = table->env;

    lmn__snapshot_release(table->locked.snapshot);
    lmn__manifest_release(table->locked.manifest);
    lmn__file_set_free(table->files);
    lmn__mutex_deinit(&table->mutex);
    lmn_store_release(table->store);
    lmn__free(env, table);
    lmn_env_release(env);
}

enum lmn_status lmn__table_new(struct lmn_store *store, struct lmn__manifest *manifest,
                               struct lmn_table **table_out, struct lmn_error *err)
{
    struct lmn_table *table = lmn__calloc(store->env, 1, sizeof *table);
    enum lmn_status st;

    *table_out = NULL;
    if (table == NULL)
        return lmn__no_memory(err, "a table", sizeof *table);
    st = lmn__mutex_init(&table->mutex, err);
    if (st != LMN_OK) {
        lmn__free(store->env, table);
        return st;
    }
    atomic_init(&table->reference_count, 1);
    table->env = lmn_env_acquire(store->env);
    table->store = lmn_store_acquire(store);
    st = lmn__file_set_new(store, OPEN_FILES_MAX, &table->files, err);
    if (st != LMN_OK) {
        table_free(table);
        return st;
    }
    table->locked.manifest = lmn__manifest_acquire(manifest);
    *table_out = table;
    return LMN_OK;
}

enum lmn_status lmn_table_open(struct lmn_store *store, const struct lmn_table_options *options,
                               struct lmn_table **table_out, struct lmn_error *err)
{
    struct lmn_store *where;
    struct lmn__manifest *manifest;
    enum lmn_status st = resolve(store, options, &where, &manifest, err);

    *table_out = NULL;
    if (st != LMN_OK)
        return st;
    st = lmn__table_new(where, manifest, table_out, err);
    lmn__manifest_release(manifest);
    lmn_store_release(where);
    return st;
}

struct lmn_table *lmn_table_acquire(struct lmn_table *table)
{
    atomic_fetch_add(&table->reference_count, 1);
    return table;
}

void lmn_table_release(struct lmn_table *table)
{
    if (table != NULL && atomic_fetch_sub(&table->reference_count, 1) == 1)
        table_free(table);
}

struct lmn__manifest *lmn__table_manifest(struct lmn_table *table)
{
    struct lmn__manifest *manifest;

    lmn__mutex_lock(&table->mutex);
    manifest = lmn__manifest_acquire(table->locked.manifest);
    lmn__mutex_unlock(&table->mutex);
    return manifest;
}

void lmn__table_set_manifest(struct lmn_table *table, struct lmn__manifest *manifest)
{
    struct lmn__manifest *before;
    struct lmn__snapshot *snapshot;

    lmn__mutex_lock(&table->mutex);
    before = table->locked.manifest;
    snapshot = before != manifest ? table->locked.snapshot : NULL;
    table->locked.manifest = manifest;
    if (before != manifest)
        table->locked.snapshot = NULL;
    lmn__mutex_unlock(&table->mutex);
    lmn__snapshot_release(snapshot);
    lmn__manifest_release(before);
}

uint64_t lmn_table_version(struct lmn_table *table)
{
    uint64_t version;

    lmn__mutex_lock(&table->mutex);
    version = table->locked.manifest->pb.version;
    lmn__mutex_unlock(&table->mutex);
    return version;
}

void lmn__table_clear_tip(struct lmn_table *table)
{
    lmn__mutex_lock(&table->mutex);
    table->locked.tip_stamp = 0;
    lmn__mutex_unlock(&table->mutex);
}

/* Is there no version behind this one? False also when that cannot be told. */
static bool is_last(struct lmn_table *table, const struct lmn__manifest *manifest)
{
    bool followed;

    return lmn__version_exists(table->store, manifest->pb.version + 1, manifest->plain_name,
                               &followed, NULL) == LMN_OK &&
           !followed;
}

void lmn__table_advance(struct lmn_table *table, const struct lmn__manifest *stood,
                        struct lmn__manifest *made, int64_t stamp_before)
{
    int64_t stamp = lmn__versions_stamp(table->store);
    const struct lmn__manifest *now;
    bool overtaken;

    if (stamp == stamp_before || stamp_before == 0)
        stamp = 0;
    lmn__mutex_lock(&table->mutex);
    now = table->locked.manifest;
    overtaken = now != stood && now->pb.version > made->pb.version;
    if (!overtaken) {
        table->locked.tip = made->pb.version;
        table->locked.tip_stamp = stamp;
    }
    lmn__mutex_unlock(&table->mutex);
    if (overtaken)
        lmn__manifest_release(made);
    else
        lmn__table_set_manifest(table, made);
}

/* Is what the version was read from still there? A table may be dropped and made anew. */
static bool is_same(struct lmn_table *table, const struct lmn__manifest *manifest)
{
    struct lmn__version_mark mark;

    return lmn__version_mark(table->store, manifest->pb.version, manifest->plain_name, &mark,
                             NULL) == LMN_OK &&
           lmn__version_same(&mark, &manifest->mark);
}

/*
 * Is this the newest version for sure? That it has no successor is not enough: one may have been
 * made and cleaned away. The stamp is not either: its clock may tick slowly, and does not where a
 * backup is copied over the files.
 */
static bool is_tip(struct lmn_table *table, const struct lmn__manifest *manifest)
{
    int64_t stamp;

    lmn__mutex_lock(&table->mutex);
    stamp = table->locked.tip == manifest->pb.version ? table->locked.tip_stamp : 0;
    lmn__mutex_unlock(&table->mutex);
    return stamp != 0 && stamp == lmn__versions_stamp(table->store) && is_same(table, manifest) &&
           is_last(table, manifest);
}

enum lmn_status lmn__table_newest(struct lmn_table *table, struct lmn__manifest **manifest_out,
                                  struct lmn_error *err)
{
    struct lmn__manifest *known = lmn__table_manifest(table);
    uint64_t newest;
    bool plain;
    enum lmn_status st;

    *manifest_out = known;
    if (is_tip(table, known))
        return LMN_OK;
    *manifest_out = NULL;
    st = lmn__versions_newest(table->store, &newest, &plain, err);
    if (st == LMN_OK && newest == known->pb.version && is_same(table, known)) {
        *manifest_out = known;
        return LMN_OK;
    }
    lmn__manifest_release(known);
    if (st == LMN_OK)
        st = lmn__version_read(table->store, newest, plain, manifest_out, err);
    return st == LMN_E_CORRUPT ? lmn__newest_damaged(table->store, newest, err) : st;
}

enum lmn_status lmn__table_recent(struct lmn_table *table, struct lmn__manifest **manifest_out,
                                  struct lmn_error *err)
{
    struct lmn__manifest *known = lmn__table_manifest(table);
    bool followed = true;
    enum lmn_status st = LMN_OK;

    *manifest_out = NULL;
    if (is_same(table, known))
        st = lmn__version_exists(table->store, known->pb.version + 1, known->plain_name, &followed,
                                 err);
    if (st == LMN_OK && !followed) {
        *manifest_out = known;
        return LMN_OK;
    }
    lmn__manifest_release(known);
    return st == LMN_OK ? lmn__table_newest(table, manifest_out, err) : st;
}

enum lmn_status lmn__table_read_version(struct lmn_table *table, uint64_t version, bool plain,
                                        struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    *manifest_out = NULL;
    return lmn__version_read(table->store, version, plain, manifest_out, err);
}

enum lmn_status lmn__table_read_past(struct lmn_table *table, uint64_t version, bool plain,
                                     struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__table_read_version(table, version, plain, manifest_out, err);

    return st == LMN_E_CORRUPT ? LMN_E_NOT_FOUND : st;
}

enum lmn_status lmn_table_refresh(struct lmn_table *table, struct lmn_error *err)
{
    struct lmn__manifest *manifest;
    enum lmn_status st = lmn__table_newest(table, &manifest, err);

    if (st == LMN_OK)
        lmn__table_set_manifest(table, manifest);
    return st;
}

enum lmn_status lmn_table_checkout(struct lmn_table *table, const struct lmn_table_options *options,
                                   struct lmn_error *err)
{
    struct lmn_table_options own = { 0 };
    struct lmn_store *where;
    struct lmn__manifest *manifest;
    enum lmn_status st;

    if (options != NULL)
        own = *options;
    if (own.branch != NULL)
        return lmn_fail(err, LMN_E_INVALID, "a branch is opened as a table of its own");
    own.branch = main_branch; /* the handle stays in its store */
    st = resolve(table->store, &own, &where, &manifest, err);
    if (st != LMN_OK)
        return st;
    lmn_store_release(where);
    lmn__table_set_manifest(table, manifest);
    return LMN_OK;
}

enum lmn_status lmn_table_schema(struct lmn_table *table, struct ArrowSchema *schema_out,
                                 struct lmn_error *err)
{
    static const struct lmn_scan_options all_columns = { .blobs = LMN_BLOB_DESCRIPTORS };
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn__projection all;
    enum lmn_status st = lmn__scan_project(table->env, &manifest->schema, &all_columns, &all, err);

    *schema_out = (struct ArrowSchema){ 0 };
    if (st == LMN_OK) {
        st = lmn__projection_schema(&all, schema_out, err);
        lmn__projection_deinit(&all);
    }
    lmn__manifest_release(manifest);
    return st;
}

enum lmn_status lmn_table_info(struct lmn_table *table, struct lmn_table_info *info_out,
                               struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn__arena arena;
    enum lmn_status st = LMN_OK;

    *info_out = (struct lmn_table_info){
        .version = manifest->pb.version,
        .fragment_count = lmn__manifest_fragment_count(manifest),
        .stable_row_ids = lmn__manifest_stable_ids(manifest),
    };
    snprintf(info_out->file_version, sizeof info_out->file_version, "2.%u", manifest->format_minor);
    for (uint64_t i = 0; st == LMN_OK && i < info_out->fragment_count; i++) {
        struct lmn__pb_fragment fragment;

        lmn__arena_init(&arena, table->env, 0);
        st = lmn__manifest_fragment(manifest, i, &arena, &fragment, err);
        if (st == LMN_OK) {
            uint64_t deleted = fragment.deletion != NULL ? fragment.deletion->row_count : 0;

            info_out->row_count += fragment.row_count - deleted;
            info_out->deleted_count += deleted;
            info_out->file_count += fragment.files.count;
            for (size_t k = 0; k < fragment.files.count; k++)
                info_out->data_bytes +=
                    ((const struct lmn__pb_data_file *)fragment.files.item)[k].bytes;
        }
        lmn__arena_deinit(&arena);
    }
    lmn__manifest_release(manifest);
    return st;
}
