/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cleaning up: old versions, and the files that nobody needs without them.
 *
 * The order is what makes it safe beside readers and writers, and across a crash:
 *
 *   1. Read every manifest. The newest version stays, and with it all that are young enough, have
 *      a tag, are the start of a branch, or are pinned by a running job. A manifest that cannot be
 *      read ends everything here.
 *   2. Remove the tags of the others, if these are not to keep them, and their manifests, and sync
 *      the folder. From here on no version that
 *      can be opened names a file that step 4 removes. A crash behind this step leaves files that
 *      no version names; a later cleanup finds them by their age.
 *   3. Read the versions that were committed since step 1; what they name stays.
 *   4. Walk the folders that the table's format knows. A file that only removed versions named
 *      goes. A file that no version names may belong to a commit that is about to come, so it goes
 *      only when it has not changed for seven days, or when the caller says that there are no
 *      writers.
 *   5. Remove the fills of columns that the newest version does not have, if nobody drives them and
 *      they are as old.
 *
 * A commit takes over the fragments of the newest version and adds files of its own, so it never
 * names a file that step 4 removes. The one operation that brings old files back is a restore: it
 * must not be made of a version that is cleaned up at the same time.
 *
 * Files of kinds that are not known stay, and so do all other folders.
 */
#include <leman/table_versions.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "os/clock.h"
#include "store/object.h"
#include "table/cleanup_fills.h"
#include "table/named_files.h"
#include "table/pin.h"
#include "table/removal.h"
#include "table/table.h"
#include "table/versions.h"

enum { PATH_BYTES = 1024, REF_BYTES_MAX = 1 << 20 };
static const int64_t week_ns = 7ll * 24 * 3600 * 1000000000;

/* A version, before it is decided about. */
struct candidate {
    uint64_t version;
    bool kept;
};

struct cleanup {
    struct lmn_table *table;
    struct lmn_store *store;
    struct lmn_cleanup_options options;
    struct lmn_cleanup_result result;
    struct lmn__arena arena;
    struct lmn__named_files files;
    struct lmn__removal removal;
    uint64_t judged;             /* files that may go */
    struct candidate *candidate; /* rising */
    uint64_t count;
    bool plain;
    int64_t since_ns; /* files that no version names stay if they changed later */
};

static void keep_version(struct cleanup *cleanup, uint64_t version)
{
    for (uint64_t i = 0; i < cleanup->count; i++)
        cleanup->candidate[i].kept |= cleanup->candidate[i].version == version;
}

static enum lmn_status keep_tagged(struct cleanup *cleanup, struct lmn_error *err)
{
    struct lmn_tag_list tags;
    enum lmn_status st;

    if (cleanup->options.ignore_tags)
        return LMN_OK;
    st = lmn_table_tags(cleanup->table, &tags, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < tags.count; i++) {
        if (tags.entry[i].branch[0] == '\0')
            keep_version(cleanup, tags.entry[i].version);
    }
    lmn_tag_list_free(&tags);
    return LMN_OK;
}

/*
 * Keep the version that a branch starts from. The number may be that of a version of another
 * branch; then a version more stays.
 */
static enum lmn_status keep_branch(void *context, const char *name, bool is_directory,
                                   struct lmn_error *err)
{
    struct cleanup *cleanup = context;
    size_t len = strlen(name);
    char path[PATH_BYTES];
    struct lmn__object object;
    struct lmn__span value;
    uint64_t version;
    uint8_t *text;
    enum lmn_status st;

    if (is_directory || len < 5 || strcmp(name + len - 5, ".json") != 0)
        return LMN_OK;
    if ((size_t)snprintf(path, sizeof path, "_refs/branches/%s", name) >= sizeof path)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "a branch with a name of %zu bytes", len);
    st = lmn__object_open(cleanup->store, path, &object, err);
    if (st != LMN_OK)
        return st;
    text = object.bytes <= REF_BYTES_MAX ? lmn__arena_alloc(&cleanup->arena, object.bytes) : NULL;
    st = text != NULL
             ? lmn__object_read(&object, 0, text, object.bytes, err)
             : lmn_fail(err, LMN_E_CORRUPT, "%llu bytes", (unsigned long long)object.bytes);
    if (st == LMN_OK)
        st = lmn__json_member((struct lmn__span){ text, object.bytes }, "parentVersion", &value,
                              err);
    lmn__object_close(&object);
    if (st == LMN_OK && (value.data == NULL || !lmn__json_to_u64(value, &version)))
        st = lmn_fail(err, LMN_E_CORRUPT, "it does not say which version it starts from");
    if (st != LMN_OK)
        return lmn__fail_within(err, st, "branch %.200s", name);
    keep_version(cleanup, version);
    return LMN_OK;
}

