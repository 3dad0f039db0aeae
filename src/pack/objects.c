/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in the folder of environments: archives, and texts that name archives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json_write.h"
#include "base/text.h"
#include "pack/archive.h"
#include "store/draft.h"

enum { TEXT_BYTES_MAX = 64 << 20 };

static void text_path(const char *hash, char path_out[LMN__ARCHIVE_PATH_CHARS])
{
    snprintf(path_out, LMN__ARCHIVE_PATH_CHARS, LMN__ARCHIVE_FOLDER "/%.64s.json", hash);
}

enum lmn_status lmn_pack_put(struct lmn_store *store, const char *text, char *hash_out,
                             struct lmn_error *err)
{
    char path[LMN__ARCHIVE_PATH_CHARS];

    lmn__sha256_hex(text, strlen(text), hash_out);
    text_path(hash_out, path);
    return lmn__store_put(store, path, LMN__PUBLISH_REPLACE, text, strlen(text), err);
}

static enum lmn_status read_text(struct lmn_env *env, const struct lmn__object *object,
                                 const char *hash, char **text_out, struct lmn_error *err)
{
    char digits[LMN__SHA256_HEX];
    char *text;
    enum lmn_status st;

    if (object->bytes > TEXT_BYTES_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "%s has %llu bytes", object->name,
                        (unsigned long long)object->bytes);
    text = lmn__text_new(env, NULL, object->bytes);
    if (text == NULL)
        return lmn__no_memory(err, object->name, object->bytes);
    st = lmn__object_read(object, 0, text, object->bytes, err);
    if (st == LMN_OK) {
        lmn__sha256_hex(text, object->bytes, digits);
        if (strcmp(digits, hash) != 0)
            st = lmn_fail(err, LMN_E_CORRUPT, "%s is not what its name says", object->name);
    }
    if (st == LMN_OK)
        *text_out = text;
    else
        lmn_text_free(text);
    return st;
}

enum lmn_status lmn_pack_get(struct lmn_store *store, const char *hash, char **text_out,
                             struct lmn_error *err)
{
    char path[LMN__ARCHIVE_PATH_CHARS];
    struct lmn__object object;
    enum lmn_status st;

    *text_out = NULL;
    if (!lmn__archive_is_hash(hash))
        return lmn_fail(err, LMN_E_INVALID, "\"%.80s\" is no hash of an environment", hash);
    text_path(hash, path);
    st = lmn__object_open(store, path, &object, err);
    if (st != LMN_OK)
        return st;
    st = read_text(store->env, &object, hash, text_out, err);
    lmn__object_close(&object);
    return st;
}

/* The names in the folder. */
struct listing {
    struct lmn__arena arena;
    const char **name;
    size_t count, cap;
};

static enum lmn_status see_name(void *context, const char *name, bool is_directory,
                                struct lmn_error *err)
{
    struct listing *listing = context;

    if (is_directory || strstr(name, ".tmp") != NULL)
        return LMN_OK;
    if (listing->count == listing->cap) {
        size_t cap = listing->cap != 0 ? 2 * listing->cap : 64;
        const char **more = lmn__arena_array(&listing->arena, cap, sizeof *more);

        if (more == NULL)
            return lmn__arena_fail(&listing->arena, "names", err);
        if (listing->count != 0)
            memcpy(more, listing->name, listing->count * sizeof *more);
        listing->name = more;
        listing->cap = cap;
    }
    listing->name[listing->count] = lmn__arena_strndup(&listing->arena, name, strlen(name));
    if (listing->name[listing->count] == NULL)
        return lmn__arena_fail(&listing->arena, "a name", err);
    listing->count++;
    return LMN_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum lmn_status write_entry(struct lmn_store *store, const char *name,
                                   struct lmn__json_writer *json, struct lmn_error *err)
{
    struct lmn__store_stat info;
    char path[512];
    enum lmn_status st;

    snprintf(path, sizeof path, LMN__ARCHIVE_FOLDER "/%s", name);
    st = store->ops->stat(store, path, &info, err);
    if (st == LMN_E_NOT_FOUND) /* it went meanwhile */
        return LMN_OK;
    if (st != LMN_OK)
        return st;
    lmn__json_open(json, NULL, '{');
    lmn__json_text(json, "name", name);
    lmn__json_number(json, "bytes", info.bytes);
    lmn__json_number(json, "modified_ns", info.modified_ns > 0 ? (uint64_t)info.modified_ns : 0);
    lmn__json_close(json, '}');
    return LMN_OK;
}

enum lmn_status lmn_pack_list(struct lmn_store *store, char **text_out, struct lmn_error *err)
{
    struct listing listing = { .name = NULL };
    struct lmn__buf buf;
    struct lmn__json_writer json = { .buf = &buf };
    enum lmn_status st;

    *text_out = NULL;
    lmn__arena_init(&listing.arena, store->env, 0);
    lmn__buf_init(&buf, store->env, 0);
    st = store->ops->list(store, LMN__ARCHIVE_FOLDER, see_name, &listing, err);
    if (st == LMN_OK && listing.count != 0)
        qsort(listing.name, listing.count, sizeof *listing.name, compare_names);
    lmn__json_open(&json, NULL, '[');
    for (size_t i = 0; i < listing.count && st == LMN_OK; i++)
        st = write_entry(store, listing.name[i], &json, err);
    lmn__json_close(&json, ']');
    if (st == LMN_OK)
        st = lmn__buf_status(&buf, "the list of environments", err);
    if (st == LMN_OK) {
        *text_out = lmn__text_new(store->env, buf.data, buf.len);
        if (*text_out == NULL)
            st = lmn__no_memory(err, "the list of environments", buf.len);
    }
    lmn__buf_deinit(&buf);
    lmn__arena_deinit(&listing.arena);
    return st;
}

enum lmn_status lmn_pack_remove(struct lmn_store *store, const char *name, struct lmn_error *err)
{
    char path[512];

    if (strchr(name, '/') != NULL || strlen(name) > 200)
        return lmn_fail(err, LMN_E_INVALID, "\"%.80s\" is no name of an environment", name);
    snprintf(path, sizeof path, LMN__ARCHIVE_FOLDER "/%s", name);
    return store->ops->remove(store, path, err);
}
