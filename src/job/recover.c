/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that was about to be published is in a version behind the one that the note names, or in
 * none: its driver is dead, so it cannot come into one later. A version that was cleaned away does
 * not count, as nothing that it alone named is of use to anybody.
 */
#include "job/recover.h"

#include <inttypes.h>
#include <stdio.h>

#include "job/assemble.h"
#include "job/journal_parts.h"
#include "job/moved.h"
#include "job/unit_file.h"
#include "table/fragment_writer.h"

enum { PATH_BYTES = 256 };

enum lmn_status lmn__published_take_back(struct lmn_store *store,
                                         const struct lmn__journal *journal,
                                         const struct lmn__published *published,
                                         struct lmn_error *err)
{
    struct lmn__pb_data_file file = { .path = published->path };
    const struct lmn__pb_fragment fragment = { .files = { &file, 1 } };
    const char *dir = lmn__journal_dir(journal);
    char from[PATH_BYTES], to[LMN__FILL_PATH_BYTES];
    enum lmn_status st;

    if (!published->direct) {
        lmn__fragments_remove(store, &fragment, 1);
        return LMN_OK;
    }
    snprintf(from, sizeof from, "data/%.*s", (int)published->path.len,
             (const char *)published->path.data);
    lmn__fill_path(dir, LMN__GRANT_PAGES, published->fragment_id, published->layout, to);
    st = store->ops->rename(store, from, to, err);
    if (st == LMN_E_NOT_FOUND)
        return LMN_OK;
    if (st == LMN_OK)
        st = store->ops->sync_dir(store, dir, err);
    return st == LMN_OK ? store->ops->sync_dir(store, "data", err) : st;
}

/* Names that begin with `prefix` are removed. */
struct removal {
    struct lmn_store *store;
    const char *dir;
    char prefix[64];
};

static enum lmn_status remove_segment(void *context, const char *name, bool is_directory,
                                      struct lmn_error *err)
{
    const struct removal *removal = context;
    char path[PATH_BYTES];

    (void)err;
    if (!is_directory && strncmp(name, removal->prefix, strlen(removal->prefix)) == 0 &&
        (size_t)snprintf(path, sizeof path, "%s/%s", removal->dir, name) < sizeof path)
        (void)removal->store->ops->remove(removal->store, path, NULL);
    return LMN_OK;
}

void lmn__segment_files_remove(struct lmn_store *store, const struct lmn__journal *journal,
                               uint64_t fragment_id, uint64_t layout)
{
    static const char *const kind[] = { "hold", "pages" };
    struct removal removal = { .store = store, .dir = lmn__journal_dir(journal) };
    bool kept;

    /* Results that were kept may name them. */
    if (lmn__moved_matters(store, removal.dir, &kept, NULL) != LMN_OK || kept)
        return;
    for (int i = 0; i < 2; i++) {
        snprintf(removal.prefix, sizeof removal.prefix, "%" PRIu64 "-%016" PRIx64 ".%s.",
                 fragment_id, layout, kind[i]);
        (void)store->ops->list(store, removal.dir, remove_segment, &removal, NULL);
    }
}

/* Does the fragment have the file in this version? */
static enum lmn_status version_names(const struct lmn__manifest *manifest,
                                     const struct lmn__published *published, bool *named_out,
                                     struct lmn_error *err)
{
    struct lmn__pb_fragment fragment = { 0 };
    const struct lmn__pb_data_file *file;
    struct lmn__arena arena;
    uint64_t index;
    enum lmn_status st;

    lmn__arena_init(&arena, manifest->env, 0);
    st = lmn__manifest_find(manifest, published->fragment_id, &arena, &index, err);
    if (st == LMN_OK)
        st = lmn__manifest_fragment(manifest, index, &arena, &fragment, err);
    file = fragment.files.item;
    for (size_t i = 0; st == LMN_OK && i < fragment.files.count; i++) {
        if (file[i].path.len == published->path.len &&
            memcmp(file[i].path.data, published->path.data, file[i].path.len) == 0)
            *named_out = true;
    }
    lmn__arena_deinit(&arena);
    return st == LMN_E_NOT_FOUND ? LMN_OK : st;
}