/*
 * Take away the names of versions that go. What a tag says is not true without its version; one
 * that is put on it meanwhile is as that of a version which never was.
 */
static enum lmn_status remove_tags(struct cleanup *cleanup, struct lmn_error *err)
{
    struct lmn_tag_list tags;
    enum lmn_status st;

    if (!cleanup->options.ignore_tags || cleanup->options.dry_run)
        return LMN_OK;
    st = lmn_table_tags(cleanup->table, &tags, err);
    for (uint64_t i = 0; st == LMN_OK && i < tags.count; i++) {
        for (uint64_t k = 0; k < cleanup->count && tags.entry[i].branch[0] == '\0'; k++) {
            if (cleanup->candidate[k].version == tags.entry[i].version &&
                !cleanup->candidate[k].kept)
                st = lmn_table_untag(cleanup->table, tags.entry[i].name, err);
        }
        st = st == LMN_E_NOT_FOUND ? LMN_OK : st; /* another was faster */
    }
    lmn_tag_list_free(&tags);
    return st;
}

/* Enter the files of one version. What is too old is known from its manifest only. */
static enum lmn_status enter_version(struct cleanup *cleanup, struct candidate *candidate,
                                     struct lmn_error *err)
{
    struct lmn__manifest *manifest;
    enum lmn_status st = lmn__table_read_version(cleanup->table, candidate->version, cleanup->plain,
                                                 &manifest, err);

    if (st == LMN_E_NOT_FOUND) { /* another cleanup was faster */
        candidate->kept = true;
        return LMN_OK;
    }
    if (st == LMN_E_CORRUPT)
        return lmn_fail(err, st,
                        "%s: the files that version %llu needs are not known, and nothing is "
                        "removed; without this manifest, that version is given up",
                        err != NULL ? err->message : "", (unsigned long long)candidate->version);
    if (st != LMN_OK)
        return st;
    if (lmn__manifest_time_us(manifest) >= cleanup->options.older_than_us)
        candidate->kept = true;
    st = lmn__named_files_add(&cleanup->files, manifest, candidate->kept, err);
    lmn__manifest_release(manifest);
    return st;
}

/*
 * Keep what running jobs have pinned, and all since. Called before the manifests are read and once
 * more behind that: a job that began meanwhile is seen, whose version was kept by no other reason.
 */
static enum lmn_status keep_pinned(struct cleanup *cleanup, bool entered, struct lmn_error *err)
{
    uint64_t oldest;
    enum lmn_status st = lmn__pins_oldest(cleanup->store, &oldest, err);

    for (uint64_t i = 0; st == LMN_OK && i < cleanup->count; i++) {
        struct candidate *candidate = &cleanup->candidate[i];

        if (candidate->kept || candidate->version < oldest)
            continue;
        candidate->kept = true;
        if (entered)
            st = enter_version(cleanup, candidate, err);
    }
    return st;
}

/* Versions outside of the history ("d<number>.manifest") are left as they are. */
static enum lmn_status enter_detached(void *context, const char *name, bool is_directory,
                                      struct lmn_error *err)
{
    struct cleanup *cleanup = context;
    size_t len = strlen(name);
    struct lmn__manifest *manifest;
    char path[PATH_BYTES];
    enum lmn_status st;

    if (is_directory || name[0] != 'd' || len < 10 || strcmp(name + len - 9, ".manifest") != 0 ||
        (size_t)snprintf(path, sizeof path, "_versions/%s", name) >= sizeof path)
        return LMN_OK;
    st = lmn__manifest_read(cleanup->store, path, &manifest, err);
    if (st != LMN_OK)
        return st;
    st = lmn__named_files_add(&cleanup->files, manifest, true, err);
    lmn__manifest_release(manifest);
    return st;
}

/* Step 1. */
static enum lmn_status read_versions(struct cleanup *cleanup, struct lmn_error *err)
{
    uint64_t *version;
    enum lmn_status st = lmn__versions_list(cleanup->store, &cleanup->arena, &version,
                                            &cleanup->count, &cleanup->plain, err);

    if (st != LMN_OK)
        return st;
    cleanup->candidate = lmn__arena_array(&cleanup->arena, cleanup->count,
                                          sizeof *cleanup->candidate);
    if (cleanup->candidate == NULL)
        return lmn__arena_fail(&cleanup->arena, "a list of versions", err);
    for (uint64_t i = 0; i < cleanup->count; i++)
        cleanup->candidate[i].version = version[i];
    cleanup->candidate[cleanup->count - 1].kept = true;
    st = keep_tagged(cleanup, err);
    if (st == LMN_OK)
        st = keep_pinned(cleanup, false, err);
    if (st == LMN_OK)
        st = cleanup->store->ops->list(cleanup->store, "_refs/branches", keep_branch, cleanup, err);
    for (uint64_t i = 0; st == LMN_OK && i < cleanup->count; i++)
        st = enter_version(cleanup, &cleanup->candidate[i], err);
    if (st == LMN_OK)
        st = cleanup->store->ops->list(cleanup->store, "_versions", enter_detached, cleanup, err);
    return st == LMN_OK ? keep_pinned(cleanup, true, err) : st;
}

