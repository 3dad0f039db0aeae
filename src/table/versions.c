/* SPDX-License-Identifier: Apache-2.0 */
#include "table/versions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/math.h"

static const char folder[] = "_versions";
static const char suffix[] = ".manifest";

enum { DIGITS = 20 };

struct listing {
    struct lmn_env *env;
    uint64_t newest;
    bool found, plain;
    uint64_t *version; /* NULL: only the newest is wanted */
    uint64_t count, room;
    bool keep;
};

void lmn__version_path(uint64_t version, bool plain, char path_out[LMN__VERSION_PATH_BYTES])
{
    if (plain)
        snprintf(path_out, LMN__VERSION_PATH_BYTES, "%s/%" PRIu64 "%s", folder, version, suffix);
    else
        snprintf(path_out, LMN__VERSION_PATH_BYTES, "%s/%020" PRIu64 "%s", folder,
                 UINT64_MAX - version, suffix);
}

/* The version that a name in the folder stands for; false for other files. */
static bool parse_name(const char *name, uint64_t *version_out, bool *plain_out)
{
    uint64_t number = 0;
    size_t digits = 0;

    for (; name[digits] >= '0' && name[digits] <= '9'; digits++) {
        if (!lmn__mul_u64(number, 10, &number) ||
            !lmn__add_u64(number, (uint64_t)(name[digits] - '0'), &number))
            return false;
    }
    if (digits == 0 || strcmp(name + digits, suffix) != 0)
        return false;
    *plain_out = digits != DIGITS;
    *version_out = *plain_out ? number : UINT64_MAX - number;
    return true;
}

static enum lmn_status keep_version(struct listing *listing, uint64_t version,
                                    struct lmn_error *err)
{
    if (listing->count == listing->room) {
        uint64_t room = listing->room != 0 ? listing->room * 2 : 64;
        uint64_t *grown = lmn__realloc(listing->env, listing->version, room * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "a list of versions", room * sizeof *grown);
        listing->version = grown;
        listing->room = room;
    }
    listing->version[listing->count++] = version;
    return LMN_OK;
}

static enum lmn_status see_entry(void *context, const char *name, bool is_directory,
                                 struct lmn_error *err)
{
    struct listing *listing = context;
    uint64_t version;
    bool plain;

    if (is_directory || !parse_name(name, &version, &plain))
        return LMN_OK;
    if (listing->found && plain != listing->plain)
        return lmn_fail(err, LMN_E_CORRUPT, "manifests have names of two kinds, e.g. %.60s", name);
    if (!listing->found || version > listing->newest)
        listing->newest = version;
    listing->found = true;
    listing->plain = plain;
    return listing->keep ? keep_version(listing, version, err) : LMN_OK;
}

static enum lmn_status not_a_table(const struct lmn_store *store, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_NOT_FOUND, "%.300s is no table: it has no versions", store->name);
}

enum lmn_status lmn__versions_newest(struct lmn_store *store, uint64_t *version_out,
                                     bool *plain_out, struct lmn_error *err)
{
    struct listing listing = { .env = store->env };
    enum lmn_status st = store->ops->list(store, folder, see_entry, &listing, err);

    *version_out = listing.newest;
    *plain_out = listing.plain;
    if (st == LMN_OK && !listing.found)
        st = not_a_table(store, err);
    return st;
}

enum lmn_status lmn__version_mark(struct lmn_store *store, uint64_t version, bool plain,
                                  struct lmn__version_mark *mark_out, struct lmn_error *err)
{
    char path[LMN__VERSION_PATH_BYTES];
    struct lmn__store_stat stat;
    enum lmn_status st;

    lmn__version_path(version, plain, path);
    st = store->ops->stat(store, path, &stat, err);
    *mark_out = (struct lmn__version_mark){ 0 };
    if (st == LMN_OK)
        *mark_out = (struct lmn__version_mark){ stat.bytes, stat.modified_ns, stat.number };
    return st;
}

bool lmn__version_same(const struct lmn__version_mark *a, const struct lmn__version_mark *b)
{
    return a->modified_ns != 0 && a->bytes == b->bytes && a->modified_ns == b->modified_ns &&
           a->number == b->number;
}

bool lmn__version_is_other(struct lmn_store *store, uint64_t version, bool plain,
                           const struct lmn__version_mark *mark)
{
    struct lmn__version_mark now;

    return mark->modified_ns != 0 &&
           lmn__version_mark(store, version, plain, &now, NULL) == LMN_OK &&
           !lmn__version_same(&now, mark);
}

enum lmn_status lmn__version_exists(struct lmn_store *store, uint64_t version, bool plain,
                                    bool *there_out, struct lmn_error *err)
{
    struct lmn__version_mark mark;
    enum lmn_status st = lmn__version_mark(store, version, plain, &mark, err);

    *there_out = st == LMN_OK;
    return st == LMN_E_NOT_FOUND ? LMN_OK : st;
}

enum lmn_status lmn__version_read(struct lmn_store *store, uint64_t version, bool plain,
                                  struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    char path[LMN__VERSION_PATH_BYTES];
    struct lmn__version_mark mark;
    enum lmn_status st = lmn__version_mark(store, version, plain, &mark, err);

    lmn__version_path(version, plain, path);
    *manifest_out = NULL;
    if (st == LMN_OK)
        st = lmn__manifest_read(store, path, manifest_out, err);
    if (st == LMN_E_NOT_FOUND)
        return lmn_fail(err, st, "%.300s has no version %llu", store->name,
                        (unsigned long long)version);
    if (st == LMN_OK && (*manifest_out)->pb.version != version) {
        /* The next version would get a number that is taken. */
        st = lmn_fail(err, LMN_E_CORRUPT, "%.300s/%s says that it is version %llu", store->name,
                      path, (unsigned long long)(*manifest_out)->pb.version);
        lmn__manifest_release(*manifest_out);
        *manifest_out = NULL;
    }
    if (st == LMN_OK) {
        (*manifest_out)->plain_name = plain;
        (*manifest_out)->mark = mark;
    }
    return st;
}

bool lmn__version_is_gone(struct lmn_store *store, uint64_t version, bool plain)
{
    bool there;

    return lmn__version_exists(store, version, plain, &there, NULL) == LMN_OK && !there;
}

int64_t lmn__versions_stamp(struct lmn_store *store)
{
    return store->ops->dir_stamp != NULL ? store->ops->dir_stamp(store, folder) : 0;
}

static int compare_versions(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

enum lmn_status lmn__versions_list(struct lmn_store *store, struct lmn__arena *arena,
                                   uint64_t **version_out, uint64_t *count_out, bool *plain_out,
                                   struct lmn_error *err)
{
    struct listing listing = { .env = store->env, .keep = true };
    enum lmn_status st = store->ops->list(store, folder, see_entry, &listing, err);

    *version_out = NULL;
    *count_out = listing.count;
    *plain_out = listing.plain;
    if (st == LMN_OK && !listing.found)
        st = not_a_table(store, err);
    if (st == LMN_OK) {
        *version_out = lmn__arena_array(arena, listing.count, sizeof **version_out);
        if (*version_out == NULL)
            st = lmn__arena_fail(arena, "a list of versions", err);
    }
    if (st == LMN_OK) {
        memcpy(*version_out, listing.version, listing.count * sizeof **version_out);
        qsort(*version_out, listing.count, sizeof **version_out, compare_versions);
    }
    lmn__free(store->env, listing.version);
    return st;
}
