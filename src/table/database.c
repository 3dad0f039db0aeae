/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of a database is the directory `name`.lance. It is there when it has a version; a
 * directory without any, left by a table that was never committed, is not listed. A drop gives the
 * directory a hidden name and then removes it; what is left when it is interrupted goes with the
 * next drop.
 */
#include <leman/database.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "os/entry.h"
#include "os/file.h"
#include "os/random.h"
#include "store/store.h"
#include "table/versions.h"

static const char suffix[] = ".lance";
static const char dropped[] = ".dropped-"; /* and a token: a table on its way out */

enum { PATH_BYTES = 4096, SUFFIX_LEN = sizeof suffix - 1, NAME_LEN_MAX = 200 };

static enum lmn_status check_name(const char *name, struct lmn_error *err)
{
    size_t len = strlen(name);

    if (len == 0 || len > NAME_LEN_MAX || name[0] == '.')
        return lmn_fail(err, LMN_E_INVALID, "\"%.100s\" is no name for a table", name);
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '/' || name[i] == '\\' || (unsigned char)name[i] < ' ')
            return lmn_fail(err, LMN_E_INVALID,
                            "\"%.100s\" is no name for a table: it is the name of a directory",
                            name);
    }
    return LMN_OK;
}

static enum lmn_status table_path(const char *root, const char *name, char *path,
                                  struct lmn_error *err)
{
    enum lmn_status st = check_name(name, err);
    int len;

    if (st == LMN_OK && root[0] == '\0')
        st = lmn_fail(err, LMN_E_INVALID, "the directory of a database has an empty name");
    if (st != LMN_OK)
        return st;
    len = snprintf(path, PATH_BYTES, "%s/%s%s", root, name, suffix);
    if (len < 0 || len >= PATH_BYTES)
        return lmn_fail(err, LMN_E_INVALID, "the path of table \"%.100s\" is too long", name);
    return LMN_OK;
}

/* Is there a table in this directory? */
static enum lmn_status has_table(struct lmn_env *env, const char *path, bool *there_out,
                                 struct lmn_error *err)
{
    struct lmn_store *store;
    uint64_t version;
    bool plain;
    enum lmn_status st = lmn_store_open_local(env, path, &store, err);

    *there_out = false;
    if (st != LMN_OK)
        return st;
    st = lmn__versions_newest(store, &version, &plain, err);
    lmn_store_release(store);
    *there_out = st == LMN_OK;
    return st == LMN_E_NOT_FOUND ? LMN_OK : st;
}

struct listing {
    struct lmn__arena *arena;
    const char *root;
    char **name;
    uint64_t count, room;
};

static enum lmn_status keep_name(struct listing *listing, const char *name, size_t len,
                                 struct lmn_error *err)
{
    if (listing->count == listing->room) {
        uint64_t room = listing->room != 0 ? listing->room * 2 : 16;
        char **grown = lmn__arena_array(listing->arena, room, sizeof *grown);

        if (grown == NULL)
            return lmn__arena_fail(listing->arena, "a list of tables", err);
        if (listing->count != 0)
            memcpy(grown, listing->name, listing->count * sizeof *grown);
        listing->name = grown;
        listing->room = room;
    }
    listing->name[listing->count] = lmn__arena_strndup(listing->arena, name, len);
    if (listing->name[listing->count] == NULL)
        return lmn__arena_fail(listing->arena, "a list of tables", err);
    listing->count++;
    return LMN_OK;
}

static enum lmn_status see_entry(void *context, const char *name, bool is_directory,
                                 struct lmn_error *err)
{
    struct listing *listing = context;
    size_t len = strlen(name);
    char path[PATH_BYTES];
    bool there;
    enum lmn_status st;

    if (!is_directory || len <= SUFFIX_LEN || strcmp(name + len - SUFFIX_LEN, suffix) != 0 ||
        len - SUFFIX_LEN > NAME_LEN_MAX)
        return LMN_OK;
    snprintf(path, sizeof path, "%s/%s", listing->root, name);
    st = has_table(listing->arena->env, path, &there, err);
    return st == LMN_OK && there ? keep_name(listing, name, len - SUFFIX_LEN, err) : st;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum lmn_status lmn_database_list(struct lmn_env *env, const char *root,
                                  struct lmn_name_list *list_out, struct lmn_error *err)
{
    struct lmn_env *own;
    struct listing listing = { .root = root };
    struct lmn__entry there;
    enum lmn_status st = lmn__env_resolve(env, &own, err);