/* Step 2. */
static enum lmn_status remove_versions(struct cleanup *cleanup, struct lmn_error *err)
{
    enum lmn_status st = remove_tags(cleanup, err);

    for (uint64_t i = 0; st == LMN_OK && i < cleanup->count; i++) {
        char path[LMN__VERSION_PATH_BYTES];

        if (cleanup->candidate[i].kept)
            continue;
        lmn__version_path(cleanup->candidate[i].version, cleanup->plain, path);
        st = lmn__removal_add(&cleanup->removal, path, true, err);
    }
    if (st == LMN_OK)
        st = lmn__removal_run(&cleanup->removal, err);
    cleanup->result.versions_removed = cleanup->removal.files;
    if (st == LMN_OK && cleanup->result.versions_removed != 0 && !cleanup->options.dry_run)
        st = cleanup->store->ops->sync_dir(cleanup->store, "_versions", err);
    return st;
}

/* Step 3. */
static enum lmn_status enter_new_versions(struct cleanup *cleanup, struct lmn_error *err)
{
    uint64_t known = cleanup->candidate[cleanup->count - 1].version, newest;
    bool plain;
    enum lmn_status st = lmn__versions_newest(cleanup->store, &newest, &plain, err);

    for (uint64_t v = known + 1; st == LMN_OK && v <= newest; v++) {
        struct candidate candidate = { v, true };

        st = enter_version(cleanup, &candidate, err);
    }
    return st;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t len = strlen(name), tail = strlen(suffix);

    return len > tail && strcmp(name + len - tail, suffix) == 0;
}

/* A file in one of the table's folders; `owner` is the entry that decides about it. */
static enum lmn_status judge(struct cleanup *cleanup, const char *path, const char *owner,
                             struct lmn_error *err)
{
    const struct lmn__named_file *named = lmn__named_files_find(&cleanup->files, owner);

    if (named != NULL && named->kept)
        return LMN_OK;
    cleanup->judged++;
    return lmn__removal_add(&cleanup->removal, path, named != NULL, err);
}

/* One folder while it is walked. */
struct walk {
    struct cleanup *cleanup;
    const char *dir;
    const char *owner;         /* NULL: every file is its own */
    const char *const *suffix; /* kinds of files that the folder may have; NULL: all */
    lmn__store_entry_fn enter; /* called for folders in it; NULL: they stay */
};

static enum lmn_status see_file(void *context, const char *name, bool is_directory,
                                struct lmn_error *err)
{
    struct walk *walk = context;
    bool known = walk->suffix == NULL;
    char path[PATH_BYTES];

    if (is_directory)
        return walk->enter != NULL ? walk->enter(context, name, true, err) : LMN_OK;
    for (const char *const *suffix = walk->suffix; !known && *suffix != NULL; suffix++)
        known = ends_in(name, *suffix);
    if (!known || (size_t)snprintf(path, sizeof path, "%s/%s", walk->dir, name) >= sizeof path)
        return LMN_OK;
    return judge(walk->cleanup, path, walk->owner != NULL ? walk->owner : path, err);
}

static enum lmn_status walk_dir(struct walk *walk, struct lmn_error *err)
{
    struct lmn_store *store = walk->cleanup->store;

    return store->ops->list(store, walk->dir, see_file, walk, err);
}

/* The same for the folder of one data file or index, which goes with its last file. */
static enum lmn_status walk_owned(struct walk *walk, struct lmn_error *err)
{
    struct cleanup *cleanup = walk->cleanup;
    uint64_t before = cleanup->judged;
    enum lmn_status st = walk_dir(walk, err);

    if (st == LMN_OK && cleanup->judged != before)
        st = lmn__removal_add_dir(&cleanup->removal, walk->dir, err);
    return st;
}

/* The side files of a data file: data/<stem>/ belongs to data/<stem>.lance. */
static enum lmn_status enter_sides(void *context, const char *name, bool is_directory,
                                   struct lmn_error *err)
{
    static const char *const suffix[] = { ".blob", ".tmp", NULL };
    const struct walk *above = context;
    char dir[PATH_BYTES], owner[PATH_BYTES + sizeof ".lance"];
    struct walk walk = { above->cleanup, dir, owner, suffix, NULL };