/* Is the file in some version that is there? */
static enum lmn_status is_committed(struct lmn_table *table, struct lmn__manifest *newest,
                                    const struct lmn__published *published, bool *named_out,
                                    struct lmn_error *err)
{
    enum lmn_status st = version_names(newest, published, named_out, err);

    for (uint64_t v = newest->pb.version;
         st == LMN_OK && !*named_out && --v > published->version;) {
        struct lmn__manifest *manifest;

        st = lmn__table_read_past(table, v, newest->plain_name, &manifest, err);
        if (st == LMN_E_NOT_FOUND) {
            st = LMN_OK;
            continue;
        }
        if (st == LMN_OK)
            st = version_names(manifest, published, named_out, err);
        lmn__manifest_release(manifest);
    }
    return st;
}

static enum lmn_status settle(const struct lmn__assemble_options *options,
                              struct lmn__manifest *newest, const struct lmn__published *published,
                              struct lmn_error *err)
{
    bool committed = false;
    enum lmn_status st = is_committed(options->table, newest, published, &committed, err);

    if (st != LMN_OK)
        return st;
    if (committed)
        return lmn__journal_retire(options->journal, published->fragment_id, published->layout,
                                   err);
    return lmn__published_take_back(options->table->store, options->journal, published, err);
}

/* Receipts whose pages file is gone have nothing to show. */
static enum lmn_status check_pages(const struct lmn__assemble_options *options,
                                   uint64_t fragment_id, uint64_t layout, bool *gone_out,
                                   struct lmn_error *err)
{
    struct lmn_store *store = options->table->store;
    const struct lmn__receipt *receipt;
    struct lmn__store_stat stat;
    char path[LMN__FILL_PATH_BYTES];
    uint64_t count;
    enum lmn_status st = lmn__journal_receipts(options->journal, fragment_id, layout, &receipt,
                                               &count, err);

    *gone_out = false;
    if (st != LMN_OK || !lmn__receipts_are_direct(receipt, count))
        return st;
    lmn__fill_path(lmn__journal_dir(options->journal), LMN__GRANT_PAGES, fragment_id, layout, path);
    st = store->ops->stat(store, path, &stat, err);
    *gone_out = st == LMN_E_NOT_FOUND;
    if (!*gone_out)
        return st;
    st = lmn__moved_lost(options->journal, fragment_id, layout, err);
    return st == LMN_OK ? lmn__journal_retire(options->journal, fragment_id, layout, err) : st;
}

enum lmn_status lmn__assemble_recover(const struct lmn__assemble_options *options,
                                      struct lmn_error *err)
{
    struct lmn__journal *journal = options->journal;
    struct lmn__manifest *newest = NULL;
    struct lmn__published published, next;
    uint64_t fragment_id, layout;
    enum lmn_status st = LMN_OK;

    if (lmn__journal_published(journal, 0, &published))
        st = lmn__table_newest(options->table, &newest, err);
    for (uint64_t i = 0; st == LMN_OK && lmn__journal_published(journal, i, &published);) {
        st = settle(options, newest, &published, err);
        /* One that is retired leaves its number to the next. */
        if (lmn__journal_published(journal, i, &next) &&
            next.fragment_id == published.fragment_id && next.layout == published.layout)
            i++;
    }
    lmn__manifest_release(newest);
    for (uint64_t i = 0;
         st == LMN_OK && lmn__journal_fragment(journal, i, &fragment_id, &layout);) {
        bool gone;

        st = check_pages(options, fragment_id, layout, &gone, err);
        i += !gone;
    }
    return st == LMN_OK ? lmn__journal_sync(journal, err) : st;
}