    *list_out = (struct lmn_name_list){ 0 };
    if (st != LMN_OK)
        return st;
    listing.arena = lmn__arena_new(own);
    st = listing.arena != NULL ? lmn__dir_list(root, see_entry, &listing, err)
                               : lmn__no_memory(err, "a list of tables", 0);
    lmn_env_release(own);
    if (st == LMN_E_NOT_FOUND)
        st = lmn__entry_stat(root, &there, NULL) == LMN_OK
                 ? lmn_fail(err, LMN_E_INVALID, "%.300s is no directory", root)
                 : LMN_OK;
    if (st != LMN_OK) {
        lmn__arena_free(listing.arena);
        return st;
    }
    if (listing.count != 0)
        qsort(listing.name, listing.count, sizeof *listing.name, compare_names);
    *list_out = (struct lmn_name_list){ listing.name, listing.count, listing.arena };
    return LMN_OK;
}

void lmn_name_list_free(struct lmn_name_list *list)
{
    lmn__arena_free(list->memory);
    *list = (struct lmn_name_list){ 0 };
}

enum lmn_status lmn_database_store(struct lmn_env *env, const char *root, const char *name,
                                   struct lmn_store **store_out, struct lmn_error *err)
{
    char path[PATH_BYTES];
    enum lmn_status st = table_path(root, name, path, err);

    *store_out = NULL;
    return st == LMN_OK ? lmn_store_open_local(env, path, store_out, err) : st;
}

static enum lmn_status must_be_there(struct lmn_env *env, const char *root, const char *name,
                                     char *path, struct lmn_error *err)
{
    bool there = false;
    enum lmn_status st = table_path(root, name, path, err);

    if (st == LMN_OK)
        st = has_table(env, path, &there, err);
    if (st == LMN_OK && !there)
        st = lmn_fail(err, LMN_E_NOT_FOUND, "%.200s has no table \"%.100s\"", root, name);
    return st;
}

/* Remove what a drop left that did not come to its end, and what this one leaves. */
static enum lmn_status remove_dropped(void *context, const char *name, bool is_directory,
                                      struct lmn_error *err)
{
    const char *root = context;
    char path[PATH_BYTES + 256];
    enum lmn_status st;

    if (!is_directory || strncmp(name, dropped, sizeof dropped - 1) != 0)
        return LMN_OK;
    snprintf(path, sizeof path, "%s/%s", root, name);
    st = lmn__dir_remove_all(path, err);
    return st == LMN_E_NOT_FOUND ? LMN_OK : st; /* another drop is at it */
}

/* The table is out of sight with one rename; removing its files may take long. */
enum lmn_status lmn_database_drop(struct lmn_env *env, const char *root, const char *name,
                                  struct lmn_error *err)
{
    char path[PATH_BYTES], gone[PATH_BYTES + 32], token[LMN__TOKEN_CHARS];
    enum lmn_status st = must_be_there(env, root, name, path, err);

    if (st == LMN_OK)
        st = lmn__random_token(token, err);
    if (st != LMN_OK)
        return st;
    snprintf(gone, sizeof gone, "%s/%s%s", root, dropped, token);
    st = lmn__file_rename(path, gone, err);
    if (st == LMN_OK)
        st = lmn__dir_sync(root, err);
    return st == LMN_OK ? lmn__dir_list(root, remove_dropped, (void *)(uintptr_t)root, err) : st;
}

enum lmn_status lmn_database_rename(struct lmn_env *env, const char *root, const char *from,
                                    const char *to, struct lmn_error *err)
{
    char path[PATH_BYTES], target[PATH_BYTES];
    bool there = false;
    enum lmn_status st = must_be_there(env, root, from, path, err);

    if (st == LMN_OK)
        st = table_path(root, to, target, err);
    if (st == LMN_OK)
        st = has_table(env, target, &there, err);
    if (st == LMN_OK && there)
        st = lmn_fail(err, LMN_E_EXISTS, "%.200s has a table \"%.100s\" already", root, to);
    if (st == LMN_OK)
        st = lmn__file_rename(path, target, err);
    return st == LMN_OK ? lmn__dir_sync(root, err) : st;
}