    (void)is_directory;
    if ((size_t)snprintf(dir, sizeof dir, "%s/%s", above->dir, name) >= sizeof dir)
        return LMN_OK;
    snprintf(owner, sizeof owner, "%s.lance", dir);
    return walk_owned(&walk, err);
}

/* Everything below _indices/<uuid> belongs to the index. */
static enum lmn_status enter_index(void *context, const char *name, bool is_directory,
                                   struct lmn_error *err)
{
    const struct walk *above = context;
    char dir[PATH_BYTES];
    struct walk walk = { above->cleanup, dir, above->owner != NULL ? above->owner : dir, NULL,
                         enter_index };

    (void)is_directory;
    if ((size_t)snprintf(dir, sizeof dir, "%s/%s", above->dir, name) >= sizeof dir)
        return LMN_OK;
    return walk_owned(&walk, err);
}

/* Step 4. */
static enum lmn_status remove_files(struct cleanup *cleanup, struct lmn_error *err)
{
    static const char *const data[] = { ".lance", ".tmp", NULL };
    static const char *const deletions[] = { ".arrow", ".bin", ".tmp", NULL };
    static const char *const transactions[] = { ".txn", ".tmp", NULL };
    static const char *const drafts[] = { ".tmp", NULL };
    static const char *const none[] = { NULL };
    struct walk walks[] = {
        { cleanup, "data", NULL, data, enter_sides },
        { cleanup, "_deletions", NULL, deletions, NULL },
        { cleanup, "_transactions", NULL, transactions, NULL },
        { cleanup, "_versions", NULL, drafts, NULL },
        { cleanup, "_refs/tags", NULL, drafts, NULL },
        { cleanup, "_indices", NULL, none, enter_index },
    };
    enum lmn_status st = LMN_OK;

    for (size_t i = 0; st == LMN_OK && i < sizeof walks / sizeof walks[0]; i++)
        st = walk_dir(&walks[i], err);
    return st == LMN_OK ? lmn__removal_run(&cleanup->removal, err) : st;
}

/* Step 5. */
static enum lmn_status remove_fills(struct cleanup *cleanup, struct lmn_error *err)
{
    struct lmn__manifest *newest;
    enum lmn_status st = lmn__table_newest(cleanup->table, &newest, err);

    if (st != LMN_OK)
        return st;
    st = lmn__cleanup_fills(cleanup->store, newest, cleanup->since_ns, cleanup->options.dry_run,
                            &cleanup->result, err);
    lmn__manifest_release(newest);
    return st;
}

static enum lmn_status check_table(struct lmn_table *table, struct lmn_error *err)
{
    struct lmn__manifest *newest;
    enum lmn_status st = lmn__table_newest(table, &newest, err);

    if (st != LMN_OK)
        return st;
    st = lmn__manifest_check_writable(newest, err);
    lmn__manifest_release(newest);
    return st;
}

enum lmn_status lmn_table_cleanup(struct lmn_table *table,
                                  const struct lmn_cleanup_options *options,
                                  struct lmn_cleanup_result *result_out, struct lmn_error *err)
{
    struct cleanup cleanup = { .table = table, .store = table->store };
    int64_t now_ns = lmn__clock_now_ns();
    enum lmn_status st;

    if (options != NULL)
        cleanup.options = *options;
    if (cleanup.options.older_than_us == 0)
        cleanup.options.older_than_us = (now_ns - 2 * week_ns) / 1000;
    cleanup.since_ns = cleanup.options.remove_unverified ? INT64_MAX : now_ns - week_ns;
    lmn__removal_init(&cleanup.removal, table->store, cleanup.since_ns, cleanup.options.dry_run);
    lmn__arena_init(&cleanup.arena, table->env, 0);
    lmn__named_files_init(&cleanup.files, table->env);
    st = check_table(table, err);
    if (st == LMN_OK)
        st = read_versions(&cleanup, err);
    if (st == LMN_OK)
        st = remove_versions(&cleanup, err);
    if (st == LMN_OK)
        st = enter_new_versions(&cleanup, err);
    if (st == LMN_OK)
        st = remove_files(&cleanup, err);
    cleanup.result.files_removed = cleanup.removal.files;
    cleanup.result.bytes_removed = cleanup.removal.bytes;
    if (st == LMN_OK)
        st = remove_fills(&cleanup, err);
    lmn__removal_deinit(&cleanup.removal);
    lmn__named_files_deinit(&cleanup.files);
    lmn__arena_deinit(&cleanup.arena);
    if (result_out != NULL)
        *result_out = cleanup.result;
    return st != LMN_OK ? lmn__fail_within(err, st, "%.200s", table->store->name) : st;
}
